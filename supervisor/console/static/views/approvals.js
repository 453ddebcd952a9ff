// All that waits for a person, over all sessions, the oldest first.

import { fill, h } from "../dom.js";
import { requestCard } from "../request.js";
import { questionCard } from "../question.js";
import { nothing } from "../ui.js";
import { waiting } from "../waiting.js";

export const room = "approvals";

export async function show({ place, signal, title }) {
  title("Approvals");
  await waiting.refresh();
  const cards = new Map();
  const list = h("div", { class: "stack" });
  const none = nothing("Nothing waits for you.", h("p", {}, "When an agent wants to do what the policy leaves to a person, it is shown here and in its session."));

  function draw() {
    const open = new Map([
      ...waiting.permissions.map((each) => [each.id, [each.askedAt, () => requestCard(each, { signal, withSession: true })]]),
      ...waiting.questions.map((each) => [each.requestId, [each.askedAt ?? each.expiresAt - 300, () => questionCard(each, { signal, withSession: true })]]),
    ]);
    let moved = false;
    for (const [id, card] of cards) {
      if (open.has(id)) continue;
      // A card that is being worked on stays, and tells that it is over.
      if (card.node.contains(document.activeElement)) card.over();
      else card.node.remove();
      moved = true;
      cards.delete(id);
    }
    for (const [id, [, make]] of [...open].sort((a, b) => a[1][0] - b[1][0])) {
      if (cards.has(id)) continue;
      const card = make();
      cards.set(id, card);
      list.append(card.node);
    }
    // What is under the pointer may be another request now.
    if (moved) cards.forEach((card) => card.rearm());
    none.hidden = cards.size > 0;
  }

  waiting.addEventListener("change", draw, { signal });
  fill(place, h("h1", {}, "Approvals"), none, list);
  draw();
}
