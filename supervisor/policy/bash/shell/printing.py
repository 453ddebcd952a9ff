"""What a command's words and input let it print, put where its output goes."""

from supervisor.policy.bash.invocation import Stdin
from supervisor.policy.bash.shell.algebra import DATA, alone, join, literal, union
from supervisor.policy.bash.shell.machine import Sink
from supervisor.policy.bash.shell.outputs import printed
from supervisor.policy.bash.shell.scope import Scope
from supervisor.policy.bash.value import HOLE, MOST_TEXTS, Text, Value


def write_output(sink: Sink, argv: tuple[Value, ...], stdin: Stdin | None, scope: Scope) -> None:
    """Add to the sink what a command prints; what nobody knows is data."""
    name = alone(argv[0])
    if name in ("pwd", "whoami"):
        value = scope.cwd if name == "pwd" else scope.get("USER")
        sink.write(DATA if value is None else join((value, literal("\n"))))
        return
    sink.write(DATA if name is None else _output(argv, stdin))


def _output(argv: tuple[Value, ...], stdin: Stdin | None) -> Value:
    from_data = any(each.from_data for each in argv)
    inputs: list[str | None] = [None]
    if stdin is not None:
        inputs = [each.text if each.text != HOLE else None for each in stdin.text.texts]
        from_data = from_data or stdin.text.from_data
    ways: list[list[str]] = [[]]
    for value in argv:
        ways = [[*way, each.text] for way in ways for each in value.texts]
        if len(ways) * len(inputs) > MOST_TEXTS:
            return DATA
    made: list[Value] = []
    for way in ways:
        for text in inputs:
            output = printed(way, text)
            if output is None:
                return DATA
            made.append(Value((Text(output),), from_data))
    return made[0] if len(made) == 1 else union(made)
