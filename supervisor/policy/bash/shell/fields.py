"""Words to fields: braces, splitting, globs, and the ways that a word may go."""

import re
from typing import Final

from supervisor.policy.bash.shell.algebra import alone, escaped, of, telling, union
from supervisor.policy.bash.shell.braces import braced
from supervisor.policy.bash.shell.expand import Machine, tilde, tilded, value_of
from supervisor.policy.bash.shell.parameters import DEFAULTS, defaulted, elements, listed
from supervisor.policy.bash.shell.syntax import (
    Literal,
    Parameter,
    Parts,
    Piece,
    Variable,
    Word,
)
from supervisor.policy.bash.value import HOLE, MOST_TEXTS, Text, Value

DEFAULT_IFS: Final = " \t\n"
_LIKE_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=(?=~)")
_EXTENDED: Final = re.compile(r"[+@!]\(")
Token = tuple[str, bool, bool, str | None]
"""A text, whether it is quoted, whether it may be any number of words; its pattern, if the text
itself stands for the names that match one."""

_MOST_WAYS: Final = 8
_MOST_TELLING: Final = 512
_ANY: Final = Text(HOLE, many=True)
_BREAK: Final[Token] = ("", False, False, None)
"""Ends a field, if one was begun."""
_HARD: Final[Token] = ("\n", True, True, None)
"""Ends a field, even an empty one."""


def _matches(text: str) -> bool:
    """Whether the shell would match an unquoted text against file names."""
    if "*" in text or "?" in text:
        return True
    if "[" in text and text.rfind("]") > text.find("[") + 1:
        return True
    return "(" in text and _EXTENDED.search(text) is not None


class _Building:
    """The fields that a word becomes, while they are made."""

    __slots__ = ("fields", "many", "open", "segments")

    def __init__(self) -> None:
        self.fields: list[Text] = []
        self.segments: list[tuple[str, bool, str | None]] = []
        self.open = False
        self.many = False

    def followed(self, way: list[Token], *, globbing: bool) -> "_Building":
        """This one with what follows; it stays as it is."""
        other = _Building()
        other.fields = list(self.fields)
        other.segments = list(self.segments)
        other.open = self.open
        other.many = self.many
        for token in way:
            other.add(token, globbing=globbing)
        return other

    def add(self, token: Token, *, globbing: bool) -> None:
        if token is _BREAK or token is _HARD:
            if self.open or token is _HARD:
                self.close(globbing=globbing)
            return
        text, quoted, many, pattern = token
        if text or quoted:
            self.segments.append((text, quoted, pattern))
            self.open = True
            self.many = self.many or many

    def close(self, *, globbing: bool) -> None:
        segments = self.segments
        if len(segments) == 1:
            text, quoted, pattern = segments[0]
            if pattern is None and globbing and not quoted and _matches(text):
                pattern = text
        else:
            text = "".join([each for each, _, _ in segments])
            pattern = None
            bracket = "[" in text and "]" in text
            for each, quoted, given in segments:
                if given is not None or (
                    globbing and not quoted and (_matches(each) or (bracket and "[" in each))
                ):
                    pattern = "".join(
                        given
                        if given is not None
                        else one
                        if globbing and not quoted
                        else escaped(one)
                        for one, quoted, given in segments
                    )
                    break
        self.fields.append(Text(text, pattern, self.many))
        self.segments = []
        self.open = self.many = False


def fields(machine: Machine, word: Word) -> tuple[list[tuple[Text, ...]], bool]:
    """The fields that a word becomes, for each way it may go; and whether data is among them."""
    parts = word.parts
    words = [parts]
    for piece in parts:
        if type(piece) is Literal and not piece.quoted and "{" in piece.text:
            spread = braced(parts)
            if spread is None:
                return _shortened(machine, parts)
            words = spread
            break
    if len(words) == 1:
        return _word_fields(machine, words[0])
    ways: list[tuple[Text, ...]] = [()]
    from_data = False
    for each in words:
        found, data = _word_fields(machine, each)
        from_data = from_data or data
        if len(ways) * len(found) > MOST_TEXTS:
            texts = (text for way in (*ways, *found) for text in way)
            return [(_ANY, *telling(texts, MOST_TEXTS))], from_data
        ways = [before + after for before in ways for after in found]
    return ways, from_data


def _shortened(machine: Machine, parts: Parts) -> tuple[list[tuple[Text, ...]], bool]:
    """A word with braces that becomes too many words: any number, and those that tell most."""
    texts: list[Text] = []
    from_data = False
    for each in braced(parts, shortened=True) or ():
        found, data = _word_fields(machine, each)
        from_data = from_data or data
        texts += (text for way in found for text in way)
    return [(_ANY, *telling(texts, _MOST_TELLING))], from_data


def _word_fields(machine: Machine, parts: Parts) -> tuple[list[tuple[Text, ...]], bool]:
    building = [_Building()]
    from_data = False
    globbing = machine.scope.globbing
    for position, piece in enumerate(parts):
        if type(piece) is Literal:
            ways = _literal_ways(
                machine, piece, first=not position, last=position == len(parts) - 1
            )
        else:
            ways, data = _tokens(machine, piece)
            from_data = from_data or data
        if len(ways) == 1:
            for one in building:
                for token in ways[0]:
                    one.add(token, globbing=globbing)
            continue
        if len(building) * len(ways) > MOST_TEXTS:
            ways = [[(HOLE, False, True, None)], *ways[: MOST_TEXTS // len(building) - 1]]
        building = [one.followed(way, globbing=globbing) for one in building for way in ways]
    for one in building:
        if one.open:
            one.close(globbing=globbing)
    return list(dict.fromkeys(tuple(one.fields) for one in building)), from_data


def _literal_ways(
    machine: Machine, piece: Literal, *, first: bool, last: bool
) -> list[list[Token]]:
    """A piece that stands there as it is, but for a tilde at its start."""
    text = piece.text
    if first and not piece.quoted and text.startswith("~") and (last or "/" in text):
        home = tilde(machine, text)
        if home is not None:
            rest = text.partition("/")[2]
            if not _matches(rest):
                return [[(each.text, True, False, each.pattern)] for each in home.texts]
            size = len(rest)
            return [
                [(each.text[:-size], True, False, None), (rest, False, False, None)]
                for each in home.texts
            ]
    if first and not piece.quoted and "=~" in text and (name := _LIKE_ASSIGNMENT.match(text)):
        end = name.end()
        value = tilded(machine, text[end:], first=True, last=last, assignment=True)
        return [[(text[:end] + each.text, False, False, None)] for each in value.texts]
    return [[(text, piece.quoted, not piece.quoted and HOLE in text, None)]]


def _tokens(machine: Machine, piece: Piece) -> tuple[list[list[Token]], bool]:
    """The ways an expansion may go, each as tokens; and whether it is data."""
    if isinstance(piece, Variable | Parameter) and listed(piece):
        return _list_tokens(machine, piece)
    if isinstance(piece, Parameter) and piece.operator in DEFAULTS and not piece.quoted:
        return _default_tokens(machine, piece)
    value = value_of(machine, piece)
    if getattr(piece, "quoted", True):
        return [[(each.text, True, False, each.pattern)] for each in value.texts], value.from_data
    ifs = _ifs(machine)
    return [split(each, ifs) for each in value.texts], value.from_data


def _default_tokens(machine: Machine, piece: Parameter) -> tuple[list[list[Token]], bool]:
    """`${x:-word}` and its kin: quotes in the word hold."""
    ifs = _ifs(machine)
    from_data = False
    found: list[list[Token]] = [[]]
    for part in piece.argument:
        more: list[list[Token]]
        if isinstance(part, Literal):
            quoted: list[Token] = [(part.text, True, False, None)]
            more = [quoted if part.quoted else split(Text(part.text), ifs)]
        else:
            more, data = _tokens(machine, part)
            from_data = from_data or data
        found = [before + after for before in found for after in more][:MOST_TEXTS]
    texts = ("".join([token[0] for token in way]) for way in found)
    kept, used = defaulted(machine, piece, of(texts, from_data=from_data))
    ways: list[list[Token]] = []
    if kept is not None:
        ways = [split(each, ifs) for each in kept.texts]
        from_data = from_data or kept.from_data
    return ways + found if used else ways, from_data


def _list_tokens(machine: Machine, piece: Variable | Parameter) -> tuple[list[list[Token]], bool]:
    """`$@`, `${a[@]}` and their kin: a field for each element, or all in one for `"$*"`."""
    quoted = piece.quoted
    values = elements(machine, piece)
    if values is None:
        return _unlisted(machine, piece)
    joined = quoted and _starred(piece)
    between: Token = (_ifs(machine)[:1], True, False, None)
    if not joined:
        between = _HARD if quoted else _BREAK
    if any(len(value.texts) > 1 for value in values):
        ways = _several(values, between, _ifs(machine), quoted=quoted)
        return ways, any(each.from_data for each in values)
    tokens: list[Token] = [("", True, False, None)] if joined else []
    for position, value in enumerate(values):
        if position:
            tokens.append(between)
        if quoted:
            only = value.texts[0]
            tokens.append((only.text, True, only.many, only.pattern))
        else:
            tokens.extend(split(value.texts[0], _ifs(machine)))
    return [tokens], any(each.from_data for each in values)


def _unlisted(machine: Machine, piece: Variable | Parameter) -> tuple[list[list[Token]], bool]:
    """A list whose elements aren't known: any number of words, or what some of them may be."""
    name = "@" if piece.name == "*" else piece.name
    array = machine.scope.arrays.get(machine.scope.resolved(name), {})
    hole: Token = (HOLE, piece.quoted, True, None)
    ways: list[list[Token]] = [[hole]]
    for value in array.values():
        for each in value.texts:
            if each.text and each.text != HOLE and len(ways) < MOST_TEXTS:
                ways.append([(each.text, piece.quoted, False, each.pattern)])
    return ways, any(each.from_data for each in array.values())


def _several(values: list[Value], between: Token, ifs: str, *, quoted: bool) -> list[list[Token]]:
    """Elements of which some may be several texts: each way with few, else each text as a word."""
    ways: list[list[Token]] = [[]]
    for position, value in enumerate(values):
        texts = value.texts
        if len(ways) * len(texts) > _MOST_WAYS:
            row: list[Token] = []
            for each in texts:
                row += [between, *_one_element(each, ifs, quoted=quoted)]
            ways = [way + row[0 if way else 1 :] for way in ways]
            continue
        start = [between] if position else []
        ways = [
            [*way, *start, *_one_element(each, ifs, quoted=quoted)]
            for way in ways
            for each in texts
        ]
    return ways


def _one_element(text: Text, ifs: str, *, quoted: bool) -> list[Token]:
    if not quoted:
        return split(text, ifs)
    return [(text.text, True, text.many or HOLE in text.text, text.pattern)]


def _starred(piece: Piece) -> bool:
    if isinstance(piece, Parameter) and piece.index:
        first = piece.index[0]
        return isinstance(first, Literal) and first.text == "*"
    return isinstance(piece, Variable | Parameter) and piece.name == "*"


def _ifs(machine: Machine) -> str:
    value = machine.scope.variables.get("IFS")
    only = alone(value) if value is not None else None
    return DEFAULT_IFS if only is None else only


def split(text: Text, ifs: str = DEFAULT_IFS) -> list[Token]:
    """An unquoted expansion's text, split as the shell does."""
    many = HOLE in text.text
    for each in ifs:
        if each in text.text:
            break
    else:
        return [(text.text, False, many, text.pattern)]
    tokens: list[Token] = []
    blank = "".join(each for each in ifs if each in DEFAULT_IFS)
    hard = "".join(each for each in ifs if each not in DEFAULT_IFS)
    plain: list[str] = []
    ended = False
    for each in text.text:
        if each not in ifs:
            plain.append(each)
            ended = False
            continue
        if plain:
            tokens.append(("".join(plain), False, many, None))
            plain = []
        if each in hard:
            if ended and tokens and tokens[-1] is _BREAK and blank:
                tokens.pop()
            tokens.append(_HARD)
        elif not tokens or tokens[-1] is not _HARD:
            tokens.append(_BREAK)
        ended = True
    if plain:
        tokens.append(("".join(plain), False, many, None))
    return tokens


def values(ways: list[tuple[Text, ...]], *, from_data: bool) -> list[tuple[Value, ...]]:
    """Ways of the same number of fields as one row of values; a row for each number."""
    if len(ways) == 1:
        return [tuple(Value((each,), from_data) for each in ways[0])]
    by_count: dict[int, list[tuple[Text, ...]]] = {}
    for way in ways:
        by_count.setdefault(len(way), []).append(way)
    return [
        tuple(union(Value((way[place],), from_data) for way in same) for place in range(count))
        for count, same in by_count.items()
    ]
