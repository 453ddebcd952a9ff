// Why a call was let run or refused, as the audit log has it; for those who may read that.

import { get } from "./api.js";
import { may, seesAll } from "./me.js";

const MOST = 500;

/** Whether decisions can be looked up at all. */
export function canLookUp() {
  return may("admin") && seesAll();
}

/** The decision on one call of a turn; null if the log has none (yet). */
export async function decisionOf(turnId, toolUseId) {
  const told = await get("/api/audit", { query: { turn: turnId, kind: "decision", limit: MOST } });
  return told.entries.find((each) => each.body?.toolUseId === toolUseId) ?? null;
}
