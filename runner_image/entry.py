"""The container's first program: seals and measures its cage, reports, waits, starts the CLI.

It says one line on standard output, the receipt, before it reads a byte; a host that finds the cage
too weak closes the input, and nothing was handed over. It stays as pid 1 and collects the dead: an
init of the engine's would run outside the seal, under the agent's user, and could be made to act.
It also looks whether anybody still holds the output: of an end of it the engine says nothing while
the container runs.

Exit codes: the CLI's own; 192 + signal if one ended it, unlike the engine's 128 + signal, which
then says that this program itself was killed; 191 the output was closed, and the CLI ran on; 64 the
start line is malformed, 71 the CLI could not be started, 0 the input closed before the start line.
"""

# The C half: the wrapper's enumerations cost 5 ms.
import _signal  # type: ignore[import-not-found]
import os
import sys
import time
from _json import encode_basestring_ascii as quoted  # json itself costs 12 ms of each message

sys.path.insert(0, "/opt/trustfloor")  # python -I leaves the script's own surroundings out

from runner_image import probe, seal, start_line

TRANSCRIPT = "/run/trustfloor/transcript.jsonl"
BAD_START_LINE = 64
CANNOT_START = 71
OUTPUT_CLOSED = 191
ENDED_BY_SIGNAL = 192
LOOK_SECONDS = 2.0
"""Between two looks at who holds the output; two in a row must find nobody."""


def main() -> int:
    """Seal, measure, report, wait, start the CLI, collect the dead; its exit code."""
    try:
        seal.close()
    except (OSError, KeyError) as error:
        _write_all(2, f"seal: {error}\n".encode())  # the receipt will show what is open
    receipt = {"trustfloor": "receipt", **probe.measure()}
    _write_all(1, to_json(receipt).encode() + b"\n")
    try:
        line = start_line.read_start_line(0)
    except start_line.BadStartLine as error:
        _write_all(2, f"start line: {error}\n".encode())
        return BAD_START_LINE
    if line is None:
        return 0
    child = os.fork()
    if child == 0:
        _become(line)
    _signal.signal(_signal.SIGINT, _signal.SIG_IGN)
    output = _identity(os.fstat(1))
    for fd in (0, 1, 2):
        os.close(fd)
    return _collect(child, output)


def to_json(value: object) -> str:
    """JSON of what the probe gives: objects, lists, strings, whole numbers."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, dict):
        return "{" + ",".join(f"{quoted(k)}:{to_json(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(to_json, value)) + "]"
    raise TypeError(type(value).__name__)


def _become(line: start_line.StartLine) -> None:
    """Turn this process into the CLI; never returns."""
    try:
        if line.session:
            folder = line.env[b"CLAUDE_CONFIG_DIR"] + b"/projects/" + line.project
            _copy(TRANSCRIPT, folder, line.session + b".jsonl")
        os.chdir(line.cwd)
        # Python ignores these two, and what is ignored stays so over exec: `yes | head` would hang.
        for number in (_signal.SIGPIPE, _signal.SIGXFSZ):
            _signal.signal(number, _signal.SIG_DFL)
        os.execve(line.argv[0], line.argv, line.env)  # noqa: S606  # becoming it is the point
    except OSError as error:
        _write_all(2, f"start: {error}\n".encode(errors="backslashreplace"))
    os._exit(CANNOT_START)


def _collect(child: int, output: tuple[int, int]) -> int:
    """Wait for every process that is handed to pid 1; the exit code once it is over.

    It is over when `child` is gone, or when nobody is left who could write to `output`.
    """
    _signal.pthread_sigmask(_signal.SIG_BLOCK, (_signal.SIGCHLD,))
    looks_in_vain = 0
    next_look = time.monotonic() + LOOK_SECONDS
    while True:
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            pid, status = ended
            if pid == child:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else ENDED_BY_SIGNAL - code
        rest = next_look - time.monotonic()
        if rest > 0:
            _signal.sigtimedwait((_signal.SIGCHLD,), rest)
            continue
        looks_in_vain = 0 if is_held(output) else looks_in_vain + 1
        if looks_in_vain > 1:
            return OUTPUT_CLOSED
        next_look = time.monotonic() + LOOK_SECONDS


def is_held(output: tuple[int, int]) -> bool:
    """Whether a process, besides this one, may have that pipe open."""
    own = os.getpid()
    others = (each for each in os.listdir("/proc") if each.isdigit() and int(each) != own)  # noqa: PTH208
    return any(_may_hold(pid, output) for pid in others)


def _may_hold(pid: str, output: tuple[int, int]) -> bool:
    folder = f"/proc/{pid}/fd"
    try:
        for fd in os.listdir(folder):  # noqa: PTH208
            try:
                found = os.stat(f"{folder}/{fd}")  # noqa: PTH116
            except FileNotFoundError:
                continue
            if _identity(found) == output:
                return True
    except (FileNotFoundError, ProcessLookupError):
        return False
    except OSError:
        return True  # not to be looked at: nothing is concluded from it
    return False


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _copy(source: str, folder: bytes, name: bytes) -> None:
    os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103
    from_fd = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    to_fd = os.open(
        folder + b"/" + name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600
    )
    while os.sendfile(to_fd, from_fd, None, 1 << 24):
        pass
    os.close(from_fd)
    os.close(to_fd)


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


if __name__ == "__main__":
    os._exit(main())
