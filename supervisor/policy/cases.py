"""Labelled calls: how many the policy judges as their labels say."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from supervisor.errors import ConfigurationError
from supervisor.policy.call import Allow, Deny, Verdict
from supervisor.policy.permissions import Permissions
from supervisor.trust.levels import TrustLevel

Want = Literal["allow", "ask", "deny"]
WANTS: tuple[Want, ...] = ("deny", "ask", "allow")
PLACEHOLDER = "VAULT"
"""Stands in a case for the vault's absolute path."""
LONGEST_LINE = 4 * 1024 * 1024
"""Characters."""


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

    Raises ConfigurationError with file and line.
    """
    found = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            if len(line) > LONGEST_LINE:
                raise ValueError("the line is too long")  # noqa: TRY301
            found.append(_case(json.loads(line)))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ConfigurationError(
                f"expected a labelled call as JSON: {error}",
                where=f"{where}:{number}",
                remedy="each line needs id, tool, input, trust and want",
            ) from None
    return tuple(found)


def _case(entry: Any) -> Case:
    want = entry["want"]
    if want not in WANTS:
        raise ValueError(f"`want` must be one of {', '.join(WANTS)}")
    if not isinstance(entry["input"], dict):
        raise TypeError("`input` must be an object")
    permissions = entry.get("permissions") or {}
    bash = permissions.get("bash", [])
    return Case(
        id=str(entry["id"]),
        tool=str(entry["tool"]),
        input=entry["input"],
        level=TrustLevel(entry["trust"]),
        permissions=Permissions(
            trust_mode=bool(permissions.get("trust_mode", True)),
            read=tuple(permissions.get("read", ())),
            write=tuple(permissions.get("write", ())),
            bash=bash if isinstance(bash, bool) else tuple(bash),
        ),
        want=want,
        cwd=str(entry.get("cwd", "")),
        layout=str(entry.get("layout", "a")),
        family=str(entry.get("family", "")),
    )


def placed(value: Any, vault: str) -> Any:
    """The value with the vault's path where the placeholder stands."""
    if isinstance(value, str):
        return value.replace(PLACEHOLDER, vault)
    if isinstance(value, dict):
        return {key: placed(each, vault) for key, each in value.items()}
    return [placed(each, vault) for each in value] if isinstance(value, list) else value


def told(verdict: Verdict) -> Want:
    """The verdict as a label."""
    if isinstance(verdict, Allow):
        return "allow"
    return "deny" if isinstance(verdict, Deny) else "ask"


def is_right(want: Want, got: Want) -> bool:
    """Whether a verdict meets a label."""
    return got == want or (want == "ask" and got == "deny")


def summarise(judged: Sequence[tuple[Case, Verdict]]) -> Summary:
    """The tallies over all cases, and those that were judged otherwise."""
    total, right = Counter[Want](), Counter[Want]()
    wrong = []
    for case, verdict in judged:
        got = told(verdict)
        total[case.want] += 1
        if is_right(case.want, got):
            right[case.want] += 1
        else:
            wrong.append(Wrong(case.id, got, verdict.rule))
    return Summary({want: Tally(total[want], right[want]) for want in WANTS}, tuple(wrong))
