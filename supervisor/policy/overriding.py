"""The rules of several files as one list: later ones replace earlier ones, or switch them off."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from supervisor.errors import ConfigurationError
from supervisor.nearest import did_you_mean
from supervisor.policy.rule_reading import Entry, R

_NEEDS: Final[Mapping[str, str]] = {
    "deny": "`names` or `paths`",
    "dangerous": "`acts`",
    "rules": "an `answer`",
}
"""What makes a rule of each section more than a switch."""


def merged(
    section: str,
    parts: Sequence[Sequence[Entry[R]]],
    *,
    later_first: bool = False,
    built_in: Collection[str] = (),
) -> tuple[Entry[R], ...]:
    """The rules of all files by id, each as the last file has it, at its first place.

    `later_first`: the rules of later files come first. `built_in` are ids of rules that no file
    has. Raises ConfigurationError for a rule that
    says nothing, and switches off none.
    """
    found: dict[str, Entry[R]] = {}
    for entries in parts:
        for entry in entries:
            if entry.off and entry.rule.id not in found:
                raise _switches_nothing(section, entry, found, built_in)
        new = {entry.rule.id: entry for entry in entries}
        if later_first:
            found = {**new, **{name: each for name, each in found.items() if name not in new}}
        else:
            found.update(new)
    return tuple(found.values())


def _switches_nothing(
    section: str, entry: Entry[R], known: Collection[str], built_in: Collection[str]
) -> ConfigurationError:
    name, needs = entry.rule.id, _NEEDS[section]
    if name in built_in:
        return ConfigurationError(
            f"expected a rule of an earlier file: `{name}` is built in, no file switches it off",
            where=entry.id_where,
            remedy="leave it out",
        )
    return ConfigurationError(
        f"expected the id of a rule that an earlier file has in `{section}`, to switch it off:"
        f" there is no `{name}`; a new rule needs {needs}",
        where=entry.id_where,
        remedy=did_you_mean(name, known)
        or f"add {needs}; or see the ids there are with `trustfloor policy show`",
    )
