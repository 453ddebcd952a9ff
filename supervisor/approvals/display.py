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
_PRINTABLE_ASCII = re.compile(r"[ -~]*\Z")


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
    made = [make_visible(line) for line in "\n".join(lines).split("\n")]
    return Display(
        text="\n".join(line.text for line in made),
        has_hidden_characters=hidden or any(line.has_hidden_characters for line in made),
    )


def make_visible(text: str) -> Display:
    """One line with every character that deceives the eye replaced by its name."""
    if _PRINTABLE_ASCII.match(text):
        return Display(text, has_hidden_characters=False)
    suspicious = _mixed_words(text)
    shown: list[str] = []
    hidden = False
    for at, c in enumerate(text):
        if c == "\t":
            shown.append(f"{_OPEN}TAB{_CLOSE}")
        elif c == _OPEN:
            shown.append(_named(c))
        elif at in suspicious or _deceives(c):
            shown.append(_named(c))
            hidden = True
        else:
            shown.append(c)
    return Display("".join(shown), hidden)


def _named(c: str) -> str:
    return f"{_OPEN}U+{ord(c):04X}{_CLOSE}"


def _deceives(c: str) -> bool:
    if " " <= c <= "~":
        return False
    if unicodedata.category(c) in _HIDDEN_CATEGORIES or c in _BLANK_LETTERS:
        return True
    if c in _LOOK_ALIKE_SIGNS or _VARIATION_SELECTORS.match(c):
        return True
    plain = unicodedata.normalize("NFKC", c)
    return len(plain) == 1 and plain.isascii()


def _mixed_words(text: str) -> set[int]:
    """Where letters of a look-alike script stand in a word with Latin ones, or pass for Latin."""
    found: set[int] = set()
    for word in _WORD.finditer(text):
        letters = word.group(0)
        if letters.isascii():
            continue
        foreign = [
            at
            for at, c in enumerate(letters, word.start())
            if not c.isascii() and unicodedata.name(c, "").startswith(_LOOK_ALIKE_SCRIPTS)
        ]
        others = [c for c in letters if c.isalpha() and c.isascii()]
        if others or all(text[at] in _LATIN_TWINS for at in foreign):
            found.update(foreign)
    return found


def _has_escaped_control(value: object) -> bool:
    """Whether a text inside holds a control character, which JSON has escaped already."""
    if isinstance(value, str):
        return any(c < " " and c not in "\n\t" for c in value)
    if isinstance(value, Mapping):
        return any(_has_escaped_control(each) for pair in value.items() for each in pair)
    if isinstance(value, list | tuple):
        return any(_has_escaped_control(each) for each in value)
    return False
