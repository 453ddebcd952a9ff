// Captures: documents that people and programs put into the vault for agents to read.

import { get, part, post, remove, send } from "../api.js";
import { note } from "../announce.js";
import { Chosen } from "../chosen.js";
import { fill, h, picture, saveAs } from "../dom.js";
import { kindOf, sizeWords, TEXT, textOf } from "../files.js";
import { Prose } from "../prose.js";
import { confirm, doing, field, folded, moment, nothing, problemBox } from "../ui.js";
import { visible } from "../visible.js";

export const room = "captures";
const LARGEST = 25 * 1024 * 1024; // as the API takes it
const MOST = 20; // at once
const LONGEST = 200_000; // characters of a text that are shown

/** The bytes as what they are: a text, a picture, or something to save. Nothing in them runs here. */
function seen(bytes, capture) {
  const kind = kindOf(bytes);
  const words = visible(capture.originalName);
  if (kind?.startsWith("image/")) {
    const place = h("div", {});
    return fill(place, picture(bytes, kind, words, () => fill(place, h("p", { class: "muted" }, "The picture is damaged."))));
  }
  if (kind !== TEXT) return h("p", { class: "muted" }, `It is ${kind === null ? "neither text nor a picture" : "a PDF"}: save it to open it elsewhere.`);
  const text = textOf(bytes);
  const prose = new Prose();
  prose.whole(text.slice(0, LONGEST));
  return h("div", { class: "stack" }, h("div", { class: "code", tabindex: "0", role: "region", "aria-label": `Text of ${words}` }, prose.node),
    text.length > LONGEST ? h("p", { class: "muted small" }, `Only the first ${LONGEST} of ${text.length} characters are shown.`) : null);
}

function viewer(capture, { signal, reload }) {
  const place = h("div", { class: "stack" }, "Loading…");
  send("GET", `/api/captures/${part(capture.filename)}`, { headers: { Accept: "*/*" }, signal }).then(async (answer) => {
    const bytes = new Uint8Array(await answer.arrayBuffer());
    fill(place, seen(bytes, capture), h("div", { class: "row" }, h("button", { type: "button", class: "small", on: { click: () => saveAs(bytes, capture.filename) } }, "Save"), away(capture, { signal, reload })));
  }).catch((error) => signal.aborted || fill(place, problemBox(error)));
  return place;
}

function away(capture, { signal, reload }) {
  return doing("Delete", async () => {
    if (!(await confirm(`Delete ${visible(capture.filename)} for good?`, { detail: "It is taken out of the vault; no agent finds it any more.", yes: "Delete", danger: true }))) return;
    try {
      await remove(`/api/captures/${part(capture.filename)}`, { signal });
      note(`Deleted: ${visible(capture.path)}`);
      await reload();
    } catch (error) {
      if (!signal.aborted) note(error.message, { bad: true });
    }
  }, { class: "small danger-quiet" });
}

function line(capture, context) {
  const renamed = capture.originalName !== capture.filename;
  return h("li", { data: { capture: capture.filename } }, h("div", { class: "stack" },
    h("span", { class: "title" }, visible(capture.title || capture.originalName)),
    h("div", { class: "about" }, h("code", {}, visible(capture.path)), h("span", {}, sizeWords(capture.size)), moment(capture.capturedAt),
      renamed ? h("span", {}, `came as ${visible(capture.originalName)}`) : null),
    capture.context ? h("p", { class: "small" }, visible(capture.context)) : null,
    folded(["Show it", h("span", { class: "unseen" }, `: ${visible(capture.filename)}`)], () => viewer(capture, context))));
}

/** The form that puts documents there; each is whole or not there at all. */
function uploading({ signal, reload }) {
  const form = h("form", { class: "card stack" });
  const files = new Chosen(form, { most: MOST, largest: LARGEST }, { label: "Choose files", listed: "Files to upload", hint: "Or drop them here, or paste a picture" });
  const title = h("input", { autocomplete: "off", maxlength: "500" });
  const context = h("input", { autocomplete: "off", maxlength: "2000" });
  const told = h("div", { role: "status" });
  const go = doing("Upload", upload, { class: "main" });

  async function upload() {
    fill(told);
    if (files.isEmpty) return fill(told, problemBox({ message: "No file is chosen yet.", remedy: "choose files, drop them here, or paste a picture" }));
    const kept = [];
    try {
      for (const file of files.files) {
        const body = new FormData();
        body.append("file", file, file.name);
        if (title.value.trim()) body.append("title", title.value.trim());
        if (context.value.trim()) body.append("context", context.value.trim());
        kept.push(await post("/api/captures", body, { signal }));
        files.clear([file]);
      }
      title.value = context.value = "";
      note(`In the vault now: ${kept.map((each) => visible(each.path)).join(", ")}`);
    } catch (error) {
      if (!signal.aborted) fill(told, problemBox(error));
    }
    if (kept.length > 0) await reload();
  }

  form.addEventListener("submit", (event) => (event.preventDefault(), go.click()));
  return fill(form, h("h2", {}, "Upload"), h("p", { class: "muted" }, `Any kind of file, up to ${sizeWords(LARGEST)} each. It is stored in the vault's folder `, h("code", {}, "captures"), ", where agents may read it."),
    h("div", { class: "row" }, files.button), files.list,
    h("details", {}, h("summary", {}, "Title and note"), h("div", { class: "filters" }, field("Title", title), field("Note", context))),
    told, h("div", { class: "row" }, go));
}

export async function show({ place, signal, title }) {
  title("Captures");
  const list = h("ul", { class: "list", "aria-label": "Captures" });
  const none = nothing("No captures yet.", h("p", {}, "Upload a document, and name it in a message: an agent reads it from there."));

  async function load() {
    const told = await get("/api/captures", { signal });
    fill(list, told.captures.map((each) => line(each, { signal, reload: load })));
    list.hidden = told.captures.length === 0;
    none.hidden = !list.hidden;
  }

  fill(place, h("h1", {}, "Captures"), uploading({ signal, reload: load }), none, list);
  await load();
}
