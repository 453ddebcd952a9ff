"""What a command's effects act upon: paths to be looked up before, and judged after the look."""

import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

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
_UNTOLD: Final[Sequence[tuple[Text, str | None]]] = ((Text(HOLE), None),)
_UNTOLD_DEVICE: Final = f"/dev/{HOLE}"
_SOME_DISK: Final = "/dev/sda"
_FILLS_DEVICES: Final = frozenset({"dd", "dcfldd", "dc3dd", "ddrescue", "shred", "scrub", "pv"})
# A member of an enumeration is looked up by its name each time: these are used by the hundred.
_FULL: Final = TrustLevel.FULL
_LIST: Final = Act.LIST
_READ: Final = Act.READ
_DELETE: Final = Act.DELETE
_EFFECT: Final = Use.EFFECT


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
    found: list[Wanted] = []
    level = call.level
    for index, effect in enumerate(analysis.effects):
        act = effect.act
        if act not in PATH_ACTS or effect.elsewhere or (act is _LIST and level is _FULL):
            continue
        changes = act in CHANGES
        of_effect: list[Wanted] = []
        for text, cwd in _texts(effect, call):
            spelt = text.text
            if cwd is None or HOLE in spelt or (spelt[:1] == "/" and is_stream(spelt)):
                continue
            if len(found) + len(of_effect) >= MOST_TARGETS:
                return (*found, *dict.fromkeys(of_effect)), False
            scan = _scan(effect, text, level)
            of_effect.append(Wanted(spelt, _EFFECT, scan, index, cwd, text.pattern, changes))
        found += of_effect if len(of_effect) <= 1 else dict.fromkeys(of_effect)
    return tuple(found), True


def targets(
    analysis: Analysis, call: ToolCall, wants: Sequence[Wanted], facts: Sequence[PathFact]
) -> tuple[list[Target], bool]:
    """The paths that the effects act upon, with what was found out about them; and whether all."""
    known = {
        (want.effect, want.text, want.pattern, want.cwd): fact
        for want, fact in zip(wants, facts, strict=True)
        if want.effect is not None
    }
    found: list[Target] = []
    vault = call.as_seen_vault
    for index, effect in enumerate(analysis.effects):
        if effect.act in PATH_ACTS:
            for text, cwd in _texts(effect, call):
                if len(found) >= MOST_JUDGED:
                    return found, False
                if text.text[:1] != "/" or not is_stream(text.text):
                    fact = known.get((index, text.text, text.pattern, cwd))
                    found.append(_target(index, effect, text, cwd, vault, fact))
    return found, True


def _texts(effect: Effect, call: ToolCall) -> Sequence[tuple[Text, str | None]]:
    """Each text the target may be, with the folder it starts in; None if that isn't known."""
    target, cwd = effect.target, effect.cwd
    if target is None:
        return _UNTOLD
    if len(target.texts) == 1:
        text = target.texts[0]
        if text.text[:1] == "/":
            return ((text, "/"),)
        if cwd is None:
            return ((text, call.as_seen_cwd),)
        if len(cwd.texts) == 1:
            folder = cwd.texts[0].text
            return ((text, None if HOLE in folder else folder),)
    folders: Iterable[str | None] = (call.as_seen_cwd,)
    if cwd is not None:
        folders = [each.text if HOLE not in each.text else None for each in cwd.texts]
        if len(folders) > 1:
            folders = dict.fromkeys(folders)
    found: list[tuple[Text, str | None]] = []
    for text in target.texts:
        if text.text[:1] == "/":
            found.append((text, "/"))
        else:
            found += [(text, folder) for folder in folders]
    return found


def _scan(effect: Effect, text: Text, level: TrustLevel) -> Scan | None:
    if effect.act in CHANGES and effect.recursive:
        return Scan(only=effect.only, everything=True)
    if effect.act is not _READ or level is _FULL:
        return None
    if effect.recursive:
        return Scan(only=effect.only, everything=True)
    return Scan(everything=True) if text.pattern is not None and is_broad(text.pattern) else None


def _is_some_device(effect: Effect, text: str) -> bool:
    """Whether it is any device, by what another program says or for a tool that fills devices."""
    untold = effect.target is not None and effect.target.from_data
    return text.startswith(_UNTOLD_DEVICE) and (untold or effect.program in _FILLS_DEVICES)


def _says_nothing_more(fact: PathFact, own: str) -> bool:
    """Whether a path is known by one name, as it is spelt: the most are."""
    return fact.problem is not None or (
        len(fact.names) == 1
        and fact.names[0] == own
        and (fact.entry is None or fact.entry == own)
        and (fact.resolved is None or fact.resolved == own)
    )


def _target(  # noqa: PLR0913, PLR0917  (one of several hundred: no table is made for its parts)
    index: int, effect: Effect, text: Text, cwd: str | None, vault: str, fact: PathFact | None
) -> Target:
    if cwd is not None and text.pattern is None and HOLE not in text.text:
        path = spelt_out(text.text, cwd)
        own = relative_to_vault(path, vault)
        if fact is None or _says_nothing_more(fact, own):
            return Target(index, effect, text.text, (own,), (path,), whole=True, fact=fact)
    # A piece that isn't known is some letter: what is known around it may still name a file.
    spelt = text.text.replace(HOLE, "x")
    path = spelt_out(spelt, cwd) if cwd is not None else ""
    own = relative_to_vault(path, vault) if path else posixpath.normpath(spelt)
    names: tuple[str, ...] = (own,)
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
        if _is_some_device(effect, text.text):
            places = (*places, _SOME_DISK)
    if fact is not None and fact.problem is None:
        if fact.names != names:
            names = tuple(dict.fromkeys((*names, *fact.names)))
        entries = [] if fact.entry is None or (fact.entry == own and not broad) else [fact.entry]
        follows = effect.act is not _DELETE or text.text.endswith(("/", "/.")) or broad
        if follows and fact.resolved is not None and (fact.resolved != own or broad):
            entries.append(fact.resolved)
        if entries and (pattern is None or broad):
            places = tuple(dict.fromkeys((*places, *(absolute(each, vault) for each in entries))))
    whole = cwd is not None and HOLE not in text.text
    return Target(index, effect, text.text, names, places, whole, pattern, broad, fact)
