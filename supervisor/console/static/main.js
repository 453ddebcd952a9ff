// Puts the console together: who is signed in, what there is to go to, and what is shown.

import { get, hasSecret, keepSecret, post, session } from "./api.js";
import { say } from "./announce.js";
import { fill } from "./dom.js";
import { forgetDrafts } from "./drafts.js";
import { drawBar, drawRooms } from "./frame.js";
import { listen } from "./feed.js";
import { keepThePage } from "./files.js";
import { begin, end, show } from "./router.js";
import { listenForKeys } from "./shortcuts.js";
import { apply } from "./theme.js";
import { showLogin } from "./views/login.js";
import { views } from "./views/all.js";
import { waiting } from "./waiting.js";
import { become } from "./me.js";

let signedIn = null;
let hasBegun = false;
let heading = "";

function titleOf(count) {
  document.title = `${count > 0 ? `(${count}) ` : ""}${heading ? `${heading} · ` : ""}Trustfloor`;
}

async function whoAmI() {
  try {
    return await get("/api/me");
  } catch (error) {
    if (error.status === 401 || error.code === "csrf") return null;
    throw error;
  }
}

async function start() {
  let found;
  try {
    found = await whoAmI();
  } catch (error) {
    setTimeout(start, 2000);
    fill(document.getElementById("main"), `${error.message} Trying again…`);
    return;
  }
  if (found === null) signOut();
  else signIn(found);
}

function signIn(found) {
  signedIn?.abort();
  signedIn = new AbortController();
  become(found);
  document.body.classList.add("in");
  drawBar({ signOut: hasSecret() ? async () => (await post("/api/logout"), signOut()) : () => {} });
  drawRooms();
  listen(signedIn.signal);
  waiting.begin(signedIn.signal);
  if (hasBegun) show();
  else begin(views);
  hasBegun = true;
}

function signOut() {
  signedIn?.abort();
  signedIn = null;
  become(null);
  keepSecret(null);
  forgetDrafts();
  end();
  document.body.classList.remove("in");
  drawBar({});
  drawRooms();
  heading = "Log in";
  titleOf(0);
  showLogin(document.getElementById("main"), start);
}

document.addEventListener("titled", ({ detail }) => {
  heading = detail;
  titleOf(waiting.count);
});
waiting.addEventListener("change", ({ detail }) => {
  titleOf(waiting.count);
  if (detail.fresh.length > 0) say(waiting.count === 1 ? "One request waits for you" : `${waiting.count} requests wait for you`);
});
session.addEventListener("signed-out", () => signedIn && signOut());
window.addEventListener("pageshow", (event) => event.persisted && location.reload());
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main").focus();
});

apply();
listenForKeys();
keepThePage();
start();
