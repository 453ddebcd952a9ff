// The time left to answer, for the eye; a screen reader is told once, when it becomes short.

import { serverNow } from "./api.js";
import { say } from "./announce.js";
import { fill, h, icon } from "./dom.js";

const SHORT = 30;

/** The time left of a request; `onEnd` is called when it is over. */
export function countdown(request, { signal, onEnd = () => {} }) {
  const end = request.secondsLeft === undefined ? performance.now() + (request.expiresAt - serverNow()) * 1000 : performance.now() + request.secondsLeft * 1000;
  const words = h("span", {});
  const made = h("span", { class: "left" }, icon("wait"), " ", words);
  let warned = false;
  const tick = () => {
    const left = Math.max(0, Math.ceil((end - performance.now()) / 1000));
    fill(words, `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")} left`);
    if (left <= SHORT && left > 0 && !warned) {
      warned = true;
      say(`${left} seconds left to answer`);
    }
    if (left === 0) {
      stop();
      onEnd();
    }
  };
  const timer = setInterval(tick, 1000);
  const stop = () => clearInterval(timer);
  signal.addEventListener("abort", stop);
  tick();
  return made;
}
