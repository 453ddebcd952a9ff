"""Options and operands → effects, by the roles that the table gives them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.files import arrive
from supervisor.policy.bash.roles import joined, play, responses
from supervisor.policy.bash.table import Command, Does, Operands, Overlay, Role
from supervisor.policy.bash.use import GUESSED, Use, plain_words
from supervisor.policy.bash.value import Value, known

_FIRST: Final = frozenset({"cd", "only", "assign", "mount", "replace", "unset"})
_ARRIVES: Final = frozenset({"dest", "to"})
_LANDS: Final = frozenset({"into", "fill"})
"""Where things are put unless an option says it, however many operands there are."""
_PATHSPEC: Final = Role("pathspec")
_DOUBT: Final = Role("doubt")
_EITHER: Final = Role("either")
_FILL: Final = Role("fill")
_REPORT: Final = Role("report")
_TEXT: Final = Role("text")
_STARTS: Final = frozenset({"command", "line", "argument"})
_BEHIND: Final = frozenset({"-c", "--command", "--"})


def apply(use: Use) -> None:
    """All that a command does by its options, its operands and its nature."""
    parsed = use.parsed
    if "help" in parsed.tags:
        return
    command = use.command
    operands, default, turn = command.operands, command.default, _NO_TURN
    does: Iterable[Does] = command.does
    if command.when:
        operands, default, does, turn = _chosen(command, parsed.tags)
    if parsed.values:
        _options(use, turn)
    if default is not None and (
        len(parsed.operands) <= len(operands.front) or default[0].kind in _LANDS
    ):
        use.implied = True
        play(use, turn.get(default[0].kind, default[0]), known(default[1]))
        use.implied = False
    if parsed.operands:
        _operands(use, operands, turn)
    for each in does:
        _natural(use, each, operands)
    if "response" in parsed.tags:
        responses(use)
    if parsed.doubts or parsed.puts or parsed.reports:
        _doubtful(use, operands)
    if parsed.loose and command.runs:
        use.unknown("a word that can't be told may be an option that writes or runs something")


def natural(use: Use) -> None:
    """What a command does by its nature, and nothing that its words name."""
    operands, _, does, _ = _chosen(use.command, use.parsed.tags)
    for each in does:
        _natural(use, each, operands)


_NO_TURN: Final[Mapping[str, Role]] = {}


def _doubtful(use: Use, operands: Operands) -> None:
    """Values of options that the table doesn't know."""
    command = use.command
    if command.options or command.reader or operands.middle != _TEXT:
        role = _EITHER if operands.middle == _EITHER else _DOUBT
        for value in use.parsed.doubts:
            play(use, role, value)
        for value in use.parsed.puts:
            play(use, _FILL, value)
        for value in use.parsed.reports:
            play(use, _REPORT, value)


def _options(use: Use, turn: Mapping[str, Role]) -> None:
    """Values of options: first those that say what the others mean (`-C DIR`)."""
    values = use.parsed.values
    for option, value in values:
        if option.role is not None and option.role.kind in _FIRST:
            play(use, option.role, value)
    for option, value in values:
        role = option.role
        if role is not None and role.kind not in _FIRST:
            use.aside = True
            play(use, turn.get(role.kind, role), value)
            use.aside = False


def _chosen(
    command: Command, tags: set[str]
) -> tuple[Operands, tuple[Role, str] | None, Iterable[Does], Mapping[str, Role]]:
    """What holds under the tags that are set."""
    operands, default = command.operands, command.default
    does = list(command.does)
    turn: dict[str, Role] = {}
    for overlay in command.when:
        if _fits(overlay, tags):
            operands = overlay.operands or operands
            default = overlay.default or default
            does.extend(overlay.does)
            turn.update(overlay.turn)
    return operands, default, does, turn


def _fits(overlay: Overlay, tags: set[str]) -> bool:
    return overlay.needs <= tags and not (overlay.without & tags)


def _natural(use: Use, does: Does, operands: Operands) -> None:
    """An effect that a command has by its nature."""
    if does.act is Act.SEND:
        middle = operands.middle
        named = GUESSED not in use.tags and (middle is None or middle.kind not in _STARTS)
        words = plain_words(use.parsed.operands[len(operands.front) :]) if named else ()
        use.send(None, does.reason, words)
    else:
        use.emit(does.act, does.reason, severe=does.severe)


def _operands(use: Use, operands: Operands, turn: Mapping[str, Role]) -> None:
    rest: Sequence[Value] = use.parsed.operands
    front, middle, back = operands.front, operands.middle, operands.back
    if front:
        for role, value in zip(front, rest, strict=False):
            play(use, turn.get(role.kind, role), value)
        rest = rest[len(front) :]
        if not rest:
            return
    if not back:
        if middle is not None:
            _middle(use, turn.get(middle.kind, middle), rest)
        return
    if "into" in use.tags:
        back = ()
    count = len(back) if back and (len(rest) > len(back) or middle is None) else 0
    inner, last = rest[: len(rest) - count], rest[len(rest) - count :]
    if middle is not None and inner:
        _middle(use, turn.get(middle.kind, middle), inner)
    for role, value in zip(back, last, strict=False):
        actual = turn.get(role.kind, role)
        if actual.kind in _ARRIVES:
            arrive(use, actual.kind, value, inner)
        else:
            play(use, actual, value)


def _start(use: Use, words: Sequence[Value]) -> None:
    """The words of a command, or of a text for a shell (`flock FILE -c TEXT`).

    With the tag `behind` the command stands behind `--` or `-c` (`nix shell NAME… -c COMMAND`).
    """
    if "behind" in use.tags and use.parsed.before is not None:
        use.start(use.parsed.operands[use.parsed.before :])
    elif "behind" in use.tags and "direct" not in use.tags:
        texts = [each.only for each in words]
        at = next((at for at, each in enumerate(texts) if each in _BEHIND), len(words))
        rest = words[at + 1 :]
        if len(rest) == 1 and texts[at] != "--" and " " in rest[0].texts[0].text:
            use.script(rest[0])
        else:
            use.start(rest)
    elif words[0].only in {"-c", "--command"} and len(words) > 1:
        use.script(words[1])
    elif "sole" in use.tags and len(words) == 1:
        use.script(words[0])
    else:
        use.start(words)


def _middle(use: Use, role: Role, words: Sequence[Value]) -> None:
    if role.kind == "command":
        _start(use, words)
    elif role.kind == "line":
        use.script(joined(words))
    elif role.kind == "revision" and use.parsed.before is not None:
        # git's operands are revisions before `--`, and paths after it.
        skipped = len(use.parsed.operands) - len(words)
        for at, value in enumerate(words, skipped):
            play(use, _PATHSPEC if at >= use.parsed.before else role, value)
    elif role.kind != "text":
        for value in words:
            play(use, role, value)
