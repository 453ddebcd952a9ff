// What happens in all sessions, heard once for all tabs: a browser has six connections to a server,
// and each tab that kept one of them open would be one step nearer to a console that hangs.

import { follow } from "./sse.js";

const TYPES = ["session", "permission_request", "permission_resolved", "user_question", "done", "aborted", "error"];
const PATH = `/api/events/stream?${TYPES.map((each) => `type=${each}`).join("&")}`;

/** Says `event` (detail: the event's type and data) and `state` ("open" or "lost"). */
export const feed = new EventTarget();

let channel = null;

/** Begins to listen, until `signal` says to stop. */
export function listen(signal) {
  channel = new BroadcastChannel("trustfloor-feed");
  channel.addEventListener("message", ({ data }) => tell(data.kind, data.detail));
  signal.addEventListener("abort", () => channel.close());
  if (navigator.locks === undefined) {
    lead(signal);
    return;
  }
  // The tab that has the lock listens for all; when it goes, the next one gets the lock.
  navigator.locks.request("trustfloor-feed", { signal }, () => lead(signal)).catch(() => {});
}

async function lead(signal) {
  await follow(PATH, {
    signal,
    onEvents: (events) => events.forEach((each) => spread("event", { type: each.type, data: each.data })),
    onState: (state) => spread("state", state),
  }).catch(() => {});
}

function spread(kind, detail) {
  tell(kind, detail);
  channel.postMessage({ kind, detail });
}

function tell(kind, detail) {
  feed.dispatchEvent(new CustomEvent(kind, { detail }));
}
