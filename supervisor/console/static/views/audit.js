// The audit log: the latest entries first, by kind, rule and session, and whether it is whole.

import { get, part } from "../api.js";
import { fill, h } from "../dom.js";
import { note } from "../router.js";
import { chip, doing, facts, field, folded, moment, nothing, problemBox, select, trustBadge } from "../ui.js";
import { visible, visibleJson } from "../visible.js";

export const room = "audit";
const PAGE = 50;
const KINDS = ["", "decision", "answer", "grant", "revoke", "floor", "launch", "waiting", "isolation", "kill", "ending", "trust", "session", "workspace", "mcp", "mcp_relayed", "mcp_refused", "policy", "access", "request", "server", "incident", "audit_damaged", "audit_recovered", "audit_rotated"];
const TONE = { allow: "good", ask: "wait", deny: "bad" };

/** What an entry says in a line; of kinds that aren't known, nothing but their name. */
function gist({ kind, body }) {
  if (body === null || typeof body !== "object") return [];
  if (kind === "decision") return [h("strong", {}, visible(body.tool ?? "")), " ", chip(visible(body.verdict ?? ""), TONE[body.verdict] ?? ""), " ", h("code", {}, visible(body.rule ?? "")), h("div", { class: "muted small" }, visible(body.reason ?? ""))];
  const told = Object.entries(body).filter(([, value]) => typeof value === "string" || typeof value === "number" || typeof value === "boolean").slice(0, 4);
  return told.map(([key, value]) => (key === "level" || key === "effective" ? trustBadge(String(value)) : h("span", { class: "small" }, h("span", { class: "muted" }, `${visible(key)} `), `${visible(String(value).slice(0, 120))} `)));
}

function line(entry) {
  return h("li", { data: { entry: entry.n } }, h("div", { class: "stack" },
    h("div", { class: "row" }, h("code", { class: "muted" }, `#${entry.n}`), chip(visible(entry.kind)), moment(entry.ts),
      entry.sessionId ? h("a", { href: `#/session/${part(entry.sessionId)}`, class: "small" }, "its session") : null),
    h("div", {}, gist(entry)),
    folded("The entry", () => h("div", { class: "stack" }, h("pre", { class: "code", tabindex: "0", role: "region", "aria-label": `Entry ${entry.n}` }, visibleJson(entry.body)), facts([["Hash", h("code", {}, visible(entry.hash))], ["The one before", h("code", {}, visible(entry.prev))]])))));
}

function report(told) {
  const head = facts([["Entries", `${told.entries} from #${told.first}`], ["Head", h("code", {}, visible(`${told.head.n}:${told.head.hash}`))], ["Signatures", visible(told.signed)], ["Older than the key", told.unsigned > 0 ? String(told.unsigned) : null], ["Checked", moment(told.checkedAt)]]);
  const fault = told.fault === null ? null : h("p", {}, h("strong", {}, visible(told.fault.why)), " ", h("code", {}, visible(`${told.fault.file}:${told.fault.line}`)), ` at entry ${told.fault.n}`);
  return h("div", { class: told.whole ? "card stack" : "problem", role: "status" }, h("p", {}, told.whole ? chip("the log is whole", "good") : chip("the log is NOT whole", "bad")), fault, told.noted.map((each) => h("p", {}, `#${each.n}: ${visible(each.why)}`)), head,
    told.whole ? h("p", { class: "muted small" }, "Note the head down elsewhere: a log that is whole and lacks it was made anew.") : null);
}

export async function show({ place, query, signal, title }) {
  title("Audit");
  const list = h("ul", { class: "list", "aria-label": "Entries" });
  const under = h("div", { class: "row" });
  const checked = h("div", {});
  const kind = select(KINDS.map((each) => [each, each || "all"]), query.kind ?? "");
  const rule = h("input", { value: query.rule ?? "", data: { search: "" }, spellcheck: "false", autocapitalize: "off" });
  const session = h("input", { value: query.session ?? "", spellcheck: "false", autocapitalize: "off" });
  let asked = 0;

  async function load(before = null) {
    const mine = (asked += 1);
    const given = { kind: kind.value, rule: rule.value.trim(), session: session.value.trim() };
    note(given);
    try {
      const told = await get("/api/audit", { signal, query: { ...given, limit: PAGE, before } });
      if (mine !== asked) return;
      const lines = told.entries.map(line);
      if (before === null) fill(list, lines);
      else list.append(...lines);
      list.hidden = list.childElementCount === 0;
      fill(under, told.damaged > 0 ? chip(`${told.damaged} damaged lines`, "bad") : null, told.next !== null ? doing("Show more", () => load(told.next)) : list.hidden ? nothing("No entry is like that.") : null);
    } catch (error) {
      if (!signal.aborted) fill(under, problemBox(error));
    }
  }

  const check = doing("Check the whole log", async () => {
    try {
      fill(checked, report(await get("/api/audit/verify", { signal })));
    } catch (error) {
      if (!signal.aborted) fill(checked, problemBox(error));
    }
  });
  const form = h("form", { class: "filters" }, field("Kind", kind), field("Rule", rule), field("Session", session), h("button", { type: "submit", class: "main" }, "Show"));
  form.addEventListener("submit", (event) => (event.preventDefault(), load()));
  kind.addEventListener("change", () => load());
  fill(place, h("div", { class: "row top" }, h("h1", {}, "Audit"), check), checked,
    h("p", { class: "muted" }, "What was decided, granted, launched and changed, each entry sealed with the one before."), form, list, under);
  await load();
}
