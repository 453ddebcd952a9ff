"""A turn's own parent of its processes: what the CLI started can leave it, but not this.

Run as a program, `keeper.py PARENT COMMAND…`, with the standard library alone. A process that forks
twice, begins a session of its own and clears its environment has lost its parent and every mark; as
a child subreaper this one becomes the parent (prctl(2), PR_SET_CHILD_SUBREAPER). Once the CLI has
ended, or SIGTERM asks for it, or the supervisor is gone, it ends its children until it has none:
those of a child that was ended are its own by then. A number can't be another process's meanwhile,
as a child keeps it until it is waited for. Then it ends as the CLI did.
"""

# The C halves: the wrappers cost more than the whole rest, and each turn pays for it.
import _signal  # type: ignore[import-not-found]
import os
import sys
import time
from _ctypes import call_function, dlopen, dlsym

CANNOT_START = 127
BOUND_SECONDS = 4.0
"""What can't be ended (another user's, by way of sudo) may hold this no longer."""
_ROUND_SECONDS = 0.001
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # prctl(2)
_HEARD = {_signal.SIGCHLD, _signal.SIGTERM}


def main() -> None:
    """Start the command, wait for its end or the word, end all that is left; never returns."""
    prctl = dlsym(dlopen(None, 0), "prctl")  # type: ignore[arg-type]  # the C library
    call_function(prctl, (_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
    call_function(prctl, (_PR_SET_PDEATHSIG, int(_signal.SIGTERM), 0, 0, 0))
    _signal.pthread_sigmask(_signal.SIG_BLOCK, _HEARD)
    if os.getppid() != int(sys.argv[1]):
        os._exit(0)  # the supervisor had ended before it could be heard of
    child = os.fork()
    if child == 0:
        _become(sys.argv[2:])
    for fd in (0, 1, 2):
        os.close(fd)  # their ends tell the supervisor that the CLI has closed them
    status = None
    while status is None and _signal.sigwait(_HEARD) != _signal.SIGTERM:
        status = _reaped().get(child)
    status = _end_all().get(child, status)
    _end_as(status or 0)


def _become(command: list[str]) -> None:
    """Turn this process into the CLI, in a session of its own; never returns."""
    try:
        os.setsid()
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, _HEARD)
        # Python ignores these two, and what is ignored stays so over exec: `yes | head` would hang.
        for number in (_signal.SIGPIPE, _signal.SIGXFSZ):
            _signal.signal(number, _signal.SIG_DFL)
        os.execv(command[0], command)  # noqa: S606  # becoming it is the point
    except OSError as error:
        os.write(2, f"start: {error}\n".encode(errors="backslashreplace"))
    os._exit(CANNOT_START)


def _reaped() -> dict[int, int]:
    """The children that have ended, with how they did. Raises ChildProcessError: there are none."""
    ended: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            if not ended:
                raise
            return ended
        if pid == 0:
            return ended
        ended[pid] = status


def _end_all() -> dict[int, int]:
    """End every child until there is none; how they ended."""
    until = time.monotonic() + BOUND_SECONDS
    ended: dict[int, int] = {}
    while time.monotonic() < until:
        for pid in _children():
            try:  # noqa: SIM105  (contextlib costs a turn what the rest of this does)
                os.kill(pid, _signal.SIGKILL)
            except OSError:
                pass  # ended already, or not ours to end
        time.sleep(_ROUND_SECONDS)
        try:
            ended.update(_reaped())
        except ChildProcessError:
            break
    return ended


def _children() -> list[int]:
    me = os.getpid()
    try:
        return list(map(int, _read(f"/proc/{me}/task/{me}/children").split()))
    except OSError:  # a kernel that doesn't list them, proc(5)
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
        return [pid for pid in pids if _parent(pid) == me]


def _parent(pid: int) -> int:
    try:
        return int(_read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return 0


def _read(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY)
    try:
        pieces = []
        while piece := os.read(fd, 65536):
            pieces.append(piece)
        return b"".join(pieces)
    finally:
        os.close(fd)


def _end_as(status: int) -> None:
    """End with the same code, or by the same signal."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number not in (_signal.SIGKILL, _signal.SIGSTOP):
            _signal.signal(number, _signal.SIG_DFL)
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, {number})
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


if __name__ == "__main__":
    main()
