// Log in by a code that the supervisor's own command prints, once.

import { keepSecret, post } from "../api.js";
import { fill, h } from "../dom.js";
import { field, problemBox } from "../ui.js";

/** Shows the form; `done` is called when the cookie is there. */
export function showLogin(main, done) {
  const code = h("input", { name: "code", autocomplete: "one-time-code", autocapitalize: "off", spellcheck: "false", required: true });
  const told = h("div", {});
  const go = h("button", { type: "submit", class: "main" }, "Log in");
  const form = h("form", { class: "stack" }, field("Code", code, ["On the supervisor's machine, run ", h("code", {}, "trustfloor login"), ". It prints a code that is good once and for a few minutes."]), told, go);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    fill(told);
    go.disabled = true;
    try {
      const found = await post("/api/login", { code: code.value.trim() });
      keepSecret(found.csrfToken);
      fill(main);
      await done();
    } catch (error) {
      fill(told, problemBox(error));
      code.select();
      code.focus();
    } finally {
      go.disabled = false;
    }
  });
  fill(main, h("div", { class: "login card" }, h("h1", { tabindex: "-1" }, "Log in"), form));
  code.focus();
}
