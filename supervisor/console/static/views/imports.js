// Imports: conversations from elsewhere become sessions, and what can't is told.

import { get, part, post } from "../api.js";
import { say } from "../announce.js";
import { Chosen } from "../chosen.js";
import { fill, h } from "../dom.js";
import { sizeWords } from "../files.js";
import { chip, counted, doing, field, problemBox, select, table, trustBadge } from "../ui.js";
import { visible } from "../visible.js";

export const room = "imports";
const LARGEST = 128 * 1024 * 1024 - 4096; // as the API takes it, with the form round it
const MOST_SHOWN = 200;
const TONE = { new: "good", updated: "wait", unchanged: "" };

const TAKEN = [
  ["Claude", "words, the text and the names of attachments", "thinking"],
  ["ChatGPT", "the branch that is shown there", "other branches, hidden and system messages, words to tools"],
  ["Claude Code", "words, tool calls and their results", "sub-agents, thinking, its own book-keeping"],
];

function summary({ imported, broken }) {
  const states = ["new", "updated", "unchanged"].map((state) => [state, imported.filter((each) => each.state === state).length]).filter(([, number]) => number > 0);
  const parts = [counted(imported.length, "conversation"), states.length > 0 ? `: ${states.map(([state, number]) => `${number} ${state}`).join(", ")}` : ""];
  return `${parts.join("")}. ${broken.length === 0 ? "Nothing was left out." : `${counted(broken.length, "part")} could not be read.`}`;
}

/** What became of a file: the sessions, and each part that was left out with its reason. */
function outcome(told) {
  return h("div", { class: "stack", data: { outcome: "" } }, h("h2", {}, "What became of it"), h("p", {}, summary(told)),
    told.broken.length > 0 ? [h("h3", {}, "Left out"), table("Left out", [["Where", (each) => h("code", {}, visible(each.place))], ["Why", (each) => visible(each.reason)]], told.broken.slice(0, MOST_SHOWN)), more(told.broken)] : null,
    told.imported.length > 0 ? [h("h3", {}, "Sessions"), table("Imported sessions", [
      ["Session", (each) => h("a", { href: `#/session/${part(each.id)}` }, visible(each.title || "Without a title"))], ["State", (each) => chip(each.state, TONE[each.state])],
      ["From", (each) => visible(each.source)], ["Messages", (each) => String(each.messages)], ["Trust", (each) => trustBadge(each.trustLevel)],
    ], told.imported.slice(0, MOST_SHOWN)), more(told.imported)] : null);
}

function more(list) {
  return list.length > MOST_SHOWN ? h("p", { class: "muted" }, `and ${list.length - MOST_SHOWN} more.`) : null;
}

export async function show({ place, signal, title }) {
  title("Imports");
  const spaces = (await get("/api/workspaces", { signal })).workspaces;
  const form = h("form", { class: "card stack" });
  const files = new Chosen(form, { most: 1, largest: LARGEST }, { label: "Choose an export", listed: "File to import", hint: "Or drop it here" });
  const workspace = select(spaces.map((each) => [each.slug, visible(each.name)]), spaces.some((each) => each.slug === "default") ? "default" : spaces[0]?.slug);
  const level = select([["sandboxed", "sandboxed"], ["vault", "vault"], ["full", "full"]], "sandboxed");
  const told = h("div", { role: "status" });
  const go = doing("Import", take, { class: "main" });

  async function take() {
    const [file] = files.files;
    if (file === undefined) return fill(told, problemBox({ message: "No file is chosen yet.", remedy: "choose the archive that Claude or ChatGPT sent you, or a file in it" }));
    fill(told, h("p", { class: "working" }, "Importing. A large export takes a while…"));
    const body = new FormData();
    body.append("file", file, file.name);
    body.append("workspace", workspace.value);
    body.append("trustLevel", level.value);
    try {
      const found = await post("/api/import", body, { signal });
      files.clear();
      fill(told, outcome(found));
      say(summary(found));
    } catch (error) {
      if (!signal.aborted) fill(told, problemBox(error));
    }
  }

  form.addEventListener("submit", (event) => (event.preventDefault(), go.click()));
  fill(form, h("p", {}, `The archive that Claude or ChatGPT sends you (.zip), conversations.json out of it, or a transcript of Claude Code (.jsonl); up to ${sizeWords(LARGEST)}.`),
    h("div", { class: "row" }, files.button), files.list,
    h("div", { class: "filters" }, field("Workspace", workspace), field("Trust", level)),
    h("p", { class: "hint" }, "The export has no say in its trust, and floors hold."),
    h("div", { class: "row" }, go));
  fill(place, h("h1", {}, "Imports"),
    h("p", { class: "muted" }, "Conversations from elsewhere become sessions that go on here. The same conversation again is the same session, brought up to date."),
    form, told,
    h("details", { class: "card" }, h("summary", {}, "What is taken of each, and what is left out"), table("Sources", [["Source", ([name]) => name], ["Taken", ([, taken]) => taken], ["Left out", ([, , left]) => left]], TAKEN)));
}
