"""A shell in /v of the person `u`, whose commands are read and never run."""

from supervisor.policy.bash.effect import ShellContext
from supervisor.policy.bash.invocation import Invocation, Reading
from supervisor.policy.bash.read import Budget, Shell, read_script
from supervisor.policy.bash.value import HOLE, Value

CONTEXT = ShellContext("/v", "/home/u", {"USER": "u"})


def reading(text: str, budget: Budget | None = None) -> Reading:
    """What the text would start."""
    return read_script(text, Shell.fresh(CONTEXT), budget or Budget())


def shown(value: Value) -> str:
    """A value as tests write it: alternatives with bars, `?` for a hole, `~~` for many words."""
    return "|".join(
        each.text.replace(HOLE, "?") + ("~~" if each.many else "") for each in value.texts
    )


def words(invocation: Invocation) -> list[str]:
    """The words of a command as tests write them."""
    return [shown(each) for each in invocation.argv]


def started(text: str) -> list[list[str]]:
    """The words of all commands that the text starts, builtins' too."""
    return [words(each) for each in reading(text).invocations if each.argv]


def programs(text: str) -> list[str]:
    """The commands that aren't the shell's own, each as one text."""
    return [
        " ".join(words(each))
        for each in reading(text).invocations
        if each.argv and not each.builtin
    ]
