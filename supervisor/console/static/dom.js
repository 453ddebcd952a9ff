// Elements out of data: the one place that makes them. Text goes in as text, whatever it says.

const SVG = "http://www.w3.org/2000/svg";
const NEVER = /^(on|style$|src$|srcdoc$|action$|formaction$)/i;

/**
 * An element. `props`: `class`, `on` (event → handler), `data` (dataset), anything else is an
 * attribute; true is one without a value, false and null none. Children: nodes, texts, lists.
 */
export function h(tag, props = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, handler] of Object.entries(value)) made.addEventListener(event, handler);
    } else if (name === "data") {
      for (const [key, text] of Object.entries(value)) made.dataset[key] = text;
    } else if (name === "value") {
      made.value = value;
    } else {
      set(made, name, value);
    }
  }
  made.append(...flat(children));
  return made;
}

function set(made, name, value) {
  if (NEVER.test(name)) throw new TypeError(`not an attribute for data: ${name}`);
  if (name === "href" && !String(value).startsWith("#/")) throw new TypeError("only our own routes");
  made.setAttribute(name, value === true ? "" : String(value));
}

function flat(children) {
  return children.flat(Infinity).filter((each) => each !== null && each !== undefined && each !== false);
}

/** Puts these in place of all that an element holds. */
export function fill(element, ...children) {
  element.replaceChildren(...flat(children));
  return element;
}

/** A picture out of bytes, of a type that holds nothing but a picture; `onBroken`: it is none. */
export function picture(bytes, type, words, onBroken) {
  if (!/^image\/(png|jpeg|gif|webp)$/.test(type)) throw new TypeError(`not shown as a picture: ${type}`);
  const made = h("img", { class: "picture", alt: words });
  const address = URL.createObjectURL(new Blob([bytes], { type }));
  const over = () => URL.revokeObjectURL(address);
  made.addEventListener("load", over);
  made.addEventListener("error", () => (over(), onBroken()));
  made.src = address;
  return made;
}

/** Lets the browser save bytes as a file, as which it is never opened here. */
export function saveAs(bytes, name) {
  const address = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

const PATHS = {
  menu: "M4 7h16M4 12h16M4 17h16",
  moon: "M20 14.5A8 8 0 0 1 9.5 4 8 8 0 1 0 20 14.5Z",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8ZM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6 19 19M19 5l-1.4 1.4M6.4 17.6 5 19",
  full: "M12 4 21 20H3ZM12 10v4M12 17v.5",
  vault: "M4 6h16v13H4ZM12 10v4M4 10h3M17 10h3",
  sandboxed: "M12 3 20 7v10l-8 4-8-4V7ZM12 3v18M4 7l8 4 8-4",
  wait: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16ZM12 8v4l3 2",
  clip: "M20 11.5 12.5 19a4.6 4.6 0 0 1-6.5-6.5l8-8a3 3 0 0 1 4.3 4.3l-8 8a1.5 1.5 0 0 1-2.2-2.1l7.4-7.4",
  ok: "M5 12.5 10 17 19 7",
  no: "M6 6 18 18M18 6 6 18",
  note: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16ZM12 11v5M12 8v.5",
};

/** A small picture beside words that say the same. */
export function icon(name) {
  const made = document.createElementNS(SVG, "svg");
  for (const [key, value] of Object.entries({ class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" })) {
    made.setAttribute(key, value);
  }
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", PATHS[name] ?? PATHS.note);
  made.append(path);
  return made;
}
