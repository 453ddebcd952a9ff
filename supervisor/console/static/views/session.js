// One session: what was said and done, as it happens; messages to it, and the way to stop it.

import { get, part, patch, post, remove } from "../api.js";
import { note as tell } from "../announce.js";
import { composer } from "../composer.js";
import { Conversation } from "../conversation.js";
import { canLookUp } from "../decisions.js";
import { fill, h } from "../dom.js";
import { keeping } from "../keeping.js";
import { may } from "../me.js";
import { go } from "../router.js";
import { trustPanel } from "../trust_panel.js";
import { chip, confirm, doing, dollars, facts, problemBox } from "../ui.js";
import { visible } from "../visible.js";

export const room = "sessions";
const NEAR_THE_END = 160; // pixels

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
  const kept = keeping(id, { signal });
  const box = may("chat") ? composer(id, { signal, stop, sent: () => (follows = true) }) : null;
  const said = new Conversation(id, { signal, moved: () => follows && requestAnimationFrame(toEnd), changed: () => {
    drawAbout();
    if (said.isLive) refresh();
  } });

  function drawAbout() {
    fill(heading, visible(row.title || "Without a title"));
    box?.runs(said.isRunning);
    const wasAtStop = document.activeElement === stop;
    stop.hidden = !said.isRunning || !(may("chat") || may("approve"));
    if (wasAtStop && stop.hidden) (document.getElementById("message") ?? heading).focus();
    fill(about, said.isRunning ? chip("running", "wait") : null, row.archived ? chip("put away") : null, row.damaged.length > 0 ? chip(`damaged: ${visible(row.damaged.join(", "))}`, "bad") : null, box === null ? stop : null);
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
      ["Workspace", visible(row.workspace)], ["Agent", row.agentPath ? visible(row.agentPath) : null], ["Folder", row.workingDirectory === "." ? "the whole vault" : row.workingDirectory ? h("code", {}, visible(row.workingDirectory)) : null],
      ["Model", row.model ? visible(row.model) : null], ["Messages", String(row.messageCount)], ["Tokens", row.tokensUsed.toLocaleString("en")], ["Cost", row.costUsd > 0 ? dollars(row.costUsd) : null],
      ["Goes on from", row.continuedFrom ? h("a", { href: `#/session/${part(row.continuedFrom)}` }, "another session") : null],
      ["Id", h("code", { class: "small" }, visible(row.id))]]),
      may("approve") || may("admin") ? h("p", {}, h("a", { href: `#/grants?session=${part(row.id)}` }, "Its grants")) : null);
    if (canLookUp()) details.append(h("p", {}, h("a", { href: `#/audit?session=${part(row.id)}` }, "Its audit entries")));
    if (may("chat") && !more.contains(document.activeElement)) fill(more, actions(row, { reload: refresh }));
  }

  const isAtEnd = () => document.documentElement.scrollHeight - window.innerHeight - window.scrollY < NEAR_THE_END;
  /** To the end; where something waits for a person, to its beginning: to what it is about. */
  const toEnd = () => {
    const card = said.node.querySelector("[data-request]");
    if (card === null) return window.scrollTo(0, document.documentElement.scrollHeight);
    if (card.contains(document.activeElement)) return; // somebody is at it
    card.scrollIntoView({ block: card.offsetHeight < window.innerHeight / 2 ? "nearest" : "start" });
  };
  const isAtCard = () => {
    const top = said.node.querySelector("[data-request]")?.getBoundingClientRect().top;
    return top !== undefined && top >= 0 && top < window.innerHeight;
  };
  let follows = true;
  window.addEventListener("scroll", () => {
    follows = isAtEnd() || isAtCard();
    latest.hidden = follows;
  }, { signal, passive: true });

  drawAbout();
  drawDetails();
  trust.load();
  kept.load();
  fill(place,
    h("div", { class: "stack" }, h("div", { class: "row top" }, heading, about), said.connection),
    h("div", { class: "session" },
      h("div", { class: "stack" }, said.node, h("div", { class: "row end" }, latest), box?.node),
      h("aside", { class: "side", "aria-label": "About this session" },
        h("details", { open: window.matchMedia("(min-width: 72rem)").matches }, h("summary", {}, "Trust and details"), h("div", { class: "stack" }, trust.node, details, kept.node, more)))));
  await said.load();
  toEnd();
}
