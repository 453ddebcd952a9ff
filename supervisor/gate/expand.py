"""What a shell's glob matches on this host, within bounds."""

import os
import posixpath
import re
from dataclasses import dataclass

from wcmatch import glob as wcglob

from supervisor.gate.scan import Walk
from supervisor.runtimes.quiet_open import raise_shortage

_MAGIC = re.compile(r"(?<!\\)[*?\[]")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Expansion:
    """The matches, as a shell would spell them, and the folder that all of them lie in.

    `complete` is False where a bound cut the look short.
    """

    paths: tuple[str, ...]
    folder: str
    complete: bool = True


def expand_pattern(pattern: str, cwd: str, most: int, walk: Walk) -> Expansion:
    """The files that a glob matches; a name that begins with a dot needs a dot in the glob.

    `**` is one `*`, as in a shell without `globstar`; where a shell has that switched on, a
    reader of commands says so. Raises OSError where the machine runs short.
    """
    parts = [part for part in pattern.split("/") if part]
    fixed: list[str] = []
    while parts and _MAGIC.search(parts[0]) is None:
        fixed.append(_ESCAPED.sub(r"\1", parts.pop(0)))
    start = "/".join(fixed)
    start = f"/{start}" if pattern.startswith("/") else start or "."
    found = [start]
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        found = _step(found, part, cwd, walk, last=last and not pattern.endswith("/"))
        if len(found) > most:
            return Expansion(tuple(found[:most]) if last else (), start, complete=False)
    return Expansion(tuple(found) if parts else (), start, walk.complete)


def _step(folders: list[str], part: str, cwd: str, walk: Walk, *, last: bool) -> list[str]:
    if _MAGIC.search(part) is None:
        name = _ESCAPED.sub(r"\1", part)
        paths = [_join(folder, name) for folder in folders]
        return [path for path in paths if os.path.lexists(posixpath.join(cwd, path))]
    matches = _matcher(part)
    found: list[str] = []
    for folder in folders:
        try:
            with os.scandir(posixpath.join(cwd, folder)) as entries:
                for entry in entries:
                    walk.left -= 1
                    if walk.left < 0:
                        walk.complete = False
                        return found
                    if matches.match(entry.name) and (last or entry.is_dir()):
                        found.append(_join(folder, entry.name))
        except ValueError:  # a name that no file can have
            continue
        except OSError as error:
            raise_shortage(error)
    return found


def _join(folder: str, name: str) -> str:
    return name if folder == "." else posixpath.join(folder, name)


def _matcher(part: str) -> re.Pattern[str]:
    try:
        hidden = wcglob.DOTGLOB if part.startswith(".") else 0
        sources = wcglob.translate(part, flags=hidden)[0]
        return re.compile("|".join(f"(?:{source})" for source in sources))
    except (re.error, ValueError):
        return re.compile(r"(?!)")
