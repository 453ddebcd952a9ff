// Which address shows what.

import * as access from "./access.js";
import * as agents from "./agents.js";
import * as approvals from "./approvals.js";
import * as audit from "./audit.js";
import * as captures from "./captures.js";
import * as containers from "./containers.js";
import * as fresh from "./new.js";
import * as grants from "./grants.js";
import * as health from "./health.js";
import * as imports from "./imports.js";
import * as mcp from "./mcp.js";
import * as policy from "./policy.js";
import * as search from "./search.js";
import * as session from "./session.js";
import * as sessions from "./sessions.js";
import * as workspaces from "./workspaces.js";

export const views = [
  ["/sessions", sessions],
  ["/new", fresh],
  ["/session/:id", session],
  ["/approvals", approvals],
  ["/search", search],
  ["/captures", captures],
  ["/imports", imports],
  ["/workspaces", workspaces],
  ["/agents", agents],
  ["/mcp", mcp],
  ["/policy", policy],
  ["/grants", grants],
  ["/containers", containers],
  ["/audit", audit],
  ["/access", access],
  ["/health", health],
];
