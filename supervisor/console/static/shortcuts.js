// Keys that lead somewhere. None of them grants, denies or ends anything; all can be switched off.

import { h } from "./dom.js";
import { go } from "./router.js";

const KEY = "trustfloor-keys";
const ROOMS = { s: "#/sessions", n: "#/new", a: "#/approvals", c: "#/captures", i: "#/imports", w: "#/workspaces", p: "#/policy", g: "#/grants", h: "#/health", u: "#/audit" };

const TOLD = [
  ["?", "this list"],
  ["/", "to the search or the filter"],
  ["j  k", "the next, the previous request that waits"],
  ["m", "to the message"],
  ["g s", "sessions"],
  ["g n", "a new session"],
  ["g a", "approvals"],
  ["g c", "captures"],
  ["g i", "imports"],
  ["g w", "workspaces"],
  ["g p", "policy"],
  ["g g", "grants"],
  ["g u", "audit"],
  ["g h", "health"],
  ["Ctrl Enter", "send the message"],
  ["Esc", "close a dialog"],
];

let began = 0;

function areOn() {
  try {
    return localStorage.getItem(KEY) !== "off";
  } catch {
    return true;
  }
}

function isWriting(target) {
  return target.isContentEditable || /^(input|textarea|select)$/i.test(target.tagName);
}

/** Begins to listen for keys. */
export function listenForKeys() {
  document.addEventListener("keydown", (event) => {
    if (!areOn() || event.ctrlKey || event.metaKey || event.altKey || isWriting(event.target)) return;
    if (document.querySelector("dialog[open]")) return;
    if (act(event.key)) event.preventDefault();
  });
}

function act(key) {
  const second = Date.now() - began < 1500;
  began = 0;
  if (second && ROOMS[key]) return go(ROOMS[key]), true;
  if (key === "g") return (began = Date.now()), true;
  if (key === "?") return showKeys(), true;
  if (key === "/") return focusOn("[data-search]");
  if (key === "m") return focusOn("[data-message]");
  if (key === "j" || key === "k") return step(key === "j" ? 1 : -1);
  return false;
}

function focusOn(selector) {
  const found = document.querySelector(selector);
  found?.focus();
  return found !== null;
}

function step(by) {
  const all = [...document.querySelectorAll("[data-request]")];
  if (all.length === 0) return false;
  const at = all.findIndex((each) => each.contains(document.activeElement));
  const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : (at + by + all.length) % all.length];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
  return true;
}

/** Shows which keys there are. */
export function showKeys() {
  const on = h("input", { type: "checkbox", id: "keys-on", checked: areOn() });
  on.addEventListener("change", () => {
    try {
      localStorage.setItem(KEY, on.checked ? "on" : "off");
    } catch {
      // A browser that keeps nothing has the keys on.
    }
  });
  const box = h("dialog", { class: "ask", "aria-labelledby": "keys-title", on: { close: () => box.remove() } },
    h("h2", { id: "keys-title" }, "Keys"),
    h("dl", { class: "keys" }, TOLD.map(([key, what]) => h("div", {}, h("dt", {}, key.split(/ +/).map((each) => h("kbd", {}, each))), h("dd", {}, what)))),
    h("div", { class: "check" }, on, h("label", { for: "keys-on" }, "Single keys lead somewhere")),
    h("div", { class: "row end" }, h("button", { type: "button", class: "main", on: { click: () => box.close() } }, "Close")));
  document.body.append(box);
  box.showModal();
}
