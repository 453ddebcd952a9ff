// The vault's agents and skills, and those that nobody can use because of a mistake.

import { get, part } from "../api.js";
import { fill, h } from "../dom.js";
import { chip, facts, folded, nothing, table, trustBadge } from "../ui.js";
import { visible, visibleLines } from "../visible.js";

export const room = "agents";

/** Files with a mistake: where it is, and what mends it. */
export function broken(caption, faults) {
  if (faults.length === 0) return null;
  return table(caption, [
    ["File", (each) => h("code", {}, visible(each.file))],
    ["Line", (each) => (each.line ? `${each.line}${each.column ? `:${each.column}` : ""}` : "–")],
    ["Field", (each) => (each.field ? h("code", {}, visible(each.field)) : "–")],
    ["What is wrong", (each) => [visible(each.reason ?? each.expected), each.remedy ? h("p", { class: "muted" }, visible(each.remedy)) : null]],
  ], faults);
}

function bound(value) {
  if (value === null || value === undefined) return "no bound";
  if (typeof value === "boolean") return value ? "all" : "none";
  return value.length === 0 ? "none" : value.map((each) => [h("code", {}, visible(each)), " "]);
}

function prompt(agent, signal) {
  const made = h("div", {}, "Loading…");
  get(`/api/agents/${agent.path.split("/").map(part).join("/")}`, { signal }).then(
    (told) => fill(made, h("div", { class: "code", tabindex: "0", role: "region", "aria-label": `Prompt of ${visible(agent.name)}` }, visibleLines(told.systemPrompt ?? ""))),
    (error) => fill(made, error.message));
  return made;
}

function card(agent, signal) {
  return h("section", { class: "card stack", data: { agent: agent.name } },
    h("div", { class: "row top" }, h("h2", {}, visible(agent.name)), agent.trustLevel ? trustBadge(agent.trustLevel) : chip("no floor of its own")),
    h("p", {}, visible(agent.description)),
    facts([
      ["File", h("code", {}, visible(agent.path))], ["Kind", visible(agent.type)], ["Model", agent.model ? visible(agent.model) : null],
      ["Tools", agent.tools === null ? "all" : agent.tools.length === 0 ? "none" : visible(agent.tools.join(", "))],
      ["Reads unasked", bound(agent.permissions.read)], ["Writes unasked", bound(agent.permissions.write)], ["Runs unasked", bound(agent.permissions.bash)],
      ["MCP servers", agent.mcpServers.length > 0 ? visible(agent.mcpServers.join(", ")) : null],
      ["May start", agent.spawns.length > 0 ? `${visible(agent.spawns.join(", "))} (at most ${agent.maxSpawns})` : null],
    ]),
    agent.hasPrompt ? folded("Its prompt", () => prompt(agent, signal)) : null,
    h("p", {}, h("a", { href: `#/new?agent=${part(agent.path)}` }, "New session with it"), " · ", h("a", { href: `#/sessions?agent=${part(agent.name)}` }, "Its sessions")));
}

export async function show({ place, signal, title }) {
  title("Agents");
  const [told, skills] = await Promise.all([get("/api/agents", { signal }), get("/api/skills", { signal })]);
  fill(place, h("h1", {}, "Agents"),
    told.broken.length > 0 ? h("section", { class: "stack" }, h("h2", {}, "Broken"), h("p", { class: "muted" }, "These files would be agents, but for a mistake. Nobody can use them."), broken("Broken agent files", told.broken)) : null,
    told.agents.length > 0 ? h("div", { class: "columns" }, told.agents.map((each) => card(each, signal))) : nothing("The vault has no agents.", h("p", {}, "An agent is a Markdown file in the vault's folder ", h("code", {}, "agents"), ".")),
    h("section", { class: "stack" }, h("h2", {}, "Skills"), broken("Broken skills", skills.broken),
      skills.skills.length > 0 ? table("Skills", [["Name", (each) => visible(each.name)], ["What for", (each) => visible(each.description)], ["File", (each) => h("code", {}, visible(each.path))]], skills.skills) : h("p", { class: "muted" }, "None.")));
}
