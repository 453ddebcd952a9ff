// What a person has begun to write to a session and not sent: there again when they come back.
//
// In this page's memory alone: a message may hold a secret, and browsers write their stores to disk.

const MOST = 50;
const drafts = new Map();

/** What was left of a message to this session. */
export function draftOf(id) {
  return drafts.get(id) ?? "";
}

/** Keeps what is written; nothing forgets it. */
export function keepDraft(id, words) {
  drafts.delete(id);
  if (words.trim()) drafts.set(id, words);
  if (drafts.size > MOST) drafts.delete(drafts.keys().next().value);
}

/** Whoever signs in next doesn't see what another wrote. */
export function forgetDrafts() {
  drafts.clear();
}
