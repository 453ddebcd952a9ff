"""What a command shows before it is walked: its programs, and whether it changes a shell."""

from typing import Final

from supervisor.policy.bash.shell.syntax import (
    Case,
    Command,
    Coprocess,
    Count,
    For,
    Function,
    Group,
    If,
    Pipeline,
    Sequence,
    Simple,
    While,
    Word,
)
from supervisor.policy.bash.value import HOLE

_MOST: Final = 64
_HARMLESS: Final = frozenset(
    {"echo", "printf", "cat", "ls", "grep", "head", "tail", "sort", "wc", "git", "true", "test",
     "[", "sed", "awk", "find", "xargs", "rm", "mkdir", "cp", "mv", "python", "python3", "npm",
     "curl", "tr", "cut", "uniq", "tee", "jq", "make", "sh", "bash", "node", "sleep", "base64"}
)  # fmt: skip
"""Programs that can't change the shell that starts them: no copy of its state is needed."""


def first_word(node: Simple) -> str:
    """The program of a simple command, if it stands there literally; a hole if it doesn't."""
    if not node.words:
        return ""
    word = node.words[0]
    if not isinstance(word, Word):
        return HOLE
    return HOLE if word.value is None else word.value.texts[0].text


def programs(node: Command) -> tuple[str, ...]:
    """The programs that a command starts, as far as they stand there literally."""
    if isinstance(node, Simple):
        name = first_word(node)
        return (name,) if name else ()
    found: dict[str, None] = {}
    waiting: list[Command] = [node]
    while waiting and len(found) < _MOST:
        current = waiting.pop()
        if isinstance(current, Simple):
            if name := first_word(current):
                found[name] = None
            continue
        for body in _bodies(current):
            for item in reversed(body.items):
                for _, pipeline in reversed(item.links):
                    waiting.extend(reversed(pipeline.stages))
        if isinstance(current, Function | Coprocess) and current.body is not None:
            waiting.append(current.body)
    return tuple(found)


def _bodies(node: Command) -> list[Sequence]:
    if isinstance(node, Group | For | Count):
        return [node.body]
    if isinstance(node, While):
        return [node.body, node.condition]
    if isinstance(node, If):
        found = [each for branch in node.branches for each in branch]
        return [*found, node.otherwise] if node.otherwise is not None else found
    if isinstance(node, Case):
        return [body for _, body in node.items]
    return []


def changes(node: Command | Pipeline) -> bool:
    """Whether a command may change the state of the shell that runs it."""
    if isinstance(node, Pipeline):
        if len(node.stages) != 1:
            return False
        node = node.stages[0]
    if isinstance(node, Simple):
        return first_word(node) not in _HARMLESS
    return True
