// Which view is shown: by the part of the address behind `#`, which never reaches a server.

import { say } from "./announce.js";
import { Problem } from "./api.js";
import { fill, h } from "./dom.js";
import { problemBox } from "./ui.js";

const main = () => document.getElementById("main");
let routes = [];
let leave = null;
let shown = null;
let first = true;
let isOpen = false; // nobody who isn't signed in is shown a view

/** Begins to show `views`: a list of `[pattern, show]`, `:name` in a pattern is a parameter. */
export function begin(views) {
  routes = views;
  window.addEventListener("hashchange", changed);
  show();
}

function changed() {
  if (isOpen && location.hash !== "#main") show(); // `#main` is the skip link
}

/** Goes to a view; again, if it is the one that is shown. */
export function go(route) {
  if (location.hash === route) show();
  else location.hash = route;
}

/** The route that is shown, without its question. */
export function here() {
  return shown;
}

/** Changes the question of the address without showing the view anew. */
export function note(query) {
  const given = Object.entries(query).filter(([, value]) => value);
  const tail = given.length > 0 ? `?${new URLSearchParams(given)}` : "";
  history.replaceState(null, "", `#${shown}${tail}`);
}

/** Leaves what is shown, for good or until `show`. */
export function end() {
  isOpen = false;
  leave?.abort();
  leave = null;
  shown = null;
}

/** Shows the view that the address names. */
export async function show() {
  isOpen = true;
  leave?.abort();
  const mine = new AbortController();
  leave = mine;
  const [path, question = ""] = (location.hash.replace(/^#/, "") || "/sessions").split("?", 2);
  shown = path;
  const found = match(path);
  mark(found?.view.room);
  const place = h("div", { class: "view" });
  const context = {
    ...found?.params,
    query: Object.fromEntries(new URLSearchParams(question)),
    signal: mine.signal,
    place,
    title: (text) => {
      if (mine.signal.aborted) return;
      document.dispatchEvent(new CustomEvent("titled", { detail: text }));
    },
  };
  main().setAttribute("aria-busy", "true");
  fill(main(), place);
  window.scrollTo(0, 0);
  try {
    if (found === null) throw new Problem(404, { detail: "There is no such page." });
    await found.view.show(context);
  } catch (error) {
    if (mine.signal.aborted) return;
    context.title("Not shown");
    fill(place, h("h1", { tabindex: "-1" }, "That can't be shown"), problemBox(error), mayPass(error) ? h("div", { class: "row" }, h("button", { type: "button", on: { click: show } }, "Try again")) : null);
  }
  if (mine.signal.aborted) return;
  main().removeAttribute("aria-busy");
  arrive(place);
}

/** Whether another try may show it: not if it isn't there, or isn't ours to see. */
function mayPass(error) {
  return error.status === undefined || error.status === 0 || error.status >= 429;
}

function arrive(place) {
  const heading = place.querySelector("h1");
  heading?.setAttribute("tabindex", "-1");
  if (first) {
    first = false;
    return; // a page that has just been loaded begins at its top
  }
  heading?.focus({ preventScroll: true });
  say(heading?.textContent ?? "");
}

function match(path) {
  for (const [pattern, view] of routes) {
    const names = [];
    const form = pattern.replace(/:(\w+)/g, (_, name) => (names.push(name), "([^/]+)"));
    const found = path.match(new RegExp(`^${form}$`));
    if (found === null) continue;
    try {
      return { view, params: Object.fromEntries(names.map((name, at) => [name, decodeURIComponent(found[at + 1])])) };
    } catch (error) {
      if (!(error instanceof URIError)) throw error;
      return null; // an address that is cut in the middle of a character
    }
  }
  return null;
}

function mark(room) {
  for (const link of document.querySelectorAll("#rooms a")) {
    if (room !== undefined && link.dataset.room === room) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}
