"""What is wrong with a value, in our own words: a person who typed it knows no validator."""

import re
from collections.abc import Mapping
from typing import Any, Final

from supervisor.nearest import guess

_WORDS: Final[Mapping[str, str]] = {
    "missing": "it is missing",
    "extra_forbidden": "there is no such field",
    "string_type": "text is expected",
    "string_too_short": "it may not be empty",
    "string_unicode": "the text isn't valid Unicode",
    "bool_type": "true or false is expected",
    "bool_parsing": "true or false is expected",
    "int_type": "a whole number is expected",
    "int_parsing": "a whole number is expected",
    "int_parsing_size": "the number is too large",
    "int_from_float": "a whole number is expected",
    "float_type": "a number is expected",
    "float_parsing": "a number is expected",
    "finite_number": "a finite number is expected",
    "dict_type": "an object is expected",
    "list_type": "a list is expected",
    "tuple_type": "a list is expected",
    "model_type": "an object is expected",
    "model_attributes_type": "an object is expected",
    "path_type": "a path is expected",
}

SAYS_SOMETHING: Final = r"\S"
"""The pattern of a text that isn't blank."""
_BOUNDS: Final[Mapping[str, tuple[str, str]]] = {
    "greater_than": ("more than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
}
_LENGTHS: Final[Mapping[str, tuple[str, str, str]]] = {
    "string_too_long": ("may have at most", "max_length", "characters"),
    "too_long": ("may hold at most", "max_length", "of these"),
    "too_short": ("needs at least", "min_length", "of these"),
}


def _one_of(expected: str, given: object) -> str:
    """Those there are, and the nearest to what was given."""
    words = re.findall(r"'([^']*)'", expected)
    return f"use one of: {', '.join(words)}{guess(given, words) if isinstance(given, str) else ''}"


def say(fault: Mapping[str, Any]) -> str:
    """One fault that pydantic found; the value itself is never repeated."""
    kind, context = str(fault["type"]), fault.get("ctx") or {}
    if kind == "string_pattern_mismatch" and context.get("pattern") == SAYS_SOMETHING:
        kind = "string_too_short"
    if kind in _WORDS:
        near = context.get("nearest")
        return f"{_WORDS[kind]}; did you mean `{near}`?" if near else _WORDS[kind]
    if kind in _LENGTHS:
        words, name, of = _LENGTHS[kind]
        return f"it {words} {context.get(name)} {of}"
    if kind in _BOUNDS:
        words, name = _BOUNDS[kind]
        return f"it must be {words} {context.get(name)}"
    if kind in {"enum", "literal_error"}:
        return _one_of(str(context.get("expected")), fault.get("input"))
    if kind == "value_error" and "error" in context:
        return str(context["error"])
    return str(fault["msg"]).removeprefix("Value error, ")
