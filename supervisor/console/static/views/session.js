// One session: what was said and done, as it happens; messages to it, and the way to stop it.

import { get, part, patch, post, remove, send } from "../api.js";
import { note as tell } from "../announce.js";
import { canLookUp } from "../decisions.js";
import { fill, h } from "../dom.js";
import { earlier } from "../history.js";
import { may } from "../me.js";
import { go } from "../router.js";
import { follow } from "../sse.js";
import { trustPanel } from "../trust_panel.js";
import { Turns } from "../turns.js";
import { chip, confirm, doing, facts, problemBox } from "../ui.js";
import { visible } from "../visible.js";
import { newestTurns } from "../stored.js";

export const room = "sessions";
const NEAR_THE_END = 160; // pixels

function composer(id, { signal, sent }) {
  const words = h("textarea", { rows: "2", dir: "auto", data: { message: "" }, id: "message" });
  const told = h("div", {});
  const go_ = h("button", { type: "submit", class: "main" }, "Send");
  const form = h("form", { class: "composer" }, h("label", { for: "message", class: "unseen" }, "Message"), words, told, h("div", { class: "row end" }, h("span", { class: "muted small wide" }, "Ctrl Enter sends"), go_));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!words.value.trim() || go_.disabled) return;
    fill(told);
    go_.disabled = true;
    try {
      const answer = await send("POST", "/api/chat/stream", { body: { message: words.value, sessionId: id }, headers: { Accept: "text/event-stream" } });
      answer.body.cancel().catch(() => {}); // the session's own stream tells of it
      words.value = "";
      sent();
    } catch (error) {
      if (!signal.aborted) fill(told, problemBox(error));
    } finally {
      go_.disabled = false;
    }
  });
  words.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  return form;
}

function actions(row, { reload }) {
  const path = `/api/chat/session/${part(row.id)}`;
  const act = (label, run, props = { class: "small" }) => doing(label, async () => {
    try {
      await run();
    } catch (error) {
      tell(error.message, { bad: true });
    }
  }, props);
  const name = h("input", { value: row.title ?? "", maxlength: "500", id: "rename", autocomplete: "off" });
  const rename = h("form", { class: "stack" }, h("div", { class: "field" }, h("label", { for: "rename" }, "Title"), name), h("div", { class: "row" }, h("button", { type: "submit", class: "small" }, "Rename")));
  rename.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await patch(path, { title: name.value.trim() || null });
      await reload();
    } catch (error) {
      tell(error.message, { bad: true });
    }
  });
  return h("details", { class: "card" }, h("summary", {}, "More"), h("div", { class: "stack" }, rename,
    h("div", { class: "row" },
      act(row.archived ? "Take back" : "Put away", async () => (await post(`${path}/${row.archived ? "unarchive" : "archive"}`), await reload())),
      act("Fork", async () => go(`#/session/${part((await post(`${path}/fork`)).id)}`)),
      act("Delete", async () => {
        if (!(await confirm(`Delete “${visible(row.title ?? row.id)}” for good?`, { detail: "Its events and grants go with it. The transcript of what was said stays in the vault.", yes: "Delete", danger: true }))) return;
        await remove(path);
        go("#/sessions");
      }, { class: "small danger-quiet" }))));
}

export async function show({ id, place, signal, title }) {
  const path = `/api/chat/session/${part(id)}`;
  let row = await get(path, { signal, query: { limit: 0 } });
  const heading = h("h1", {});
  const about = h("div", { class: "row" });
  const details = h("section", { class: "card stack", "aria-label": "Session" });
  const more = h("div", {});
  const connection = h("div", { class: "warned", role: "status" }, "The connection is lost. Trying again; nothing is missed.");
  connection.hidden = true;
  const before = h("div", {});
  const talk = h("div", { class: "talk" });
  const stop = doing("Stop the turn", async () => {
    try {
      const told = await post(`${path}/abort`, { reason: "stopped in the console" });
      if (!told.aborted) tell("No turn runs any more.");
    } catch (error) {
      tell(error.message, { bad: true });
    }
  }, { class: "danger-quiet" });
  const latest = h("button", { type: "button", class: "small", on: { click: () => toEnd() } }, "To the latest");
  latest.hidden = true;

  const trust = trustPanel(id, { signal });
  const turns = new Turns(talk, { signal, changed: () => {
    drawAbout();
    if (turns.isLive) refresh();
  } });

  function drawAbout() {
    fill(heading, visible(row.title || "Without a title"));
    stop.hidden = !turns.isRunning || !(may("chat") || may("approve"));
    fill(about, turns.isRunning ? chip("running", "wait") : null, row.archived ? chip("put away") : null, row.damaged.length > 0 ? chip(`damaged: ${visible(row.damaged.join(", "))}`, "bad") : null, stop);
    title(visible(row.title || "Session"));
  }

  async function refresh() {
    row = await get(path, { signal, query: { limit: 0 } }).catch(() => row);
    if (signal.aborted) return;
    drawAbout();
    drawDetails();
    trust.load();
  }

  function drawDetails() {
    fill(details, h("h2", {}, "Session"), facts([
      ["Workspace", visible(row.workspace)], ["Agent", row.agentPath ? visible(row.agentPath) : null], ["Folder", row.workingDirectory ? h("code", {}, visible(row.workingDirectory)) : null],
      ["Model", row.model ? visible(row.model) : null], ["Messages", String(row.messageCount)], ["Tokens", row.tokensUsed.toLocaleString("en")], ["Cost", row.costUsd > 0 ? `$${row.costUsd.toFixed(4)}` : null],
      ["Tags", row.tags.length > 0 ? visible(row.tags.join(", ")) : null],
      ["Goes on from", row.continuedFrom ? h("a", { href: `#/session/${part(row.continuedFrom)}` }, "another session") : null],
      ["Id", h("code", { class: "small" }, visible(row.id))]]),
      may("approve") || may("admin") ? h("p", {}, h("a", { href: `#/grants?session=${part(row.id)}` }, "Its grants")) : null);
    if (canLookUp()) details.append(h("p", {}, h("a", { href: `#/audit?session=${part(row.id)}` }, "Its audit entries")));
    if (may("chat") && !more.contains(document.activeElement)) fill(more, actions(row, { reload: refresh }));
  }

  const isAtEnd = () => document.documentElement.scrollHeight - window.innerHeight - window.scrollY < NEAR_THE_END;
  const toEnd = () => window.scrollTo(0, document.documentElement.scrollHeight);
  let follows = true;
  window.addEventListener("scroll", () => {
    follows = isAtEnd();
    latest.hidden = follows;
  }, { signal, passive: true });

  drawAbout();
  drawDetails();
  trust.load();
  const newest = await newestTurns(id, { signal });
  fill(place,
    h("div", { class: "stack" }, h("div", { class: "row top" }, heading, about), connection),
    h("div", { class: "session" },
      h("div", { class: "stack" }, before, talk, h("div", { class: "row end" }, latest), may("chat") ? composer(id, { signal, sent: () => (follows = true) }) : null),
      h("aside", { class: "side", "aria-label": "About this session" },
        h("details", { open: window.matchMedia("(min-width: 72rem)").matches }, h("summary", {}, "Trust and details"), h("div", { class: "stack" }, trust.node, details, more)))));
  fill(before, await earlier(id, { until: newest.since, signal }));
  listen(newest.after);
  toEnd();

  /** While nobody looks the stream is left, and taken up where it was: connections are few. */
  function listen(from) {
    let after = from;
    let mine = null;
    const begin = () => {
      if (document.hidden || mine !== null) return;
      mine = new AbortController();
      follow(`/api/chat/session/${part(id)}/stream`, {
        signal: AbortSignal.any([signal, mine.signal]),
        after,
        onEvents: (events) => {
          for (const event of events) {
            after = event.id;
            turns.isLive = Number(event.id) > newest.last;
            turns.show(event);
          }
          if (follows) requestAnimationFrame(toEnd);
        },
        onState: (state) => (connection.hidden = state !== "lost"),
      }).catch((error) => signal.aborted || fill(connection, problemBox(error)) && (connection.hidden = false));
    };
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) return begin();
      mine?.abort();
      mine = null;
    }, { signal });
    begin();
  }
}
