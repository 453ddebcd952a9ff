"""Where the supervisor is, and its token: by the environment, or where it keeps them itself."""

import os
import ssl
from pathlib import Path

from supervisor.variables import api_socket, default_data_dir
from trustfloor.errors import Unreachable
from trustfloor.private_socket import socket_at


def find_url(data_dir: Path | None = None) -> str:
    """Where the supervisor is: `TRUSTFLOOR_URL`, or its socket in its data folder.

    Never a port that nobody named: who listens there while the supervisor doesn't may be anybody.
    """
    return os.environ.get("TRUSTFLOOR_URL") or socket_at(api_socket(data_folder(data_dir)))


def no_trust() -> ssl.SSLContext:
    """No certificates to believe, where no TLS is spoken; to load the usual ones takes a while."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def find_trust(url: str) -> ssl.SSLContext | bool:
    """Whose certificates are believed: `TRUSTFLOOR_CA_FILE` (PEM), or the usual authorities.

    Raises Unreachable for a file that is no good: without it nobody could be told from another.
    """
    named = os.environ.get("TRUSTFLOOR_CA_FILE")
    if not named:
        return True if url.lower().startswith("https:") else no_trust()
    try:
        return ssl.create_default_context(cafile=named)
    except OSError as error:
        raise Unreachable(
            f"the certificates to believe can't be read: {error.strerror or error}",
            where=named,
            remedy="set TRUSTFLOOR_CA_FILE to a PEM file, or unset it",
        ) from None


def data_folder(given: Path | None = None) -> Path:
    """The supervisor's data folder: as given, by the environment, or the default."""
    folder = given or Path(os.environ.get("TRUSTFLOOR_DATA_DIR") or default_data_dir())
    return folder.expanduser()


def find_token(data_dir: Path | None = None) -> str:
    """The token: `TRUSTFLOOR_TOKEN`, or what the supervisor wrote into its data folder.

    Raises Unreachable where there is none to read.
    """
    given = os.environ.get("TRUSTFLOOR_TOKEN")
    if given:
        return as_token(given, "TRUSTFLOOR_TOKEN", "set it to a token, or unset it")
    file = data_folder(data_dir) / "token"
    try:
        held = file.read_text(encoding="utf-8", errors="replace")
        return as_token(held, str(file), "name the supervisor's own data folder")
    except OSError as error:
        raise Unreachable(
            f"there is no token to read: {error.strerror}",
            where=str(file),
            remedy="start `trustfloor serve`, or set TRUSTFLOOR_TOKEN (and TRUSTFLOOR_DATA_DIR)",
        ) from None


def as_token(text: str, where: str, remedy: str) -> str:
    """The token in a text, as a header can carry it.

    Raises Unreachable for anything else, and doesn't repeat it.
    """
    word = text.strip()
    if word and word.isascii() and word.isprintable() and " " not in word:
        return word
    raise Unreachable("what is there is no token", where=where, remedy=remedy)
