// Server-sent events over fetch, as the standard has them: lines end with CR LF, LF or CR and with
// nothing else, so that no exotic line break in a text ever ends an event.

import { send } from "./api.js";

const SILENCE_MS = 40_000; // the supervisor says something every 15 s
const LONGEST_WAIT_MS = 5_000;

/** Takes text in pieces and gives whole messages: `{id, type, data}`. */
export class Parser {
  #rest = "";
  #data = [];
  #type = "";
  #id = null;

  feed(piece) {
    const messages = [];
    let text = this.#rest + piece;
    // A CR at the very end may be half of CR LF.
    const held = text.endsWith("\r") ? "\r" : "";
    if (held) text = text.slice(0, -1);
    const lines = text.split(/\r\n|\n|\r/);
    this.#rest = lines.pop() + held;
    for (const line of lines) {
      const message = this.#line(line);
      if (message) messages.push(message);
    }
    return messages;
  }

  #line(line) {
    if (line === "") return this.#end();
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? "" : line.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1);
    if (name === "data") this.#data.push(value);
    else if (name === "event") this.#type = value;
    else if (name === "id" && !value.includes("\0")) this.#id = value;
    return null;
  }

  #end() {
    const message = this.#data.length === 0 ? null : { id: this.#id, type: this.#type || "message", data: this.#data.join("\n") };
    this.#data = [];
    this.#type = "";
    return message;
  }
}

/** Whether a Problem may be over in a moment. */
export function isPassing(error) {
  return [0, 429, 502, 503, 504].includes(error.status);
}

/**
 * Follows a stream for as long as `signal` lets it, over broken connections: it comes back with the
 * last id. `onEvents` gets lists of `{type, id, data}`, `onState` "open", "lost" or "closed".
 * Ends when the supervisor refuses it; raises that Problem.
 */
export async function follow(path, { signal, after = null, onEvents, onState = () => {} }) {
  let last = after;
  let failures = 0;
  while (!signal.aborted) {
    const beat = new AbortController();
    try {
      const headers = { Accept: "text/event-stream" };
      if (last !== null) headers["Last-Event-ID"] = String(last);
      const answer = await send("GET", path, { headers, signal: AbortSignal.any([signal, beat.signal]) });
      onState("open");
      for await (const messages of pieces(answer, beat)) {
        failures = 0;
        for (const message of messages) if (message.id !== null) last = message.id;
        if (messages.length > 0) onEvents(messages.map(told));
      }
    } catch (error) {
      if (signal.aborted) break;
      if (error.status && !isPassing(error)) throw error;
    }
    if (signal.aborted) break;
    onState("lost");
    failures += 1;
    await pause(Math.min(LONGEST_WAIT_MS, 250 * 2 ** Math.min(failures, 6)), signal);
  }
  onState("closed");
}

function told({ id, type, data }) {
  return { id, type, data: JSON.parse(data) };
}

async function* pieces(answer, beat) {
  const parser = new Parser();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let watch;
  try {
    while (true) {
      watch = setTimeout(() => beat.abort(), SILENCE_MS);
      const { done, value } = await reader.read();
      clearTimeout(watch);
      if (done) return;
      yield parser.feed(value);
    }
  } finally {
    clearTimeout(watch);
    reader.cancel().catch(() => {});
  }
}

/** Waits so long, or until there is a network again, or `signal` says to stop. */
export function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(over, ms);
    function over() {
      clearTimeout(timer);
      window.removeEventListener("online", over);
      signal.removeEventListener("abort", over);
      resolve();
    }
    window.addEventListener("online", over);
    signal.addEventListener("abort", over);
  });
}
