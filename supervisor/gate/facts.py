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
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from supervisor.gate.expand import expand_pattern
from supervisor.gate.follow import Trail, follow, follow_exactly, place
from supervisor.gate.scan import (
    MOST_ENTRIES,
    Inode,
    Walk,
    holds_protected,
    other_names,
    own_names,
    reads_denied,
)
from supervisor.policy.call import Facts, Kind, PathFact, ToolCall, Use
from supervisor.policy.compiled import CompiledPolicy
from supervisor.policy.decide import is_refused
from supervisor.policy.deny_list import DenyList
from supervisor.policy.places import relative_to_vault
from supervisor.policy.wanted import wanted
from supervisor.policy.wants import Scan, Wanted, Wants
from supervisor.trust.levels import TrustLevel

MOST_MATCHES = 256
"""Files that a pattern of a command is matched against."""
_NOT_WALKED = "what lies below it wasn't looked at, as the call is refused without it"


async def fetch_facts(
    call: ToolCall,
    policy: CompiledPolicy,
    vault: str,
    *,
    most_entries: int = MOST_ENTRIES,
    wants: Wants | None = None,
) -> Facts:
    """The facts for one call. `vault` is its absolute, resolved path on this host.

    Bounded: at most `most_entries` directory entries are looked at per walk, and no folder is
    walked through for a call that is refused without it. Raises OSError only where the machine
    itself fails. `wants`, if given, are those of the call.
    """
    wants = wanted(call, policy) if wants is None else wants
    if not wants.paths:
        return Facts()
    if call.level is TrustLevel.SANDBOXED:
        return Facts(tuple(_as_text(want, call) for want in wants.paths))
    return await asyncio.to_thread(_look, call, policy, vault, most_entries, wants)


def _look(
    call: ToolCall, policy: CompiledPolicy, vault: str, most_entries: int, wants: Wants
) -> Facts:
    look = _Look(
        vault,
        call,
        policy.may_not_be_named(call.level),
        policy.kept.names,
        most_entries,
        policy.own_folders,
    )
    near = look.all_of(wants.paths)
    if not look.left_out or is_refused(call, near, policy, wants):
        return near
    return replace(look, walks=True).all_of(wants.paths)


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


@dataclass(slots=True)
class _Look:
    """One look at the file system, for one call. Without `walks` it goes through no folder.

    `left_out`: something was found that would have to be walked through.
    """

    vault: str
    call: ToolCall
    denied: DenyList
    kept: DenyList
    most_entries: int
    own_folders: tuple[str, ...]
    walks: bool = False
    left_out: bool = field(default=False, init=False)
    _linked: dict[Inode, None] = field(default_factory=dict, init=False)
    _seen: dict[tuple[str, str, str | None, Scan | None, bool], PathFact] = field(
        default_factory=dict, init=False
    )
    _inodes: dict[str, Inode] = field(default_factory=dict, init=False)
    _vault_device: int | None = field(default=None, init=False)
    _own: Mapping[Inode, tuple[str, ...]] | None = field(default=None, init=False)

    def all_of(self, wants: Iterable[Wanted]) -> Facts:
        try:
            self._vault_device = os.lstat(self.vault).st_dev
        except OSError:
            self._vault_device = None
        facts = [self._one(want) for want in wants]
        if self._linked and not self.walks:
            self.left_out = True
        elif self._linked:
            others = other_names(self.vault, set(self._linked), Walk(self.most_entries))
            facts = [
                self._with_other_names(each, others.names, complete=others.complete)
                for each in facts
            ]
        return Facts(tuple(facts))

    def _with_other_names(
        self, fact: PathFact, names: Mapping[Inode, tuple[str, ...]], *, complete: bool
    ) -> PathFact:
        if fact.matches:
            matches = tuple(
                self._with_other_names(m, names, complete=complete) for m in fact.matches
            )
            return replace(fact, matches=matches)
        key = self._inodes.get(fact.resolved or "") if fact.links > 1 else None
        if key is None:
            return fact
        every = tuple(dict.fromkeys((*fact.names, *names.get(key, ()))))
        doubt = fact.doubt if complete else "not all its hard links could be found"
        return replace(fact, names=every, doubt=doubt)

    def _one(self, want: Wanted) -> PathFact:
        cwd = want.cwd or self.call.as_seen_cwd
        key = (want.text, cwd, want.pattern, want.scan, want.changes)
        fact = self._seen.get(key)
        if fact is None:
            pattern = want.pattern is not None
            fact = self._pattern(want, cwd) if pattern else self._path(want, cwd)
            self._seen[key] = fact
        return fact if fact.use is want.use else replace(fact, use=want.use)

    def _path(self, want: Wanted, cwd: str) -> PathFact:
        if want.use is Use.EFFECT:
            trail = follow_exactly(want.text, cwd, self.vault)
        else:
            home = self.call.as_seen_home
            trail = follow(want.text, cwd, self.vault, home=home, word=want.use is Use.WORD)
        return self._found(want, trail, want.text)

    def _pattern(self, want: Wanted, cwd: str) -> PathFact:
        """What a shell's glob matches, and where; each match is a fact of its own."""
        pattern = want.pattern or ""
        found = expand_pattern(pattern, cwd, MOST_MATCHES, Walk(self.most_entries))
        alone = Wanted(want.text, want.use, changes=want.changes)
        matches = tuple(
            self._found(alone, follow_exactly(path, cwd, self.vault), path) for path in found.paths
        )
        folder = self._found(
            Wanted(want.text, want.use, scan=None if want.changes else want.scan),
            follow_exactly(found.folder, cwd, self.vault),
            want.text,
        )
        doubt = None if found.complete else "it may match more files than were looked at"
        return replace(folder, matches=matches, doubt=doubt)

    def _found(self, want: Wanted, trail: Trail, named: str) -> PathFact:
        fact = PathFact(
            named=named,
            inside=trail.inside,
            names=trail.names,
            use=want.use,
            problem=trail.problem,
        )
        if trail.problem is not None or not posixpath.isabs(trail.target):
            return fact
        fact = replace(
            fact,
            resolved=relative_to_vault(trail.target, self.vault),
            entry=relative_to_vault(trail.entry, self.vault),
        )
        try:
            status = os.lstat(trail.target)
        except OSError:
            return replace(fact, kind=Kind.ABSENT)
        fact = replace(fact, kind=_kind(status.st_mode), mount=self._mount(trail, status.st_dev))
        if fact.kind is Kind.FOLDER:
            return self._folder(want, trail, replace(fact, is_directory=True))
        if fact.kind is Kind.FILE:
            if status.st_nlink > 1:
                inode = (status.st_dev, status.st_ino)
                own = self._own_names().get(inode, ())
                fact = replace(fact, links=status.st_nlink, names=(*fact.names, *own))
                if trail.inside:
                    self._linked[inode] = None
                    self._inodes[fact.resolved or ""] = inode
            return fact
        if want.use is not Use.WORD:
            fact = replace(fact, doubt="it isn't a regular file")
        return fact

    def _folder(self, want: Wanted, trail: Trail, fact: PathFact) -> PathFact:
        changes = want.changes and (trail.entry == trail.target or want.text.endswith("/"))
        if not changes and (
            want.scan is None or any(self.denied.match(name) for name in trail.names)
        ):
            return fact
        if not self.walks:
            self.left_out = True
            return replace(fact, doubt=_NOT_WALKED)
        scan, walk = want.scan or Scan(), Walk(self.most_entries)
        if changes:
            rule = holds_protected(trail.target, self.vault, self.kept, scan, walk)
            return replace(fact, holds_protected=rule)
        own = self._own_names()
        holds = reads_denied(trail.target, self.vault, self.denied, scan, walk, own)
        return replace(fact, holds_denied=holds)

    def _own_names(self) -> Mapping[Inode, tuple[str, ...]]:
        """Names of our own files that have others too: whatever is asked for may be one."""
        if not self.walks:
            self.left_out = True
            return {}
        if self._own is None:
            self._own = own_names(self.own_folders)
        return self._own

    def _mount(self, trail: Trail, device: int) -> str | None:
        """The mount point of what doesn't lie on the vault's file system."""
        if device == self._vault_device:
            return None
        path = trail.target
        while path != "/" and not os.path.ismount(path):
            path = posixpath.dirname(path)
        return path


def _kind(mode: int) -> Kind:
    if stat.S_ISDIR(mode):
        return Kind.FOLDER
    if stat.S_ISREG(mode):
        return Kind.FILE
    return Kind.BLOCK_DEVICE if stat.S_ISBLK(mode) else Kind.OTHER
