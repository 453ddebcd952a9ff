"""The options of the shell's own commands."""

from supervisor.policy.bash.shell.algebra import EMPTY, alone, literal
from supervisor.policy.bash.value import Value


def options_of(argv: tuple[Value, ...], taking: str = "") -> tuple[dict[str, Value], int]:
    """The short options of a builtin, with their arguments; and where its operands begin."""
    found: dict[str, Value] = {}
    place = 1
    while place < len(argv):
        text = alone(argv[place])
        if text is None or text[:1] not in ("-", "+") or not text[1:]:
            break
        place += 1
        if text == "--":
            break
        for position, letter in enumerate(text[1:], 1):
            found[letter] = EMPTY
            if letter in taking:
                rest = text[position + 1 :]
                if rest:
                    found[letter] = literal(rest)
                elif place < len(argv):
                    found[letter] = argv[place]
                    place += 1
                break
    return found, place
