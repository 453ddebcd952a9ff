"""The environment's variables that are ours, and the folders that they name.

Apart from `settings.py`, whose validator is slow to load: a command that only reads policy files,
or talks to a running supervisor, needs no more than this.
"""

import difflib
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from supervisor.errors import ConfigurationError

PREFIX: Final = "TRUSTFLOOR_"
SETTINGS: Final = (
    "vault", "data_dir", "runtime_dir", "policies", "host", "port", "allowed_hosts", "floor",
    "tls_cert", "tls_key", "trusted_proxies", "rate_per_minute", "failed_per_minute",
    "model", "api_key", "api_url", "embeddings_url", "embeddings_model", "embeddings_key",
    "engine_socket", "runner_image", "engine_path_map",
    "sandbox_memory_mb", "sandbox_pids", "sandbox_cpus", "sandbox_tmp_mb", "sandbox_home_mb",
    "sandbox_file_mb", "sandbox_count", "waiting_sandboxes", "spare_sandboxes",
    "waiting_seconds",
    "turn_seconds", "approval_seconds", "question_seconds", "shutdown_seconds",
    "mcp_variables", "webhook_url", "webhook_secret", "audit_file_mb", "audit_file_days",
    "audit_key_file", "traces_url", "log_format", "show_token",
)  # fmt: skip
"""The names of all settings (`settings.Settings`)."""
ENGINE_SOCKET: Final = "/var/run/docker.sock"
DEFAULT_VAULT: Final = Path("sample-vault")
SHIPPED_POLICIES: Final = Path(__file__).resolve().parent.parent / "policies"

_OTHER_VARIABLES: Final = frozenset(
    {
        # of the clients
        "TRUSTFLOOR_URL",
        "TRUSTFLOOR_TOKEN",
        "TRUSTFLOOR_CA_FILE",
        # of scripts/ and of the tests
        "TRUSTFLOOR_BASE",
        "TRUSTFLOOR_CLI",
        "TRUSTFLOOR_PULL_SECONDS",
        "TRUSTFLOOR_TEST_SEED",
        # of compose.yaml
        "TRUSTFLOOR_USER",
        # what the supervisor gives to processes of its own
        "TRUSTFLOOR_API_KEY_FD",
        "TRUSTFLOOR_INSTANCE",
        "TRUSTFLOOR_TURN",
    }
)
_OTHER_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "vault": ("VAULT_PATH",),
    "port": ("PORT",),
    "api_key": ("ANTHROPIC_API_KEY",),
}


def spellings(setting: str) -> tuple[str, ...]:
    """All that a setting is called, in the order in which they count."""
    return (PREFIX + setting.upper(), setting, *_OTHER_NAMES.get(setting, ()))


@dataclass(frozen=True, slots=True)
class Folders:
    """Where things are, by the environment: as a supervisor started from it would have them."""

    vault: Path
    policies: Path
    data_dir: Path
    runtime_dir: Path


def folders(environment: Mapping[str, str]) -> Folders:
    """The folders that these variables name, or their defaults. Whether they exist isn't looked at.

    Names count whatever their case, and empty values don't.
    """
    lower = {name.lower(): value for name, value in environment.items() if value}

    def said(setting: str) -> Path | None:
        values = (lower.get(name.lower()) for name in spellings(setting))
        return next((Path(value) for value in values if value is not None), None)

    return Folders(
        vault=resolved(said("vault") or DEFAULT_VAULT),
        policies=as_named(said("policies") or SHIPPED_POLICIES),
        data_dir=own_folder(said("data_dir") or default_data_dir()),
        runtime_dir=own_folder(said("runtime_dir") or default_runtime_dir()),
    )


def names_a_vault(environment: Mapping[str, str]) -> bool:
    """Whether one of these variables says which folder the vault is."""
    names = {name.lower() for name in spellings("vault")}
    return any(value and name.lower() in names for name, value in environment.items())


def default_data_dir() -> Path:
    """Where the supervisor keeps what is its own: `$XDG_DATA_HOME/trustfloor` or its default."""
    base = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(base) / "trustfloor"


def api_socket(data_dir: Path) -> Path:
    """Where the supervisor of a data folder listens besides its port, for that folder's owner."""
    return data_dir / "api.sock"


def engine_socket(environ: Mapping[str, str] | None = None) -> Path:
    """Where the container engine listens: `DOCKER_HOST`, else the usual place.

    Raises ConfigurationError for an engine that is not on a Unix socket: the vault's folders and
    the model's sockets must be on the engine's own machine.
    """
    host = (os.environ if environ is None else environ).get("DOCKER_HOST") or ENGINE_SOCKET
    path = host.removeprefix("unix://")
    if not path.startswith("/"):
        raise ConfigurationError(
            f"{host!r} is no Unix socket",
            where="DOCKER_HOST",
            remedy=f"use the engine of this machine: unix://{ENGINE_SOCKET}",
        )
    return Path(path)


def default_runtime_dir() -> Path:
    """Where sockets and turn folders live: short-lived, and a short path, as sockets demand."""
    if os.geteuid() == 0:
        return Path("/run/trustfloor")
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime:
        return Path(runtime) / "trustfloor"
    return Path(tempfile.gettempdir()) / f"trustfloor-{os.geteuid()}"


def resolved(path: Path) -> Path:
    """A folder of the person's: absolute, with all links followed."""
    return path.expanduser().resolve()


def as_named(path: Path) -> Path:
    """Absolute, but with its links: one that is set anew is another set of policies."""
    return path.expanduser().absolute()


def own_folder(path: Path) -> Path:
    """A folder of the supervisor's: its last step as it is, which is judged before it is used."""
    whole = path.expanduser().absolute()
    return whole.resolve() if whole.name == ".." else whole.parent.resolve() / whole.name


def known_variables() -> frozenset[str]:
    """Every variable of ours: a setting, a client's, or one for our own processes."""
    return _OTHER_VARIABLES | {PREFIX + name.upper() for name in SETTINGS}


def check_variables(names: Iterable[str]) -> None:
    """Refuse a variable that begins like ours and is none: a misspelt floor is no floor.

    Raises ConfigurationError, naming the nearest known one.
    """
    known = known_variables()
    for name in sorted(names):
        if name.startswith(PREFIX) and name not in known:
            nearest = difflib.get_close_matches(name, known, n=1)
            raise ConfigurationError(
                f"there is no setting {name}",
                where=name,
                remedy=f"did you mean {nearest[0]}?"
                if nearest
                else "unset it; docs/operations.md lists the settings",
            )
