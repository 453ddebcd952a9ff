// What was said and done in a session: out of its transcript, its stored events, and as it comes.

import { part } from "./api.js";
import { say } from "./announce.js";
import { fill, h } from "./dom.js";
import { earlier } from "./history.js";
import { follow, isPassing, pause } from "./sse.js";
import { newestTurns } from "./stored.js";
import { Turns } from "./turns.js";
import { problemBox } from "./ui.js";
import { visible } from "./visible.js";
import { waiting } from "./waiting.js";

const AGAIN_MS = 1_000;
const isGap = (event) => event.type === "warning" && event.data.code === "event_gap";

/** `node` shows it, `connection` tells when it can't be heard; `moved` is called when more is shown. */
export class Conversation {
  #id;
  #signal;
  #changed;
  #moved;
  #mine = null;
  #turns = null;
  #before = h("div", {});
  #missing = h("div", {});
  #talk = h("div", { class: "talk" });
  #after = 0;
  #last = 0;
  #hasHeard = false;
  connection = h("div", { class: "warned", data: { connection: "" } });
  #loading = h("p", { class: "late" }, "Loading what was said…");
  node = h("div", { class: "stack" }, this.#loading, this.#before, this.#missing, this.#talk);

  constructor(id, { signal, changed, moved }) {
    this.#id = id;
    this.#signal = signal;
    this.#changed = changed;
    this.#moved = moved;
    this.connection.hidden = true;
  }

  get isRunning() {
    return this.#turns?.isRunning ?? false;
  }

  /** Whether what is shown happens now, and isn't told of what was. */
  get isLive() {
    return this.#turns?.isLive ?? false;
  }

  /** Shows all that there is, in place of what is shown, and listens from there on. */
  async load() {
    this.#mine?.abort();
    const mine = new AbortController();
    this.#mine = mine;
    const signal = AbortSignal.any([this.#signal, mine.signal]);
    const newest = await newestTurns(this.#id, { signal });
    const history = await earlier(this.#id, { until: newest.since, signal });
    if (signal.aborted) return;
    this.#loading.remove();
    fill(this.#before, history);
    fill(this.#talk);
    this.#after = newest.after;
    this.#last = newest.last;
    this.#hasHeard = false;
    this.#turns = new Turns(this.#talk, { signal, changed: this.#changed });
    waiting.addEventListener("change", () => this.#moved(), { signal }); // after its turns, which draw cards
    this.#listen(signal);
    this.#changed();
  }

  /** While nobody looks the stream is left, and taken up where it was: connections are few. */
  #listen(signal) {
    let looked = null;
    const begin = () => {
      if (document.hidden || looked !== null) return;
      looked = new AbortController();
      follow(`/api/chat/session/${part(this.#id)}/stream`, {
        signal: AbortSignal.any([signal, looked.signal]),
        after: this.#after,
        onEvents: (events) => signal.aborted || this.#hear(events),
        onState: (state) => this.#tell(state),
      }).catch((error) => signal.aborted || this.#fail(error));
    };
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) return begin();
      looked?.abort();
      looked = null;
    }, { signal });
    begin();
  }

  #hear(events) {
    for (const event of events) {
      if (isGap(event) && this.#hasHeard) return this.#anew(event.data.message);
      this.#turns.isLive = Number(event.id) > this.#last;
      this.#turns.show(event);
      if (event.id === null) continue; // in no log: where to go on from stays as it was
      this.#after = event.id;
      this.#hasHeard = true;
    }
    this.#moved();
  }

  /** Events are missing that would have changed what is shown: it is all read again. */
  #anew(message) {
    fill(this.#missing, h("div", { class: "warned", data: { gap: "" } }, h("p", {}, h("strong", {}, "Something is missing here: "), visible(message), "."),
      h("p", {}, "What was said is read from the transcript. What was decided is in the audit log.")));
    say("Some events are missing. What was said is read from the transcript.");
    this.#loadAgain();
  }

  async #loadAgain() {
    while (!this.#signal.aborted) {
      try {
        return await this.load();
      } catch (error) {
        if (this.#signal.aborted) return;
        this.#fail(error);
        if (!isPassing(error)) return;
        await pause(AGAIN_MS, this.#signal);
      }
    }
  }

  #tell(state) {
    const isLost = state === "lost";
    if (isLost === !this.connection.hidden) return;
    fill(this.connection, "The connection is lost. Trying again; nothing is missed.");
    this.connection.hidden = !isLost;
    if (state !== "closed") say(isLost ? "The connection is lost. Trying again." : "Connected again.");
  }

  #fail(error) {
    fill(this.connection, problemBox(error));
    this.connection.hidden = false;
  }
}
