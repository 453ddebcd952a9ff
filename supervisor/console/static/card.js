// What cards of requests and of questions have in common: buttons that take no click at first, a
// place for what went wrong, and an end that is said.

import { say } from "./announce.js";
import { countdown } from "./countdown.js";
import { fill, h } from "./dom.js";
import { doing, problemBox } from "./ui.js";
import { waiting } from "./waiting.js";

const ARMED_MS = 600; // no click that was meant for something else answers anything

/** The card of something that waits for a person; `late`: what is said when the time is over. */
export class Card {
  #armedAt = 0;
  #told = h("div", {});
  #forms = null;
  #signal;

  constructor(asked, { id, label, late, signal }) {
    this.#signal = signal;
    // Not before it is put together, if its time is over already.
    this.time = countdown(asked, { signal, onEnd: () => queueMicrotask(() => this.over(late)) });
    this.node = h("section", { class: "request", role: "group", tabindex: "-1", data: { request: id }, "aria-label": label });
    this.rearm();
  }

  /** Puts the card together; `forms` is what an end takes away. */
  draw(head, forms) {
    this.#forms = forms;
    fill(this.node, head, forms, this.#told);
  }

  /** From now on it takes a moment again until a click counts: what is under a pointer may be new. */
  rearm() {
    this.#armedAt = performance.now() + ARMED_MS;
  }

  /** A button that answers: `act` sends the answer, and gives the words for its end. */
  button(label, props, act) {
    return doing(label, async () => {
      if (performance.now() < this.#armedAt || !this.node.isConnected) return;
      fill(this.#told);
      try {
        this.over(await act());
      } catch (error) {
        if (!this.#signal.aborted) fill(this.#told, problemBox(error));
      }
      waiting.soon();
    }, props);
  }

  /** It waits no longer; `words` say why. */
  over(words = "It is answered.") {
    if (this.node.classList.contains("over")) return;
    this.node.classList.add("over");
    delete this.node.dataset.request;
    const hadFocus = this.node.contains(document.activeElement);
    this.time.remove();
    if (this.#forms?.isConnected) this.#forms.replaceWith(h("p", { class: "muted", role: "status" }, words));
    say(words);
    if (hadFocus) this.node.focus();
  }
}
