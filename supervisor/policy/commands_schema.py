"""The form of `commands` in a policy file as JSON Schemas: what extends the table of commands.

The keys, roles and readers are those that the table's reader has.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from supervisor.policy.bash.command_notes import ACTS
from supervisor.policy.bash.entries import FIELDS, READERS, STYLES, WHEN
from supervisor.policy.bash.table import ROLES
from supervisor.policy.bash.table_reading import LANGUAGE, PARTS, VARIABLE

_ROLE: Final = rf"(?:{'|'.join(sorted(ROLES))})(?::[^\s,]*)?"
_OPERANDS: Final = rf"{_ROLE}(?:\.\.\.)?"
_NOTE: Final = rf"(?:{_ROLE}\??|\+\S+)"

_WORDS: Final = {"type": "string", "description": "Words parted by blanks."}
_TEXT: Final = {"type": "string"}
_FLAG: Final = {"type": "boolean"}
_YES: Final = {"enum": [True, False, "yes"]}
_DOES: Final = {"$ref": "#/$defs/command_does"}
_OPERANDS_TEXT: Final = {"$ref": "#/$defs/command_operands"}
_ROLE_TEXT: Final = {"$ref": "#/$defs/command_role"}
_DEFAULT: Final = {
    "description": "A role and what it is applied to where no operand is given.",
    "$ref": "#/$defs/command_default",
}
_ENTRY: Final[Mapping[str, Mapping[str, Any]]] = {
    "operands": _OPERANDS_TEXT,
    "options": {
        "type": "object",
        "description": "Meaning → names: the role of an option's value, `+tag` for what it sets.",
        "propertyNames": {"$ref": "#/$defs/command_option"},
        "additionalProperties": _WORDS,
    },
    "style": {"enum": sorted(STYLES)},
    "tags": _WORDS,
    "when": {
        "type": "object",
        "description": "What is different once tags are set (`a !b`).",
        "additionalProperties": {"$ref": "#/$defs/command_when"},
    },
    "does": _DOES,
    "commands": {
        "type": ["object", "null"],
        "description": "Subcommands; `volume rm` is two words, a comma parts several.",
        "additionalProperties": {
            "anyOf": [{"$ref": "#/$defs/command"}, _OPERANDS_TEXT, {"type": "null"}]
        },
    },
    "reader": {"enum": [*sorted(READERS), None]},
    "default": _DEFAULT,
    "harmless": _FLAG,
    "elsewhere": _FLAG,
    "anywhere": _FLAG,
}
_OVERLAY: Final[Mapping[str, Mapping[str, Any]]] = {
    "operands": {"anyOf": [_OPERANDS_TEXT, {"type": "null"}]},
    "default": _DEFAULT,
    "does": _DOES,
    "turn": {
        "type": "object",
        "description": "One role stands for another.",
        "additionalProperties": _ROLE_TEXT,
    },
}
_VARIABLE: Final[Mapping[str, Mapping[str, Any]]] = {
    "is": _ROLE_TEXT,
    "why": _TEXT,
    "for": _WORDS,
    "fine": _WORDS,
    "holding": _WORDS,
}
_LANGUAGE: Final[Mapping[str, Mapping[str, Any]]] = {
    "calls": {"type": "object", "additionalProperties": _WORDS},
    "plain": _WORDS,
    "words": {"type": "object", "additionalProperties": _TEXT},
    "modules": _WORDS,
    "quote-runs": _YES,
    "bare-calls": _YES,
    "long-texts": _YES,
    "comment": _WORDS,
}
_PROGRAM: Final = {
    "anyOf": [
        {"$ref": "#/$defs/command"},
        _OPERANDS_TEXT,
        {"type": "string", "pattern": "^like ", "description": "As a program named before."},
        {"type": "null"},
    ]
}
_PARTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "programs": {
        "type": "object",
        "description": "Theme → names of programs → what their words mean.",
        "additionalProperties": {"type": "object", "additionalProperties": _PROGRAM},
    },
    "variables": {
        "type": "object",
        "additionalProperties": {"$ref": "#/$defs/command_variable"},
    },
    "languages": {
        "type": "object",
        "additionalProperties": {"$ref": "#/$defs/command_language"},
    },
    "folders": {**_WORDS, "description": "Folders that programs are in."},
}
_ROLES: Final = {
    "command_role": {"type": "string", "pattern": f"^{_ROLE}$"},
    "command_operands": {
        "type": "string",
        "description": "Roles in order, parted by commas; `...` marks one that comes any number of "
        "times.",
        "pattern": rf"^\s*{_OPERANDS}(?:\s*,\s*{_OPERANDS})*\s*$",
    },
    "command_option": {"type": "string", "pattern": rf"^\s*{_NOTE}(?:\s+{_NOTE})*\s*$"},
    "command_default": {"type": ["string", "null"], "pattern": rf"^{_ROLE}(?: |$)"},
}
"""What names roles; each once, as the table gets new ones."""


def commands_schema() -> dict[str, Any]:
    """Definitions by their names; `commands` is the section itself."""
    return {
        "commands": _closed(PARTS, _PARTS),
        "command": _closed(FIELDS, _ENTRY),
        "command_when": _closed(WHEN, _OVERLAY),
        "command_variable": _closed(VARIABLE, _VARIABLE),
        "command_language": _closed(LANGUAGE, _LANGUAGE),
        **_ROLES,
        "command_does": {
            "type": "object",
            "description": "What it does by its nature → why; `!`: never right.",
            "propertyNames": {"enum": [name + mark for name in ACTS for mark in ("", "!")]},
            "additionalProperties": _TEXT,
        },
    }


def _closed(keys: Iterable[str], types: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {key: dict(types[key]) for key in keys},
        "additionalProperties": False,
    }
