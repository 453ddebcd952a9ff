// The sessions: page by page, by what they are, put away and taken back.

import { get, part, post } from "../api.js";
import { note as tell } from "../announce.js";
import { fill, h } from "../dom.js";
import { feed } from "../feed.js";
import { may, seesAll } from "../me.js";
import { note } from "../router.js";
import { chip, counted, doing, field, moment, nothing, problemBox, select, trustBadge } from "../ui.js";
import { visible } from "../visible.js";
import { waiting } from "../waiting.js";

export const room = "sessions";
const PAGE = 50;
const LEVELS = [["", "any"], ["sandboxed", "sandboxed"], ["vault", "vault"], ["full", "full"]];
const MOST_PAGES = 20; // that one filter by trust looks through before it asks

const isWaiting = (id) => [...waiting.permissions, ...waiting.questions].some((each) => each.sessionId === id);

/** A session as a line of a list. */
function line(row, { reload }) {
  const act = row.archived ? "unarchive" : "archive";
  const put = may("chat") ? doing(row.archived ? "Take back" : "Put away", async () => {
    try {
      await post(`/api/chat/session/${part(row.id)}/${act}`);
      tell(row.archived ? "The session is back in the list." : "The session is put away; nothing of it is gone.");
      await reload();
    } catch (error) {
      tell(error.message, { bad: true });
    }
  }, { class: "small", "aria-label": `${row.archived ? "Take back" : "Put away"}: ${visible(row.title ?? row.id)}` }) : null;
  return h("li", { data: { session: row.id } },
    h("a", { class: "title", href: `#/session/${part(row.id)}` }, visible(row.title || "Without a title")),
    h("div", { class: "about" }, trustBadge(row.trustLevel), isWaiting(row.id) ? chip("waits for you", "wait") : row.active ? chip("running", "wait") : null,
      row.archived ? chip("put away") : null, row.damaged.length > 0 ? chip("damaged", "bad") : null,
      h("span", {}, visible(row.workspace)), row.agentPath ? h("span", {}, visible(row.agentPath)) : null,
      row.tags.length > 0 ? h("span", { data: { tags: "" } }, row.tags.map((tag) => chip(visible(tag)))) : null,
      row.source !== "parachute" ? h("span", {}, `from ${visible(row.source)}`) : null,
      h("span", {}, counted(row.messageCount, "message")), moment(row.lastAccessed)),
    h("div", { class: "acts" }, put));
}

export async function show({ place, query, signal, title }) {
  title("Sessions");
  const state = { workspace: query.workspace ?? "", agent: query.agent ?? "", trust: query.trust ?? "", tag: query.tag ?? "", archived: query.archived ?? "no" };
  const [workspaces, agents, tags] = await Promise.all([
    get("/api/workspaces", { signal }).then((told) => told.workspaces, () => []),
    seesAll() ? get("/api/agents", { signal }).then((told) => told.agents, () => []) : [],
    seesAll() ? get("/api/stats", { signal }).then((told) => told.tags.map((each) => each.tag), () => []) : [],
  ]);
  const known = [...new Set([...tags, ...(state.tag ? [state.tag] : [])])];
  const list = h("ul", { class: "list", "aria-label": "Sessions" });
  const under = h("div", { class: "row" });
  const count = h("p", { class: "muted small" });
  let next = null;
  let asked = 0;

  async function page(before) {
    const told = await get("/api/chat/sessions", { signal, query: {
      limit: PAGE, before, workspace: state.workspace, agent: state.agent, tag: state.tag,
      archived: state.archived === "all" ? null : state.archived === "yes",
    } });
    next = told.next;
    return told.sessions.filter((row) => !state.trust || row.trustLevel === state.trust);
  }

  async function load(more) {
    const mine = (asked += 1);
    let rows = [];
    try {
      rows = await page(more ? next : null);
      // The server knows no filter by trust: look on until there is something to show.
      for (let pages = 1; rows.length < PAGE && next !== null && state.trust && pages < MOST_PAGES; pages += 1) rows.push(...(await page(next)));
    } catch (error) {
      if (!signal.aborted) fill(under, problemBox(error));
      return;
    }
    if (mine !== asked || signal.aborted) return;
    const lines = rows.map((row) => line(row, { reload: () => load(false) }));
    if (more) list.append(...lines);
    else fill(list, lines);
    list.hidden = list.childElementCount === 0;
    fill(count, list.childElementCount > 0 ? `${list.childElementCount} shown${next === null ? "" : ", there are more"}` : "");
    fill(under, next !== null ? doing("Show more", () => load(true)) : null,
      list.hidden ? nothing(filtered() ? "No session is like that." : "No sessions yet.", filtered() ? null : h("p", {}, h("a", { href: "#/new" }, "Begin the first one"))) : null);
  }

  const isWide = () => window.matchMedia("(min-width: 52.01rem)").matches;
  const filtered = () => state.workspace || state.agent || state.trust || state.tag || state.archived !== "no";
  const choose = (name, choices, label) => {
    const made = select(choices, state[name]);
    made.addEventListener("change", () => {
      state[name] = made.value;
      note({ ...state, archived: state.archived === "no" ? "" : state.archived });
      load(false);
    });
    return field(label, made);
  };
  const words = h("input", { type: "search", name: "q", data: { search: "" }, placeholder: "words in titles and messages" });
  const find = h("form", { role: "search", class: "field grow" }, h("label", { for: "find" }, "Search"), words);
  words.id = "find";
  find.addEventListener("submit", (event) => {
    event.preventDefault();
    if (words.value.trim()) location.hash = `#/search?${new URLSearchParams({ q: words.value, type: "session" })}`;
  });
  fill(place,
    h("div", { class: "row top" }, h("h1", {}, "Sessions"), may("chat") ? h("a", { class: "button main", href: "#/new" }, "New session") : null),
    may("chat") && seesAll() ? find : null,
    h("details", { class: "filtering", open: isWide() || Boolean(filtered()) }, h("summary", {}, "Filters"), h("div", { class: "filters" },
      choose("workspace", [["", "all"], ...workspaces.map((each) => [each.slug, visible(each.name)])], "Workspace"),
      choose("trust", LEVELS, "Trust"),
      choose("agent", [["", "all"], ...agents.map((each) => [each.name, visible(each.name)])], "Agent"),
      known.length > 0 ? choose("tag", [["", "any"], ...known.map((each) => [each, visible(each)])], "Tag") : null,
      choose("archived", [["no", "not put away"], ["yes", "put away"], ["all", "all"]], "Put away"))),
    count, list, under);
  await load(false);
  let soon = null;
  const again = () => {
    clearTimeout(soon);
    soon = setTimeout(() => list.contains(document.activeElement) || (list.childElementCount <= PAGE && load(false)), 200);
  };
  feed.addEventListener("event", ({ detail }) => ["session", "done", "aborted", "error"].includes(detail.type) && again(), { signal });
  waiting.addEventListener("change", again, { signal });
}
