// A message on its way: the same one is taken once, however often it has to be sent.

import { send } from "./api.js";

/** Has Ctrl Enter (Cmd Enter) send the form that these words are written in. */
export function sendsByKey(words) {
  words.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    words.form.requestSubmit();
  });
}

/** What sends the messages of one form. */
export class Sending {
  #said = null;
  #key = null;

  /**
   * Sends a message; the id of its session. What failed and is sent again unchanged is the same
   * message to the supervisor, whether it had come through or not. Raises Problem.
   */
  async send(body) {
    const said = JSON.stringify(body);
    if (said !== this.#said) {
      this.#said = said;
      this.#key = [...crypto.getRandomValues(new Uint8Array(16))].map((each) => each.toString(16).padStart(2, "0")).join("");
    }
    const answer = await send("POST", "/api/chat/stream", { body, headers: { Accept: "text/event-stream", "Idempotency-Key": this.#key } });
    answer.body.cancel().catch(() => {}); // the turn goes on, and the session's own stream tells of it
    this.#said = null;
    return answer.headers.get("Trustfloor-Session");
  }
}
