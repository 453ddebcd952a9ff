// What waits for a person, over all sessions: asked anew whenever something happens to it.

import { get } from "./api.js";
import { feed } from "./feed.js";
import { may } from "./me.js";

const ABOUT = new Set(["permission_request", "permission_resolved", "user_question", "done", "aborted", "error"]);
const TOGETHER_MS = 40;

class Waiting extends EventTarget {
  permissions = [];
  questions = [];
  #signal = AbortSignal.abort(); // until somebody is signed in
  #timer = null;
  #asking = false;
  #again = false;

  get count() {
    return this.permissions.length + this.questions.length;
  }

  /** Keeps itself up to date until `signal` says to stop. */
  begin(signal) {
    this.#signal = signal;
    const soon = () => this.soon();
    feed.addEventListener("event", ({ detail }) => ABOUT.has(detail.type) && soon(), { signal });
    feed.addEventListener("state", ({ detail }) => detail === "open" && soon(), { signal });
    document.addEventListener("visibilitychange", () => document.hidden || soon(), { signal });
    signal.addEventListener("abort", () => this.#set([], []));
    soon();
  }

  /** Asks anew in a moment; whoever says so meanwhile is answered by the same request. */
  soon() {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.refresh();
    }, TOGETHER_MS);
  }

  async refresh() {
    if (this.#asking) {
      this.#again = true;
      return;
    }
    this.#asking = true;
    try {
      const signal = this.#signal;
      if (signal.aborted || !may("approve")) return;
      const [asked, questions] = await Promise.all([get("/api/permissions", { signal }), get("/api/questions", { signal })]);
      // What was told to one who has signed out since is nobody's to see.
      if (!signal.aborted) this.#set(asked.permissions, questions.questions);
    } catch {
      // What was known stays shown; the next event or connection asks again.
    } finally {
      this.#asking = false;
    }
    if (this.#again) {
      this.#again = false;
      await this.refresh();
    }
  }

  #set(permissions, questions) {
    const known = new Set([...this.permissions.map((each) => each.id), ...this.questions.map((each) => each.requestId)]);
    const fresh = [...permissions.filter((each) => !known.has(each.id)), ...questions.filter((each) => !known.has(each.requestId))];
    this.permissions = permissions;
    this.questions = questions;
    this.dispatchEvent(new CustomEvent("change", { detail: { fresh } }));
  }
}

export const waiting = new Waiting();
