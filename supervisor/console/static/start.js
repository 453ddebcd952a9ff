// Within the page itself, so that it is there when nothing else is. A browser breaks off whatever is on
// its way when the machine's networks change, as they do when a container starts: a page that lacks
// one of its files then never begins, so it is loaded anew.

"use strict";
{
  const TRIES = "trustfloor.tries";
  const MOST = 5; // times in a row; a file that never comes isn't asked for without an end
  const PAUSE_MS = 1000;
  let isWhole = true;

  const tell = (words) => {
    const place = document.querySelector(".starting");
    if (place) place.textContent = words;
  };

  const loadAnew = async () => {
    const tries = Number(sessionStorage.getItem(TRIES)) + 1;
    if (tries > MOST) {
      tell("A part of the console doesn’t come. See whether the supervisor runs, and load the page again.");
      return;
    }
    tell("A part of the console didn’t come. Loading it again…");
    try {
      await fetch(location.pathname, { method: "HEAD", cache: "no-store" });
    } catch {
      setTimeout(loadAnew, PAUSE_MS); // it would only become the browser's own page of an error
      return;
    }
    sessionStorage.setItem(TRIES, String(tries));
    location.reload();
  };

  addEventListener("error", ({ target }) => {
    const isOurs = target instanceof HTMLScriptElement || (target instanceof HTMLLinkElement && target.rel === "stylesheet");
    if (!isOurs || !isWhole) return;
    isWhole = false;
    setTimeout(loadAnew, PAUSE_MS);
  }, true); // what an element says of its own file doesn't rise

  addEventListener("load", () => isWhole && sessionStorage.removeItem(TRIES));
}
