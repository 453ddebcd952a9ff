"""Every knob, with its default, unit and bound: `TRUSTFLOOR_` and its name in capitals.

`VAULT_PATH`, `PORT` and `ANTHROPIC_API_KEY` are read as well, as earlier clients have it.
"""

import ipaddress
import re
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AliasChoices, Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from supervisor.trust.levels import TrustLevel
from supervisor.variables import (
    DEFAULT_VAULT,
    PREFIX,
    SETTINGS,
    SHIPPED_POLICIES,
    as_named,
    default_data_dir,
    default_runtime_dir,
    engine_socket,
    own_folder,
    resolved,
    spellings,
)

_SCRIPTED = "scripted:"
_OWN_NAMES = frozenset(name.lower() for setting in SETTINGS for name in spellings(setting))


def _named(name: str) -> AliasChoices:
    return AliasChoices(*spellings(name))


class Settings(BaseSettings):
    """The configuration of one supervisor. Frozen: nothing changes a running supervisor's terms."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid", env_ignore_empty=True)

    vault: Path = Field(DEFAULT_VAULT, validation_alias=_named("vault"))
    """The folder of the person's files; made absolute and resolved."""
    data_dir: Path = Field(default_factory=default_data_dir, validation_alias=_named("data_dir"))
    """Token, instance id, events, audit log and the vault view's store. Mode 0700."""
    runtime_dir: Path = Field(
        default_factory=default_runtime_dir, validation_alias=_named("runtime_dir")
    )
    """Per-turn folders and sockets. Mode 0700; keep it short."""
    policies: Path = Field(SHIPPED_POLICIES, validation_alias=_named("policies"))
    """The folder of policy files."""

    host: str = Field("127.0.0.1", validation_alias=_named("host"))
    port: int = Field(3333, ge=0, le=65535, validation_alias=_named("port"))
    """0 takes a free one."""
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        (), validation_alias=_named("allowed_hosts")
    )
    """Names, besides loopback's, under which clients may call (comma-separated); no wildcard."""

    tls_cert: Path | None = Field(None, validation_alias=_named("tls_cert"))
    """The certificate's file (PEM, with its chain); with it, HTTPS is spoken instead of HTTP."""
    tls_key: Path | None = Field(None, validation_alias=_named("tls_key"))
    """Its private key's file (PEM, without a passphrase)."""
    trusted_proxies: Annotated[tuple[str, ...], NoDecode] = Field(
        (), validation_alias=_named("trusted_proxies")
    )
    """Addresses or networks (comma-separated) whose `X-Forwarded-For` and `-Proto` are believed."""
    rate_per_minute: int = Field(6000, ge=0, validation_alias=_named("rate_per_minute"))
    """Requests of one token in a minute, a third of them at once; 0: no limit."""
    failed_per_minute: int = Field(60, ge=0, validation_alias=_named("failed_per_minute"))
    """Wrong tokens and codes from one address in a minute, after which it is told to wait."""

    floor: TrustLevel = Field(TrustLevel.FULL, validation_alias=_named("floor"))
    """The server's own trust floor."""
    model: str | None = Field(None, validation_alias=_named("model"))
    """`scripted:FILE` for the scripted model; otherwise the real API and, if given, this model."""
    api_key: SecretStr | None = Field(None, validation_alias=_named("api_key"))
    api_url: str = Field("https://api.anthropic.com", validation_alias=_named("api_url"))

    embeddings_url: str | None = Field(None, validation_alias=_named("embeddings_url"))
    """Where search gets vectors from (OpenAI's `/v1/embeddings`); None: words alone count."""
    embeddings_model: str = Field("", validation_alias=_named("embeddings_model"))
    embeddings_key: SecretStr | None = Field(None, validation_alias=_named("embeddings_key"))

    engine_socket: Path = Field(
        default_factory=engine_socket, validation_alias=_named("engine_socket")
    )
    """Without it `DOCKER_HOST`, if that is a Unix socket, else the engine's usual one."""
    runner_image: str = Field("trustfloor/runner:latest", validation_alias=_named("runner_image"))
    engine_path_map: Annotated[tuple[tuple[Path, Path], ...], NoDecode] = Field(
        (), validation_alias=_named("engine_path_map")
    )
    """`HERE=THERE,…`: how the engine sees our folders, where it runs on another file system."""
    sandbox_memory_mb: int = Field(1024, ge=256, validation_alias=_named("sandbox_memory_mb"))
    sandbox_pids: int = Field(256, ge=32, validation_alias=_named("sandbox_pids"))
    sandbox_cpus: float = Field(2.0, gt=0, validation_alias=_named("sandbox_cpus"))
    sandbox_tmp_mb: int = Field(256, ge=16, validation_alias=_named("sandbox_tmp_mb"))
    sandbox_home_mb: int = Field(256, ge=16, validation_alias=_named("sandbox_home_mb"))
    waiting_sandboxes: int = Field(0, ge=0, le=16, validation_alias=_named("waiting_sandboxes"))
    """How many may be ready for their sessions' next messages, made before those come."""
    spare_sandboxes: int = Field(0, ge=0, le=16, validation_alias=_named("spare_sandboxes"))
    """How many may be ready for the message of whichever session, with nothing in them yet."""
    waiting_seconds: float = Field(
        600.0, ge=1, le=86_400, validation_alias=_named("waiting_seconds")
    )
    """How long each of them waits at most."""
    sandbox_count: int = Field(64, ge=1, le=1000, validation_alias=_named("sandbox_count"))
    """How many sandboxes the engine filter lets be there at once."""
    sandbox_file_mb: int = Field(256, ge=1, validation_alias=_named("sandbox_file_mb"))

    turn_seconds: float = Field(1800.0, gt=0, validation_alias=_named("turn_seconds"))
    """Wall-clock limit of one turn, waiting for people included."""
    approval_seconds: float = Field(120.0, gt=0, validation_alias=_named("approval_seconds"))
    question_seconds: float = Field(300.0, gt=0, validation_alias=_named("question_seconds"))
    shutdown_seconds: float = Field(5.0, ge=0, validation_alias=_named("shutdown_seconds"))
    """How long running turns may go on when the supervisor is asked to stop."""
    mcp_variables: Annotated[tuple[str, ...], NoDecode] = Field(
        (), validation_alias=_named("mcp_variables")
    )
    """Variables of our environment that MCP servers' entries may refer to (comma-separated)."""
    webhook_url: str | None = Field(None, validation_alias=_named("webhook_url"))
    """Who is told of what waits for people; https, or http on this machine."""
    webhook_secret: SecretStr | None = Field(None, validation_alias=_named("webhook_secret"))
    """What these messages are signed with: `whsec_` and base64 of 24 to 64 bytes."""
    traces_url: str | None = Field(None, validation_alias=_named("traces_url"))
    """Who gets traces, by OTLP over HTTP; None: nothing is traced. Takes the extra `traces`."""
    audit_file_mb: int = Field(64, ge=0, validation_alias=_named("audit_file_mb"))
    """When a file of the audit log is full; 0: never. Full ones are kept."""
    audit_file_days: float = Field(0.0, ge=0, validation_alias=_named("audit_file_days"))
    """After how long a new file is begun; 0: never for its age."""
    audit_key_file: Path | None = Field(None, validation_alias=_named("audit_key_file"))
    """What the audit log is signed with; None: beside the log."""
    log_format: Literal["human", "json"] = Field("human", validation_alias=_named("log_format"))
    show_token: bool = Field(default=True, validation_alias=_named("show_token"))
    """Whether `serve` prints the owner's token once, where it is no journal of the machine's."""

    @field_validator("vault", mode="after")
    @classmethod
    def _resolved(cls, path: Path) -> Path:
        return resolved(path)

    @field_validator("policies", mode="after")
    @classmethod
    def _as_named(cls, path: Path) -> Path:
        return as_named(path)

    @field_validator("data_dir", "runtime_dir", mode="after")
    @classmethod
    def _own_folder(cls, path: Path) -> Path:
        return own_folder(path)

    @field_validator("embeddings_url", mode="after")
    @classmethod
    def _of_the_web(cls, url: str | None) -> str | None:
        if url is not None and not url.startswith(("http://", "https://")):
            raise ValueError("this is no address that begins with http:// or https://")
        if url is not None and "@" in url:
            raise ValueError("no name and no password in an address: see embeddings_key")
        return url

    @field_validator("webhook_url", mode="after")
    @classmethod
    def _private_on_its_way(cls, url: str | None) -> str | None:
        if url is None:
            return None
        parts = urlsplit(url)
        on_this_machine = parts.hostname in {"localhost", "127.0.0.1", "::1"}
        if parts.scheme != "https" and not (parts.scheme == "http" and on_this_machine):
            raise ValueError("an https:// address is expected, or http:// on this machine")
        if not parts.hostname or parts.username is not None:
            raise ValueError("a host is expected, and no name and no password before it")
        return url

    @field_validator("allowed_hosts", mode="before")
    @classmethod
    def _split_hosts(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        names = tuple(name.strip().lower() for name in value.split(",") if name.strip())
        if any("*" in name for name in names):
            raise ValueError("a wildcard would let any web page in; list the names")
        return names

    @field_validator("trusted_proxies", mode="before")
    @classmethod
    def _split_proxies(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        networks = tuple(each.strip() for each in value.split(",") if each.strip())
        for each in networks:
            try:
                network = ipaddress.ip_network(each)
            except ValueError:
                raise ValueError(
                    f"{each!r} is no address and no network such as 172.18.0.0/16"
                ) from None
            if network.prefixlen == 0:
                raise ValueError("everybody would be believed; name the proxies")
        return networks

    @field_validator("mcp_variables", mode="before")
    @classmethod
    def _split_variables(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        names = tuple(name.strip() for name in value.split(",") if name.strip())
        for name in names:
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
                raise ValueError("names of variables are expected, with commas between them")
            if name.upper().startswith(PREFIX) or name.lower() in _OWN_NAMES:
                raise ValueError(f"{name} is the supervisor's own; no server gets it")
        return names

    @field_validator("engine_path_map", mode="before")
    @classmethod
    def _split_map(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        pairs = []
        for each in filter(None, value.split(",")):
            here, separator, there = each.partition("=")
            if not separator:
                raise ValueError(f"{each!r} is not HERE=THERE")
            pairs.append((Path(here), Path(there)))
        return tuple(pairs)

    @model_validator(mode="after")
    def _work_apart(self) -> Self:
        """A data folder inside of the vault is let be: it is masked there."""
        if self.vault == Path(self.vault.anchor):
            raise ValueError("the vault is the whole file system: give the folder of your files")
        for own in (self.data_dir, self.runtime_dir):
            if self.vault.is_relative_to(own):
                raise ValueError(f"the vault, {self.vault}, lies in the supervisor's own {own}")
        return self

    @property
    def scenario(self) -> Path | None:
        """The scripted model's file, where that is the model."""
        if self.model is None or not self.model.startswith(_SCRIPTED):
            return None
        return Path(self.model.removeprefix(_SCRIPTED))

    @property
    def default_model(self) -> str | None:
        """The model for messages that name none; None: the CLI's own choice."""
        return None if self.scenario is not None else self.model
