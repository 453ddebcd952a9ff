"""The policy files of a folder: loaded whole, or the last good policy stays in force."""

from collections.abc import Iterable
from pathlib import Path

from supervisor.errors import ConfigurationError
from supervisor.policy.compile import compile_policy
from supervisor.policy.compiled import CompiledPolicy
from supervisor.policy.document import LARGEST_FILE
from supervisor.policy.schema import PolicyDocument, read_document

MOST_FILES = 64


class PolicySource:
    """The policy in force, and what is wrong with the files, if something is.

    `own` are the supervisor's secret folders (data, runtime): no call may name them; the folder of
    policies itself may not be written.
    """

    def __init__(self, folder: Path, *, own: Iterable[Path] = ()) -> None:
        self._folder = folder
        self._own = tuple(str(path) for path in own)
        self._error: ConfigurationError | None = None
        self._current = self._load()

    @property
    def current(self) -> CompiledPolicy:
        """The last good policy; a value, so a decision under way isn't touched by a reload."""
        return self._current

    @property
    def error(self) -> ConfigurationError | None:
        """Why the files on disk aren't in force; None if they are."""
        return self._error

    def reload(self) -> ConfigurationError | None:
        """Read the files again: swapped in whole, or left out whole. Returns what is wrong."""
        try:
            self._current = self._load()
        except ConfigurationError as error:
            self._error = error
        else:
            self._error = None
        return self._error

    def _load(self) -> CompiledPolicy:
        return compile_policy(
            self._documents(),
            secret_folders=self._own,
            steering_folders=(str(self._folder),),
        )

    def _documents(self) -> list[PolicyDocument]:
        try:
            paths = sorted(self._folder.glob("*.yaml"), key=lambda path: path.name)
            if not paths:
                raise ConfigurationError(
                    "the folder has no policy file (*.yaml)",
                    where=str(self._folder),
                    remedy="copy the shipped default.yaml there, or set TRUSTFLOOR_POLICIES",
                )
            if len(paths) > MOST_FILES:
                raise ConfigurationError(
                    f"the folder has more than {MOST_FILES} policy files",
                    where=str(self._folder),
                )
            return [read_document(str(path), _content(path)) for path in paths]
        except OSError as error:
            raise ConfigurationError(
                f"the policy files can't be read: {error.strerror}",
                where=error.filename or str(self._folder),
            ) from error


def _content(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(LARGEST_FILE + 1)
