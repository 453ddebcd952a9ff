// A question of an agent's: options, own words, or no answer.

import { part, post } from "./api.js";
import { Card } from "./card.js";
import { h } from "./dom.js";
import { visible } from "./visible.js";

function one(question, shown, at, id) {
  const several = shown.multiSelect;
  const name = `q-${id}-${at}`;
  const kind = several ? "checkbox" : "radio";
  const inputs = shown.options.map((option, index) => {
    const control = h("input", { type: kind, name, value: String(index), id: `${name}-${index}` });
    const words = [h("strong", {}, visible(option.label)), option.description ? h("span", { class: "muted" }, ` ${visible(option.description)}`) : null];
    return [control, h("div", { class: "choice" }, control, h("label", { for: control.id }, words)), question.options[index].label];
  });
  const other = h("input", { type: kind, name, value: "other", id: `${name}-other` });
  const words = h("input", { autocomplete: "off", "aria-label": `Own words: ${visible(shown.question)}` });
  words.addEventListener("input", () => (other.checked = words.value !== ""));
  const node = h("fieldset", {}, h("legend", {}, shown.header ? h("span", { class: "muted" }, `${visible(shown.header)}: `) : null, visible(shown.question)),
    h("div", { class: "choices" }, inputs.map(([, each]) => each), h("div", { class: "choice" }, other, h("span", {}, h("label", { for: other.id }, "Own words"), words))),
    several ? h("p", { class: "hint" }, "You may choose several.") : null);
  const answer = () => {
    const given = inputs.filter(([control]) => control.checked).map(([, , label]) => label);
    if (other.checked && words.value) given.push({ other: words.value });
    return several ? given : given[0];
  };
  return { node, answer };
}

/** The card of an open question. */
export function questionCard(asked, { signal, withSession = false }) {
  const card = new Card(asked, { id: asked.requestId, label: "Question", late: "Nobody answered in time.", signal });
  const parts = asked.questions.map((each, at) => one(each, asked.shown[at], at, asked.requestId));
  const path = `/api/questions/${part(asked.requestId)}`;
  const answer = card.button("Answer", { class: "main" }, async () => {
    const answers = Object.fromEntries(asked.questions.map((each, at) => [each.question, parts[at].answer()]).filter(([, given]) => given !== undefined));
    await post(`${path}/answer`, { answers });
    return "Answered.";
  });
  const decline = card.button("Leave it unanswered", {}, async () => (await post(`${path}/decline`, {}), "Left without an answer."));
  card.draw([
    h("header", {}, h("h2", {}, `${asked.agentName ? visible(asked.agentName) : "The agent"} asks`), card.time),
    asked.hasHiddenCharacters ? h("p", { class: "hidden-warning" }, "Careful: it has characters that don't show, or that look like others. They are named as ⟨U+…⟩.") : null,
    withSession ? h("p", {}, h("a", { href: `#/session/${part(asked.sessionId)}` }, "Its session")) : null,
  ], h("div", { class: "stack" }, parts.map((each) => each.node), h("div", { class: "row" }, answer, decline)));
  return card;
}
