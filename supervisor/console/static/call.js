// A tool call: what was asked for, what was decided and why, what it gave.

import { canLookUp, decisionOf } from "./decisions.js";
import { fill, h } from "./dom.js";
import { handOver } from "./explain.js";
import { chip } from "./ui.js";
import { visible, visibleInput, visibleLines } from "./visible.js";

const GIST = ["command", "file_path", "notebook_path", "path", "pattern", "url", "query", "description", "prompt"];
const LONGEST = 200_000; // characters of a result that are shown

function gist(input) {
  const key = GIST.find((each) => typeof input?.[each] === "string");
  return key === undefined ? "" : visible(input[key].slice(0, 300));
}

/** One call; its handles are called as events tell more of it. */
export class Call {
  #state = h("span", {});
  #inside = h("div", { class: "inside" });
  #why = h("p", { class: "small" });
  #made = false;
  #result = null;
  #refused = false;

  constructor({ tool, agent = null, level = null, turn = null }) {
    this.tool = tool;
    this.level = level;
    this.turn = turn;
    this.node = h("details", { class: "call", data: { tool: tool.name, call: tool.id } },
      h("summary", {}, agent ? chip(visible(agent)) : null, h("strong", {}, visible(tool.name)), h("span", { class: "gist" }, gist(tool.input)), this.#state),
      this.#inside);
    this.node.addEventListener("toggle", () => this.#draw());
    this.#set("running", "");
  }

  #set(words, tone) {
    fill(this.#state, chip(words, tone));
  }

  /** What is inside is made when it is opened, and made anew when there is more. */
  #draw() {
    if (!this.node.open || this.#made) return;
    this.#made = true;
    const explain = h("a", { href: "#/policy?explain", on: { click: () => handOver({ tool: this.tool.name, input: this.tool.input, level: this.level ?? "vault" }) } }, "How the policy sees it now");
    fill(this.#inside, h("pre", { class: "code", tabindex: "0", role: "group", "aria-label": "Input" }, visibleInput(this.tool.input)), this.#why, this.#decision(), this.#result === null ? null : this.#output(), h("p", { class: "small" }, explain));
  }

  /** What the audit log says of the decision; looked up when somebody looks here. */
  #decision() {
    if (this.turn === null || !canLookUp()) return null;
    const made = h("p", { class: "small", data: { decision: "" } });
    decisionOf(this.turn, this.tool.id).then((found) => {
      if (found === null) return;
      const { said, saidRule, verdict, rule, reason } = found.body;
      fill(made, `Decided (#${found.n}): `, h("strong", {}, visible(verdict)), " by ", h("code", {}, visible(rule)), said !== verdict ? [", where the policy said ", visible(said), " by ", h("code", {}, visible(saidRule))] : null, `. ${visible(reason)}`);
    }, () => {});
    return made;
  }

  #output() {
    const { content, isError } = this.#result;
    const cut = content.length > LONGEST;
    return h("div", { class: "stack" }, h("strong", {}, isError ? "Error" : "Result"),
      h("pre", { class: "code", data: { result: "" }, tabindex: "0", role: "group", "aria-label": "Result" }, cut ? content.slice(0, LONGEST) : content),
      cut ? h("p", { class: "muted small" }, `Only the first ${LONGEST} of ${content.length} characters are shown.`) : null);
  }

  #again() {
    this.#made = false;
    this.#draw();
  }

  asked(request) {
    this.requestId = request.id;
    this.node.classList.add("asking");
    this.#set("waits for you", "wait");
    fill(this.#why, `Asked about by `, h("code", {}, visible(request.rule)), `: ${visible(request.reason)}`);
  }

  /** It is a question: what it waits for is an answer. */
  questioned() {
    this.node.classList.add("asking");
    this.#set("waits for you", "wait");
  }

  resolved(event) {
    this.node.classList.remove("asking");
    const grants = (event.grants ?? []).map((each) => visible(each.pattern)).join(", ");
    const words = { granted: "granted", denied: "denied", timed_out: "nobody answered", void: "no longer open" };
    const tone = event.decision === "granted" ? "good" : "bad";
    this.#set(event.coveredBy?.length > 0 ? "covered by a grant" : words[event.decision] ?? visible(event.decision), tone);
    this.#why.append(h("br"), `${words[event.decision] ?? visible(event.decision)}${event.scope && event.scope !== "once" ? ` for the ${event.scope}` : ""}${grants ? `: ${grants}` : ""}${event.by ? ` by ${visible(event.by)}` : ""}${event.message ? ` (“${visible(event.message)}”)` : ""}`);
    this.decided = true;
  }

  denied(event) {
    this.#refused = true;
    this.node.classList.remove("asking");
    this.node.classList.add("denied");
    this.#set("denied", "bad");
    fill(this.#why, "Denied by ", h("code", {}, visible(event.rule)), `: ${visible(event.reason)}`);
    this.node.querySelector("summary").append(h("span", { class: "small", data: { reason: "" } }, visible(event.reason)));
  }

  gave(result) {
    this.#result = result;
    this.node.classList.remove("asking");
    if (!this.#refused) {
      if (result.isError) this.#set(result.content.startsWith("refused: ") ? "denied" : "failed", "bad");
      else if (!this.decided) this.#set("allowed", "good");
      if (!this.decided && !this.#why.hasChildNodes() && !canLookUp()) fill(this.#why, "The policy allowed it without asking.");
    }
    this.#again();
  }

  /** The turn is over: what has no result never ran to its end. */
  ended() {
    if (this.#result === null && !this.#refused && !this.decided) this.#set("broken off", "");
    this.node.classList.remove("asking");
  }
}
