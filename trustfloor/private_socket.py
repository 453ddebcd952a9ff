"""The supervisor's socket: in a folder of ours, where nobody else can put one of their own.

On a port of this machine anybody may listen while the supervisor doesn't, and would be sent the
token. A socket in a folder that only we can write to is the supervisor's, or isn't there.
"""

import os
import stat
import weakref
from pathlib import Path
from typing import Final

from trustfloor.errors import Unreachable

SCHEME: Final = "unix://"
"""How the address of a socket begins; its path follows."""

_OTHERS: Final = 0o077


def socket_at(path: Path) -> str:
    """The address of a socket."""
    return f"{SCHEME}{path.absolute()}"


def socket_of(url: str) -> Path | None:
    """The socket that an address names; None for any other address."""
    return Path(url.removeprefix(SCHEME)) if url.startswith(SCHEME) else None


class PrivateSocket:
    """A socket by a path that is short and stays in the folder that was looked at.

    Linux: `sun_path` holds 107 bytes (unix(7)); through a descriptor of its folder, the name of a
    socket is short however deep the folder is.
    """

    def __init__(self, socket: Path) -> None:
        """Open the socket's folder. Raises Unreachable if it isn't there, or not only ours."""
        try:
            folder = os.open(socket.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise Unreachable(
                f"no supervisor has run here: {error.strerror}",
                where=str(socket.parent),
                remedy="start `trustfloor serve`, or set TRUSTFLOOR_DATA_DIR; one that runs"
                " elsewhere is named by TRUSTFLOOR_URL",
            ) from None
        self._close = weakref.finalize(self, os.close, folder)
        wrong = why_not_ours(os.fstat(folder), os.geteuid())
        if wrong is not None:
            is_there = _is_there(socket.name, folder)
            self.close()
            if not is_there:  # whose the folder is doesn't matter then, nor should it be changed
                raise Unreachable(
                    "no supervisor answers: there is no such socket",
                    where=str(socket),
                    remedy="start `trustfloor serve`, or set TRUSTFLOOR_URL to where it is",
                )
            raise Unreachable(
                f"the token isn't sent to a socket there: {wrong}",
                where=str(socket.parent),
                remedy=f"if it should be yours alone: chmod 700 {socket.parent}",
            )
        self.path: Final = f"/proc/self/fd/{folder}/{socket.name}"

    def close(self) -> None:
        """Close the folder; the path leads nowhere from then on."""
        self._close()


def _is_there(name: str, folder: int) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True


def why_not_ours(folder: os.stat_result, user: int) -> str | None:
    """Why somebody else than this user could have put a socket into the folder; None: nobody could.

    Root may use anybody's: who named it meant it.
    """
    if user not in (0, folder.st_uid):
        return "the folder belongs to another user"
    if stat.S_IMODE(folder.st_mode) & _OTHERS:
        return "the folder is open to others"
    return None
