// The box that explains what would become of a call now; nothing is run.

import { post } from "./api.js";
import { fill, h } from "./dom.js";
import { chip, facts, field, problemBox, select, table, trustBadge } from "./ui.js";
import { visible, visibleLines } from "./visible.js";

const TONE = { allow: "good", ask: "wait", deny: "bad" };
const SHAPES = { Bash: ["command", "Command"], Read: ["file_path", "File"], Write: ["file_path", "File"], Edit: ["file_path", "File"], Glob: ["pattern", "Pattern"], Grep: ["pattern", "Pattern"], WebFetch: ["url", "Address"] };
const OTHER = "other";

let handed = null;

/** Keeps a call for the box that is shown next: it doesn't belong into an address. */
export function handOver(call) {
  handed = call;
}

function effects(told) {
  return table("What it does", [
    ["Act", (each) => visible(each.act)], ["Program", (each) => (each.program ? h("code", {}, visible(each.program)) : "–")],
    ["Where in it", (each) => h("code", {}, visible(each.text))],
    ["To what", (each) => [each.target ? h("code", {}, visible(each.target)) : "–", each.paths.map((path) => h("div", { class: "small" }, pathWords(path)))]],
    ["Why", (each) => [visible(each.reason), each.remarks.map((remark) => h("div", { class: "small muted" }, visible(remark)))]],
  ], told);
}

function pathWords(path) {
  const said = [path.inside ? "in the vault" : "outside of the vault", path.deniedBy ? `denied by ${path.deniedBy}` : null, path.protectedBy ? `protected by ${path.protectedBy}` : null, ...path.remarks];
  return visible(`${path.named}: ${said.filter(Boolean).join(", ")}`);
}

function explanation(told) {
  const list = (items) => h("ul", {}, items.map((each) => h("li", {}, visible(each))));
  return h("div", { class: "stack", data: { explanation: "" } },
    h("p", {}, chip(visible(told.verdict), TONE[told.verdict] ?? ""), " by ", h("code", {}, visible(told.rule)), " at ", trustBadge(told.level)),
    h("p", {}, visible(told.reason)),
    facts([["Stands at", told.where ? h("code", {}, visible(told.where)) : null], ["Kind", visible(told.category)], ["Unsure", told.unsure.length > 0 ? list(told.unsure) : null],
      ["Addresses", told.addresses.length > 0 ? list(told.addresses) : null], ["Notes", told.notes.length > 0 ? list(told.notes) : null],
      ["Paths", told.paths.length > 0 ? h("ul", {}, told.paths.map((each) => h("li", {}, pathWords(each)))) : null]]),
    told.effects.length > 0 ? effects(told.effects) : null,
    told.suggestions.length > 0 ? [h("h3", {}, "It wouldn't ask with one of these"), facts(told.suggestions.map((each) => [h("code", {}, visible(each.pattern)), visible(each.covers)]))] : null);
}

/** The form and its answer; `ask`: at once, about the call that was handed over. */
export function explainBox({ signal, ask }) {
  const call = ask ? handed : null;
  const shaped = call === null || (Object.hasOwn(SHAPES, call.tool) && Object.keys(call.input).every((key) => key === SHAPES[call.tool][0] || key === "description"));
  const tool = select([...Object.keys(SHAPES).map((each) => [each, each]), [OTHER, "another tool, as JSON"]], shaped ? (call?.tool ?? "Bash") : OTHER);
  const name = h("input", { spellcheck: "false", autocapitalize: "off", value: call?.tool ?? "" });
  const words = h("textarea", { rows: "2", spellcheck: "false", class: "mono" });
  words.value = call === null ? "" : shaped ? String(call.input[SHAPES[call.tool][0]] ?? "") : JSON.stringify(call.input, null, 2);
  const level = select([["vault", "vault"], ["sandboxed", "sandboxed"], ["full", "full"]], call?.level ?? "vault");
  const nameField = field("Tool's name", name);
  const wordsField = field("Command", words);
  const told = h("div", { role: "status" });
  const shape = () => {
    nameField.hidden = tool.value !== OTHER;
    wordsField.querySelector("label").textContent = SHAPES[tool.value]?.[1] ?? "Input as JSON";
  };
  tool.addEventListener("change", shape);
  shape();

  function input() {
    if (tool.value !== OTHER) return [tool.value, { [SHAPES[tool.value][0]]: words.value }];
    return [name.value.trim(), JSON.parse(words.value || "{}")];
  }

  async function run() {
    fill(told);
    try {
      const [tool_, given] = input();
      fill(told, explanation(await post("/api/policy/explain", { tool: tool_, input: given, trustLevel: level.value }, { signal })));
    } catch (error) {
      if (!signal.aborted) fill(told, problemBox(error));
    }
  }

  const form = h("form", { class: "stack" }, h("div", { class: "filters" }, field("Tool", tool), nameField, field("At", level)), wordsField, h("div", { class: "row" }, h("button", { type: "submit", class: "main" }, "Explain")), told);
  form.addEventListener("submit", (event) => (event.preventDefault(), run()));
  if (call !== null) run();
  return form;
}
