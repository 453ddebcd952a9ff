// Whether the supervisor can do its work, what is wrong where it can't, and some numbers.

import { get, part } from "../api.js";
import { fill, h } from "../dom.js";
import { seesAll } from "../me.js";
import { chip, counted, facts, problemBox, table } from "../ui.js";
import { visible } from "../visible.js";
import { policyFault } from "./policy.js";

export const room = "health";
const AGAIN_MS = 15_000;

function lasting(seconds) {
  const days = Math.floor(seconds / 86_400);
  const rest = new Date((seconds % 86_400) * 1000).toISOString().slice(11, 19);
  return days > 0 ? `${days} d ${rest}` : rest;
}

function number(value, words) {
  return h("div", { class: "card" }, h("strong", {}, String(value)), h("span", { class: "muted" }, words));
}

function numbers(stats) {
  return [h("h2", {}, "Numbers"),
    h("div", { class: "numbers" }, number(stats.sessions.running, "turns run"), number(stats.sessions.active, "sessions"), number(stats.sessions.archived, "put away"), number(`${stats.memoryMib.toFixed(0)} MiB`, "memory at most"), number(lasting(stats.uptimeSeconds), "since the start")),
    stats.tags.length > 0 ? facts(stats.tags.map((each) => [h("a", { href: `#/sessions?tag=${part(each.tag)}` }, visible(each.tag)), counted(each.sessions, "session")])) : null];
}

export async function show({ place, signal, title }) {
  title("Health");
  const body = h("div", { class: "stack" });
  async function load() {
    const [health, ready, stats] = await Promise.all([get("/api/health", { signal }), get("/api/ready", { signal }), seesAll() ? get("/api/stats", { signal }) : null]);
    fill(body,
      h("p", {}, ready.ready ? chip("ready at every level", "good") : chip("something is missing", "bad"), ` Trustfloor ${visible(health.version)}`),
      health.policy.error ? policyFault(health.policy.error) : null,
      table("Checks", [
        ["Check", (each) => visible(each.name)],
        ["State", (each) => (each.ok === null ? chip("for information") : each.ok ? chip("fine", "good") : chip("wrong", "bad"))],
        ["What was found", (each) => [visible(each.detail), each.remedy ? h("p", { class: "muted" }, "What helps: ", visible(each.remedy)) : null]],
      ], ready.checks),
      h("h2", {}, "What exists now"),
      facts([["Containers", `${ready.counts.containersLive} in use, ${ready.counts.containersWaiting} waiting for a message, ${ready.counts.containersLeft} left over`], ["Folders of turns", String(ready.counts.turnFolders)], ["Sockets", String(ready.counts.sockets)], ["Processes", String(ready.counts.processes)]]),
      stats === null ? null : numbers(stats));
  }
  fill(place, h("h1", {}, "Health"), body);
  await load();
  const timer = setInterval(() => {
    if (!document.hidden) load().catch((error) => signal.aborted || fill(body, problemBox(error)));
  }, AGAIN_MS);
  signal.addEventListener("abort", () => clearInterval(timer));
}
