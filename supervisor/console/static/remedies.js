// What helps, as it is in the console: to all clients the supervisor speaks of routes; here are rooms.

import { h } from "./dom.js";
import { visible } from "./visible.js";

const looked = (path) => new RegExp(String.raw`(?:(?:see the agents there are|list the sessions|list them|see)(?: with|:) )?GET ${path}`);
const ROOMS = [
  [looked("/api/agents(?:, or: trustfloor agents)?"), "see ", "Agents", "#/agents"],
  [looked("/api/captures"), "see ", "Captures", "#/captures"],
  [looked("/api/chat/sessions"), "see ", "Sessions", "#/sessions"],
  [looked("/api/grants(?: lists them)?"), "see ", "Grants", "#/grants"],
  [looked("/api/mcp"), "see ", "MCP servers", "#/mcp"],
  [looked("/api/workspaces(?:, or make it with PUT /api/workspaces/SLUG)?"), "see ", "Workspaces", "#/workspaces"],
  [/PUT \/api\/workspaces\/[\w-]+(?: with the\s+floor)?/, "under ", "Workspaces", "#/workspaces"],
  [/PUT \/api\/sessions\/\{id\}\/trust/, "beside the session, under ", "Trust", null],
];

/** The remedy as nodes, with rooms in place of routes. */
export function remedyWords(remedy) {
  for (const [form, before, room, address] of ROOMS) {
    const found = form.exec(remedy);
    if (found === null) continue;
    const place = address === null ? h("strong", {}, room) : h("a", { href: address }, room);
    return [visible(remedy.slice(0, found.index)), before, place, remedyWords(remedy.slice(found.index + found[0].length))];
  }
  return visible(remedy);
}
