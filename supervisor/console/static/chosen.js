// Files that are chosen for something and not sent yet: shown with their size, and taken away again.

import { say } from "./announce.js";
import { fill, h, icon } from "./dom.js";
import { base64, catchFiles, chooser, kindOf, sizeWords } from "./files.js";
import { chip } from "./ui.js";
import { hides, visible } from "./visible.js";

const MIB = 1024 * 1024;
const KINDS = { "text/plain": "text", "application/pdf": "PDF", "image/png": "picture", "image/jpeg": "picture", "image/gif": "picture", "image/webp": "picture" };
const ELSEWHERE = "Put it into the vault, or among the captures, and name it in the message.";

/** What the API takes along with a message. */
export const ATTACHED = { most: 20, largest: 5 * MIB, together: 8 * MIB, remedy: ELSEWHERE, judge: (file, kind) => {
  if (file.name.length > 255 || hides(file.name)) return "its name is too long, or has characters that don't show. Rename it.";
  return kind === null ? `it is neither text (UTF-8) nor a PNG, JPEG, GIF, WebP or PDF. ${ELSEWHERE}` : null;
} };

/** Why this file can't come to those; null: it can. */
function whyNot(file, kind, files, { most, largest, together = Infinity, remedy = "", judge = () => null }) {
  if (files.length >= most) return `${most} files are the most.`;
  if (file.size === 0) return "it is empty.";
  if (file.size > largest) return `it has ${sizeWords(file.size)}, and a file may have ${sizeWords(largest)}. ${remedy}`;
  const sum = files.reduce((all, each) => all + each.file.size, file.size);
  if (sum > together) return `with it the files have ${sizeWords(sum)}, and together they may have ${sizeWords(together)}. ${remedy}`;
  return judge(file, kind);
}

/**
 * The files of a form. `button` lets choose them, `list` shows them; what is dropped on `form`, or
 * pasted into it, comes to them. `rules`: `most`, `largest`, `together`, `judge(file, kind)`. Where
 * one is the most, another takes its place.
 */
export class Chosen {
  #files = [];
  #rules;
  #told = h("div", {});
  #rows;
  #sum = h("p", { class: "muted small" });
  button;
  list;

  constructor(form, rules, { label, listed, hint }) {
    this.#rules = rules;
    this.#rows = h("ul", { class: "chosen", "aria-label": listed });
    this.list = h("div", { class: "stack", hidden: true }, this.#rows, this.#sum, this.#told);
    this.button = chooser([icon("clip"), h("span", { class: "words" }, label)], (files) => this.#take(files), { title: hint, multiple: rules.most > 1 });
    catchFiles(form, (files) => this.#take(files));
  }

  get isEmpty() {
    return this.#files.length === 0;
  }

  /** The files themselves. */
  get files() {
    return this.#files.map(({ file }) => file);
  }

  /** The files as JSON takes them. */
  async wire() {
    return Promise.all(this.files.map(async (file) => ({ filename: file.name, content: await base64(file), encoding: "base64" })));
  }

  /** Those are sent; all, if none is named. */
  clear(sent = this.files) {
    this.#files = this.#files.filter(({ file }) => !sent.includes(file));
    this.#draw([]);
  }

  async #take(given) {
    const refused = [];
    for (const file of given) {
      const kind = await this.#kind(file);
      if (this.#rules.most === 1) this.#files = [];
      const why = kind === undefined ? "it can't be read. Is it a folder?" : whyNot(file, kind, this.#files, this.#rules);
      if (why === null) this.#files.push({ file, kind });
      else refused.push(`${visible(file.name)} isn't taken: ${why}`);
    }
    this.#draw(refused);
    if (refused.length === 0) say(`${this.#files.length} ${this.#files.length === 1 ? "file is" : "files are"} chosen`);
  }

  /** What it is; null for what isn't known or is too large to look at, undefined: it can't be read. */
  async #kind(file) {
    try {
      const looked = file.size > this.#rules.largest || !this.#rules.judge ? file.slice(0, 1) : file;
      const bytes = new Uint8Array(await looked.arrayBuffer());
      return looked === file ? kindOf(bytes) : null;
    } catch {
      return undefined;
    }
  }

  #remove(each) {
    const at = this.#files.indexOf(each);
    this.#files.splice(at, 1);
    this.#draw([]);
    const buttons = this.#rows.querySelectorAll("button");
    (buttons[Math.min(at, buttons.length - 1)] ?? this.button.querySelector("button")).focus();
    say(`${visible(each.file.name)} is removed`);
  }

  #draw(refused) {
    const { together } = this.#rules;
    fill(this.#rows, this.#files.map((each) => h("li", {}, h("span", { class: "title" }, visible(each.file.name)), " ", KINDS[each.kind] ? [chip(KINDS[each.kind]), " "] : null, h("span", { class: "muted small" }, sizeWords(each.file.size)),
      h("button", { type: "button", class: "small quiet", "aria-label": `Remove ${visible(each.file.name)}`, on: { click: () => this.#remove(each) } }, icon("no")))));
    this.#rows.hidden = this.isEmpty;
    const sum = this.files.reduce((all, { size }) => all + size, 0);
    fill(this.#sum, `${this.#files.length} files, ${sizeWords(sum)}${together === undefined ? "" : ` of ${sizeWords(together)}`}`);
    this.#sum.hidden = this.#files.length < 2;
    fill(this.#told, refused.length > 0 ? h("div", { class: "problem", role: "alert" }, refused.map((each) => h("p", {}, each))) : null);
    this.list.hidden = this.isEmpty && refused.length === 0;
  }
}

/** The files that go along with the message of a form. */
export function attaching(form) {
  return new Chosen(form, ATTACHED, { label: "Attach files", listed: "Files that go along", hint: `Text, pictures (PNG, JPEG, GIF, WebP) and PDF: ${ATTACHED.most} files, ${sizeWords(ATTACHED.largest)} each, ${sizeWords(ATTACHED.together)} together` });
}
