// What people granted beyond single calls, and the way to take it back.

import { get, part, remove } from "../api.js";
import { note } from "../announce.js";
import { fill, h } from "../dom.js";
import { chip, doing, field, moment, nothing, table, trustBadge } from "../ui.js";
import { visible } from "../visible.js";

export const room = "grants";

function state(grant) {
  if (grant.revokedAt) return [chip("ended"), " ", moment(grant.revokedAt), grant.revokedBy ? ` by ${visible(grant.revokedBy)}` : ""];
  if (grant.expiresAt && Date.parse(grant.expiresAt) <= Date.now()) return [chip("over"), " ", moment(grant.expiresAt)];
  return [chip("counts", "good"), grant.expiresAt ? [" until ", moment(grant.expiresAt)] : ""];
}

export async function show({ place, query, signal, title }) {
  title("Grants");
  const list = h("div", {});
  const ended = h("input", { type: "checkbox", id: "ended" });
  ended.addEventListener("change", () => load());

  function revoke(grant) {
    return doing("Revoke", async () => {
      try {
        await remove(`/api/grants/${part(grant.id)}`);
        note("The grant doesn't count any more.");
        await load();
      } catch (error) {
        note(error.message, { bad: true });
      }
    }, { class: "small danger-quiet", "aria-label": `Revoke ${visible(grant.pattern)}` });
  }

  async function load() {
    const told = await get("/api/grants", { signal, query: { ended: ended.checked ? "true" : null, sessionId: query.session } });
    const counts = (grant) => !grant.revokedAt && !(grant.expiresAt && Date.parse(grant.expiresAt) <= Date.now());
    fill(list, told.grants.length === 0 ? nothing("No grants count.", h("p", {}, "What you allow once leaves no grant.")) : table("Grants", [
      ["Pattern", (each) => h("code", {}, visible(each.pattern))],
      ["For", (each) => visible(each.kind)],
      ["Whose", (each) => (each.scope === "agent" ? `agent ${visible(each.agent ?? "")}` : h("a", { href: `#/session/${part(each.sessionId ?? "")}` }, each.scope === "once" ? "one call" : "one session"))],
      ["At", (each) => trustBadge(each.trustLevel)],
      ["Given", (each) => [moment(each.givenAt), ` by ${visible(each.givenBy)}`]],
      ["State", (each) => state(each)],
      ["Act", (each) => (counts(each) ? revoke(each) : "–")],
    ], told.grants));
  }

  fill(place, h("h1", {}, "Grants"), h("p", { class: "muted" }, "A grant counts at its trust level only, and never against the deny list. A session's grants end when its level changes."),
    h("div", { class: "check" }, ended, h("label", { for: "ended" }, "Show ended ones too")), list);
  await load();
}
