// Events of a session → what is seen of its turns. Everything told may be hostile: it is text.

import { say } from "./announce.js";
import { Call } from "./call.js";
import { h } from "./dom.js";
import { Prose } from "./prose.js";
import { questionCard } from "./question.js";
import { receipt } from "./receipt.js";
import { requestCard } from "./request.js";
import { chip, dollars, folded, moment, problemBox, trustBadge } from "./ui.js";
import { visible } from "./visible.js";
import { waiting } from "./waiting.js";

const WORDS = { new: "new", sdk_resume: "taken up", context_injection: "told what was said before" };

/** The cost of a scripted answer is for budgets; nobody paid it. */
function cost(spending, scripted = false) {
  if (!spending) return null;
  const tokens = spending.inputTokens + spending.outputTokens;
  return `${tokens.toLocaleString("en")} tokens${spending.costUsd > 0 && !scripted ? `, ${dollars(spending.costUsd)}` : ""}`;
}

/** Shows events, in order, in `place`; `changed` is called when a turn begins or ends. */
export class Turns {
  #turn = null;
  #level = null;
  #open = { text: null, thinking: null };
  #calls = new Map();
  #cards = new Map();
  #asked = new Set();
  #working = null;
  isLive = false;

  constructor(place, { signal, changed = () => {} }) {
    this.place = place;
    this.signal = signal;
    this.changed = changed;
    waiting.addEventListener("change", () => this.#drawCards(), { signal });
  }

  get isRunning() {
    return this.#turn !== null;
  }

  show(event) {
    const act = this[`on_${event.type}`];
    if (act) act.call(this, event.data);
  }

  #into(node) {
    if (this.#turn === null) this.#begin();
    this.#turn.insertBefore(node, this.#working);
  }

  #begin() {
    this.#working = h("p", { class: "working" }, "Working…");
    this.#turn = h("article", { class: "turn", "aria-label": "Turn", "aria-busy": "true" }, this.#working);
    this.place.append(this.#turn);
  }

  on_session(data) {
    this.#close("The turn ended without a word.");
    this.#begin();
    this.#level = data.trustLevel;
    const raised = data.trust.requested !== data.trust.effective;
    this.#into(h("header", {}, moment(data.ts), trustBadge(data.trustLevel), h("span", {}, visible(data.workspace)), data.agent ? h("span", {}, visible(data.agent)) : null,
      data.scripted ? chip("scripted model", "wait") : null, h("span", {}, WORDS[data.resumeInfo.method] ?? "")));
    this.#turn.dataset.turn = data.turn_id;
    if (raised) this.#into(folded(`Asked for ${visible(data.trust.requested)}, runs at ${visible(data.trust.effective)}`, () => h("ol", { class: "trace" }, data.trust.trace.map((each) => h("li", {}, visible(each)))), { class: "warned" }));
    this.changed();
  }

  on_isolation(data) {
    this.#into(receipt(data));
  }

  on_user_message(data) {
    const prose = new Prose();
    prose.whole(data.content);
    const files = data.attachments.map((each) => chip(`${visible(each.name)} (${visible(each.mediaType)}, ${each.size.toLocaleString("en")} bytes)`));
    this.#into(h("div", { class: "person", data: { said: "" } }, h("span", { class: "unseen" }, "You: "), prose.node, files));
  }

  #prose(kind, data) {
    let open = this.#open[kind];
    if (open === null) {
      open = this.#open[kind] = new Prose();
      this.#into(kind === "text" ? open.node : h("details", { class: "thought" }, h("summary", {}, "Thinking"), open.node));
    }
    if (data.content === null || data.content === undefined) open.add(data.delta);
    else {
      open.whole(data.content);
      this.#open[kind] = null;
    }
  }

  on_text(data) {
    this.#prose("text", data);
  }

  on_thinking(data) {
    this.#prose("thinking", data);
  }

  #breakText() {
    for (const kind of ["text", "thinking"]) {
      this.#open[kind]?.broken();
      this.#open[kind] = null;
    }
  }

  on_tool_use(data) {
    this.#breakText();
    const call = new Call({ tool: data.tool, agent: data.agent, level: this.#level, turn: data.turn_id });
    this.#calls.set(data.tool.id, call);
    this.#into(call.node);
  }

  on_tool_result(data) {
    this.#calls.get(data.toolUseId)?.gave(data);
  }

  on_permission_request(data) {
    this.#calls.get(data.toolUseId)?.asked(data);
    this.#asked.add(data.id);
    this.#drawCards();
    if (this.isLive) waiting.soon();
  }

  on_user_question(data) {
    this.#calls.get(data.toolUseId)?.questioned();
    this.#asked.add(data.requestId);
    this.#drawCards();
    if (this.isLive) waiting.soon();
  }

  on_permission_resolved(data) {
    const words = { granted: "Answered.", denied: "Denied.", timed_out: "Nobody answered in time.", void: "It is no longer open." };
    const card = this.#cards.get(data.id);
    if (card !== undefined) {
      card.over(words[data.decision]);
      this.#rearm();
    }
    for (const call of this.#calls.values()) if (call.requestId === data.id) call.resolved(data);
  }

  on_permission_denied(data) {
    this.#calls.get(data.toolUseId)?.denied(data);
  }

  /** A card for each request of this session that is open now; what events said may be long over. */
  #drawCards() {
    const drawn = this.#cards.size;
    for (const request of waiting.permissions) {
      if (!this.#asked.has(request.id) || this.#cards.has(request.id)) continue;
      const card = requestCard(request, { signal: this.signal });
      this.#cards.set(request.id, card);
      const call = this.#calls.get(request.toolUseId);
      if (call) call.node.after(card.node);
      else this.#into(card.node);
    }
    for (const asked of waiting.questions) {
      if (!this.#asked.has(asked.requestId) || this.#cards.has(asked.requestId)) continue;
      const card = questionCard(asked, { signal: this.signal });
      this.#cards.set(asked.requestId, card);
      this.#into(card.node);
    }
    if (this.#cards.size > drawn) this.#rearm();
  }

  /** Cards have moved: what is under the pointer may be another one now. */
  #rearm() {
    for (const card of this.#cards.values()) card.rearm();
  }

  /** One that comes between turns, as that the supervisor stops, begins none. */
  on_warning(data) {
    const told = h("div", { class: "warned", role: "status" }, h("strong", {}, visible(data.code).replaceAll("_", " ")), `: ${visible(data.message)}`);
    if (this.#turn === null) this.place.append(told);
    else this.#into(told);
  }

  on_model(data) {
    this.#turn?.querySelector("header")?.append(h("span", {}, visible(data.model)));
  }

  on_done(data) {
    const denials = data.permissionDenials.length;
    this.#close(h("footer", { class: "ending" }, chip("done", "good"), h("span", {}, `${(data.durationMs / 1000).toFixed(1)} s`),
      data.scripted ? chip("scripted model", "wait") : null,
      data.toolCalls > 0 ? h("span", {}, `${data.toolCalls} ${data.toolCalls === 1 ? "call" : "calls"}`) : null,
      denials > 0 ? h("span", {}, `${denials} denied`) : null, h("span", {}, cost(data.spending, data.scripted))), "The answer is complete");
  }

  on_aborted(data) {
    this.#close(h("footer", { class: "ending" }, chip("stopped", "wait"), h("span", {}, visible(data.message))), "The turn was stopped");
  }

  on_error(data) {
    this.#close(h("footer", { class: "ending bad" }, problemBox({ message: data.error, where: data.where, remedy: data.remedy })), "The turn failed");
  }

  #close(ending, words = "") {
    if (this.#turn === null) return;
    this.#breakText();
    this.#into(typeof ending === "string" ? h("footer", { class: "ending" }, ending) : ending);
    this.#working.remove();
    this.#turn.removeAttribute("aria-busy");
    for (const call of this.#calls.values()) call.ended();
    for (const card of this.#cards.values()) card.over("The turn is over.");
    this.#turn = null;
    this.#calls.clear();
    this.#cards.clear();
    if (words && this.isLive) say(words);
    this.changed();
  }
}
