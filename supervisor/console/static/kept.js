// A few words that a session keeps, as its tags or its context folders: shown, added, taken away.

import { say } from "./announce.js";
import { fill, h, icon } from "./dom.js";
import { may } from "./me.js";
import { field, problemBox } from "./ui.js";

/**
 * A list that a person may change. `load` and `save` give it as it is stored; each change is made to
 * what is stored then, so that it undoes nobody else's. `shown` makes what is seen of one, `named`
 * the words for it.
 */
export function kept({ label, one, none, hint, load, save, shown, named, props = {}, suggest = async () => [] }, { signal }) {
  const list = h("ul", { class: "chosen", "aria-label": label });
  const empty = h("p", { class: "muted small" }, none);
  const told = h("div", {});
  const words = h("input", { required: true, autocomplete: "off", ...props });
  const form = h("form", { class: "stack" }, field(`Add a ${one}`, words, hint), h("div", { class: "row" }, h("button", { type: "submit", class: "small" }, "Add")));

  async function change(act, words_) {
    fill(told);
    try {
      draw(await save(act(await load())));
      say(words_);
      return true;
    } catch (error) {
      if (!signal.aborted) fill(told, problemBox(error));
      return false;
    }
  }

  async function remove(each, at) {
    if (!(await change((all) => all.filter((other) => other !== each), `${named(each)} is removed`))) return;
    const buttons = list.querySelectorAll("button");
    (buttons[Math.min(at, buttons.length - 1)] ?? words).focus();
  }

  function draw(items) {
    fill(list, items.map((each, at) => h("li", {}, shown(each),
      may("chat") ? h("button", { type: "button", class: "small quiet", "aria-label": `Remove the ${one} ${named(each)}`, on: { click: () => remove(each, at) } }, icon("no")) : null)));
    list.hidden = items.length === 0;
    empty.hidden = items.length > 0;
  }

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const added = words.value;
    if (await change((all) => [...all, added], `${added} is added`)) words.value = "";
    words.focus();
  });
  words.addEventListener("focus", async () => {
    const known = await suggest().catch(() => []);
    if (known.length === 0 || signal.aborted) return;
    const choices = h("datalist", { id: `${words.id}-known` }, known.map((each) => h("option", { value: each })));
    words.after(choices);
    words.setAttribute("list", choices.id);
  }, { once: true });

  const section = h("section", { class: "stack", "aria-label": label }, h("h3", {}, label), list, empty, told,
    may("chat") ? h("details", {}, h("summary", {}, `Add a ${one}`), form) : null);
  return { node: section, draw, load: async () => draw(await load()) };
}
