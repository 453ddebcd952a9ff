// Workspaces: named folders of the vault, and the floor that each demands.

import { get, part, put, remove } from "../api.js";
import { note } from "../announce.js";
import { fill, h } from "../dom.js";
import { may } from "../me.js";
import { chip, confirm, doing, facts, field, problemBox, select, trustBadge } from "../ui.js";
import { visible } from "../visible.js";

export const room = "workspaces";
const FLOORS = [["sandboxed", "sandboxed: the strictest"], ["vault", "vault: at least the cage"], ["full", "full: no floor"]];

function form({ slug = null, name = "", folder = "", floor = "sandboxed" }, save) {
  const fields = {
    slug: slug === null ? h("input", { required: true, pattern: "[a-z0-9][a-z0-9_\\-]*", autocapitalize: "off", spellcheck: "false" }) : null,
    name: h("input", { value: name }),
    folder: h("input", { value: folder, autocapitalize: "off", spellcheck: "false" }),
    floor: select(FLOORS, floor),
  };
  const told = h("div", {});
  const made = h("form", { class: "stack" },
    fields.slug ? field("Slug", fields.slug, "Its name in addresses: small letters, digits, - and _.") : null,
    field("Name", fields.name), field("Folder", fields.folder, "Relative to the vault; empty is all of it. It has to exist."),
    field("Floor", fields.floor, "A raised floor counts at once: a turn that runs too loosely for it is aborted."),
    told, h("div", { class: "row" }, h("button", { type: "submit", class: "main" }, slug === null ? "Make it" : "Save")));
  made.addEventListener("submit", async (event) => {
    event.preventDefault();
    fill(told);
    const body = { folder: fields.folder.value.trim(), floor: fields.floor.value };
    if (fields.name.value.trim()) body.name = fields.name.value.trim();
    try {
      await save(slug ?? fields.slug.value.trim(), body);
    } catch (error) {
      fill(told, problemBox(error));
    }
  });
  return made;
}

export async function show({ place, signal, title }) {
  title("Workspaces");
  const list = h("div", { class: "columns" });

  async function save(slug, body) {
    await put(`/api/workspaces/${part(slug)}`, body);
    note(`The workspace ${visible(slug)} is saved.`);
    await load();
  }

  function card(each) {
    const change = h("details", {}, h("summary", {}, "Change"), form(each, save));
    const away = doing("Remove", async () => {
      if (!(await confirm(`Remove the workspace ${visible(each.name)}?`, { detail: "Its folder stays. It can't be removed while sessions are in it.", yes: "Remove", danger: true }))) return;
      try {
        await remove(`/api/workspaces/${part(each.slug)}`);
        await load();
      } catch (error) {
        note(error.message, { bad: true });
      }
    }, { class: "small danger-quiet" });
    return h("section", { class: "card stack", data: { workspace: each.slug } },
      h("div", { class: "row top" }, h("h2", {}, visible(each.name)), each.damaged.length > 0 ? chip("damaged", "bad") : null),
      facts([["Slug", h("code", {}, visible(each.slug))], ["Folder", each.folder ? h("code", {}, visible(each.folder)) : "the whole vault"], ["Floor", trustBadge(each.floor)]]),
      h("p", {}, h("a", { href: `#/sessions?workspace=${part(each.slug)}` }, "Its sessions")),
      may("admin") ? change : null, may("admin") && each.slug !== "default" ? h("div", { class: "row" }, away) : null);
  }

  async function load() {
    const told = await get("/api/workspaces", { signal });
    fill(list, told.workspaces.map(card));
  }

  fill(place, h("h1", {}, "Workspaces"),
    h("p", { class: "muted" }, "A workspace says how strictly its sessions run. It is no wall: sessions of others can read the files in its folder like the rest of the vault."),
    list, may("admin") ? h("details", { class: "card" }, h("summary", {}, "New workspace"), form({}, save)) : null);
  await load();
}
