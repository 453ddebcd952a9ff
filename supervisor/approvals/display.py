"""A tool's input made safe to look at: what can't be seen, or looks like something else, is named.

The text is unambiguous: two different inputs never look the same. A character that can't be
trusted to the eye stands as `⟨U+202E⟩`, and so does the bracket `⟨` itself.
"""

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_OPEN, _CLOSE = "⟨", "⟩"
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_BLANK_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Characters of other categories that show nothing."""
_VARIATION_SELECTORS = re.compile("[\u180b-\u180d\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_LOOK_ALIKE_SIGNS = frozenset("\u2010\u2011\u2012\u2212\u2215\u2044\ua789\u02d0\u2236\u01c3")
"""Signs that pass for ASCII ones and that compatibility normalisation leaves alone."""
_LOOK_ALIKE_SCRIPTS = ("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "GEORGIAN")
_LATIN_TWINS = frozenset("аАВсСеЕНіІјЈкКМоОрРѕЅТхХуУԁԛԝһҺӏαΑΒΕΖΗΙΚΜΝοΟρΡΤΥυΧνօսոցһ")
"""Letters of other scripts that look like Latin ones: a word of nothing else is suspicious too."""
_WORD = re.compile(r"\w+")
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f]")


@dataclass(frozen=True, slots=True)
class Display:
    """The text to show, and whether something in it would have stayed unseen."""

    text: str
    has_hidden_characters: bool


def display_input(input: Mapping[str, Any]) -> Display:
    """The input of a tool, one field after the other; texts of several lines line by line."""
    lines: list[str] = []
    hidden = False
    for key, value in input.items():
        one_line = not isinstance(value, str) or "\n" not in value
        hidden = hidden or _has_escaped_control(key) or (one_line and _has_escaped_control(value))
        name = key if _PLAIN_KEY.match(key) else json.dumps(key, ensure_ascii=False)
        if not one_line:
            lines.append(f"{name}: |")
            lines.extend(f"  │ {line}" for line in value.split("\n"))
        else:
            shown = json.dumps(value, ensure_ascii=False, indent=2)
            lines.append(f"{name}: " + shown.replace("\n", "\n  "))
    made = _visible("\n".join(lines), kept="\n")
    return Display(made.text, hidden or made.has_hidden_characters)


def make_visible(text: str) -> Display:
    """One line with every character that deceives the eye replaced by its name."""
    return _visible(text, kept="")


def _visible(text: str, *, kept: str) -> Display:
    """Each distinct character is judged once, whatever the text's length; the rest is tables."""
    odd = {c for c in set(text) if not " " <= c <= "~"} - set(kept)
    if not odd:
        return Display(text, has_hidden_characters=False)
    harmless = {ord("\t"): f"{_OPEN}TAB{_CLOSE}", ord(_OPEN): _named(_OPEN)}
    deceiving = {ord(c): _named(c) for c in odd if ord(c) not in harmless and _deceives(c)}
    hidden = bool(deceiving)
    names = harmless | deceiving
    look_alikes = {c for c in odd if unicodedata.name(c, "").startswith(_LOOK_ALIKE_SCRIPTS)}
    if not look_alikes:
        return Display(text.translate(names), hidden)
    in_words = names | {ord(c): _named(c) for c in look_alikes}
    shown: list[str] = []
    end = 0
    for word in _WORD.finditer(text):
        if look_alikes.isdisjoint(word.group(0)) or not _is_mixed(word.group(0), look_alikes):
            continue
        hidden = True
        shown += (text[end : word.start()].translate(names), word.group(0).translate(in_words))
        end = word.end()
    shown.append(text[end:].translate(names))
    return Display("".join(shown), hidden)


def _named(c: str) -> str:
    return f"{_OPEN}U+{ord(c):04X}{_CLOSE}"


def _deceives(c: str) -> bool:
    if unicodedata.category(c) in _HIDDEN_CATEGORIES or c in _BLANK_LETTERS:
        return True
    if c in _LOOK_ALIKE_SIGNS or _VARIATION_SELECTORS.match(c):
        return True
    plain = unicodedata.normalize("NFKC", c)
    return len(plain) == 1 and plain.isascii()


def _is_mixed(word: str, look_alikes: set[str]) -> bool:
    """Whether a word has letters of a look-alike script beside Latin ones, or as Latin ones."""
    letters = set(word)
    return (
        any(c.isascii() and c.isalpha() for c in letters) or letters & look_alikes <= _LATIN_TWINS
    )


def _has_escaped_control(value: object) -> bool:
    """Whether a text inside holds a control character, which JSON has escaped already."""
    if isinstance(value, str):
        return _CONTROL.search(value) is not None
    if isinstance(value, Mapping):
        return any(_has_escaped_control(each) for pair in value.items() for each in pair)
    if isinstance(value, list | tuple):
        return any(_has_escaped_control(each) for each in value)
    return False
