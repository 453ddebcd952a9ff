// MCP servers: what is configured, what is allowed of it, and a try.

import { get, part, post, remove } from "../api.js";
import { note } from "../announce.js";
import { fill, h } from "../dom.js";
import { chip, confirm, doing, facts, field, nothing, problemBox } from "../ui.js";
import { visible, visibleLines } from "../visible.js";
import { broken } from "./agents.js";

export const room = "mcp";

function pairs(given) {
  return Object.entries(given ?? {}).map(([key, value]) => h("div", {}, h("code", {}, `${visible(key)}=${visible(value)}`)));
}

function tried(told) {
  return h("div", { class: told.ok ? "card stack" : "problem" },
    h("p", {}, h("strong", {}, told.ok ? `It answers: ${visible(told.serverName ?? "")} ${visible(told.serverVersion ?? "")}` : "It is of no use"), ` after ${told.seconds.toFixed(1)} s`),
    told.failure ? h("p", {}, visible(told.failure)) : null,
    told.complaint ? h("pre", { class: "code" }, visibleLines(told.complaint)) : null,
    told.tools.length > 0 ? facts(told.tools.map((each) => [visible(each.name), visible(each.description)])) : null,
    told.more ? h("p", {}, "It has more tools than are listed.") : null);
}

function card(each, reload) {
  const told = h("div", { role: "status" });
  const change = (label, act, props = { class: "small" }) => doing(label, async () => {
    try {
      await act();
    } catch (error) {
      fill(told, problemBox(error));
    }
  }, props);
  const path = `/api/mcp/${part(each.name)}`;
  const allow = (sandboxed) => async () => (await post(`${path}/allow`, { sandboxed }), await reload());
  const away = async () => {
    if (!(await confirm(`Remove ${visible(each.name)}?`, { detail: "It is taken out of the vault's .mcp.json. A turn that runs keeps it to its end.", yes: "Remove", danger: true }))) return;
    await remove(path);
    await reload();
  };
  return h("section", { class: "card stack", data: { server: each.name } },
    h("div", { class: "row top" }, h("h2", {}, visible(each.name)),
      h("span", { class: "row" }, each.allowed ? chip("allowed", "good") : chip("not allowed as it is", "bad"), each.sandboxed ? chip("in sandboxes too", "wait") : null)),
    facts([["Kind", visible(each.type)],
      ["Starts", each.command ? h("code", {}, visible([each.command, ...(each.args ?? [])].join(" "))) : null], ["Address", each.url ? h("code", {}, visible(each.url)) : null],
      ["Environment", each.env && Object.keys(each.env).length > 0 ? pairs(each.env) : null], ["Headers", each.headers && Object.keys(each.headers).length > 0 ? pairs(each.headers) : null],
      ["Refers to", each.references.length > 0 ? visible(each.references.join(", ")) : null], ["Other keys", each.otherKeys.length > 0 ? visible(each.otherKeys.join(", ")) : null]]),
    h("div", { class: "row" },
      each.allowed ? change("Try it", async () => fill(told, tried(await post(`${path}/test`, {})))) : change("Allow as it is", allow(false)),
      each.allowed ? change(each.sandboxed ? "Not in sandboxes" : "Allow in sandboxes", allow(!each.sandboxed)) : null,
      change("Remove", away, { class: "small danger-quiet" })),
    told);
}

/** Adds a server, or puts it in the place of the one of its name if the person wants that; null: they don't. */
async function put(name, body) {
  const path = `/api/mcp/${part(name)}`;
  try {
    await post(path, body, { headers: { "If-None-Match": "*" } });
    return "added";
  } catch (error) {
    if (error.code !== "already_there") throw error;
  }
  const said = { detail: "There is a server of this name. What its entry says now is lost.", yes: "Replace", danger: true };
  if (!(await confirm(`Replace ${visible(name)}?`, said))) return null;
  await post(path, body);
  return "replaced";
}

function adding(reload) {
  const name = h("input", { required: true, autocapitalize: "off", spellcheck: "false" });
  const what = h("input", { required: true, autocapitalize: "off", spellcheck: "false" });
  const args = h("textarea", { rows: "3", spellcheck: "false" });
  const env = h("textarea", { rows: "2", spellcheck: "false" });
  const told = h("div", {});
  const made = h("form", { class: "stack" }, field("Name", name), field("Program or address", what, "An address begins with http:// or https://."),
    field("Arguments", args, "One a line."), field("Environment", env, ["One NAME=value a line. A secret is a reference: ", h("code", {}, "TOKEN=${NOTES_TOKEN}"), "."]),
    told, h("div", { class: "row" }, h("button", { type: "submit", class: "main" }, "Add")));
  const lines = (text) => text.split("\n").map((each) => each.trim()).filter(Boolean);
  made.addEventListener("submit", async (event) => {
    event.preventDefault();
    fill(told);
    const isAddress = /^https?:\/\//.test(what.value.trim());
    const body = isAddress ? { type: "http", url: what.value.trim() } : { command: what.value.trim(), args: lines(args.value) };
    const given = lines(env.value).map((each) => [each.split("=", 1)[0], each.slice(each.indexOf("=") + 1)]);
    if (given.length > 0) body[isAddress ? "headers" : "env"] = Object.fromEntries(given);
    try {
      const saved = await put(name.value.trim(), body);
      if (saved === null) return;
      made.reset();
      note(`The server is ${saved}, and allowed as it is. Nothing was started.`);
      await reload();
    } catch (error) {
      fill(told, problemBox(error));
    }
  });
  return h("details", { class: "card" }, h("summary", {}, "Add a server"), made);
}

export async function show({ place, signal, title }) {
  title("MCP servers");
  const list = h("div", { class: "stack" });
  async function load() {
    const told = await get("/api/mcp", { signal });
    fill(list, broken("Entries with a mistake", told.broken),
      told.servers.length > 0 ? h("div", { class: "columns" }, told.servers.map((each) => card(each, load))) : nothing("No MCP servers are configured."));
  }
  fill(place, h("h1", {}, "MCP servers"),
    h("p", { class: "muted" }, "A server is a program that agents get tools from. It runs where its agent does, and only as an admin allowed it: change a letter of its entry, and it is not used until it is allowed again."),
    list, adding(load));
  await load();
}
