"""What a shell opens for a command, and the variables that it sets for it."""

import re
from typing import Final

from supervisor.policy.bash.effect import Act, Effect
from supervisor.policy.bash.git_words import setting
from supervisor.policy.bash.invocation import Direction, Invocation, Redirect
from supervisor.policy.bash.options import Parsed
from supervisor.policy.bash.roles import play_as
from supervisor.policy.bash.table import Command
from supervisor.policy.bash.use import NO_FILES, Look, Use, closed
from supervisor.policy.bash.value import HOLE, Value, known

NETWORK: Final = re.compile(r"/dev/(?:tcp|udp)/([^/]*)")
_STREAMS: Final = ("/dev/fd/", "/proc/self/fd/")
_READS: Final = frozenset({Direction.READ, Direction.BOTH})
_BARE: Final = Command()
_GIT_CONFIG: Final = "GIT_CONFIG_"


def redirects(look: Look, invocation: Invocation) -> None:
    """The effects of a command's redirects."""
    program = invocation.argv[0].texts[0].text if invocation.argv else "shell"
    for each in invocation.redirects:
        text = each.target.only
        if text is not None and (text in NO_FILES or text.startswith(_STREAMS)):
            continue
        _one(look, invocation, each, program.replace(HOLE, "…"))


def _one(look: Look, invocation: Invocation, each: Redirect, program: str) -> None:
    found = NETWORK.match(each.target.texts[0].text)
    if found:
        host = Value(known(found[1] or HOLE).texts, from_data=True)
        look.add(
            Effect(Act.SEND, program, each.part, "is tied to the network", host, invocation.cwd)
        )
        return
    target = each.target
    if HOLE in target.texts[0].text:
        target = closed(target)
    if each.direction in _READS:
        look.add(Effect(Act.READ, program, each.part, "is read", target, invocation.cwd))
    if each.direction is not Direction.READ:
        reason = "is added to" if each.direction is Direction.APPEND else "is written"
        look.add(Effect(Act.WRITE, program, each.part, reason, target, invocation.cwd))


def variables(look: Look, invocation: Invocation, program: str) -> None:
    """The effects of variables that make a program run or load something."""
    base = program.rpartition("/")[2]
    settings: dict[str, Value] = {}
    known_names, starts = look.table.variables, (*look.table.variable_starts, _GIT_CONFIG)
    # A call may export hundreds, and start hundreds of commands.
    ends = look.table.variable_ends
    heeded = [
        each
        for each in invocation.environment
        if each[0] in known_names or each[0].startswith(starts) or each[0].endswith(ends)
    ]
    for name, value in heeded:
        if name.startswith(_GIT_CONFIG):
            settings[name] = value
        variable = look.table.variable(name)
        if variable is None or (variable.programs and base not in variable.programs):
            continue
        text = value.only
        if text is not None and (not text or text in variable.fine):
            continue
        if variable.holding and text is not None and not any(w in text for w in variable.holding):
            continue
        use = Use(look, invocation, _BARE, program, invocation.cwd, Parsed.nothing())
        if variable.role.kind == "text":
            if name != "PATH" or not _usual_path(value, look):
                use.unknown(f"{name} {variable.reason}")
        else:
            bare = use.within((value,))
            inner = Use(
                look, _without(bare, name), _BARE, program, invocation.cwd, Parsed.nothing()
            )
            inner.aside = True
            play_as(inner, variable.role.kind, value, variable.role.detail)
    if settings and base == "git":
        _git_settings(look, invocation, settings)


def _without(invocation: Invocation, name: str) -> Invocation:
    from dataclasses import replace  # noqa: PLC0415

    kept = tuple(each for each in invocation.environment if each[0] != name)
    return replace(invocation, environment=kept)


def _usual_path(value: Value, look: Look) -> bool:
    """Whether a PATH only holds standard folders, and at most once something that isn't known."""
    if value.from_data or len(value.texts) != 1:
        return False
    parts = value.texts[0].text.split(":")
    odd = [each for each in parts if each not in look.table.folders]
    return len(parts) > len(odd) and all(each == HOLE for each in odd) and len(odd) <= 1


def _git_settings(look: Look, invocation: Invocation, settings: dict[str, Value]) -> None:
    use = Use(look, invocation, _BARE, "git", invocation.cwd, Parsed.nothing())
    for name, value in settings.items():
        if name.startswith("GIT_CONFIG_KEY_"):
            other = settings.get(f"GIT_CONFIG_VALUE_{name.rpartition('_')[2]}")
            setting(use, value.texts[0].text, other or Value(known(HOLE).texts))
