// What is round every view: the bar with what waits, and the rooms.

import { fill, h, icon } from "./dom.js";
import { feed } from "./feed.js";
import { may, seesAll, whoIs } from "./me.js";
import { showKeys } from "./shortcuts.js";
import { choose, theme } from "./theme.js";
import { doing } from "./ui.js";
import { visible } from "./visible.js";
import { waiting } from "./waiting.js";

const answers = () => may("approve");
const wholeChat = () => may("chat") && seesAll();
const wholeAdmin = () => may("admin") && seesAll();
const anyone = () => true;

const ROOMS = [
  ["Work", [["sessions", "Sessions", anyone], ["approvals", "Approvals", answers], ["search", "Search", wholeChat], ["captures", "Captures", wholeChat], ["imports", "Imports", wholeChat]]],
  ["Setup", [["workspaces", "Workspaces", anyone], ["agents", "Agents", seesAll], ["mcp", "MCP servers", wholeAdmin], ["policy", "Policy", anyone], ["grants", "Grants", () => may("approve") || may("admin")]]],
  ["Machine", [["containers", "Containers", wholeAdmin], ["audit", "Audit", wholeAdmin], ["access", "Access", wholeAdmin], ["health", "Health", anyone]]],
];

const NEXT = { system: "light", light: "dark", dark: "system" };

function themeSwitch() {
  const made = h("button", { type: "button", class: "quiet" });
  const draw = () => {
    const now = theme();
    fill(made, icon(now === "dark" ? "moon" : "sun"), h("span", { class: "wide" }, now === "system" ? "Auto" : now === "dark" ? "Dark" : "Light"));
    made.setAttribute("aria-label", `Colours: ${now === "system" ? "as the system" : now}. Change`);
  };
  made.addEventListener("click", () => {
    choose(NEXT[theme()]);
    draw();
  });
  draw();
  return made;
}

let isLost = false;

/** What waits, as far as is known: while nothing can be heard, the bar doesn't say that all is well. */
function waitingLink() {
  const made = answers() ? h("a", { href: "#/approvals", class: "waits" }) : h("span", { class: "waits" });
  const draw = () => {
    const count = waiting.count;
    made.hidden = !answers() && !isLost;
    fill(made, icon("wait"), h("span", {}, isLost ? "No connection" : count === 0 ? "Nothing waits" : [count === 1 ? "1 waits" : `${count} wait`, h("span", { class: "roomy" }, " for you")]));
    made.classList.toggle("some", count > 0 && !isLost);
    made.classList.toggle("lost", isLost);
  };
  draw();
  drawing.push(draw);
  return made;
}

let drawing = [];
const drawAll = () => drawing.forEach((draw) => draw());
waiting.addEventListener("change", drawAll);
feed.addEventListener("state", ({ detail }) => {
  isLost = detail === "lost";
  drawAll();
});

let leave = null;

function logOut(style) {
  return doing("Log out", leave, { class: style, title: `Logged in as ${visible(whoIs().name)}` });
}

/** The bar at the top; without `signOut` nobody is signed in. */
export function drawBar({ signOut = null }) {
  drawing = [];
  const name = h("a", { href: "#/sessions", class: "name" }, "Trustfloor");
  const menu = h("button", { type: "button", class: "quiet menu", "aria-expanded": "false", "aria-controls": "rooms" }, icon("menu"), "Menu");
  menu.addEventListener("click", () => unfold(menu, menu.getAttribute("aria-expanded") !== "true"));
  const keys = h("button", { type: "button", class: "quiet wide", "aria-label": "Keys", on: { click: showKeys } }, "?");
  const bar = document.getElementById("bar");
  if (signOut === null) {
    fill(bar, h("span", { class: "name" }, "Trustfloor"), h("span", { class: "gap" }), themeSwitch());
    return;
  }
  leave = signOut;
  fill(bar, menu, name, h("span", { class: "gap" }), waitingLink(), keys, themeSwitch(), logOut("quiet wide"));
}

window.addEventListener("hashchange", () => {
  const menu = document.querySelector("button.menu");
  if (menu) unfold(menu, false);
});

function unfold(menu, open) {
  menu.setAttribute("aria-expanded", String(open));
  document.getElementById("rooms").classList.toggle("open", open);
}

/** The rooms that this token may enter; none while nobody is signed in. */
export function drawRooms() {
  const place = document.getElementById("rooms");
  place.hidden = whoIs() === null;
  fill(place, whoIs() === null ? [] : [...ROOMS.map(([title, rooms]) => [
    h("h2", { class: "rooms-title" }, title),
    h("ul", {}, rooms.filter(([, , opens]) => opens()).map(([room, words]) =>
      h("li", {}, h("a", { href: `#/${room}`, data: { room } }, words, room === "approvals" ? badge() : null)))),
  ]), h("div", { class: "narrow" }, logOut("quiet"))]);
}

function badge() {
  const made = h("span", { class: "badge" });
  const draw = () => {
    made.hidden = waiting.count === 0;
    fill(made, String(waiting.count), h("span", { class: "unseen" }, waiting.count === 1 ? " waits" : " wait"));
  };
  draw();
  drawing.push(draw);
  return made;
}
