// Who may call: tokens and what they are good for, and who is logged in.

import { get, part, post, remove } from "../api.js";
import { note } from "../announce.js";
import { fill, h } from "../dom.js";
import { chip, confirm, doing, field, moment, nothing, problemBox, select, table } from "../ui.js";
import { visible } from "../visible.js";
import { whoIs } from "../me.js";

export const room = "access";
const SCOPES = [["chat", "send messages, change a session's trust"], ["approve", "grant, deny, answer questions, stop"], ["admin", "workspaces, MCP servers, tokens, audit"]];
// No token outlasts the one it was made with, and that is this login, which lasts twelve hours unused.
const LASTING = [["3600", "an hour"], ["", "twelve hours"]];

function reach(workspaces) {
  return workspaces === null || workspaces === undefined ? "all" : visible(workspaces.join(", "));
}

function state(token) {
  if (token.revokedAt) return [chip("revoked"), " ", moment(token.revokedAt)];
  if (token.expiresAt && Date.parse(token.expiresAt) <= Date.now()) return [chip("over"), " ", moment(token.expiresAt)];
  return [chip("counts", "good"), token.expiresAt ? [" ends ", moment(token.expiresAt)] : ""];
}

function making(spaces, load) {
  const name = h("input", { required: true, maxlength: "100", autocomplete: "off" });
  const scopes = SCOPES.map(([value, words]) => [h("input", { type: "checkbox", id: `scope-${value}`, value }), words]);
  const places = spaces.map((each) => [h("input", { type: "checkbox", id: `place-${each.slug}`, value: each.slug }), visible(each.name)]);
  const lasting = select(LASTING, "");
  const told = h("div", { role: "status" });
  const box = ([control, words]) => h("div", { class: "check" }, control, h("label", { for: control.id }, control.id.startsWith("scope") ? [h("strong", {}, control.value), ` ${words}`] : words));
  const made = h("form", { class: "stack" }, field("Name", name, "What it is for, as the audit log tells it."),
    h("fieldset", {}, h("legend", {}, "Good for"), scopes.map(box)), h("fieldset", {}, h("legend", {}, "Only these workspaces (none chosen: all)"), places.map(box)), field("How long", lasting, ["Never longer than this login: when that ends, so does what was made with it. One that lasts is made in a terminal, by ", h("code", {}, "trustfloor tokens create"), "."]),
    told, h("div", { class: "row" }, h("button", { type: "submit", class: "main" }, "Make it")));
  const chosen = (list) => list.filter(([control]) => control.checked).map(([control]) => control.value);
  made.addEventListener("submit", async (event) => {
    event.preventDefault();
    fill(told);
    const body = { name: name.value.trim(), scopes: chosen(scopes) };
    if (chosen(places).length > 0) body.workspaces = chosen(places);
    if (lasting.value) body.expiresIn = Number(lasting.value);
    try {
      const answer = await post("/api/tokens", body);
      made.reset();
      fill(told, h("div", { class: "card stack" }, h("p", {}, h("strong", {}, "This is shown once, and never again:")), h("pre", { class: "code", tabindex: "0", role: "region", "aria-label": "The token" }, answer.token),
        h("p", {}, "It ends ", moment(answer.expiresAt), ", or with this login.")));
      await load();
    } catch (error) {
      fill(told, problemBox(error));
    }
  });
  return h("details", { class: "card" }, h("summary", {}, "New token"), made);
}

export async function show({ place, signal, title }) {
  title("Access");
  const spaces = (await get("/api/workspaces", { signal })).workspaces;
  const tokens = h("div", {});
  const logins = h("div", {});

  const end = (label, what, path) => doing(label, async () => {
    if (!(await confirm(`${label} ${what}?`, { detail: "It ends now, and so do the streams that it has open.", yes: label, danger: true }))) return;
    try {
      await remove(path);
      await load();
    } catch (error) {
      note(error.message, { bad: true });
    }
  }, { class: "small danger-quiet", "aria-label": `${label} ${what}` });

  async function load() {
    const [made, found] = await Promise.all([get("/api/tokens", { signal }), get("/api/logins", { signal })]);
    fill(tokens, made.tokens.length === 0 ? nothing("There is none beside the owner's.") : table("Tokens", [
      ["Name", (each) => visible(each.name)], ["Good for", (each) => visible(each.scopes.join(", "))], ["Workspaces", (each) => reach(each.workspaces)],
      ["Made", (each) => [moment(each.createdAt), ` by ${visible(each.createdBy)}`]], ["State", state],
      ["Act", (each) => (each.revokedAt ? "–" : end("Revoke", visible(each.name), `/api/tokens/${part(each.id)}`))],
    ], made.tokens));
    fill(logins, found.logins.length === 0 ? nothing("Nobody is logged in.") : table("Logins", [
      ["Login", (each) => [h("code", {}, visible(each.id.slice(-8))), each.id === whoIs()?.id ? [" ", chip("this one", "good")] : null]], ["By a code of", (each) => visible(each.tokenId)],
      ["Good for", (each) => visible(each.scopes.join(", "))], ["Since", (each) => moment(each.createdAt)], ["Last used", (each) => moment(each.usedAt)],
      ["Act", (each) => end("End", `login ${visible(each.id.slice(-8))}`, `/api/logins/${part(each.id)}`)],
    ], found.logins));
  }

  fill(place, h("h1", {}, "Access"), h("h2", {}, "Tokens"), tokens, making(spaces, load), h("h2", {}, "Logins"), logins,
    h("p", { class: "muted" }, "Who is to log in gets a code by ", h("code", {}, "trustfloor login"), ", good once and for five minutes."));
  await load();
}
