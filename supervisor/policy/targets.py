"""What a command's effects act upon: paths to be looked up before, and judged after the look."""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from supervisor.policy.bash.effect import Act, Analysis, Effect
from supervisor.policy.bash.value import HOLE, Text
from supervisor.policy.call import PathFact, ToolCall, Use
from supervisor.policy.globs import has_magic
from supervisor.policy.places import absolute, relative_to_vault, spelt_out
from supervisor.policy.wants import Scan, Wanted
from supervisor.trust.levels import TrustLevel

LOOKS = frozenset({Act.LIST, Act.READ})
CHANGES = frozenset({Act.WRITE, Act.DELETE, Act.CHANGE_MODE})
PATH_ACTS = LOOKS | CHANGES | {Act.LINK}
MOST_TARGETS = 256
"""Paths of one call that are looked up."""
MOST_JUDGED = 2_048
"""Paths of one call that are judged, those too that can't be looked up."""

_STREAMS = re.compile(
    r"/dev/(?:null|zero|full|tty|stdin|stdout|stderr|random|urandom|fd/\d+)\Z|/proc/self/fd/\d+\Z"
)
_WILD_PART = re.compile(r"(?:[*?.]|\[[^\]]*\])+\Z")

Key = tuple[int, str, str | None, str]


@dataclass(slots=True)
class Target:
    """One path that an effect acts upon.

    `names` are the spellings to hold against lists of names, `places` absolute paths of the entry
    acted upon; for a pattern without a letter of its own, the folder that it empties or reads.
    `whole` says that all of it is known. `pattern` is the glob, relative to the vault or absolute.
    """

    index: int
    effect: Effect
    text: str
    names: tuple[str, ...]
    places: tuple[str, ...]
    whole: bool
    pattern: str | None = None
    broad: bool = False
    fact: PathFact | None = None

    @property
    def shown(self) -> str:
        """The text as it is told: holes stand as `…`."""
        return self.text.replace(HOLE, "…")


def is_stream(path: str) -> bool:
    """Whether a path is one of the devices that every program may use."""
    return path.startswith(("/dev/", "/proc/")) and _STREAMS.match(path) is not None


def is_broad(pattern: str) -> bool:
    """Whether a glob's last part has no letter of its own: it is about all that a folder holds."""
    return _WILD_PART.match(pattern.rstrip("/").rsplit("/", 1)[-1].replace("\\", "")) is not None


def wanted_of_effects(analysis: Analysis, call: ToolCall) -> tuple[tuple[Wanted, ...], bool]:
    """What to look up for the effects, and whether that is all of it."""
    found: dict[Wanted, None] = {}
    for index, effect in enumerate(analysis.effects):
        if effect.act not in PATH_ACTS or effect.elsewhere:
            continue
        if effect.act is Act.LIST and call.level is TrustLevel.FULL:
            continue
        for text, cwd in _texts(effect, call):
            if cwd is None or not text.known or is_stream(text.text):
                continue
            want = Wanted(
                text=text.text,
                use=Use.EFFECT,
                scan=_scan(effect, text, call.level),
                effect=index,
                cwd=cwd,
                pattern=text.pattern,
                changes=effect.act in CHANGES,
            )
            if len(found) >= MOST_TARGETS:
                return tuple(found), False
            found[want] = None
    return tuple(found), True


def targets(
    analysis: Analysis, call: ToolCall, wants: Sequence[Wanted], facts: Sequence[PathFact]
) -> tuple[list[Target], bool]:
    """The paths that the effects act upon, with what was found out about them; and whether all."""
    known = {_key(want): fact for want, fact in zip(wants, facts, strict=True)}
    found: list[Target] = []
    for at in enumerate(analysis.effects):
        if at[1].act in PATH_ACTS:
            for text, cwd in _texts(at[1], call):
                if len(found) >= MOST_JUDGED:
                    return found, False
                if not is_stream(text.text):
                    found.append(_target(at, text, cwd, call.as_seen_vault, known))
    return found, True


def _key(want: Wanted) -> Key:
    return (-1 if want.effect is None else want.effect, want.text, want.pattern, want.cwd or "")


def _texts(effect: Effect, call: ToolCall) -> Iterator[tuple[Text, str | None]]:
    """Each text the target may be, with the folder it starts in; None if that isn't known."""
    if effect.target is None:
        yield Text(HOLE), None
        return
    folders: list[str | None] = [call.as_seen_cwd]
    if effect.cwd is not None:
        folders = [each.text if each.known else None for each in effect.cwd.texts]
    for text in effect.target.texts:
        if text.text.startswith("/"):
            yield text, "/"
        else:
            for folder in dict.fromkeys(folders):
                yield text, folder


def _scan(effect: Effect, text: Text, level: TrustLevel) -> Scan | None:
    if effect.act in CHANGES and effect.recursive:
        return Scan(only=effect.only, everything=True)
    if effect.act is not Act.READ or level is TrustLevel.FULL:
        return None
    if effect.recursive:
        return Scan(only=effect.only, everything=True)
    return Scan(everything=True) if text.pattern is not None and is_broad(text.pattern) else None


def _target(
    at: tuple[int, Effect], text: Text, cwd: str | None, vault: str, known: Mapping[Key, PathFact]
) -> Target:
    index, effect = at
    fact = known.get((index, text.text, text.pattern, cwd or ""))
    # A piece that isn't known is some letter: what is known around it may still name a file.
    spelt = text.text.replace(HOLE, "x")
    path = spelt_out(spelt, cwd) if cwd is not None else None
    names: tuple[str, ...]
    names = (relative_to_vault(path, vault) if path else posixpath.normpath(spelt),)
    places: tuple[str, ...] = (path,) if path else ()
    pattern = None
    broad = False
    if text.pattern is not None and has_magic(text.pattern):
        filled = text.pattern.replace(HOLE, "x")
        pattern = relative_to_vault(spelt_out(filled, cwd), vault) if cwd is not None else filled
        broad = is_broad(filled)
        places = (posixpath.dirname(path),) if path and broad else ()
    elif path and HOLE in text.text and text.text.startswith("/"):
        # What isn't known may be nothing, and then `/$name` is `/`.
        places = (path, *(["/"] if spelt_out(text.text.replace(HOLE, ""), "/") == "/" else []))
    if fact is not None and fact.problem is None:
        names = tuple(dict.fromkeys((*names, *fact.names)))
        entries = [fact.entry] if fact.entry is not None else []
        follows = effect.act is not Act.DELETE or text.text.endswith(("/", "/.")) or broad
        if follows and fact.resolved is not None:
            entries.append(fact.resolved)
        if pattern is None or broad:
            places = tuple(dict.fromkeys((*places, *(absolute(each, vault) for each in entries))))
    return Target(
        index=index,
        effect=effect,
        text=text.text,
        names=names,
        places=places,
        whole=text.known and cwd is not None,
        pattern=pattern,
        broad=broad,
        fact=fact,
    )
