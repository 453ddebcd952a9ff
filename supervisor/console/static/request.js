// A permission request as a person judges it: what would run, why it is asked, what can be said.

import { part, post } from "./api.js";
import { note } from "./announce.js";
import { Card } from "./card.js";
import { h } from "./dom.js";
import { may } from "./me.js";
import { facts, field, select, trustBadge } from "./ui.js";
import { visible } from "./visible.js";

const LASTING = [["", "no time limit"], ["900", "15 minutes"], ["3600", "one hour"], ["28800", "8 hours"]];
const OWN = "own";
const ONCE = "once";

function choice(name, value, label, checked = false) {
  const radio = h("input", { type: "radio", name, value, id: `${name}-${value}`, checked });
  return h("div", { class: "choice" }, radio, h("label", { for: radio.id }, label));
}

function covers(suggestion) {
  const extra = [];
  if (suggestion.matches !== null && suggestion.matches !== undefined) extra.push(`${suggestion.matches}${suggestion.matchesMore ? " or more" : ""} ${suggestion.matches === 1 ? "file" : "files"} now`);
  if (suggestion.earlierPrompts > 0) extra.push(`would have saved ${suggestion.earlierPrompts} earlier ${suggestion.earlierPrompts === 1 ? "request" : "requests"}`);
  if (!suggestion.enough) extra.push("not enough by itself");
  return [h("strong", {}, visible(suggestion.covers)), h("br"), h("code", {}, visible(`${suggestion.kind}: ${suggestion.pattern}`)), extra.length > 0 ? h("span", { class: "muted small" }, ` · ${extra.join(" · ")}`) : null];
}

/** What goes beyond the call: nothing, suggestions, or an own pattern. */
function beyond(request) {
  const name = `grant-${request.id}`;
  const pattern = h("input", { class: "own", spellcheck: "false", autocapitalize: "off", "aria-label": "Own pattern" });
  const lasting = select(LASTING, "");
  const scope = select([["session", "this session"], ...(may("admin") && request.suggestedGrants.some((each) => each.scopes.includes("agent")) ? [["agent", "the agent, in all its sessions"]] : [])], "session");
  const list = h("div", { class: "choices" },
    choice(name, ONCE, [h("strong", {}, "Only this call")], true),
    request.suggestedGrants.map((each) => choice(name, each.id, covers(each))));
  const own = choice(name, OWN, [h("strong", {}, "An own pattern")]);
  own.append(pattern);
  // Not when it has the focus: who comes by with the Tab key has chosen nothing.
  pattern.addEventListener("input", () => (own.querySelector("input").checked = true, shape()));
  const more = h("div", { class: "filters" }, field("For", scope), field("How long", lasting));
  if (request.suggestedGrants.length > 0) list.append(own);
  const chosen = () => list.querySelector("input:checked").value;
  const shape = () => {
    more.hidden = chosen() === ONCE;
    const suggestion = request.suggestedGrants.find((each) => each.id === chosen());
    const agent = scope.querySelector("option[value=agent]");
    if (agent) agent.disabled = suggestion !== undefined && !suggestion.scopes.includes("agent");
    if (agent?.disabled && scope.value === "agent") scope.value = "session";
  };
  list.addEventListener("change", shape);
  shape();
  const body = () => {
    if (chosen() === ONCE) return { scope: "once" };
    const said = { scope: scope.value };
    if (lasting.value) said.expiresIn = Number(lasting.value);
    if (chosen() === OWN) said.pattern = pattern.value;
    else said.suggestion = chosen();
    return said;
  };
  return { node: h("fieldset", {}, h("legend", {}, "Let it run"), list, more), body, isOnce: () => chosen() === ONCE };
}

/** What the policy found that the call would do; its texts are made visible by the API. */
function effectsOf(request) {
  if (request.effects.length === 0) return null;
  const one = (effect) => h("li", {}, h("strong", {}, visible(effect.act)), effect.target ? [" ", h("code", {}, visible(effect.target))] : effect.text ? [" ", h("code", {}, visible(effect.text))] : null,
    effect.reason ? h("span", { class: "muted" }, ` ${visible(effect.reason)}`) : null, effect.remarks.map((each) => h("span", { class: "muted" }, ` · ${visible(each)}`)));
  return h("div", {}, h("strong", {}, "What it does"), h("ul", { class: "bullets", data: { effects: "" } }, request.effects.map(one)), request.moreEffects > 0 ? h("p", { class: "muted" }, `and ${request.moreEffects} more`) : null);
}

/** The card of an open request. */
export function requestCard(request, { signal, withSession = false }) {
  // A name that tells it from others beside it: what would run, and in the list of all, whose it is.
  const whose = withSession ? `, session ${visible(request.sessionId).slice(0, 8)}` : "";
  const label = `Request: ${visible(request.toolName)}, ${request.display.split("\n", 1)[0].slice(0, 100)}${whose}`;
  const card = new Card(request, { id: request.id, label, late: "Nobody answered in time: denied.", signal });
  const granting = beyond(request);
  const message = h("input", { autocomplete: "off", maxlength: "2000" });
  const path = `/api/permissions/${part(request.id)}`;
  const hash = { contentHash: request.contentHash };
  const said = () => ({ ...hash, ...(message.value.trim() ? { message: message.value.trim() } : {}) });
  const grant = card.button("Allow", { class: "main" }, async () => {
    const answer = await post(`${path}/grant`, { ...hash, ...granting.body() });
    if (answer.also.length > 0) note(`${answer.also.length} more ${answer.also.length === 1 ? "request is" : "requests are"} answered by it.`);
    return granting.isOnce() ? "Allowed, this once." : `Allowed: ${answer.grants.map((each) => visible(each.pattern)).join(", ")}`;
  });
  const deny = card.button("Deny", {}, async () => (await post(`${path}/deny`, said()), "Denied."));
  const stop = card.button("Deny and stop the turn", { class: "danger-quiet" }, async () => (await post(`${path}/deny`, { ...said(), stop: true }), "Denied, and the turn is stopped."));
  const who = request.agentName ? `${visible(request.agentName)}: ` : "";
  card.draw([
    h("header", {}, h("h2", {}, who, visible(request.toolName), " ", h("span", { class: "muted" }, visible(request.permissionType))), h("span", { class: "row" }, trustBadge(request.trustLevel), card.time)),
    request.hasHiddenCharacters ? h("p", { class: "hidden-warning" }, "Careful: it has characters that don't show, or that look like others. They are named below as ⟨U+…⟩.") : null,
    h("pre", { class: "code", tabindex: "0", role: "group", "aria-label": "What would run" }, request.display),
    effectsOf(request),
    facts([["Why you are asked", visible(request.reason)], ["Rule", h("code", {}, visible(request.rule))],
      ["Session", withSession ? h("a", { href: `#/session/${part(request.sessionId)}` }, request.workspace ? `Open it (in ${visible(request.workspace)})` : visible(request.sessionId)) : null]]),
  ], h("div", { class: "stack" }, granting.node, h("div", { class: "row" }, grant),
    h("fieldset", {}, h("legend", {}, "Don't"), field("Message to the agent", message, "It reads this in place of a result."), h("div", { class: "row" }, deny, stop))));
  return card;
}
