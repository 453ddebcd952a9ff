// What helps, as it is in the console: to all clients the supervisor speaks of routes; here are rooms.

import { h } from "./dom.js";
import { visible } from "./visible.js";

const ROOMS = [
  [/(?:GET|PUT) \/api\/agents(?:, or: trustfloor agents)?/, "Agents", "#/agents"],
  [/GET \/api\/chat\/sessions/, "Sessions", "#/sessions"],
  [/GET \/api\/grants/, "Grants", "#/grants"],
  [/GET \/api\/mcp/, "MCP servers", "#/mcp"],
  [/GET \/api\/workspaces, or make it with PUT \/api\/workspaces\/SLUG/, "Workspaces", "#/workspaces"],
  [/(?:GET|PUT) \/api\/workspaces(?:\/[\w-]+)?/, "Workspaces", "#/workspaces"],
  [/PUT \/api\/sessions\/\{id\}\/trust/, "Trust, beside the session", null],
];

/** The remedy as nodes, with rooms in place of routes. */
export function remedyWords(remedy) {
  for (const [route, room, address] of ROOMS) {
    const found = route.exec(remedy);
    if (found === null) continue;
    const place = address === null ? h("strong", {}, room) : h("a", { href: address }, room);
    return [visible(remedy.slice(0, found.index)), place, remedyWords(remedy.slice(found.index + found[0].length))];
  }
  return visible(remedy);
}
