"""A decision's canonical input: all that it depended on, as JSON that it can be made again from.

Kept are the texts that rules are about: commands, paths, patterns, addresses, and what else was
judged as a path. All others, contents and prose, are replaced by their hash and length, and those
in fields that are named like secrets by their length alone. Of what is kept, credentials that can
be told by their form are masked; the caller takes known secrets out.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from supervisor.policy.call import Facts, ToolCall, Use
from supervisor.policy.compiled import CompiledPolicy
from supervisor.policy.permissions import Permissions
from supervisor.policy.wanted import COMMAND_FIELDS, PATH_FIELDS

VERSION: Final = 1
LONGEST_KEPT: Final = 16_384
"""Characters of a text; a call with a longer one that steers can't be decided again."""
DEEPEST: Final = 12
_SHORTEST_HASHED: Final = 32
_LONGEST_KEY: Final = 256

_CREDENTIAL: Final = re.compile(
    r"""\b(?:sk-[A-Za-z0-9_-]{16,} | gh[pousr]_[A-Za-z0-9]{20,} | github_pat_\w{20,}
    | glpat-[\w-]{16,} | xox[abeprs]-[\w-]{10,} | AKIA[0-9A-Z]{16} | AIza[\w-]{30,}
    | eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,})
    | (?<=[Bb]earer[ ])[\w.~+/=-]{8,}
    | (?<=://)[^\s/@?#:'"]+:[^\s/@?#'"]+(?=@)
    | (?:(?<=[?&]token=)|(?<=[?&]key=)|(?<=api_key=)|(?<=apikey=))[^\s&#'"]+""",
    re.VERBOSE,
)
"""Credentials of well-known forms, and what stands in for one in an address or a header."""
_MASK: Final = "NOT-KEPT"
"""One word, so that a command keeps its structure."""

_STEERING: Final = frozenset(
    {*PATH_FIELDS, *COMMAND_FIELDS, "pattern", "glob", "type", "url", "domain", "server"}
)
"""Fields, without regard to case, `_` and `-`, whose texts rules are about."""
_SECRET: Final = (
    "password", "passwd", "passphrase", "secret", "token", "apikey", "privatekey", "credential",
    "authorization", "cookie",
)  # fmt: skip
"""Parts of the names of fields that hold what nobody writes down."""


@dataclass(frozen=True, slots=True)
class Input:
    """What a decision depended on, besides the policy. `now`: seconds since the epoch.

    Without `permissions`, those counted that the policy has for the level; `by_default` says that
    they are those, but for the grants.
    """

    call: ToolCall
    facts: Facts
    permissions: Permissions | None
    now: float
    by_default: bool = False

    def under(self, policy: CompiledPolicy) -> Permissions:
        """What the session may do unasked, had the policy been this one."""
        default = policy.defaults[self.call.level]
        held = self.permissions
        if held is None:
            return replace(default, confined=False)  # as `decide` has it
        if not self.by_default:
            return held
        return replace(default, grants=held.grants, confined=held.confined, bounds=held.bounds)


@dataclass(slots=True)
class _Kept:
    """What is to be kept of an input, and what was met on the way through it."""

    judged: frozenset[str]
    secrets: set[str]
    whole: bool = True


def canonical(decided: Input) -> dict[str, Any]:
    """The document. Tuples and enumerations in it are left to the JSON writer."""
    call = decided.call
    kept = _Kept(frozenset(fact.named for fact in decided.facts.paths), set())
    kept_input = _keep(call.input, "", kept, DEEPEST)
    facts = Facts(
        tuple(
            fact
            for fact in decided.facts.paths
            if fact.use is not Use.ARGUMENT or fact.named not in kept.secrets
        )
    )
    document: dict[str, Any] = {
        "v": VERSION,
        "input": _masked(kept_input),
        "vault": call.as_seen_vault,
        "cwd": call.as_seen_cwd,
        "home": call.as_seen_home,
        "facts": _masked(_FACTS.dump_python(facts, exclude_defaults=True)),
        "permissions": _PERMISSIONS.dump_python(decided.permissions, exclude_defaults=True),
        "now": decided.now,
        "byDefault": decided.by_default,
    }
    if not kept.whole:
        document["whole"] = False
    return document


def restore(body: Mapping[str, Any]) -> Input:
    """The input of a decision from its audit entry's body, which holds the document as `canonical`.

    Raises ValueError, saying why, if it can't be decided again.
    """
    document = body.get("canonical")
    if not isinstance(document, Mapping):
        raise ValueError("it was recorded without its input")  # noqa: TRY004 - a matter of content
    if document.get("v") != VERSION:
        raise ValueError(f"it was recorded in form {document.get('v')!r}")
    if document.get("whole") is False:
        raise ValueError("it was too large to be recorded whole")
    try:
        return _RECORDED.validate_python(
            {
                "call": {
                    "tool": body["tool"],
                    "input": document["input"],
                    "tool_use_id": body["toolUseId"],
                    "level": body["level"],
                    "as_seen_vault": document["vault"],
                    "as_seen_cwd": document["cwd"],
                    "agent": body.get("agent"),
                    "as_seen_home": document["home"],
                },
                "facts": document["facts"],
                "permissions": document["permissions"],
                "now": document["now"],
                "by_default": document["byDefault"],
            }
        )
    except (KeyError, ValidationError) as error:
        raise ValueError("its record can't be read") from error


_FACTS: Final = TypeAdapter(Facts)
_PERMISSIONS: Final = TypeAdapter(Permissions | None)
_RECORDED: Final = TypeAdapter(Input)


def _keep(value: Any, field: str, kept: _Kept, depth: int) -> Any:
    if isinstance(value, str):
        return _kept_text(value, field, kept)
    if isinstance(value, Mapping | list | tuple) and depth == 0:
        kept.whole = False
        return "⟨nested too deeply to be kept⟩"
    if isinstance(value, Mapping):
        return {
            _key(str(key)): _keep(each, _below(field, str(key)), kept, depth - 1)
            for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [_keep(each, field, kept, depth - 1) for each in value]
    return value


def _key(key: str) -> str:
    return key if len(key) <= _LONGEST_KEY else _digest(key)


def _below(field: str, key: str) -> str:
    """The field's plain name; below one that is named like a secret, all are."""
    return field if _is_secret(field) else key.lower().replace("_", "").replace("-", "")


def _is_secret(field: str) -> bool:
    return any(each in field for each in _SECRET)


def _kept_text(text: str, field: str, kept: _Kept) -> str:
    if field in _STEERING:
        if len(text) <= LONGEST_KEPT:
            return text
        kept.whole = False
        return _digest(text)
    if _is_secret(field):
        kept.secrets.add(text)
        return f"⟨{len(text)} characters, not kept⟩"
    return text if text in kept.judged and len(text) <= LONGEST_KEPT else _digest(text)


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        return _CREDENTIAL.sub(_MASK, value) if len(value) >= len(_MASK) else value
    if isinstance(value, Mapping):
        return {key: _masked(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(each) for each in value]
    return value


def _digest(text: str) -> str:
    """Has a blank in it on purpose: it must not be taken for a name.

    A short text could be found again from its hash by trying, so it gets none.
    """
    if len(text) < _SHORTEST_HASHED:
        return f"⟨{len(text)} characters⟩"
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"⟨{len(text)} characters, sha256 {digest}⟩"
