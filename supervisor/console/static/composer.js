// The box for the next message of a session.

import { attaching } from "./chosen.js";
import { fill, h } from "./dom.js";
import { draftOf, keepDraft } from "./drafts.js";
import { Sending, sendsByKey } from "./sending.js";
import { problemBox } from "./ui.js";

const READY = "Ctrl Enter sends";
const AT_WORK = "At work: send the next message when it is done.";

/**
 * The form; `sent` is called when the supervisor has taken the message. `runs(is)` tells whether a
 * turn runs; `stop` ends it, and stands here because this stays in sight however long the turn gets.
 */
export function composer(id, { signal, sent, stop }) {
  const words = h("textarea", { rows: "2", dir: "auto", data: { message: "" }, id: "message", placeholder: "Message to the agent" });
  words.value = draftOf(id);
  words.addEventListener("input", () => keepDraft(id, words.value));
  const told = h("div", {});
  const go = h("button", { type: "submit", class: "main" }, "Send");
  const hint = h("span", { class: "muted small wide" }, READY);
  const form = h("form", { class: "composer" });
  const files = attaching(form);
  const sending = new Sending();
  fill(form, h("label", { for: "message", class: "unseen" }, "Message"), words, files.list, told,
    h("div", { class: "row end" }, files.button, h("span", { class: "gap" }), hint, stop, go));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if ((!words.value.trim() && files.isEmpty) || go.disabled) return;
    fill(told);
    go.disabled = true;
    fill(go, "Sending…");
    try {
      const body = { message: words.value, sessionId: id };
      if (!files.isEmpty) body.attachments = await files.wire();
      await sending.send(body);
      words.value = "";
      keepDraft(id, "");
      files.clear();
      sent();
    } catch (error) {
      if (!signal.aborted) fill(told, problemBox(error));
    } finally {
      go.disabled = false;
      fill(go, "Send");
    }
  });
  sendsByKey(words);
  return { node: form, runs: (is) => fill(hint, is ? AT_WORK : READY) };
}
