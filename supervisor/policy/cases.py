"""Labelled calls: how many the policy judges as their labels say."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from supervisor.errors import ConfigurationError, InvalidRequest
from supervisor.nearest import did_you_mean
from supervisor.policy.call import Verdict, verdict_word
from supervisor.policy.input_texts import DEEPEST_INPUT
from supervisor.policy.permissions import Permissions
from supervisor.policy.permissions_reading import read_permissions
from supervisor.trust.levels import TrustLevel

Want = Literal["allow", "ask", "deny"]
WANTS: tuple[Want, ...] = ("deny", "ask", "allow")
PLACEHOLDER = "VAULT"
"""Stands in a case for the vault's absolute path."""
LONGEST_LINE = 4 * 1024 * 1024
"""Characters."""

_NEEDED = ("id", "tool", "input", "trust", "want")
_KEYS = frozenset({*_NEEDED, "permissions", "cwd", "layout", "family"})


@dataclass(frozen=True, slots=True)
class Case:
    """One labelled call. `cwd` is relative to the vault; `layout` names the vault it presumes."""

    id: str
    tool: str
    input: Mapping[str, Any]
    level: TrustLevel
    permissions: Permissions
    want: Want
    cwd: str = ""
    layout: str = "a"
    family: str = ""
    unreadable: str | None = None
    """Why its input can't be read; such a call is denied."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """A case that was judged otherwise than labelled."""

    id: str
    got: str
    rule: str


@dataclass(frozen=True, slots=True)
class Tally:
    """Cases with one label, and how many of them were judged so."""

    n: int
    right: int


@dataclass(frozen=True, slots=True)
class Summary:
    """What became of the cases. A label `ask` is met by ask or deny."""

    tallies: Mapping[Want, Tally] = field(default_factory=dict)
    wrong: tuple[Wrong, ...] = ()

    def document(self) -> dict[str, Any]:
        """As JSON: a tally for each label, and what is wrong."""
        found: dict[str, Any] = {
            want: {"n": tally.n, "right": tally.right} for want, tally in self.tallies.items()
        }
        found["wrong"] = [{"id": w.id, "got": w.got, "rule": w.rule} for w in self.wrong]
        return found


def read_cases(where: str, text: str) -> tuple[Case, ...]:
    """The cases of a file, one JSON object a line.

    Raises ConfigurationError with file and line, and the key that is missing or wrong.
    """
    found = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                found.append(_read(line, f"{where}:{number}"))
            except InvalidRequest as wrong:
                raise ConfigurationError(
                    wrong.message,
                    where=f"{where}:{number}{wrong.where or ''}",
                    remedy=wrong.remedy or "each line needs id, tool, input, trust and want",
                ) from None
    return tuple(found)


def _read(line: str, place: str) -> Case:
    try:
        return _case(_object(line))
    except RecursionError:
        return _too_deep(line, place)


def _object(line: str) -> dict[str, Any]:
    """The line's object. The errors' `where` here and below is what comes after the line number."""
    if len(line) > LONGEST_LINE:
        raise InvalidRequest(f"expected at most {LONGEST_LINE} characters")
    try:
        entry = json.loads(line)
    except json.JSONDecodeError as error:
        raise InvalidRequest(
            f"expected a labelled call as JSON, all of it on this line; {_said(error)}",
            where=f":{error.colno}",
        ) from None
    if not isinstance(entry, dict):
        raise InvalidRequest('expected an object (`{"id": …}`)')
    return entry


def _too_deep(line: str, place: str) -> Case:
    """A line that is nested too deeply to be read: its label as far as it can be told."""
    named, wanted = _ID.search(line), _WANT.search(line)
    if wanted is None:
        raise InvalidRequest("expected JSON that isn't nested so deep")
    return Case(
        id=json.loads(named[1]) if named else place,
        tool="",
        input={},
        level=TrustLevel.FULL,
        permissions=Permissions(),
        want=next(each for each in WANTS if each == wanted[1]),
        unreadable=f"{place}: nested too deeply to be read",
    )


_ID = re.compile(r'\{\s*"id"\s*:\s*("(?:[^"\\]|\\["\\/bfnrt])*")')
_WANT = re.compile(r'"want"\s*:\s*"(allow|ask|deny)"')


def _said(error: json.JSONDecodeError) -> str:
    return error.msg[:1].lower() + error.msg[1:]


def _case(entry: Mapping[str, Any]) -> Case:
    for key in _NEEDED:
        if key not in entry:
            unknown = [name for name in entry if name not in _KEYS]
            near = next((name for name in unknown if did_you_mean(name, (key,))), None)
            raise InvalidRequest(
                f"expected the key `{key}`",
                where=f" {key}",
                remedy=f"did you mean `{key}` where it says `{near}`?" if near else None,
            )
    if not isinstance(entry["input"], dict):
        raise InvalidRequest("expected an object", where=" input")
    given = entry.get("permissions") or {}
    if not isinstance(given, dict):
        raise InvalidRequest("expected an object", where=" permissions")
    try:
        permissions = read_permissions({"bash": [], **given})
    except InvalidRequest as wrong:
        where = f" permissions.{wrong.where}"
        raise InvalidRequest(wrong.message, where=where, remedy=wrong.remedy) from None
    return Case(
        id=str(entry["id"]),
        tool=str(entry["tool"]),
        input=entry["input"],
        level=TrustLevel(_one_of(entry, "trust", [level.value for level in TrustLevel])),
        permissions=permissions,
        want=next(each for each in WANTS if each == _one_of(entry, "want", WANTS)),
        cwd=str(entry.get("cwd", "")),
        layout=str(entry.get("layout", "a")),
        family=str(entry.get("family", "")),
    )


def _one_of(entry: Mapping[str, Any], key: str, words: Sequence[str]) -> str:
    said = entry[key]
    if said not in words:
        near = did_you_mean(said, words) if isinstance(said, str) else None
        raise InvalidRequest(f"expected one of {', '.join(words)}", where=f" {key}", remedy=near)
    return str(said)


def placed(value: Any, vault: str, depth: int = DEEPEST_INPUT + 1) -> Any:
    """The value with the vault's path where the placeholder stands, down to that depth."""
    if isinstance(value, str):
        return value.replace(PLACEHOLDER, vault)
    if depth and isinstance(value, dict):
        return {key: placed(each, vault, depth - 1) for key, each in value.items()}
    if depth and isinstance(value, list):
        return [placed(each, vault, depth - 1) for each in value]
    return value


def is_right(want: Want, got: Want) -> bool:
    """Whether a verdict meets a label."""
    return got == want or (want == "ask" and got == "deny")


def summarise(judged: Sequence[tuple[Case, Verdict]]) -> Summary:
    """The tallies over all cases, and those that were judged otherwise."""
    total, right = Counter[Want](), Counter[Want]()
    wrong = []
    for case, verdict in judged:
        got = verdict_word(verdict)
        total[case.want] += 1
        if is_right(case.want, got):
            right[case.want] += 1
        else:
            wrong.append(Wrong(case.id, got, verdict.rule))
    return Summary({want: Tally(total[want], right[want]) for want in WANTS}, tuple(wrong))
