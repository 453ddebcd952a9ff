// What the eye can't see, or takes for something else, by its name: ⟨U+202E⟩. The counterpart of
// the API's display form, for the places where the API gives a text as it is.

const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\u180b-\u180d\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/gu;
const WIDE_BLANK = /[\p{Zs}]/gu;

/**
 * What has a shape of its own although unseen characters are part of it: the pictures of Unicode's
 * list, and in scripts whose letters join, a joiner where it changes how they do (UAX 31, A1, A2, B).
 */
const SHAPES = new RegExp([
  "(?=\\p{Emoji})\\p{RGI_Emoji}",
  "\\u200c(?<=[[\\p{Script=Arabic}&&\\p{L}]--[آأؤإاةدذرزوژڈڑۀۃۆۇۈۋۏےۓە]]\\p{Mn}*\\u200c)(?=[\\p{Script=Arabic}&&\\p{L}])",
  "[\\u200c\\u200d](?<=\\p{L}\\p{M}*[\\u094d\\u09cd\\u0a4d\\u0acd\\u0b4d\\u0bcd\\u0c4d\\u0ccd\\u0d4d\\u0dca].)(?=\\p{L})",
].join("|"), "gv");

function named(character) {
  return `⟨U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/** The text on one line with every character named that shows nothing, or moves others. */
export function visible(text) {
  const whole = String(text);
  if (whole.search(UNSEEN) < 0) return withNames(whole);
  let shown = "";
  let end = 0;
  for (const shape of whole.matchAll(SHAPES)) {
    shown += withNames(whole.slice(end, shape.index)) + shape[0];
    end = shape.index + shape[0].length;
  }
  return shown + withNames(whole.slice(end));
}

function withNames(text) {
  return text
    .replace(UNSEEN, (found) => (found === "\t" ? "⟨TAB⟩" : found === "\n" ? "⏎" : named(found)))
    .replace(WIDE_BLANK, (found) => (found === " " ? found : named(found)));
}

/** The same for a text of several lines: line feeds stay. */
export function visibleLines(text) {
  return String(text).split("\n").map(visible).join("\n");
}

/** Whether a text has characters that don't show; line feeds and tabs are none of these. */
export function hides(text) {
  const said = String(text).replaceAll(/[\n\t]/g, "");
  return said.search(UNSEEN) >= 0 && said.replaceAll(SHAPES, "").search(UNSEEN) >= 0;
}

/** A value as JSON, with nothing unseen in it. */
export function visibleJson(value) {
  return visibleLines(JSON.stringify(value, null, 2) ?? "");
}

/** A call's input, field by field, as the API writes it where it asks. */
export function visibleInput(input) {
  const lines = [];
  for (const [key, value] of Object.entries(input ?? {})) {
    const name = /^[A-Za-z_]\w*$/.test(key) ? key : JSON.stringify(key);
    if (typeof value === "string" && value.includes("\n")) {
      lines.push(`${visible(name)}: |`, ...value.split("\n").map((line) => `  │ ${visible(line)}`));
    } else {
      lines.push(`${visible(name)}: ${visibleLines(JSON.stringify(value, null, 2) ?? "")}`);
    }
  }
  return lines.join("\n");
}
