"""Acts that are denied at every level, as rules over a command's effects, never over its text."""

import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from wcmatch import glob as wcglob

from supervisor.policy.bash.effect import Act, Effect
from supervisor.policy.call import Kind
from supervisor.policy.hosts import host_matches, hosts_of

HOME = "~"
VAULT = "VAULT"
_GLOB_FLAGS = wcglob.GLOBSTAR | wcglob.DOTGLOB
_MAGIC = re.compile(r"[*?\[\]]")


@dataclass(frozen=True, slots=True)
class DangerRule:
    """A dangerous act. All that a rule says must hold; of each list, one entry.

    `acts` are the kinds of effects; `recursive` asks for those that reach all below a folder,
    `severe` for those that the table of commands marks as never right. `folders` are absolute
    globs (`~` is home, `VAULT` the vault): the rule means the folder, each folder above it, and
    all that one of these holds (`/*`). `paths` are absolute globs of files, `kinds` what the file
    system says that lies there, `hosts` names, addresses or `*.name`.
    """

    id: str
    reason: str
    acts: frozenset[Act] = frozenset()
    recursive: bool = False
    severe: bool = False
    folders: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    kinds: frozenset[Kind] = frozenset()
    hosts: tuple[str, ...] = ()

    @property
    def is_about_places(self) -> bool:
        """Whether it is about paths that are acted upon, not the act alone."""
        return bool(self.folders or self.paths or self.kinds)

    def fits(self, effect: Effect, *, whole: bool = False) -> bool:
        """Whether an effect is of the rule's kind, whatever its target.

        `whole`: it is about all that a folder holds (`rm /etc/*`).
        """
        return (
            effect.act in self.acts
            and (effect.recursive or whole or not self.recursive)
            and (effect.severe or not self.severe)
        )

    def hits_hosts_of(self, effect: Effect) -> bool:
        """Whether an effect reaches one of the rule's hosts; a rule without hosts means all."""
        return not self.hosts or (
            effect.target is not None and any(self.hits_host(t.text) for t in effect.target.texts)
        )

    def hits_place(self, place: str, vault: str, home: str, kind: Kind = Kind.UNSEEN) -> bool:
        """Whether an absolute path is one of the rule's folders or paths, or of its kinds."""
        return (
            kind in self.kinds
            or (bool(self.folders) and _folders(self.folders, vault, home).has(place))
            or (bool(self.paths) and _globs(self.paths, vault, home).match(place) is not None)
        )

    def hits_host(self, target: str) -> bool:
        """Whether a host or a URL, in any spelling, leads to one of the rule's hosts."""
        return any(host_matches(host, each) for host in hosts_of(target) for each in self.hosts)


class PlaceRules:
    """The rules about places for one kind of act, with a look that tells that none can hit."""

    def __init__(self, rules: Iterable[DangerRule]) -> None:
        self.rules = tuple(rules)
        self._kinds = frozenset(kind for rule in self.rules for kind in rule.kinds)
        tops = [_top(each) for rule in self.rules for each in rule.paths]
        anywhere = "" in tops or any(rule.folders for rule in self.rules)
        self._tops = ("",) if anywhere else tuple(dict.fromkeys(tops))

    def may_hit(self, places: Iterable[str], kind: Kind) -> bool:
        """Whether one of these absolute paths, or what lies there, may be meant: most aren't."""
        for place in places:
            if place.startswith(self._tops):
                return True
        return kind in self._kinds


def _top(glob: str) -> str:
    """The folder below the root that all lies in which a glob means; empty if that isn't known."""
    top = "/".join(glob.split("/")[:2])
    return top if top.startswith("/") and top[1:].isalnum() else ""


class _Folders:
    """Folders with all above them."""

    def __init__(self, entries: Iterable[str], vault: str, home: str) -> None:
        self._plain: set[str] = set()
        for entry in entries:
            here = _with_roots(entry, vault, home)
            for _ in range(_MAGIC.search(entry) is not None and entry.count("/")):
                here = posixpath.dirname(here) if _MAGIC.search(here) else here
            while here.startswith("/") and here not in self._plain:
                self._plain.add(here)
                here = posixpath.dirname(here)
        self._globs = _globs(tuple(e for e in entries if _MAGIC.search(e)), vault, home)

    def has(self, place: str) -> bool:
        return place in self._plain or self._globs.match(place) is not None


def _with_roots(entry: str, vault: str, home: str) -> str:
    head, slash, rest = entry.partition("/")
    return f"{({HOME: home, VAULT: vault}).get(head, head)}{slash}{rest}"


@lru_cache(maxsize=256)
def _folders(entries: tuple[str, ...], vault: str, home: str) -> _Folders:
    return _Folders(entries, vault, home)


@lru_cache(maxsize=256)
def _globs(entries: tuple[str, ...], vault: str, home: str) -> re.Pattern[str]:
    globs = [_with_roots(e, wcglob.escape(vault), wcglob.escape(home)) for e in entries]
    sources = [s for each in globs for s in wcglob.translate(each, flags=_GLOB_FLAGS)[0]]
    return re.compile("|".join(f"(?:{source})" for source in sources) or r"(?!)")
