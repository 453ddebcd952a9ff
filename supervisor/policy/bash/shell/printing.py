"""What a command's words and input let it print, put where its output goes."""

import re
from collections.abc import Iterable
from typing import Final

from supervisor.policy.bash.invocation import Stdin
from supervisor.policy.bash.shell.algebra import DATA, alone, hinted, join, literal, union
from supervisor.policy.bash.shell.hints import unknown_output, wholes
from supervisor.policy.bash.shell.outputs import printed, prints
from supervisor.policy.bash.shell.scope import Scope
from supervisor.policy.bash.shell.sink import Sink
from supervisor.policy.bash.value import HOLE, MOST_TEXTS, Text, Value

_MARKS: Final = re.compile(r"XXX+")
_WORDS: Final = 2
_LONGEST_GUESS: Final = 4_096
"""Characters of a text that is only likely, and that is followed through further programs."""
_READS_FILES: Final = frozenset(
    {"cat", "tac", "rev", "head", "tail", "sort", "uniq", "sed", "awk", "base64", "xxd", "grep"}
)
_DESCRIPTOR: Final = "/dev/fd/"
_NAMES_ANY: Final = frozenset({"compgen"})
"""Programs whose output, as it is known here, is a glob."""
_SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash"})
_ASKS_FOR_HOME: Final = re.compile(
    rf"\s*(?:echo(?:\s+-n)?|printf\s+[\"']?%s(?:\\n)?[\"']?)\s+"
    rf"\"?(?:~(?:{HOLE})?|\$HOME|\$\{{HOME\}})/?\"?\s*;?\s*"
)


def write_output(  # noqa: PLR0913, PLR0917 - the circumstances of a command
    sink: Sink,
    argv: tuple[Value, ...],
    stdin: Stdin | None,
    scope: Scope,
    serial: int,
    streams: Iterable[Stdin] = (),
    *,
    guess: bool = True,
) -> None:
    """Add to the sink what a command prints; what nobody knows is data.

    `serial` is a number that no other command of the call has, `streams` what its `<(…)` give;
    without `guess` it isn't worked out what may be printed.
    """
    name = alone(argv[0])
    if name in ("pwd", "whoami"):
        value = scope.cwd if name == "pwd" else scope.get("USER")
        sink.write(DATA if value is None else join((value, literal("\n"))))
        return
    told = _told(name, argv, scope)
    if told is not None:
        sink.write(told)
        return
    if name == "mktemp":
        sink.write(_temporary(argv, serial))
        return
    if name == "dirs" and not any(each.only in ("-c", "-p", "-v") for each in argv):
        sink.write(join((scope.cwd, literal("\n"))) if not scope.folders else DATA)
        return
    if name in ("declare", "typeset") and len(argv) > _WORDS and alone(argv[1]) == "-f":
        definition = scope.functions.get(alone(argv[2]) or "")
        source = definition.source if definition is not None else ""
        sink.write(literal(f"{alone(argv[2])} () {source}\n") if source else DATA)
        return
    if name in _READS_FILES and (given := tuple(streams)):
        argv, stdin = _from_stream(argv, stdin, given)
    elif name in _READS_FILES and scope.written and stdin is None:
        argv, stdin = _from_files(argv, scope)
    if name is None:
        sink.write(DATA)
    elif prints(name):
        sink.write(_output(argv, stdin, streams, scope, guess=guess))
    else:
        sink.write(unknown_output(argv, stdin, streams, scope, guess=guess))


def _told(name: str | None, argv: tuple[Value, ...], scope: Scope) -> Value | None:
    """What is likely printed by those that are asked for the home folder in a roundabout way."""
    words = [each.texts[0].text for each in argv[1:]]
    line = ""
    if name == "printenv" and len(words) == 1:
        line = f"echo ${words[0]}"
    elif name in _SHELLS and len(words) > 1 and words[0] == "-c":
        line = words[1]
    elif name == "eval":
        line = " ".join(words)
    elif name == "getent" and words[:1] == ["passwd"] and len(words) > 1:
        user = scope.get("USER")
        own = words[1] == HOLE or (user is not None and user.only == words[1])
        home = scope.home if own else f"/home/{words[1]}"
        return hinted(DATA, [Text(f"user:x:1000:1000::{home}:/bin/sh")])
    if line and _ASKS_FOR_HOME.fullmatch(line):
        return hinted(DATA, [Text(scope.home)])
    return None


def _from_stream(
    argv: tuple[Value, ...], stdin: Stdin | None, streams: tuple[Stdin, ...]
) -> tuple[tuple[Value, ...], Stdin | None]:
    """`cat <(…)`: the same as `cat` with that for its input, if it reads nothing else."""
    rest = tuple(each for each in argv if not each.texts[0].text.startswith(_DESCRIPTOR))
    lone = len(streams) == 1 and len(rest) == len(argv) - 1
    return (rest, streams[0]) if lone and stdin is None else (argv, stdin)


def _from_files(argv: tuple[Value, ...], scope: Scope) -> tuple[tuple[Value, ...], Stdin | None]:
    """`cat FILE`: what the call has put into it is likely its input."""
    held = {at: kept for at, each in enumerate(argv) if at and (kept := _held(scope, each))}
    if not held:
        return argv, None
    text = join([each.result for each in held.values()])
    rest = tuple(each for at, each in enumerate(argv) if at not in held)
    return rest, Stdin(hinted(DATA, wholes(text)))


def _held(scope: Scope, word: Value) -> Sink | None:
    return scope.held_by(word.only) if word.only else None


def _temporary(argv: tuple[Value, ...], serial: int) -> Value:
    """`mktemp`: a name of its own for each."""
    words = [each.only for each in argv[1:]]
    names = [each for each in words if each is not None and not each.startswith("-")]
    if None in words or len(names) > 1 or not {*words} <= {"-d", "-q", "-t", "-dq", "-u", *names}:
        return DATA
    template = names[0] if names else "tmp.XXXXXXXXXX"
    folder = "/tmp/" if not names or "-t" in words else ""  # noqa: S108 - a name, never opened
    if _MARKS.search(template) is None:
        return DATA
    return literal(
        folder + _MARKS.sub(lambda match: f"{serial:0{len(match[0])}d}", template) + "\n"
    )


def _output(
    argv: tuple[Value, ...],
    stdin: Stdin | None,
    streams: Iterable[Stdin],
    scope: Scope,
    *,
    guess: bool,
) -> Value:
    from_data = any(each.from_data for each in argv)
    inputs: list[Text | None] = [None]
    if stdin is not None:
        inputs = [
            each
            if each.text != HOLE and (number == 0 or len(each.text) <= _LONGEST_GUESS)
            else None
            for number, each in enumerate(stdin.text.texts)
        ]
        from_data = from_data or stdin.text.from_data
    ways: list[list[Text]] = [[]]
    for value in argv:
        ways = [[*way, each] for way in ways for each in value.texts]
        if len(ways) * len(inputs) > MOST_TEXTS:
            return unknown_output(argv, stdin, streams, scope, guess=guess)
    made: list[Value] = []
    unsure = False
    for way in ways:
        globbed = any(each.pattern is not None for each in way) or way[0].text in _NAMES_ANY
        for text in inputs:
            output = printed([each.text for each in way], None if text is None else text.text)
            if output is None:
                unsure = True
                continue
            # A name that a glob stands for is still one when it has been printed.
            glob = globbed or (text is not None and text.pattern is not None)
            made.append(Value((Text(output, output if glob else None),), from_data))
    if unsure:
        told = [
            Text(stripped, None if each.texts[0].pattern is None else stripped)
            for each in made
            if (stripped := each.texts[0].text.strip("\n"))
        ]
        return hinted(unknown_output(argv, stdin, streams, scope, guess=guess), told)
    return made[0] if len(made) == 1 else union(made)
