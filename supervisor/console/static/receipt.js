// The isolation receipt: what the engine reports and what was measured inside, before the message.

import { h } from "./dom.js";
import { chip, folded, trustBadge } from "./ui.js";
import { visible } from "./visible.js";

function tree(value) {
  if (value === null || typeof value !== "object") return visible(String(value));
  if (Array.isArray(value)) {
    if (value.length === 0) return "none";
    if (value.every((each) => each === null || typeof each !== "object")) return visible(value.join(", "));
    return h("ul", {}, value.map((each) => h("li", {}, tree(each))));
  }
  return h("dl", { class: "facts" }, Object.entries(value).map(([key, inner]) => h("div", {}, h("dt", {}, visible(key)), h("dd", {}, tree(inner)))));
}

const CAGES = { none: "no cage at this level", bubblewrap: "a cage of bubblewrap", container: "a fresh container" };

/** The receipt, folded: its judgement shows, what it rests on comes when it is opened. */
export function receipt(event) {
  const words = CAGES[event.cage] ?? visible(event.cage);
  const summary = [
    event.cage === "none" ? chip("not isolated", "wait") : event.accepted ? chip("measured, accepted", "good") : chip("too weak", "bad"),
    ` Isolation: ${words}${typeof event.receipt.waitedSeconds === "number" ? ", which had waited for this message" : ""}`,
  ];
  return folded(summary, () => h("div", { class: "card stack" },
    h("p", {}, "Level ", trustBadge(event.level)),
    event.shortfalls.length > 0 ? h("div", { class: "problem" }, h("ul", {}, event.shortfalls.map((each) => h("li", {}, visible(each))))) : null,
    tree(event.receipt)), { class: "receipt", open: !event.accepted });
}
