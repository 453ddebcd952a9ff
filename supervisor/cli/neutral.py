"""Text that a terminal only shows: nothing of it can reach the terminal as a command."""

import re

_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and line feed
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # what turns the direction of writing
    "\u2028\u2029\ufeff\ud800-\udfff\U000e0000-\U000e007f]"  # separators, surrogates, tags
)


def neutral(text: str) -> str:
    """The text with every character that a terminal obeys replaced by its name in visible form."""
    return _OBEYED.sub(lambda found: _name(found[0]), text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """The same where one line is expected: nobody's text can begin another that looks like ours."""
    return neutral(text).replace("\n", _name("\n"))


def _name(character: str) -> str:
    code = ord(character)
    if code < 0x20:  # noqa: PLR2004 - the control pictures mirror these
        return chr(0x2400 + code)
    return f"<U+{code:04X}>"
