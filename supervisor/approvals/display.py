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

from supervisor.approvals.confusables import OTHERS, SIGNS, TWINS

_OPEN, _CLOSE = "⟨", "⟩"
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_BLANK_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Characters of other categories that show nothing."""
_VARIATION_SELECTORS = re.compile("[\u180b-\u180d\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_LOOK_ALIKE_SCRIPTS = ("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "GEORGIAN")
_LIGATURES = frozenset({"Ll", "Lt", "Lu", "Nl"})
"""Categories whose compatibility forms are letters that a word can be made of: `ﬁ`, `ⅱ`."""
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


def display_call(tool: str, input: Mapping[str, Any]) -> Display:
    """The input, and the tool's name in front of it where that can't be trusted to the eye."""
    name, shown = make_visible(tool), display_input(input)
    if not name.has_hidden_characters:
        return shown
    return Display(f"the tool's name: {name.text}\n{shown.text}", has_hidden_characters=True)


def make_visible(text: str) -> Display:
    """One line with every character that deceives the eye replaced by its name."""
    return _visible(text, kept="")


def _visible(text: str, *, kept: str) -> Display:
    """Each distinct character is judged once, whatever the text's length; the rest is tables."""
    odd = {c for c in set(text) if not " " <= c <= "~"} - set(kept)
    if not odd:
        return Display(text, has_hidden_characters=False)
    apart: set[str] = set()
    if not unicodedata.is_normalized("NFC", text):
        # Composed or not, it looks the same: then what could be composed is named.
        apart = {c for c in odd if _composes(c)}
    harmless = {ord("\t"): f"{_OPEN}TAB{_CLOSE}", ord(_OPEN): _named(_OPEN)}
    deceiving = {
        ord(c): _named(c) for c in odd if ord(c) not in harmless and (c in apart or _deceives(c))
    }
    hidden = bool(deceiving)
    names = harmless | deceiving
    look_alikes = {c for c in odd if _is_look_alike(c)}
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
    category = unicodedata.category(c)
    if category in _HIDDEN_CATEGORIES or c in _BLANK_LETTERS or c in SIGNS:
        return True
    if _VARIATION_SELECTORS.match(c) or unicodedata.decomposition(c).startswith("<font>"):
        return True
    if unicodedata.normalize("NFC", c) != c:
        return True  # another character, which looks the same, is the one that should stand here
    plain = unicodedata.normalize("NFKC", c)
    return plain.isascii() and (len(plain) == 1 or category in _LIGATURES or plain == "..")


def _composes(c: str) -> bool:
    return unicodedata.category(c).startswith("M") or "\u1100" <= c <= "\u11ff"


def _is_look_alike(c: str) -> bool:
    scripts = unicodedata.name(c, "").startswith(_LOOK_ALIKE_SCRIPTS)
    return scripts or c in TWINS or c in OTHERS


def _is_mixed(word: str, look_alikes: set[str]) -> bool:
    """Whether a word has letters that look like Latin ones beside such, or of nothing else."""
    letters = {c for c in word if c.isalpha()}
    if any(c.isascii() and c.isalpha() for c in word):
        return True
    return letters <= TWINS if letters & look_alikes else False


def _has_escaped_control(value: object) -> bool:
    """Whether a text inside holds a control character, which JSON has escaped already."""
    if isinstance(value, str):
        return _CONTROL.search(value) is not None
    if isinstance(value, Mapping):
        return any(_has_escaped_control(each) for pair in value.items() for each in pair)
    if isinstance(value, list | tuple):
        return any(_has_escaped_control(each) for each in value)
    return False
