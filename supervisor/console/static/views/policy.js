// The policy in force, what is wrong with its files, and why a call would be judged as it is.

import { get } from "../api.js";
import { fill, h } from "../dom.js";
import { seesAll } from "../me.js";
import { chip, field, table } from "../ui.js";
import { visible } from "../visible.js";
import { explainBox } from "../explain.js";

export const room = "policy";
const AGAIN_MS = 3_000;

/** Why the files on the disk aren't in force. */
export function policyFault(fault) {
  const where = [fault.file, fault.line, fault.column].filter((each) => each !== null && each !== undefined).join(":");
  return h("div", { class: "problem", role: "alert", data: { fault: "" } },
    h("p", {}, h("strong", {}, "The policy files have a mistake; the last good policy stays in force.")),
    h("p", {}, h("code", {}, visible(where)), fault.field ? [" ", h("code", {}, visible(fault.field))] : null),
    h("p", {}, visible(fault.expected)), fault.remedy ? h("p", {}, "What helps: ", visible(fault.remedy)) : null);
}

function levels(told) {
  const names = ["full", "vault", "sandboxed"].filter((each) => told[each]);
  const kinds = [...new Set(names.flatMap((each) => Object.keys(told[each])))];
  const tone = { allow: "good", ask: "wait", deny: "bad" };
  return table("What each level answers to a kind of tool", [["Kind", (kind) => visible(kind)], ...names.map((level) => [level, (kind) => chip(visible(told[level][kind] ?? "–"), tone[told[level][kind]] ?? "")])], kinds);
}

function rules(told) {
  const words = h("input", { type: "search", data: { search: "" } });
  const list = h("div", {});
  const draw = () => {
    const wanted = words.value.toLowerCase();
    const rows = told.rules.filter((each) => `${each.id} ${each.kind} ${each.reason} ${each.where}`.toLowerCase().includes(wanted));
    fill(list, table("Rules", [
      ["Rule", (each) => h("code", {}, visible(each.id))], ["Kind", (each) => chip(visible(each.kind))],
      ["Why", (each) => [visible(each.reason), each.off ? chip("off") : null]],
      ["Stands at", (each) => [h("code", {}, visible(each.where)), each.overrides.length > 0 ? h("p", { class: "muted small" }, `in place of ${visible(each.overrides.join(", "))}`) : null]],
    ], rows, { rowClass: (each) => (each.off ? "off" : null) }), h("p", { class: "muted small", role: "status" }, `${rows.length} of ${told.rules.length} rules`));
  };
  words.addEventListener("input", draw);
  draw();
  return [field("Filter", words), list];
}

export async function show({ place, query, signal, title }) {
  title("Policy");
  const head = h("div", { class: "stack" });
  const body = h("div", { class: "stack" });
  let known = null;
  async function load() {
    const told = await get("/api/policy", { signal });
    const version = JSON.stringify([told.hash, told.error, told.watched]);
    if (version === known) return;
    known = version;
    fill(head,
      told.error ? policyFault(told.error) : h("p", {}, chip("the files are in force", "good")),
      told.watched ? null : h("div", { class: "warned" }, "Changes of the files aren't noticed: the folder can't be watched. Restart after a change."),
      h("p", { class: "muted small" }, "In force: ", h("code", {}, visible(told.hash.slice(0, 16))), " from ", told.files.map((each, at) => [at > 0 ? ", " : "", h("code", {}, visible(each))])));
    fill(body, h("h2", {}, "Levels"), levels(told.levels), h("h2", {}, "Rules"), rules(told),
      h("h2", {}, "Built in"), h("p", { class: "muted" }, "No file can remove these."), table("Built-in rules", [["Rule", (each) => h("code", {}, visible(each.id))], ["Why", (each) => visible(each.reason)]], told.builtIn));
  }
  fill(place, h("h1", {}, "Policy"), head, seesAll() ? h("section", { class: "card stack" }, h("h2", {}, "Explain a call"), explainBox({ signal, ask: query.explain !== undefined })) : null, body);
  await load();
  const timer = setInterval(() => document.hidden || load().catch(() => {}), AGAIN_MS);
  signal.addEventListener("abort", () => clearInterval(timer));
}
