"""Links that a call makes itself: what is done through them later is done to where they lead."""

import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from supervisor.policy.bash.effect import Act, Effect
from supervisor.policy.bash.value import HOLE, Text, Value

MOST_LINKS: Final = 16
_NOWHERE: Final = re.compile(r"//+|/(?:\./)+")
_FOLLOWS: Final = frozenset({Act.READ, Act.WRITE, Act.CHANGE_MODE})
"""What is done to a link's own name happens to what it leads to; a link that is removed, or moved,
is removed itself."""
_THROUGH: Final = frozenset({Act.READ, Act.WRITE, Act.DELETE, Act.CHANGE_MODE, Act.LINK})


def through_links(effects: Sequence[Effect]) -> list[Effect]:
    """Effects beside those that are given: the same acts on what a new link stands for."""
    links: dict[str, str] = {}
    found: list[Effect] = []
    pending: Effect | None = None
    for effect in effects:
        own = pending is not None and effect.part == pending.part
        if links and effect.act in _THROUGH and not effect.elsewhere and not own:
            found.extend(_beyond(effect, links))
        if effect.act is Act.LINK:
            pending = effect
        elif effect.act is Act.WRITE and pending is not None and own:
            for name in _paths(effect):
                for target in _paths(pending):
                    if len(links) < MOST_LINKS and name != target:
                        links[name] = target
        elif not own:
            pending = None
    return found


def _paths(effect: Effect) -> Iterable[str]:
    folders = ("",) if effect.cwd is None else tuple(each.text for each in effect.cwd.texts)
    for text in () if effect.target is None else effect.target.texts:
        if text.text.startswith("/"):
            yield posixpath.normpath(text.text)
            continue
        for folder in folders:
            if HOLE not in folder and HOLE not in text.text and folder:
                yield posixpath.normpath(posixpath.join(folder, text.text))


def _beyond(effect: Effect, links: dict[str, str]) -> Iterable[Effect]:
    if effect.target is None:
        return
    folders = ("",) if effect.cwd is None else tuple(each.text for each in effect.cwd.texts)
    for text in effect.target.texts:
        for folder in ("",) if text.text.startswith("/") else folders:
            path = _NOWHERE.sub("/", posixpath.join(folder, text.text))
            for name, target in links.items():
                rest = path.removeprefix(name)
                if rest == path or not (
                    rest.startswith("/") or (not rest and effect.act in _FOLLOWS)
                ):
                    continue
                pattern = text.pattern
                if pattern is not None:
                    whole = posixpath.join(folder, pattern)
                    pattern = _led(target, whole.removeprefix(name)) if whole != pattern else None
                led = Text(_led(target, rest), pattern, text.many)
                yield replace(effect, target=Value((led,), effect.target.from_data))


def _led(target: str, rest: str) -> str:
    return f"{target.rstrip('/')}{rest}" or "/"
