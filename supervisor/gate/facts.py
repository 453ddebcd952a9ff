"""Fetches what the file system says of the paths that a call names: the gate's only I/O.

For levels that run in-process, paths are resolved as the kernel would: links, `..`, `~`,
`/proc/*/root` and hard links. For a container they are read as text alone, as they are its own.

Between this look and the tool's use of the path the file system may change; what is closed by it
and what isn't stands in docs/policy.md ("Check and use").
"""

import asyncio
import os
import posixpath
import stat
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from supervisor.gate.follow import Trail, follow, place
from supervisor.gate.scan import MOST_ENTRIES, Walk, other_names, reads_denied
from supervisor.policy.call import Facts, PathFact, ToolCall, Use
from supervisor.policy.compiled import CompiledPolicy
from supervisor.policy.deny_list import DenyList
from supervisor.policy.wanted import Wanted, Wants, wanted
from supervisor.trust.levels import TrustLevel


async def fetch_facts(
    call: ToolCall,
    policy: CompiledPolicy,
    vault: str,
    *,
    most_entries: int = MOST_ENTRIES,
    wants: Wants | None = None,
) -> Facts:
    """The facts for one call. `vault` is its absolute, resolved path on this host.

    Bounded: at most `most_entries` directory entries are looked at per walk. Raises OSError only
    where the machine itself fails. `wants`, if given, are those of the call.
    """
    paths = (wants or wanted(call, policy.category(call.tool))).paths
    if not paths:
        return Facts()
    if call.level is TrustLevel.SANDBOXED:
        return Facts(tuple(_as_text(want, call) for want in paths))
    denied = policy.may_not_be_named(call.level)
    look = _Look(vault, call.as_seen_cwd, denied, most_entries)
    return await asyncio.to_thread(look.all_of, paths)


def _as_text(want: Wanted, call: ToolCall) -> PathFact:
    """Facts without a file system: the path as the container would spell it."""
    trail = place(want.text, call.as_seen_cwd, call.as_seen_vault, home=None)
    return PathFact(
        named=want.text,
        inside=trail.inside,
        names=trail.names,
        use=want.use,
        problem=trail.problem,
    )


@dataclass(frozen=True, slots=True)
class _Look:
    vault: str
    cwd: str
    denied: DenyList
    most_entries: int

    def all_of(self, wants: Iterable[Wanted]) -> Facts:
        looked = [(want, *self._one(want)) for want in wants]
        linked = {key for _want, _fact, key in looked if key is not None}
        others = other_names(self.vault, linked, Walk(self.most_entries)) if linked else None
        facts = []
        for _want, fact, key in looked:
            if key is None or others is None:
                facts.append(fact)
                continue
            names = tuple(dict.fromkeys((*fact.names, *others.names.get(key, ()))))
            doubt = fact.doubt if others.complete else "not all its hard links could be found"
            facts.append(replace(fact, names=names, doubt=doubt))
        return Facts(tuple(facts))

    def _one(self, want: Wanted) -> tuple[PathFact, tuple[int, int] | None]:
        """The fact, and the file's (device, inode) where it has other names to be looked for."""
        home = str(Path.home())
        trail = follow(want.text, self.cwd, self.vault, home=home, word=want.use is Use.WORD)
        fact = PathFact(
            named=want.text,
            inside=trail.inside,
            names=trail.names,
            use=want.use,
            problem=trail.problem,
        )
        found = _status(trail)
        if found is None:
            return fact, None
        if stat.S_ISDIR(found.st_mode):
            return self._folder(want, trail, replace(fact, is_directory=True)), None
        if stat.S_ISREG(found.st_mode):
            linked = found.st_nlink > 1 and trail.inside
            return fact, (found.st_dev, found.st_ino) if linked else None
        if want.use is not Use.WORD:
            fact = replace(fact, doubt="it isn't a regular file")
        return fact, None

    def _folder(self, want: Wanted, trail: Trail, fact: PathFact) -> PathFact:
        if want.scan is None or any(self.denied.match(name) for name in trail.names):
            return fact
        holds = reads_denied(
            trail.target, self.vault, self.denied, want.scan, Walk(self.most_entries)
        )
        return replace(fact, holds_denied=holds)


def _status(trail: Trail) -> os.stat_result | None:
    if trail.problem is not None or not posixpath.isabs(trail.target):
        return None
    try:
        return os.lstat(trail.target)
    except OSError:
        return None
