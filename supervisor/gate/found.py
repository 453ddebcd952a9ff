"""What a call that asks would do, as the policy understood it, for the person who is asked."""

from collections.abc import Iterator
from typing import Final

from supervisor.approvals.display import make_visible
from supervisor.events.schema import FoundEffect
from supervisor.policy.call import Ask
from supervisor.policy.explain import Explanation, ShownPath, explain
from supervisor.policy.needs import Asking

MOST_TOLD: Final = 40
"""Effects of one call that are told; more are counted."""
LONGEST_TOLD: Final = 300
"""Characters of one text of an effect."""

_ACTS: Final = {"read": "reads", "search": "searches", "write": "writes"}
"""What a file tool does to a path that it names."""


def effects_of(asking: Asking, said: Ask) -> tuple[tuple[FoundEffect, ...], int]:
    """The effects, in the order of the command, and how many more there are."""
    explained = explain(asking.call, asking.wants, asking.facts, said, asking.policy)
    found = [*_found(explained)]
    return tuple(found[:MOST_TOLD]), max(0, len(found) - MOST_TOLD)


def _found(explained: Explanation) -> Iterator[FoundEffect]:
    of_command: list[tuple[int, FoundEffect]] = []
    for command in explained.commands:
        words = " ".join(command.words)
        made = FoundEffect(act="executes", target=_shown(words), text=_shown(command.text))
        of_command.append((command.start, made))
    for effect in explained.effects:
        places = tuple(remark for path in effect.paths for remark in _of_path(path))
        made = FoundEffect(
            act=effect.act,
            target=None if effect.target is None else _shown(effect.target),
            text=_shown(effect.text),
            reason=_shown(effect.reason),
            remarks=tuple(map(_shown, (*effect.remarks, *places))),
        )
        of_command.append((effect.start, made))
    of_command.sort(key=lambda each: each[0])
    yield from (each for _, each in of_command)
    for path in explained.paths:
        yield FoundEffect(
            act=_ACTS.get(path.use, "names"),
            target=_shown(path.named),
            remarks=tuple(map(_shown, _of_path(path))),
        )
    for address in explained.addresses:
        yield FoundEffect(act="sends", target=_shown(address))
    for note in explained.notes:
        yield FoundEffect(act="note", reason=_shown(note))


def _of_path(path: ShownPath) -> Iterator[str]:
    yield from path.remarks
    others = [name for name in path.names if name != path.named]
    if others:
        yield f"leads to {others[-1]}"


def _shown(text: str) -> str:
    cut = text if len(text) <= LONGEST_TOLD else f"{text[: LONGEST_TOLD - 1]}…"
    return make_visible(cut.replace("\n", " ⏎ ")).text
