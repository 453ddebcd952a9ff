// Parts that all views are made of.

import { h, icon } from "./dom.js";
import { remedyWords } from "./remedies.js";
import { visible } from "./visible.js";

const WORDS = { full: "full", vault: "vault", sandboxed: "sandboxed" };

/** What each level means, in a sentence. */
export const LEVELS = {
  sandboxed: "a fresh container for each message: no network, no key, your files read-only and denied ones missing",
  vault: "on this machine, in a cage that shows the vault and the system; other things are asked about",
  full: "on this machine as you; tools are checked, the programs they start are not",
};

/** A trust level: its word, its picture and its colour, any of which is enough. */
export function trustBadge(level) {
  const known = Object.hasOwn(WORDS, level);
  return h("span", { class: `trust ${known ? level : "unknown"}` }, icon(level), visible(level));
}

/** A short word about a state; `tone`: good, bad, wait, or nothing. */
export function chip(text, tone = "") {
  return h("span", { class: `chip ${tone}` }, text);
}

/** A number of things: `1 message`, `2 messages`. */
export function counted(number, one, many = `${one}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

/** US dollars; below one as small as model calls are: `$0.0024`. */
export function dollars(amount) {
  if (amount >= 1) return `$${amount.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
  return amount > 0 && amount < 0.0001 ? "under $0.0001" : `$${amount.toFixed(4).replace(/00$/, "")}`;
}

/** Words as a sentence begins. */
function sentence(words) {
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}

/** What went wrong, where, and what to do. */
export function problemBox(error) {
  const lines = [h("p", {}, h("strong", {}, sentence(visible(error.message))))];
  if (error.where) lines.push(h("p", {}, "Where: ", h("code", {}, visible(error.where))));
  if (error.remedy) lines.push(h("p", {}, "What helps: ", remedyWords(error.remedy)));
  for (const each of (error.errors ?? []).slice(0, 20)) {
    if (error.errors.length > 1) lines.push(h("p", {}, h("code", {}, visible(each.field)), ` ${visible(each.detail)}`));
  }
  return h("div", { class: "problem", role: "alert" }, lines);
}

/** Shown where there is nothing to show. */
export function nothing(text, ...more) {
  return h("div", { class: "nothing" }, h("p", {}, text), more);
}

/** A moment as a person says it; the exact one is its title. */
export function moment(iso) {
  if (!iso) return h("span", { class: "muted" }, "–");
  const at = new Date(typeof iso === "number" ? iso * 1000 : iso);
  if (Number.isNaN(at.getTime())) return h("span", {}, visible(iso));
  return h("time", { datetime: at.toISOString(), title: at.toLocaleString() }, ago(at));
}

function ago(at) {
  const seconds = (Date.now() - at.getTime()) / 1000;
  const words = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
  const size = Math.abs(seconds);
  if (size < 45) return seconds < 0 ? "in a moment" : "just now";
  const [unit, length] = size < 3600 ? ["minute", 60] : size < 86_400 ? ["hour", 3600] : size < 2_592_000 ? ["day", 86_400] : ["month", 2_592_000];
  return words.format(-Math.round(seconds / length), unit);
}

/** A button that does something that takes a while: it says so, and never does it twice at once. */
export function doing(label, act, props = {}) {
  const made = h("button", { type: "button", ...props }, label);
  made.addEventListener("click", async () => {
    if (made.getAttribute("aria-disabled") === "true") return;
    made.setAttribute("aria-disabled", "true");
    made.classList.add("busy");
    try {
      await act(made);
    } finally {
      made.removeAttribute("aria-disabled");
      made.classList.remove("busy");
    }
  });
  return made;
}

let fields = 0;

/** A control with its label, and a hint that belongs to it. */
export function field(label, control, hint = null) {
  fields += 1;
  control.id ||= `field-${fields}`;
  const parts = [h("label", { for: control.id }, label), control];
  if (hint !== null) {
    const told = h("p", { class: "hint", id: `${control.id}-hint` }, hint);
    control.setAttribute("aria-describedby", told.id);
    parts.push(told);
  }
  return h("div", { class: "field" }, parts);
}

/** A choice out of `[value, words]` pairs. */
export function select(choices, chosen, props = {}) {
  return h("select", props, choices.map(([value, words]) => h("option", { value, selected: value === chosen }, words)));
}

/** Names and what they are; a value may be a node. */
export function facts(pairs) {
  const told = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return h("dl", { class: "facts" }, told.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

/** A table that becomes a list of cards where there is no room. Columns: `[heading, cell(row)]`. */
export function table(caption, columns, rows, props = {}) {
  const body = rows.map((row) =>
    h("tr", { class: props.rowClass?.(row) ?? null }, columns.map(([heading, cell], at) => {
      const tag = at === 0 ? "th" : "td";
      return h(tag, { scope: at === 0 ? "row" : null, data: { label: heading } }, cell(row));
    })),
  );
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {}, h("caption", { class: "unseen" }, caption), h("thead", {}, h("tr", {}, columns.map(([heading]) => h("th", { scope: "col" }, heading)))), h("tbody", {}, body)));
}

/** A part that is folded until somebody wants it; `make` is called then. */
export function folded(summary, make, props = {}) {
  const made = h("details", props, h("summary", {}, summary));
  const open = () => {
    if (made.open && made.childElementCount === 1) made.append(make());
  };
  made.addEventListener("toggle", open);
  if (props.open) queueMicrotask(open);
  return made;
}

/** Asks whether to go on; true if the person says so. */
export function confirm(question, { detail = null, yes = "Yes", danger = false } = {}) {
  return new Promise((resolve) => {
    const answer = (value) => () => {
      resolve(value);
      box.close();
    };
    const box = h("dialog", { class: "ask", "aria-labelledby": "ask-title", on: { close: () => (resolve(false), box.remove()) } },
      h("h2", { id: "ask-title" }, question),
      detail === null ? null : h("p", {}, detail),
      h("div", { class: "row end" },
        h("button", { type: "button", on: { click: answer(false) } }, "Cancel"),
        h("button", { type: "button", class: danger ? "danger" : "main", on: { click: answer(true) } }, yes)));
    document.body.append(box);
    box.showModal();
  });
}
