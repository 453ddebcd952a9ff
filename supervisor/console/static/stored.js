// Where in a session's stored events the view begins: with its newest turns, not with the first.

import { get } from "./api.js";

const TURNS = 8;
const PAGE = 500;
const MOST_PAGES = 40;

/**
 * Behind which event to begin (`after`), since when (`since`, ISO; null if no turn is stored), and
 * the number of the last event that is stored now (`last`).
 */
export async function newestTurns(id, { signal }) {
  const begun = [];
  let last = 0;
  let after = 0;
  for (let pages = 0; pages < MOST_PAGES; pages += 1) {
    const told = await get("/api/events", { signal, query: { session: id, type: ["session", "done", "aborted", "error"], limit: PAGE, after } });
    for (const event of told.events) {
      if (event.type === "session") begun.push(event);
      last = event.seq;
    }
    after = told.next;
    if (!told.more) break;
  }
  const first = begun[Math.max(0, begun.length - TURNS)];
  return first === undefined ? { after: 0, since: null, last } : { after: first.seq - 1, since: first.ts, last };
}
