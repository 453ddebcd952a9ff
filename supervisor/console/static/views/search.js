// Words in sessions and in the vault's texts.

import { get, part } from "../api.js";
import { fill, h } from "../dom.js";
import { note } from "../router.js";
import { chip, doing, field, nothing, problemBox, select } from "../ui.js";
import { visible } from "../visible.js";

export const room = "search";
const TYPES = [["", "everything"], ["session", "sessions"], ["journal", "journals"], ["document", "documents"]];
const NOTES = {
  no_words: "There is no word to look for in that.",
  texts_are_being_judged: "The policy has changed: only sessions can be found for the moment.",
  no_similarity: "Similar texts can't be found just now; words alone count.",
};

/** The snippet with its found words marked; both are texts. */
function snippet(hit) {
  const characters = [...hit.snippet];
  const made = h("p", { class: "prose" });
  let end = 0;
  for (const [from, to] of hit.marks) {
    made.append(visible(characters.slice(end, from).join("")), h("mark", {}, visible(characters.slice(from, to).join(""))));
    end = to;
  }
  made.append(visible(characters.slice(end).join("")));
  return made;
}

function found(hit) {
  const name = visible(hit.title || hit.path || hit.contentId);
  const where = hit.path ? `${visible(hit.path)}${hit.line ? `, line ${hit.line}` : ""}` : hit.message ? `message ${hit.message}` : "";
  return h("li", {}, h("div", { class: "stack" },
    hit.sessionId ? h("a", { class: "title", href: `#/session/${part(hit.sessionId)}` }, name) : h("span", { class: "title" }, name),
    snippet(hit),
    h("div", { class: "about" }, chip(hit.contentType), h("span", {}, where))));
}

export async function show({ place, query, signal, title }) {
  title("Search");
  const words = h("input", { type: "search", value: query.q ?? "", data: { search: "" }, maxlength: "1000" });
  const type = select(TYPES, query.type ?? "");
  const list = h("ul", { class: "list", "aria-label": "What was found" });
  const told = h("div", { class: "stack", role: "status" });
  const form = h("form", { role: "search", class: "filters" }, h("div", { class: "grow field" }, h("label", { for: "words" }, "Words"), words), field("In", type), h("button", { type: "submit", class: "main" }, "Search"));
  words.id = "words";

  async function ask(after = null) {
    note({ q: words.value, type: type.value });
    if (after === null) fill(list);
    if (!words.value.trim()) return fill(told, nothing("Words of sessions and of the vault's texts.", h("p", {}, h("code", {}, '"two words"'), " finds them side by side, ", h("code", {}, "gard*"), " what begins so.")));
    try {
      const answer = await get("/api/search", { signal, query: { q: words.value, type: type.value, limit: 20, after } });
      list.append(...answer.hits.map(found));
      fill(told, answer.notes.map((each) => h("p", { class: "muted" }, NOTES[each] ?? visible(each))),
        list.childElementCount === 0 ? nothing("Nothing was found.") : null,
        answer.next !== null ? doing("Show more", () => ask(answer.next)) : null);
    } catch (error) {
      if (!signal.aborted) fill(told, problemBox(error));
    }
    list.hidden = list.childElementCount === 0;
  }

  form.addEventListener("submit", (event) => (event.preventDefault(), ask()));
  type.addEventListener("change", () => ask());
  list.hidden = true;
  fill(place, h("h1", {}, "Search"), form, list, told);
  await ask();
}
