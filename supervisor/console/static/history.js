// What was said before the events that are shown: read from the transcript, page by page.

import { get, part } from "./api.js";
import { Call } from "./call.js";
import { h } from "./dom.js";
import { Prose } from "./prose.js";
import { doing, moment, nothing, problemBox } from "./ui.js";
import { visible } from "./visible.js";

/** Messages as turns: what a person says begins one, what follows belongs to it. */
function turnsOf(messages) {
  const calls = new Map();
  const made = [];
  for (const said of messages) {
    const nodes = said.blocks.map((block) => one(block, said.role, calls)).filter(Boolean);
    if (nodes.length === 0) continue;
    if (said.role !== "assistant" || made.length === 0) made.push(begun(said));
    made.at(-1).append(...nodes);
  }
  return made;
}

function begun(said) {
  const about = said.role === "summary" ? "a summary of what was said before" : said.model ? visible(said.model) : "";
  return h("article", { class: "turn", "aria-label": "Turn" }, h("header", {}, said.timestamp ? moment(said.timestamp) : null, h("span", {}, about)));
}

function one(block, role, calls) {
  if (block.type === "text" || block.type === "thinking") {
    const prose = new Prose();
    prose.whole(String(block.text ?? block.thinking ?? ""));
    if (block.type === "thinking") return h("details", { class: "thought" }, h("summary", {}, "Thinking"), prose.node);
    return role === "user" ? h("div", { class: "person" }, h("span", { class: "unseen" }, "You: "), prose.node) : prose.node;
  }
  if (block.type === "tool_use") {
    const call = new Call({ tool: { id: block.id, name: block.name, input: block.input } });
    calls.set(block.id, call);
    return call.node;
  }
  if (block.type === "tool_result") {
    const content = typeof block.content === "string" ? block.content : JSON.stringify(block.content ?? "");
    const result = { content, isError: block.is_error === true || block.isError === true };
    const call = calls.get(block.tool_use_id ?? block.toolUseId);
    if (call) call.gave(result);
    return null;
  }
  return h("p", { class: "muted" }, `[${visible(block.type)}]`);
}

/**
 * A list of the messages before the moment `until` (ISO; null: all), with a way to earlier ones.
 * The newest page is there when it returns.
 */
export async function earlier(id, { until, signal }) {
  const list = h("div", { class: "talk" });
  const more = h("div", { class: "earlier" });
  let before = null;
  async function load() {
    let told;
    try {
      told = await get(`/api/chat/session/${part(id)}`, { signal, query: { limit: 50, before } });
    } catch (error) {
      if (!signal.aborted) more.replaceChildren(problemBox(error));
      return;
    }
    before = told.before;
    const said = told.messages.filter((each) => until === null || !each.timestamp || Date.parse(each.timestamp) < Date.parse(until));
    const height = document.documentElement.scrollHeight;
    list.prepend(...turnsOf(said));
    for (const note of told.notes) list.prepend(nothing(note === "torn_last_line" ? "The transcript's last line is torn." : "Some lines of the transcript can't be read."));
    more.replaceChildren(...(before === null ? [] : [doing("Show earlier messages", load)]));
    if (list.isConnected) window.scrollBy(0, document.documentElement.scrollHeight - height);
    if (said.length === 0 && before !== null) await load(); // a page of what the events show already
  }
  await load();
  return h("div", { class: "stack" }, more, list);
}
