// The containers of ours that exist now: which turn uses which, and what is left of one.

import { get, part } from "../api.js";
import { fill, h } from "../dom.js";
import { feed } from "../feed.js";
import { chip, moment, nothing, problemBox, table } from "../ui.js";
import { visible } from "../visible.js";

export const room = "containers";
const AGAIN_MS = 5_000;

export async function show({ place, signal, title }) {
  title("Containers");
  const list = h("div", {});
  async function load() {
    const told = await get("/api/containers", { signal });
    if (list.contains(document.activeElement) && document.activeElement.tagName === "A") return;
    fill(list, told.containers.length === 0 ? nothing("No containers exist now.", h("p", {}, "Each sandboxed message gets one of its own, which is gone when its turn is over.")) : table("Containers", [
      ["Container", (each) => h("code", {}, visible(each.id.slice(0, 12)))],
      ["Use", (each) => (each.waiting ? chip("waits for a message") : each.live ? chip("in use by a turn", "good") : chip("left over", "wait"))],
      ["State", (each) => visible(each.state)],
      ["Session", (each) => (each.sessionId ? h("a", { href: `#/session/${part(each.sessionId)}` }, h("code", {}, visible(each.sessionId.slice(0, 8)))) : "–")],
      ["Since", (each) => moment(each.since)],
      ["Image", (each) => h("code", { class: "small" }, visible(each.image))],
    ], told.containers));
  }
  const again = () => document.hidden || load().catch((error) => signal.aborted || fill(list, problemBox(error)));
  fill(place, h("h1", {}, "Containers"), h("p", { class: "muted" }, "As the engine tells them, by our own label. What is left over is removed within the minute, by the supervisor itself."), list);
  await load();
  const timer = setInterval(again, AGAIN_MS);
  signal.addEventListener("abort", () => clearInterval(timer));
  feed.addEventListener("event", ({ detail }) => ["done", "aborted", "error"].includes(detail.type) && again(), { signal });
}
