// At which level a session runs, who demands what, and the way to change what it asks for.

import { get, part, put } from "./api.js";
import { note } from "./announce.js";
import { fill, h } from "./dom.js";
import { may } from "./me.js";
import { doing, facts, field, problemBox, select, trustBadge } from "./ui.js";
import { visible } from "./visible.js";

const LEVELS = [["sandboxed", "sandboxed"], ["vault", "vault"], ["full", "full"]];

const sourceOf = (floor) => `${visible(floor.source)}${floor.name ? ` ${visible(floor.name)}` : ""}`;

/** Who demands what; who demands nothing (`full` is no floor) is told in passing. */
function floors(list) {
  const demands = list.filter((each) => each.level !== "full");
  const others = list.filter((each) => each.level === "full");
  return [demands.length > 0 ? h("ul", { data: { floors: "" } }, demands.map((each) => h("li", {}, trustBadge(each.level), ` ${sourceOf(each)}`))) : "none",
    others.length > 0 ? h("p", { class: "muted small" }, `None of: ${others.map(sourceOf).join(", ")}`) : null];
}

/** The panel, and `load` to look again. */
export function trustPanel(id, { signal, changed = () => {} }) {
  const body = h("div", { class: "stack" });
  const told = h("div", { role: "status" });
  const path = `/api/sessions/${part(id)}/trust`;

  function draw(trust) {
    const level = select(LEVELS, trust.requested);
    const set = doing("Change", async () => {
      fill(told);
      try {
        draw(await put(path, { trustLevel: level.value }));
        note(`From its next message on the session asks for ${level.value}.`);
        changed();
      } catch (error) {
        fill(told, problemBox(error));
      }
    });
    fill(body,
      facts([["Runs at", trustBadge(trust.effective)], ["Asks for", trustBadge(trust.requested)], ["Floors", floors(trust.floors)]]),
      h("details", {}, h("summary", {}, "How that came about"), h("ol", { class: "trace" }, trust.trace.map((each) => h("li", {}, visible(each))))),
      may("chat") ? h("details", {}, h("summary", {}, "Change the level"), h("div", { class: "stack" }, field("Level", level, "A floor makes it stricter, nothing looser. A change voids the session's grants; a stricter level aborts a turn that runs too loosely."), h("div", { class: "row" }, set), told)) : null);
    return trust;
  }

  async function load() {
    try {
      return draw(await get(path, { signal }));
    } catch (error) {
      if (!signal.aborted) fill(body, problemBox(error));
      return null;
    }
  }

  return { node: h("section", { class: "card stack", "aria-label": "Trust" }, h("h2", {}, "Trust"), body), load };
}
