"""The form of policy files as a JSON Schema, for editors."""

from typing import Any

from supervisor.policy.bash.effect import Act
from supervisor.policy.call import Kind
from supervisor.policy.commands_schema import commands_schema
from supervisor.policy.compiled import Category
from supervisor.policy.document import LONGEST_LIST
from supervisor.policy.shape import SECTIONS, Key, known, required
from supervisor.policy.tool_rules import Answer
from supervisor.trust.levels import TrustLevel

_TEXT = {"type": "string", "minLength": 1}
_LEAVES: dict[str, dict[str, Any]] = {
    "text": _TEXT,
    "id": {"type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,63}$"},
    "tool": {"type": "string", "pattern": "^[A-Za-z0-9_.:-]+\\*?$"},
    "version": {"const": 1},
    "flag": {"type": "boolean"},
    "count": {"type": ["integer", "null"], "exclusiveMinimum": 0},
    "amount": {"type": ["number", "null"], "exclusiveMinimum": 0},
    "answer": {"enum": [each.value for each in Answer]},
    "act": {"enum": [each.value for each in Act]},
    "kind": {"enum": [each.value for each in Kind if each is not Kind.UNSEEN]},
    "bash": {"anyOf": [{"type": "boolean"}, {"type": "array", "items": _TEXT}]},
}
_KEYS: dict[str, list[str]] = {
    "level": [each.value for each in TrustLevel],
    "category": [each.value for each in Category],
}


def policy_schema() -> dict[str, Any]:
    """A JSON Schema (draft 2020-12) of one policy file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Trustfloor policy file",
        **_section("policy"),
        "$defs": {
            **{name: _section(name) for name in SECTIONS if name != "policy"},
            **commands_schema(),
        },
    }


def _section(name: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {key: _property(SECTIONS[name][key]) for key in known(name)},
        **({"required": list(required(name))} if required(name) else {}),
        "additionalProperties": False,
    }


def _property(key: Key) -> dict[str, Any]:
    return {"description": key.means, **_type(key.type)}


def _type(text: str) -> dict[str, Any]:
    if text.startswith("["):
        return {"type": "array", "items": _type(text[1:-1]), "maxItems": LONGEST_LIST}
    if text.startswith("{"):
        key, _, value = text[1:-1].partition(": ")
        return {
            "type": "object",
            "properties": {name: _type(value) for name in _KEYS[key]},
            "additionalProperties": False,
        }
    if text in _KEYS:
        return {"enum": _KEYS[text]}
    return _LEAVES.get(text, {"$ref": f"#/$defs/{text}"})
