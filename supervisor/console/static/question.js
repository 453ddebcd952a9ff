// A question of an agent's: options, own words, or no answer.

import { part, post } from "./api.js";
import { say } from "./announce.js";
import { countdown } from "./countdown.js";
import { fill, h } from "./dom.js";
import { doing, problemBox } from "./ui.js";
import { visible } from "./visible.js";
import { waiting } from "./waiting.js";

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

/** The card of an open question, with the same handles as a request's. */
export function questionCard(asked, { signal, withSession = false }) {
  const told = h("div", {});
  const parts = asked.questions.map((each, at) => one(each, asked.shown[at], at, asked.requestId));
  const path = `/api/questions/${part(asked.requestId)}`;
  const act = (label, props, run, words) => doing(label, async () => {
    fill(told);
    try {
      await run();
      over(words);
    } catch (error) {
      if (!signal.aborted) fill(told, problemBox(error));
    }
    waiting.soon();
  }, props);
  const answer = act("Answer", { class: "main" }, () => {
    const answers = Object.fromEntries(asked.questions.map((each, at) => [each.question, parts[at].answer()]).filter(([, given]) => given !== undefined));
    return post(`${path}/answer`, { answers });
  }, "Answered.");
  const decline = act("Leave it unanswered", {}, () => post(`${path}/decline`, {}), "Left without an answer.");
  const time = countdown(asked, { signal, onEnd: () => over("Nobody answered in time.") });
  const forms = h("div", { class: "stack" }, parts.map((each) => each.node), h("div", { class: "row" }, answer, decline));
  const node = h("section", { class: "request", tabindex: "-1", data: { request: asked.requestId }, "aria-label": "Question" },
    h("header", {}, h("h2", {}, `${asked.agentName ? visible(asked.agentName) : "The agent"} asks`), time),
    asked.hasHiddenCharacters ? h("p", { class: "hidden-warning" }, "Careful: it has characters that don't show, or that look like others. They are named as ⟨U+…⟩.") : null,
    withSession ? h("p", {}, h("a", { href: `#/session/${part(asked.sessionId)}` }, "Its session")) : null,
    forms, told);

  function over(words) {
    if (node.classList.contains("over")) return;
    node.classList.add("over");
    delete node.dataset.request;
    const hadFocus = node.contains(document.activeElement);
    time.remove();
    if (forms.isConnected) forms.replaceWith(h("p", { class: "muted", role: "status" }, words ?? "It is answered."));
    say(words ?? "It is answered");
    if (hadFocus) node.focus();
  }

  return { node, over, rearm: () => {} };
}
