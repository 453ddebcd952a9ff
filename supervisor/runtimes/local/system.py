"""What of this machine's system a cage is shown: looked up here, listed in `bubblewrap.py`."""

import os
import pwd
import shutil
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from supervisor.runtimes.local.bubblewrap import ENTRY, ETC, ROOT_FOLDERS, Bind, Link

_SPARE_HOME = "/run/trustfloor/home"


def bubblewrap_program() -> str | None:
    """Where bubblewrap is; None: it isn't installed."""
    return shutil.which("bwrap")


@lru_cache(maxsize=1)
def system_places() -> tuple[Bind | Link, ...]:
    """`/usr`, what leads into it from the root, and the parts of `/etc`, as they are here."""
    places: list[Bind | Link] = [Bind("/usr", "/usr")]
    for folder in ROOT_FOLDERS:
        path = Path(folder)
        if path.is_symlink():
            places.append(Link(str(path.readlink()), folder))
        elif path.is_dir():
            places.append(Bind(folder, folder))
    for name in ETC:
        path = Path("/etc", name)
        # A link is followed here: what it leads to (/run/systemd, say) isn't in the cage.
        if path.exists():
            places.append(Bind(os.path.realpath(path), str(path)))
    return tuple(places)


def interpreter() -> str:
    """The Python that runs the entry: our own, outside of its virtual environment."""
    return os.path.realpath(sys.executable)


def program_places(cli: Path) -> tuple[Bind, ...]:
    """The programs that aren't the system's: the agent's CLI, our Python and the entry."""
    prefix = os.path.realpath(sys.base_prefix)
    own = () if prefix.startswith("/usr") else (Bind(prefix, prefix),)
    entry = Path(__file__).with_name("entry.py")
    return (*own, Bind(os.path.realpath(cli), str(cli)), Bind(str(entry), ENTRY))


def cage_home(home: str | None) -> str:
    """Where the cage's own, empty home is: at the person's, so that `~` means the same place."""
    system = ("/usr", "/etc", "/proc", "/dev", "/run", "/sys", *ROOT_FOLDERS)
    if home is None or not home.startswith("/") or os.path.normpath(home) == "/":
        return _SPARE_HOME
    home = os.path.normpath(home)
    inside = any(home == each or home.startswith(each + "/") for each in system)
    return _SPARE_HOME if inside else home


def cage_user(vault: Path) -> tuple[int, int]:
    """Who the agent is: the vault's owner where we are root, else ourselves."""
    if os.geteuid() != 0:
        return os.getuid(), os.getgid()
    owner = vault.stat()
    return owner.st_uid, owner.st_gid


def cage_environment(environment: Mapping[str, str], uid: int) -> dict[str, str]:
    """The environment in a cage: its home, and the name of its user."""
    named = {name: value for name, value in environment.items() if name not in ("USER", "LOGNAME")}
    named["HOME"] = cage_home(environment.get("HOME"))
    try:
        named["USER"] = named["LOGNAME"] = pwd.getpwuid(uid).pw_name
    except KeyError:
        return named  # a number without a name: programs then show the number
    return named
