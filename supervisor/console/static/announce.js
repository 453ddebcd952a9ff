// What is said beside the page: in a few words to screen readers, and as notes that go by themselves.

import { fill, h, icon } from "./dom.js";

const NOTE_MS = 8_000;

/** Tells a screen reader, when it has time. The last word within a moment counts. */
export function say(text) {
  const place = document.getElementById("said");
  clearTimeout(say.timer);
  say.timer = setTimeout(() => fill(place, text), 150);
}

/** A note that goes by itself; one about a mistake stays until it is closed. */
export function note(text, { bad = false } = {}) {
  const close = h("button", { type: "button", class: "quiet small", "aria-label": "Close this note", on: { click: () => made.remove() } }, icon("no"));
  const made = h("div", { class: bad ? "toast bad" : "toast", role: bad ? "alert" : "status" }, h("span", {}, text), close);
  document.getElementById("toasts").append(made);
  if (!bad) setTimeout(() => made.remove(), NOTE_MS);
  return made;
}
