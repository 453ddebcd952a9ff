// What a session is found by and told of: its tags, and its context folders.

import { get, part, patch, put } from "./api.js";
import { fill, h } from "./dom.js";
import { kept } from "./kept.js";
import { seesAll } from "./me.js";
import { problemBox } from "./ui.js";
import { visible } from "./visible.js";

/** The card with both, and `load` to look for what is stored. */
export function keeping(id, { signal }) {
  const session = `/api/chat/session/${part(id)}`;
  const contexts = `/api/sessions/${part(id)}/contexts`;
  const theTags = async () => (await get(session, { signal, query: { limit: 0 } })).tags;
  const tags = kept({
    label: "Tags", one: "tag", none: "None. A tag finds the session again, in the list and in the search.",
    load: theTags, save: async (all) => (await patch(session, { tags: all }), theTags()),
    named: visible, shown: (tag) => h("a", { href: `#/sessions?tag=${part(tag)}` }, visible(tag)),
    props: { maxlength: "100" },
    suggest: async () => (seesAll() ? (await get("/api/stats", { signal })).tags.map((each) => each.tag) : []),
  }, { signal });
  const named = (folder) => (folder === "" ? "the whole vault" : visible(folder));
  const folders = kept({
    label: "Context folders", one: "folder", none: "None beside its own folder.",
    hint: "Relative to the vault. What AGENTS.md and CLAUDE.md say there and above it, the agent is told from the next message on.",
    load: async () => (await get(contexts, { signal })).folders, save: async (all) => (await put(contexts, { folders: all })).folders,
    named, shown: (folder) => h("code", {}, named(folder)),
    props: { maxlength: "4096", spellcheck: "false", autocapitalize: "off" },
  }, { signal });
  const told = h("div", {});
  return {
    node: h("section", { class: "card stack", "aria-label": "Tags and context" }, tags.node, folders.node, told),
    load: async () => {
      try {
        await Promise.all([tags.load(), folders.load()]);
      } catch (error) {
        if (!signal.aborted) fill(told, problemBox(error));
      }
    },
  };
}
