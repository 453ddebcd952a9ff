"""Programs that leave in files what they get, or what other files hold, as far as is known."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from supervisor.policy.bash.shell.printing import write_output
from supervisor.policy.bash.shell.sink import Sink
from supervisor.policy.bash.value import Value

if TYPE_CHECKING:
    from supervisor.policy.bash.shell.machine import Work

Row = tuple[Value, ...]


def _filled(shell: "Work", argv: Row) -> None:
    """`tee`, `sponge`, `dd of=`: their files hold what they get."""
    if shell.stdin is None:
        return
    for each in argv[1:]:
        path = each.only.removeprefix("of=") if each.only else None
        if path and path[0] != "-" and not path.startswith("/dev/"):
            shell.scope.fill(path).write(shell.stdin.text)


def _edited(shell: "Work", argv: Row) -> None:
    """`sed -i SCRIPT FILE`: the file holds what is made of it."""
    if not shell.scope.written:
        return
    words = tuple(each for each in argv if (each.only or "")[:2] != "-i")
    for each in words[2:] if len(words) < len(argv) else ():
        if each.only and shell.scope.held_by(each.only) is not None:
            made = Sink()
            write_output(made, words, None, shell.scope, len(shell.invocations))
            shell.scope.fill(each.only).write(made.result)


def _moved(shell: "Work", argv: Row) -> None:
    """`cp A B`, `mv A B`, `ln -s A B`: the other name holds what the first one does."""
    if not shell.scope.written:
        return
    words = [each.only or "" for each in argv[1:] if (each.only or "-")[:1] != "-"]
    for each in words[:-1]:
        kept = shell.scope.held_by(each)
        if kept is not None:
            for place in (words[-1], f"{words[-1].rstrip('/')}/{each.rpartition('/')[2]}"):
                shell.scope.written.setdefault(place.removeprefix("./"), kept)


LEAVES: Final[Mapping[str | None, Callable[["Work", Row], None]]] = {
    "tee": _filled, "sponge": _filled, "dd": _filled, "sed": _edited,
    "cp": _moved, "mv": _moved, "ln": _moved, "install": _moved, "rsync": _moved,
}  # fmt: skip
