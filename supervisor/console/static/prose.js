// What a model or a tool wrote: shown as it is, as text, and on demand with all that it hides.

import { h } from "./dom.js";
import { hides, visibleLines } from "./visible.js";

/** A button that shows what a text hides, if it hides anything; else null. */
export function unveiling(element, text) {
  if (!hides(text)) return null;
  const made = h("button", { type: "button", class: "small quiet", "aria-pressed": "false" }, "It has characters that don't show: name them");
  made.addEventListener("click", () => {
    const named = made.getAttribute("aria-pressed") !== "true";
    made.setAttribute("aria-pressed", String(named));
    made.textContent = named ? "Show it as it is" : "It has characters that don't show: name them";
    element.textContent = named ? visibleLines(text) : text;
  });
  return made;
}

/** Text that comes in pieces, and is whole in the end. */
export class Prose {
  #place;
  #text = document.createTextNode("");
  #waiting = "";
  #drawing = false;
  isWhole = false;

  constructor(props = {}) {
    this.#place = h("div", { class: "prose", dir: "auto", data: { prose: "" }, ...props }, this.#text);
    this.node = h("div", {}, this.#place);
  }

  /** More of it; drawn once a frame, however many pieces come. */
  add(delta) {
    this.#waiting += delta;
    if (this.#drawing) return;
    this.#drawing = true;
    requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    this.#drawing = false;
    if (this.isWhole) return;
    this.#text.appendData(this.#waiting);
    this.#waiting = "";
  }

  /** All of it, whatever came before. */
  whole(text) {
    this.isWhole = true;
    this.#text.data = text;
    const more = unveiling(this.#place, text);
    if (more) this.node.append(more);
  }

  /** No more of it comes, and nobody said what the whole is. */
  broken() {
    if (this.isWhole) return;
    this.whole(this.#text.data + this.#waiting);
  }
}
