"""The policy files of a folder: loaded whole, or the last good policy stays in force."""

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from supervisor.errors import ConfigurationError
from supervisor.policy.compile import compile_policy
from supervisor.policy.compiled import CompiledPolicy
from supervisor.policy.document import LARGEST_FILE
from supervisor.policy.fault import PolicyFault
from supervisor.policy.schema import PolicyDocument, read_document

MOST_FILES = 64


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """One file as it was read; `content` may be a byte longer than is allowed, and no more."""

    path: Path
    content: bytes

    def document(self) -> PolicyDocument:
        """What it says. Raises ConfigurationError with file, line, column and field."""
        return read_document(str(self.path), self.content)


@dataclass(frozen=True, slots=True)
class RulePlace:
    """A rule of a file: the section it is in, and where it stands (`file:line:column field`).

    `off`: it switches off the rule of its id; `overrides` are the places of earlier ones of that
    id, the latest first.
    """

    kind: str
    id: str
    reason: str
    where: str
    off: bool = False
    overrides: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """What the files say now: a policy, or what is wrong. `fingerprint` is that of their bytes."""

    fingerprint: str
    files: tuple[str, ...] = ()
    rules: tuple[RulePlace, ...] = ()
    policy: CompiledPolicy | None = None
    error: ConfigurationError | None = None


@dataclass(frozen=True, slots=True)
class _State:
    """Swapped as one, so that nobody sees half of a reload."""

    current: CompiledPolicy
    files: tuple[str, ...]
    rules: tuple[RulePlace, ...]
    known: str
    error: ConfigurationError | None = None


class PolicySource:
    """The policy in force, and what is wrong with the files, if something is.

    `own` are the supervisor's secret folders (data, runtime): no call may name them; the policy
    files themselves, wherever links lead, may not be written. `also` are files laid over those of
    the folder. Raises ConfigurationError if there is no good policy to begin with.
    """

    def __init__(
        self, folder: Path, *, own: Iterable[Path] = (), also: Iterable[Path] = ()
    ) -> None:
        self.folder = folder
        self._also = tuple(also)
        self._own = tuple(str(path) for path in own)
        self.unwatched: str | None = "nobody watches the folder"
        """Why a change of the files wouldn't be seen; None while the folder is watched."""
        first = self._read()
        if first.policy is None:
            raise first.error or ConfigurationError("no policy", where=str(folder))
        self._state = _State(first.policy, first.files, first.rules, first.fingerprint)

    @property
    def current(self) -> CompiledPolicy:
        """The last good policy; a value, so a decision under way isn't touched by a reload."""
        return self._state.current

    @property
    def files(self) -> tuple[str, ...]:
        """The files that the policy in force came from, in their order."""
        return self._state.files

    @property
    def rules(self) -> tuple[RulePlace, ...]:
        """The rules in force that stand in a file, in the order of their files."""
        return self._state.rules

    def places(self) -> Mapping[str, str]:
        """Where each rule stands, by its id."""
        return {rule.id: rule.where for rule in self.rules}

    @property
    def error(self) -> ConfigurationError | None:
        """Why the files on disk aren't in force; None if they are."""
        return self._state.error

    @property
    def fault(self) -> PolicyFault | None:
        """The same, in parts."""
        return None if self.error is None else PolicyFault.of(self.error)

    def read(self) -> Reading | None:
        """What the files say now; None if they are as they were last adopted. Changes nothing."""
        reading = self._read(unless=self._state.known)
        return None if reading.fingerprint == self._state.known else reading

    def adopt(self, reading: Reading) -> None:
        """Put a reading in force: a good one whole, of a bad one the error alone."""
        if reading.policy is None:
            state = self._state
            self._state = replace(state, known=reading.fingerprint, error=reading.error)
        else:
            self._state = _State(reading.policy, reading.files, reading.rules, reading.fingerprint)

    def _read(self, unless: str | None = None) -> Reading:
        """The files' reading; without a policy where their fingerprint is the one given."""
        try:
            files = policy_files(self.folder, self._also)
        except ConfigurationError as error:
            words = f"{error.where}\0{error.message}"
            return Reading(hashlib.sha256(words.encode()).hexdigest(), error=error)
        names = tuple(str(each.path) for each in files)
        steering = _steering(self.folder, files)
        fingerprint = _fingerprint(files, steering)
        if fingerprint == unless:
            return Reading(fingerprint, names)
        try:
            documents = [each.document() for each in files]
            policy = compile_policy(
                documents,
                secret_folders=self._own,
                steering_folders=steering,
            )
        except ConfigurationError as error:
            return Reading(fingerprint, names, error=error)
        return Reading(fingerprint, names, _rules(documents), policy)


def policy_files(folder: Path, also: Iterable[Path] = ()) -> tuple[PolicyFile, ...]:
    """The folder's files (`*.yaml`) in the order of their names, then others; not parsed.

    Raises ConfigurationError if there are none, too many, or one can't be read.
    """
    try:
        # Hidden ones are an editor's half-written copies and the like.
        found = (each for each in folder.iterdir() if not each.name.startswith("."))
        paths = sorted(
            (each for each in found if each.name.endswith(".yaml")), key=lambda path: path.name
        )
        if not paths:
            raise ConfigurationError(
                "the folder has no policy file (*.yaml)",
                where=str(folder),
                remedy="copy the shipped default.yaml there, or set TRUSTFLOOR_POLICIES",
            )
        if len(paths) > MOST_FILES:
            raise ConfigurationError(
                f"the folder has more than {MOST_FILES} policy files", where=str(folder)
            )
        return (*map(_regular, paths), *map(read_file, also))
    except OSError as error:
        raise ConfigurationError(
            f"the policy files can't be read: {error.strerror}",
            where=error.filename or str(folder),
        ) from error


def read_file(path: Path) -> PolicyFile:
    """One file, up to the size that is allowed, or what a pipe has. Raises OSError."""
    with path.open("rb") as file:
        return PolicyFile(path, file.read(LARGEST_FILE + 1))


def _regular(path: Path) -> PolicyFile:
    """One file of a folder. Raises OSError, and ConfigurationError for what is no regular file.

    Nobody may ever write to a pipe; whoever reads it waits. Even to open a device may do something.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise ConfigurationError(
            "this is no regular file, so no policy can be read from it",
            where=str(path),
            remedy="remove it, or give it a name that doesn't end in .yaml",
        )
    with open(path, "rb", opener=_without_waiting) as file:
        return PolicyFile(path, file.read(LARGEST_FILE + 1))


def _without_waiting(path: str, flags: int) -> int:
    """Opens it; what took the file's place since it was looked at isn't waited for either."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


def _rules(documents: Iterable[PolicyDocument]) -> tuple[RulePlace, ...]:
    """The rules of all documents; a later one takes the place of an earlier of its id."""
    found: dict[tuple[str, str], RulePlace] = {}
    for document in documents:
        for kind, entries in (
            ("deny", document.deny),
            ("dangerous", document.dangerous),
            ("rules", document.rules),
        ):
            for entry in entries:
                rule, before = entry.rule, found.get((kind, entry.rule.id))
                earlier = () if before is None else (before.where, *before.overrides)
                found[kind, rule.id] = RulePlace(
                    kind, rule.id, rule.reason, entry.where, entry.off, earlier
                )
    return tuple(found.values())


def _steering(folder: Path, files: Sequence[PolicyFile]) -> tuple[str, ...]:
    """What no tool may write: the folder as it is named and as it is, and files linked from it."""
    real = folder.resolve()
    linked = (each.path.resolve() for each in files)
    outside = (path for path in linked if not path.is_relative_to(real))
    return tuple(dict.fromkeys(str(path) for path in (folder, real, *outside)))


def _fingerprint(files: Sequence[PolicyFile], steering: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for each in files:
        name = each.path.name.encode("utf-8", "surrogateescape")
        digest.update(b"%d %b %d %b" % (len(name), name, len(each.content), each.content))
    digest.update("\0".join(steering).encode("utf-8", "surrogateescape"))
    return digest.hexdigest()
