"""The one message to a sandbox before its CLI speaks: what to become. Nothing secret goes in it.

The other half, with the form in words, is `runner_image/start_line.py`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from supervisor.errors import InvalidRequest

MAX_BYTES: Final = 1 << 20
MAX_ARGUMENT_BYTES: Final = 131_071
"""Linux' limit for one argument or variable (MAX_ARG_STRLEN, execve(2)), without its end."""

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,254}\Z")


@dataclass(frozen=True, slots=True)
class Resume:
    """Where the turn folder's `transcript.jsonl` goes: `projects/<project>/<session>.jsonl`."""

    project: str
    session: str


@dataclass(frozen=True, slots=True)
class StartLine:
    """What the entry program becomes: `argv[0]` is the program, `cwd` a folder in the sandbox.

    `env` is all the environment the program gets. `resume` needs CLAUDE_CONFIG_DIR in it.
    """

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str] = field(default_factory=dict)
    resume: Resume | None = None


def encode(line: StartLine) -> bytes:
    """The bytes to write to the sandbox's standard input, before anything else.

    Raises InvalidRequest, with what is wrong and where, for what the other side would refuse or
    Linux would not start.
    """
    if not line.argv or not line.argv[0].startswith("/"):
        raise InvalidRequest("the program is not an absolute path", where="argv")
    if not line.cwd.startswith("/"):
        raise InvalidRequest("the folder is not an absolute path", where="cwd")
    project = session = ""
    if line.resume is not None:
        project, session = line.resume.project, line.resume.session
        if not _PLAIN_NAME.match(project) or not _PLAIN_NAME.match(session):
            raise InvalidRequest("the transcript's place is no plain file name", where="resume")
        if not line.env.get("CLAUDE_CONFIG_DIR", "").startswith("/"):
            raise InvalidRequest("a transcript needs CLAUDE_CONFIG_DIR", where="env")
    if any(not name or "=" in name for name in line.env):
        raise InvalidRequest("a variable has an impossible name", where="env")
    assignments = [f"{name}={value}" for name, value in line.env.items()]
    fields = [
        *_encoded("cwd", [line.cwd]),
        *_encoded("resume", [project, session]),
        str(len(line.argv)).encode(),
        *_encoded("argv", line.argv),
        *_encoded("env", assignments),
    ]
    body = b"\0".join(fields) + b"\0"
    if len(body) > MAX_BYTES:
        raise InvalidRequest(f"{len(body)} bytes are more than {MAX_BYTES}", where="start line")
    return b"%08x\n" % len(body) + body


def _encoded(where: str, texts: Sequence[str]) -> list[bytes]:
    encoded = [text.encode("utf-8", "surrogateescape") for text in texts]
    for each in encoded:
        if b"\0" in each:
            raise InvalidRequest("a NUL can't be passed on", where=where)
        if len(each) > MAX_ARGUMENT_BYTES:
            raise InvalidRequest(
                f"{len(each)} bytes are more than Linux takes as one argument"
                f" ({MAX_ARGUMENT_BYTES})",
                where=where,
                remedy="pass it as a file",
            )
    return encoded
