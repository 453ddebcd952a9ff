// Files that a person brings: chosen, dropped or pasted; what they are, their bytes say.

import { h } from "./dom.js";

const MIB = 1024 * 1024;
const KINDS = [
  ["image/png", /^\x89PNG\r\n\x1a\n/],
  ["image/jpeg", /^\xff\xd8\xff/],
  ["image/gif", /^GIF8[79]a/],
  ["image/webp", /^RIFF[^]{4}WEBP/],
  ["application/pdf", /^%PDF-/],
];
export const TEXT = "text/plain";

/** A size as a person says it. */
export function sizeWords(bytes) {
  if (bytes < 1024) return `${bytes} ${bytes === 1 ? "byte" : "bytes"}`;
  return bytes < MIB ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / MIB).toFixed(1)} MiB`;
}

/** The type of what these bytes are: a picture, a PDF or text in UTF-8; null: something else. */
export function kindOf(bytes) {
  const head = String.fromCharCode(...bytes.subarray(0, 16));
  const found = KINDS.find(([, form]) => form.test(head));
  if (found !== undefined) return found[0];
  return textOf(bytes) === null ? null : TEXT;
}

/** The text that these bytes are in UTF-8; null: they are none. */
export function textOf(bytes) {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text.includes("\0") ? null : text;
  } catch {
    return null;
  }
}

/** A file's bytes in base64. */
export function base64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(reader.result.slice(reader.result.indexOf(",") + 1)));
    reader.addEventListener("error", () => reject(new Error(`${file.name} can't be read any more.`)));
    reader.readAsDataURL(file);
  });
}

/** A button that lets a person choose files; `take` gets them, also the same ones again. */
export function chooser(label, take, { multiple = true, accept = null, ...props } = {}) {
  const input = h("input", { type: "file", multiple, accept, hidden: true });
  input.addEventListener("change", () => {
    const chosen = [...input.files];
    input.value = "";
    if (chosen.length > 0) take(chosen);
  });
  const button = h("button", { type: "button", ...props, on: { click: () => input.click() } }, label);
  return h("span", {}, button, input);
}

/** What is dropped on `area`, or pasted into it without being text as well, goes to `take`. */
export function catchFiles(area, take) {
  const has = (event) => event.dataTransfer?.types.includes("Files") ?? false;
  const mark = (on) => area.classList.toggle("dropping", on);
  area.addEventListener("dragover", (event) => {
    if (!has(event)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "copy";
    mark(true);
  });
  area.addEventListener("dragleave", (event) => area.contains(event.relatedTarget) || mark(false));
  area.addEventListener("drop", (event) => {
    mark(false);
    if (!has(event)) return;
    event.preventDefault();
    take([...event.dataTransfer.files]);
  });
  area.addEventListener("paste", (event) => {
    const pasted = [...(event.clipboardData?.files ?? [])];
    if (pasted.length === 0 || event.clipboardData.types.includes("text/plain")) return;
    event.preventDefault();
    take(pasted);
  });
}

/** A file that is dropped beside a place for it doesn't take the page away. */
export function keepThePage() {
  for (const kind of ["dragover", "drop"]) {
    window.addEventListener(kind, (event) => {
      if (event.defaultPrevented || !event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = "none";
    });
  }
}
