// A new session: the message it begins with, where it works, and how strictly.

import { get } from "../api.js";
import { attaching } from "../chosen.js";
import { fill, h } from "../dom.js";
import { seesAll } from "../me.js";
import { go } from "../router.js";
import { Sending, sendsByKey } from "../sending.js";
import { field, LEVELS, problemBox, select, trustBadge } from "../ui.js";
import { visible } from "../visible.js";

export const room = "sessions";
const STRICTNESS = ["full", "vault", "sandboxed"];

function levels(floorOf) {
  const name = "trust";
  const told = h("p", { class: "hint", role: "status" });
  const radios = [...STRICTNESS].reverse().map((level) => {
    const radio = h("input", { type: "radio", name, value: level, id: `trust-${level}`, checked: level === "sandboxed" });
    return [radio, h("div", { class: "choice" }, radio, h("label", { for: radio.id }, trustBadge(level), ` ${LEVELS[level]}`))];
  });
  const chosen = () => radios.find(([radio]) => radio.checked)[0].value;
  const judge = () => {
    const { level, name: whose } = floorOf();
    const looser = STRICTNESS.indexOf(chosen()) < STRICTNESS.indexOf(level);
    fill(told, looser ? `It will run at ${level}: the workspace “${visible(whose)}” demands at least that.` : "");
  };
  radios.forEach(([radio]) => radio.addEventListener("change", judge));
  return { node: h("fieldset", {}, h("legend", {}, "Trust"), radios.map(([, node]) => node), told), chosen, judge };
}

export async function show({ place, query, signal, title }) {
  title("New session");
  const [spaces, agents] = await Promise.all([
    get("/api/workspaces", { signal }).then((told) => told.workspaces),
    seesAll() ? get("/api/agents", { signal }).then((told) => told.agents, () => []) : [],
  ]);
  const message = h("textarea", { rows: "5", data: { message: "" }, dir: "auto" });
  const workspace = select(spaces.map((each) => [each.slug, visible(each.name)]), query.workspace ?? (spaces.some((each) => each.slug === "default") ? "default" : spaces[0]?.slug));
  const agent = select([["", "none"], ...agents.map((each) => [each.path, `${visible(each.name)}: ${visible(each.description)}`])], query.agent ?? "");
  const folder = h("input", { spellcheck: "false", autocapitalize: "off" });
  const space = () => spaces.find((each) => each.slug === workspace.value) ?? { floor: "full", name: "" };
  const trust = levels(() => ({ level: space().floor, name: space().name }));
  workspace.addEventListener("change", trust.judge);
  const told = h("div", {});
  const begin = h("button", { type: "submit", class: "main" }, "Begin");
  const form = h("form", { class: "stack" });
  const files = attaching(form);
  const sending = new Sending();
  fill(form, field("Message", message), files.list, h("div", { class: "row" }, files.button),
    trust.node,
    h("div", { class: "filters" }, field("Workspace", workspace), field("Agent", agent)),
    field("Working directory", folder, "Relative to the vault. Left empty, it is the workspace's folder."),
    told, h("div", { class: "row" }, begin));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (begin.disabled) return;
    fill(told);
    if (!message.value.trim() && files.isEmpty) {
      fill(told, problemBox({ message: "There is nothing to send yet.", remedy: "write a message, or attach a file" }));
      message.focus();
      return;
    }
    begin.disabled = true;
    try {
      go(`#/session/${encodeURIComponent(await started())}`);
    } catch (error) {
      fill(told, problemBox(error));
      begin.disabled = false;
    }
  });

  sendsByKey(message);

  async function started() {
    const body = { message: message.value, trustLevel: trust.chosen(), workspace: workspace.value };
    if (agent.value) body.agentPath = agent.value;
    if (folder.value.trim()) body.workingDirectory = folder.value.trim();
    if (!files.isEmpty) body.attachments = await files.wire();
    return sending.send(body);
  }

  fill(place, h("h1", {}, "New session"), h("div", { class: "card" }, form));
  trust.judge();
  setTimeout(() => message.focus());
}
