// Within the page itself, so that it is there when nothing else is. A browser breaks off whatever is on
// its way when the machine's networks change, as they do when a container starts: a page that lacks
// one of its scripts then never begins, so it is loaded anew. One that lacks a sheet begins all the
// same, and somebody may have written in it by the time the sheet can be had: that alone is asked for.

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

  const isThere = async () => {
    try {
      // What stands before the supervisor answers while that is away: not with a page of ours.
      return (await fetch(location.pathname, { method: "HEAD", cache: "no-store" })).ok;
    } catch {
      return false; // loaded now, it would only become the browser's own page of an error
    }
  };

  const supervisor = async () => {
    do await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    while (!(await isThere()));
  };

  const loadAnew = async () => {
    const tries = Number(sessionStorage.getItem(TRIES)) + 1;
    if (tries > MOST) {
      sessionStorage.removeItem(TRIES); // who loads it by hand has as many again
      tell("A part of the console doesn’t come. See whether the supervisor runs, and load the page again.");
      return;
    }
    tell("A part of the console didn’t come. Loading it again…");
    await supervisor();
    sessionStorage.setItem(TRIES, String(tries));
    location.reload();
  };

  const askAgain = async (sheet) => {
    const tries = Number(sheet.dataset.tries ?? 0) + 1;
    if (tries > MOST) return;
    await supervisor();
    const again = sheet.cloneNode();
    again.dataset.tries = String(tries);
    sheet.replaceWith(again);
  };

  addEventListener("error", ({ target }) => {
    if (target instanceof HTMLLinkElement && target.rel === "stylesheet") askAgain(target);
    if (!(target instanceof HTMLScriptElement) || !isWhole) return;
    isWhole = false;
    loadAnew();
  }, true); // what an element says of its own file doesn't rise

  addEventListener("load", () => isWhole && sessionStorage.removeItem(TRIES));
}
