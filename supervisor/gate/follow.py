"""Follows one path as the kernel would, and keeps every spelling that was met on the way."""

import errno
import os
import posixpath
import re
import stat
from dataclasses import dataclass
from urllib.parse import unquote

from supervisor.policy.places import is_inside, relative_to_vault

MOST_LINKS = 40
"""As many as the kernel follows (path_resolution(7))."""
LONGEST_PATH = 4096
"""Bytes (PATH_MAX)."""

_PROC_LINK = re.compile(r"/proc/(?:self|thread-self|\d+)(?:/task/\d+)?/(root|cwd)(?=/|\Z)")
_OF_ANOTHER = re.compile(r"/proc/\d+/cwd(?=/|\Z)")
_DRIVE = re.compile(r"[A-Za-z]:\\")
_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM})
_HOME_WORDS = ("${HOME}", "$HOME")


@dataclass(frozen=True, slots=True)
class Trail:
    """Where a text leads: `target` absolute; `names` as `PathFact.names` has them.

    `entry` is the absolute path of the entry itself: a link at its end isn't followed.
    """

    target: str
    names: tuple[str, ...]
    inside: bool
    problem: str | None = None
    entry: str = ""


class _Unfollowable(Exception):
    """Why the path leads nowhere."""


def place(text: str, cwd: str, vault: str, *, home: str | None) -> Trail:
    """Where the text points, read as text alone; nothing is looked up."""
    problem = _problem(text)
    if problem is not None:
        return Trail(target="", names=(), inside=False, problem=problem)
    spelt = [posixpath.normpath(each) for each in _spellings(text, cwd, home)]
    return _trail(spelt[0], spelt, vault)


def follow(text: str, cwd: str, vault: str, *, home: str, word: bool = False) -> Trail:
    """Where the text leads on this host. `word`: of a shell command, where `$HOME` is home."""
    problem = _problem(text)
    if problem is not None:
        return Trail(target="", names=(), inside=False, problem=problem)
    if word:
        for variable in _HOME_WORDS:
            text = home + text[len(variable) :] if text.startswith(variable) else text
    return _follow(_spellings(text, cwd, home), cwd, vault)


def follow_exactly(path: str, cwd: str, vault: str) -> Trail:
    """Where a path leads that a shell hands over as it is: no `~`, no escapes, no addresses."""
    problem = _problem(path)
    if problem is not None:
        return Trail(target="", names=(), inside=False, problem=problem)
    return _follow([_through_proc(posixpath.join(cwd, path), cwd)], cwd, vault)


def _follow(spellings: list[str], cwd: str, vault: str) -> Trail:
    met: list[str] = []
    walked: list[_Walked] = []
    try:
        for spelling in spellings:
            # Programs differ: some take `..` away as text, others let the kernel go through links.
            normal = posixpath.normpath(spelling)
            for path in (normal, spelling) if ".." in spelling else (normal,):
                met.append(normal)
                walked.append(_walk(path, cwd, met))
    except _Unfollowable as reason:
        names = tuple(relative_to_vault(each, vault) for each in dict.fromkeys(met))
        return Trail(target="", names=names, inside=False, problem=str(reason))
    return _trail(
        walked[0].target, [*met, *(each.target for each in walked)], vault, walked[0].entry
    )


def _trail(target: str, met: list[str], vault: str, entry: str = "") -> Trail:
    every = tuple(dict.fromkeys(each.replace("//", "/") for each in met))
    return Trail(
        target=target,
        names=tuple(relative_to_vault(each, vault) for each in every),
        inside=all(is_inside(each, vault) for each in every),
        entry=entry,
    )


def _problem(text: str) -> str | None:
    if not text:
        return "no path is given"
    if "\0" in text:
        return "a path can't hold a NUL character"
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return "the path isn't valid Unicode"
    return f"the path is longer than {LONGEST_PATH} bytes" if size > LONGEST_PATH else None


def _spellings(text: str, cwd: str, home: str | None) -> list[str]:
    """The path, absolute, and what it would be to a program that reads more into its text."""
    readings = [text]
    if text.lower().startswith("file:"):
        readings.append("/" + text[len("file:") :].removeprefix("//localhost").lstrip("/"))
    if "%" in text:
        readings.append(unquote(readings[-1]).replace("\0", ""))
    if "\\" in text:
        readings.append(text.replace("\\", "/"))
        if _DRIVE.match(text):
            readings.append(text[2:].replace("\\", "/"))
    if text != text.strip():
        readings.append(text.strip())
    if text.startswith("~") and home is not None:
        expanded = home + text[1:] if text[1:2] in ("", "/") else os.path.expanduser(text)  # noqa: PTH111  (text in, text out)
        readings.insert(0, expanded if expanded.startswith("/") else "/" + expanded)
    joined = [posixpath.join(cwd, each).replace("\0", "") for each in readings if each]
    found = [_through_proc(each, cwd) for each in joined]
    # The folder of another process may be any: the agent's own, and what it is on this host.
    return [*found, *(each for each in joined if _OF_ANOTHER.match(each))]


def _through_proc(path: str, cwd: str) -> str:
    """`/proc/self/root/x` is `/x` to the agent's process, whoever asks here."""
    for _ in range(MOST_LINKS):
        match = _PROC_LINK.match(posixpath.normpath(path).replace("//", "/"))
        if match is None:
            return path
        rest = posixpath.normpath(path).replace("//", "/")[match.end() :]
        path = (rest or "/") if match.group(1) == "root" else cwd + rest
    return path


@dataclass(frozen=True, slots=True)
class _Walked:
    target: str
    entry: str


def _walk(path: str, cwd: str, met: list[str]) -> _Walked:
    """The path with all links followed; each detour is added to `met`."""
    ahead = [part for part in reversed(path.split("/")) if part not in ("", ".")]
    here, links, entry = "/", 0, ""
    while ahead:
        part = ahead.pop()
        step = posixpath.dirname(here) if part == ".." else posixpath.join(here, part)
        if not ahead and not entry:
            entry = step
        if part == "..":
            here = step
            continue
        try:
            mode = os.lstat(step).st_mode
            target = os.readlink(step) if stat.S_ISLNK(mode) else None  # noqa: PTH115  (the text of the link)
        except OSError as error:
            if error.errno in _ABSENT:
                absent = posixpath.normpath(posixpath.join(step, *reversed(ahead)))
                return _Walked(absent, entry or absent)
            raise _Unfollowable(error.strerror or "the path can't be looked up") from None
        except ValueError:  # half a character, a NUL
            raise _Unfollowable("no file can have such a name") from None
        if target is None:
            here = step
            continue
        links += 1
        if links > MOST_LINKS:
            raise _Unfollowable("too many links, or links in a circle")
        rest = "/".join(reversed(ahead))
        joined = posixpath.join(here, target, rest) if rest else posixpath.join(here, target)
        detour = _through_proc(joined, cwd)
        met.append(posixpath.normpath(detour).replace("//", "/"))
        ahead = [each for each in reversed(detour.split("/")) if each not in ("", ".")]
        here = "/"
    return _Walked(here, entry or here)
