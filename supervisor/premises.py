"""The folders of one supervisor: made, closed to others, and held for as long as it runs."""

import contextlib
import logging
import os
import stat
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from supervisor.errors import ConfigurationError
from supervisor.ids import InstanceId, new_turn_id
from supervisor.settings import Settings
from supervisor.storage.identity import instance_of, private_folder, remember_vault
from supervisor.storage.lock import hold_data_folder, hold_database
from supervisor.storage.place import DATABASE, database_place

logger = logging.getLogger(__name__)

_SOCKET_PATH_BYTES: Final = 107  # sockaddr_un, unix(7)


@dataclass(frozen=True, slots=True)
class Places:
    """The folders of one supervisor, made and closed to others."""

    data: Path
    runtime: Path
    instance: InstanceId

    @property
    def turns(self) -> Path:
        """Where each turn has its folder."""
        return self.runtime / "turns"

    @property
    def views(self) -> Path:
        """Where sandboxes' views of the vault are made."""
        return self.data / "vault-view"

    @property
    def own(self) -> tuple[Path, ...]:
        """What no agent may look into."""
        return (self.data, self.runtime)


def prepare(settings: Settings, stack: AsyncExitStack) -> Places:
    """The folders, held until the stack is left. Raises ConfigurationError, DataFolderInUse."""
    _require_folder(settings.vault)
    _warn_of_a_vault_around(settings.vault)
    data = private_folder(settings.data_dir)
    stack.enter_context(hold_data_folder(data))
    stack.enter_context(hold_database(database_place(settings.vault)))
    remember_vault(data, settings.vault)
    instance = instance_of(data)
    runtime = private_folder(private_folder(settings.runtime_dir) / instance[:12])
    stack.callback(_remove_if_empty, runtime)
    longest = runtime / "turns" / new_turn_id() / "run" / "model.sock"
    if len(os.fsencode(longest)) > _SOCKET_PATH_BYTES:
        raise ConfigurationError(
            f"a socket's path would be longer than {_SOCKET_PATH_BYTES} bytes",
            where=str(settings.runtime_dir),
            remedy="set TRUSTFLOOR_RUNTIME_DIR to a shorter path",
        )
    return Places(data, runtime, instance)


def _require_folder(vault: Path) -> None:
    try:
        why = None if stat.S_ISDIR(vault.stat().st_mode) else "is not a folder"
    except (FileNotFoundError, NotADirectoryError):
        why = "is not a folder"
    except OSError as error:
        why = f"can't be looked at: {error.strerror}"
    if why is not None:
        raise ConfigurationError(
            f"the vault {why}",
            where=str(vault),
            remedy="give one with --vault or TRUSTFLOOR_VAULT",
        )


def _warn_of_a_vault_around(vault: Path) -> None:
    for each in vault.parents:
        if os.path.lexists(each / DATABASE):
            logger.warning(
                "this vault lies in another one, %s: agents there can write here, files of agents"
                " and policies included; what to do: move one of them, if you don't mean that",
                each,
            )


def _remove_if_empty(runtime: Path) -> None:
    """Remove the folder and its `turns`; what a turn could not clear away stays to be found."""
    for folder in (runtime / "turns", runtime):
        with contextlib.suppress(OSError):
            folder.rmdir()
