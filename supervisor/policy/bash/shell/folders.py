"""The folder a shell is in: `cd`, `pushd`, `popd`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from supervisor.policy.bash.invocation import Stdin
from supervisor.policy.bash.shell.algebra import alone, literal, union
from supervisor.policy.bash.value import HOLE, MOST_TEXTS, UNKNOWN, Text, Value

if TYPE_CHECKING:
    from supervisor.policy.bash.shell.machine import Work


def joined(cwd: Value, target: Value) -> Value:
    """Where a path leads from a folder, links not looked at; a hole for what can't be known."""
    made: list[Value] = []
    for each in target.texts:
        text = HOLE if each.pattern is not None and "/" not in each.text else each.text
        if each.pattern is not None and text != HOLE:
            text = text.rpartition("/")[0] + "/" + HOLE
        if text == HOLE:
            made.append(Value((Text(HOLE),), target.from_data))
        elif text.startswith("/"):
            made.append(literal(normal(text)))
        else:
            made += [literal(normal(f"{base.text}/{text}")) for base in cwd.texts]
    return union(made)


def normal(path: str) -> str:
    """An absolute path without `.`, `..` and doubled slashes, as `cd` keeps it."""
    if "//" not in path and "/." not in path and not path.endswith("/"):
        return path
    found: list[str] = []
    for piece in path.split("/"):
        if piece == "..":
            if found:
                found.pop()
        elif piece not in ("", "."):
            found.append(piece)
    return "/" + "/".join(found) if path.startswith("/") else "/".join(found) or HOLE


def _target(argv: tuple[Value, ...]) -> Value | None:
    """The operand of `cd`: None for home."""
    for place, word in enumerate(argv[1:], 1):
        text = alone(word)
        if text == "--":
            return argv[place + 1] if len(argv) > place + 1 else None
        if text is None or text == "-" or not text.startswith("-"):
            return word
    return None


def change_folder(shell: "Work", argv: tuple[Value, ...], _: Mapping[int, Stdin]) -> None:
    """`cd`."""
    scope = shell.scope
    target = _target(argv)
    if target is None:
        new = scope.home_folder()
    elif alone(target) == "-":
        new = scope.previous
    elif alone(target) == "":
        return
    else:
        new = _led(shell, target)
    scope.previous, scope.cwd = scope.cwd, new
    scope.variables.pop("PWD", None)


def _led(shell: "Work", target: Value) -> Value:
    """Where a word leads, from the folder or from one of CDPATH."""
    scope = shell.scope
    new = joined(scope.cwd, target)
    folders = dict(shell.prefix).get("CDPATH") or scope.variables.get("CDPATH")
    if folders is not None and any(
        not each.text.startswith(("/", "./", "../")) for each in target.texts
    ):
        new = union((new, *_by_path(folders, scope.cwd, target)))
    return new


def _by_path(folders: Value, cwd: Value, target: Value) -> list[Value]:
    """Where `cd` may go by CDPATH."""
    texts = alone(folders)
    if texts is None:
        return [UNKNOWN]
    places = (joined(cwd, literal(each or ".")) for each in texts.split(":")[:MOST_TEXTS])
    return [joined(each, target) for each in places]


def push_folder(shell: "Work", argv: tuple[Value, ...], _: Mapping[int, Stdin]) -> None:
    """`pushd`."""
    scope = shell.scope
    words = [each for each in argv[1:] if each.only not in ("-n", "--")]
    old = scope.cwd
    if not words:
        if not scope.folders:
            return
        scope.cwd, scope.folders = scope.folders[0], (old, *scope.folders[1:])
    elif (
        words[0].only is not None
        and words[0].only[:1] in ("+", "-")
        and words[0].only[1:].isdigit()
    ):
        scope.cwd, scope.folders = union((old, *scope.folders)), ()
    else:
        scope.cwd, scope.folders = _led(shell, words[0]), (old, *scope.folders)
    scope.arrays["DIRSTACK"] = (
        {str(place): each for place, each in enumerate((scope.cwd, *scope.folders))}
        if len(scope.folders) < MOST_TEXTS
        else {"@": UNKNOWN}
    )
    scope.previous = old
    scope.variables.pop("PWD", None)


def pop_folder(shell: "Work", argv: tuple[Value, ...], _: Mapping[int, Stdin]) -> None:
    """`popd`."""
    scope = shell.scope
    if len(argv) > 1:
        scope.cwd = union((scope.cwd, *scope.folders))
    elif scope.folders:
        scope.previous, scope.cwd = scope.cwd, scope.folders[0]
    else:
        return
    scope.folders = scope.folders[1:]
    scope.variables.pop("PWD", None)
