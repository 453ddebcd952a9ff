"""The permissions that a session's own record carries, in the form they are stored and sent in.

What its patterns mean is `grant_pattern`'s matter, as for grants and policy files.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, StrictBool, StrictStr

from supervisor.policy.coverage import Coverage
from supervisor.policy.grant_pattern import covers_call, covers_command, is_plain, validate
from supervisor.policy.permissions import Grant, GrantKind, Permissions
from supervisor.trust.levels import TrustLevel


def _path_glob(pattern: str) -> str:
    return _fit(GrantKind.READ, pattern)


def _bash_prefix(pattern: str) -> str:
    return _fit(GrantKind.BASH, pattern)


def _fit(kind: GrantKind, pattern: str) -> str:
    problem = validate(kind, pattern)
    if problem is not None:
        raise ValueError(problem)
    return pattern


PathGlob = Annotated[StrictStr, AfterValidator(_path_glob)]
BashPrefix = Annotated[StrictStr, AfterValidator(_bash_prefix)]


class SessionPermissions(BaseModel):
    """What a session may do unasked: globs relative to the vault, prefixes of commands.

    `can_…` say what is covered, and no more: what the policy denies stays denied, and what the
    trust level can't reach stays out of reach. A tool call is judged by `decide` alone.
    """

    model_config = ConfigDict(frozen=True)

    read: tuple[PathGlob, ...] = ()
    write: tuple[PathGlob, ...] = ("Chat/artifacts/*",)
    bash: StrictBool | tuple[BashPrefix, ...] = False
    trust_mode: StrictBool = True

    def can_read(self, path: str) -> bool:
        """Whether reading this path (relative to the vault, resolved) is covered."""
        return is_plain(path) and (self.trust_mode or self._coverage.reads(path, folder=True))

    def can_write(self, path: str) -> bool:
        """Whether writing this path (relative to the vault, resolved) is covered."""
        return is_plain(path) and (self.trust_mode or self._coverage.writes(path))

    def can_bash(self, command: str) -> bool:
        """Whether this command is covered.

        By its words only if it is plain words of one command: with anything of the shell's in it,
        the first words don't say what runs.
        """
        if not command.strip():
            return False
        if self.trust_mode or self.bash is True:
            return True
        named = self.bash if isinstance(self.bash, tuple) else ()
        if any(covers_call(each, command) for each in named):
            return True
        plain = validate(GrantKind.BASH, command) is None and not command.startswith("=")
        words = command.split()
        return plain and any(covers_command(each, words) for each in named)

    def as_permissions(self, grants: Sequence[Grant] = (), *, confined: bool = True) -> Permissions:
        """The same as a decision reads it, with the grants that people gave."""
        return Permissions(
            trust_mode=self.trust_mode,
            read=self.read,
            write=self.write,
            bash=self.bash,
            grants=grants,
            confined=confined,
        )

    def within(self, base: Permissions) -> Permissions:
        """What the session may do, where `base` is what the policy has for its level.

        Trust mode is the policy's to give: a session can only go without. The lists take the
        place of the policy's, as far as the record names them.
        """
        said = self.model_fields_set
        return replace(
            base,
            trust_mode=base.trust_mode and self.trust_mode,
            read=self.read if "read" in said else base.read,
            write=self.write if "write" in said else base.write,
            bash=self.bash if "bash" in said else base.bash,
        )

    @property
    def _coverage(self) -> Coverage:
        # Level and moment matter for grants only, and there are none.
        return Coverage(self.as_permissions(), TrustLevel.SANDBOXED, 0.0)


NOTHING_UNASKED: Final = SessionPermissions(read=(), write=(), bash=False, trust_mode=False)
"""For a record that can't be read: everything is asked about."""
