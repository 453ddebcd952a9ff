"""The one message that the host sends before the CLI speaks: its form, its bounds.

    8 hexadecimal digits, a newline, then exactly that many bytes: fields, each ended by a NUL

    cwd · project · session · number of arguments · arguments… · NAME=value…

Length first, so that reading it takes not one byte of what follows: those belong to the CLI. NUL
ends a field because no argument and no variable can hold one, and because importing a JSON parser
costs each message 12 ms. `supervisor/runtimes/container/start_line.py` builds it; a test ties both.
"""

import os

MAX_BYTES = 1 << 20
HEADER_BYTES = 9
_FIXED_FIELDS = 4
_MAX_NAME = 255
_NAME_CHARACTERS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")


class BadStartLine(ValueError):
    """The start line is not of the agreed form; the text says how."""


class StartLine:
    """What to become: `argv[0]` is the program; `project` and `session` are empty or both given."""

    __slots__ = ("argv", "cwd", "env", "project", "session")

    def __init__(
        self, cwd: bytes, project: bytes, session: bytes, argv: list[bytes], env: dict[bytes, bytes]
    ) -> None:
        self.cwd = cwd
        self.project = project
        self.session = session
        self.argv = argv
        self.env = env


def read_start_line(fd: int) -> StartLine | None:
    """Read one start line from `fd`, and nothing beyond it; None: the input closed before it began.

    Raises BadStartLine for every other form.
    """
    header = _read_exactly(fd, HEADER_BYTES)
    if not header:
        return None
    digits = header[:8]
    if len(header) != HEADER_BYTES or header[8:] != b"\n" or digits.strip(b"0123456789abcdef"):
        raise BadStartLine("the length is not 8 lower-case hexadecimal digits and a newline")
    length = int(digits, 16)
    if length > MAX_BYTES:
        raise BadStartLine(f"{length} bytes are more than {MAX_BYTES}")
    body = _read_exactly(fd, length)
    if len(body) != length:
        raise BadStartLine(f"the input closed after {len(body)} of {length} bytes")
    return parse(body)


def parse(body: bytes) -> StartLine:
    """The start line's body; raises BadStartLine."""
    if not body.endswith(b"\0"):
        raise BadStartLine("the last field has no end")
    fields = body[:-1].split(b"\0")
    if len(fields) < _FIXED_FIELDS:
        raise BadStartLine("fields are missing")
    cwd, project, session, count = fields[:_FIXED_FIELDS]
    if not count.isdigit() or not 0 < int(count[:8]) <= len(fields) - _FIXED_FIELDS:
        raise BadStartLine("the number of arguments is impossible")
    split = _FIXED_FIELDS + int(count)
    argv = fields[_FIXED_FIELDS:split]
    env = {}
    for assignment in fields[split:]:
        name, equals, value = assignment.partition(b"=")
        if not name or not equals or name in env:
            raise BadStartLine("a variable is no NAME=value, or there twice")
        env[name] = value
    if not argv[0].startswith(b"/") or not cwd.startswith(b"/"):
        raise BadStartLine("the program or the folder is not an absolute path")
    if project or session:
        if not _is_name(project) or not _is_name(session):
            raise BadStartLine("project or session is no plain file name")
        if not env.get(b"CLAUDE_CONFIG_DIR", b"").startswith(b"/"):
            raise BadStartLine("a transcript needs CLAUDE_CONFIG_DIR")
    return StartLine(cwd, project, session, argv, env)


def _is_name(value: bytes) -> bool:
    return (
        0 < len(value) <= _MAX_NAME
        and not value.startswith(b".")
        and _NAME_CHARACTERS.issuperset(value)
    )


def _read_exactly(fd: int, length: int) -> bytes:
    parts = []
    while length > 0:
        part = os.read(fd, min(length, 1 << 16))
        if not part:
            break
        parts.append(part)
        length -= len(part)
    return b"".join(parts)
