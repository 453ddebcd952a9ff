"""What a session may do unasked, from JSON: for `policy explain` and for labelled calls."""

from collections.abc import Mapping
from typing import Any, Final

from supervisor.errors import InvalidRequest
from supervisor.nearest import did_you_mean
from supervisor.policy.permissions import Permissions

KEYS: Final = ("trust_mode", "read", "write", "bash", "confined")
_OTHER_SPELLING: Final = {"trustMode": "trust_mode"}


def read_permissions(given: Mapping[str, Any]) -> Permissions:
    """The permissions; what isn't said is the default.

    Raises InvalidRequest, naming the field, and the nearest known one for an unknown.
    """
    fields: dict[str, Any] = {}
    for key, value in given.items():
        name = _OTHER_SPELLING.get(key, key)
        if name not in KEYS:
            raise InvalidRequest(
                f"there is no permission {key[:80]!r}; there are {', '.join(KEYS)}",
                where=key[:80],
                remedy=did_you_mean(key, KEYS),
            )
        if name in fields:
            raise InvalidRequest("it is said twice", where=key)
        fields[name] = value
    return Permissions(
        trust_mode=_flag(fields, "trust_mode"),
        read=_texts(fields, "read"),
        write=_texts(fields, "write"),
        bash=_bash(fields),
        confined=_flag(fields, "confined"),
    )


def _flag(fields: Mapping[str, Any], key: str) -> bool:
    value = fields.get(key, True)
    if not isinstance(value, bool):
        raise InvalidRequest("true or false is expected", where=key)
    return value


def _texts(fields: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = fields.get(key, [])
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise InvalidRequest("a list of texts is expected", where=key)
    return tuple(value)


def _bash(fields: Mapping[str, Any]) -> tuple[str, ...] | bool:
    value = fields.get("bash", False)
    if isinstance(value, bool):
        return value
    if not isinstance(value, list):
        raise InvalidRequest("a list of texts, true or false is expected", where="bash")
    return _texts(fields, "bash")
