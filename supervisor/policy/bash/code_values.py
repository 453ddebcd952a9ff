"""Tokens of code → values: texts with holes, lists of such, numbers; None for what isn't known."""

import re
from collections.abc import Sequence
from typing import Final

from supervisor.policy.bash.awk_values import formatted
from supervisor.policy.bash.code_decoded import decoded, unpacked
from supervisor.policy.bash.code_tokens import Token, Tokens
from supervisor.policy.bash.roles_of_code import Glob
from supervisor.policy.bash.value import HOLE

_JOINS: Final = frozenset("+.,~")
_OPEN: Final = frozenset("([{")
_CLOSE: Final = frozenset(")]}")
_LONGEST: Final = 128
"""Tokens of an expression that a name gets."""
_LONGEST_TEXT: Final = 4_096
"""Characters of a text that is put together."""
_LONGEST_CALL: Final = 1_024
"""Tokens of a call's arguments."""
_LONGEST_NAME: Final = 24
"""Tokens of what a method belongs to."""
_MOST_ARGUMENTS: Final = 32_768
"""The same of all calls in one piece of code, those within others counted again."""
_NAMED: Final = 3
"""Tokens of the shortest argument with a name (`shell: true`)."""
_TEXTS: Final = frozenset({"raw", "text"})
_SIGILS: Final = "$@%&"
_ENDS: Final = frozenset({"if", "unless", "and", "or", "for", "foreach", "while", "until"})
_LISTS: Final = frozenset({"c", "list", "array", "Array", "Array.of", "vector"})
"""Calls that make a list of their arguments."""
_PUTS_TOGETHER: Final = frozenset({"string", "paste0", "concat", "String.concat"})
"""Calls that make one text of their arguments."""
_FORMATTED: Final = [")", ":", "format", "("]
"""Lua's `("…"):format(…)`, from its first closing bracket on."""
_FORMATS: Final = frozenset({"sprintf", "format"})
_CONCAT: Final = "concat"
_TURNED: Final = [".", "reverse"]
_TURNS: Final = re.compile(r"(?:^|\W)(?:reverse|strrev|rev)$")
_SAME: Final = frozenset({"toString", "to_s", "to_str", "trim", "strip", "chomp", "valueOf"})
"""Methods that leave a text as it is, for our purposes."""
_JOINS_TEXTS: Final = frozenset({"join", "implode"})
_UNPACKS: Final = frozenset({"pack", "hex2bin"})
_NO_LETTERS: Final = re.compile(r"\W+")
_EMPTY_BRACKETS: Final = ["(", ")"]
_JOINS_PATHS: Final = re.compile(r"(?:^|\W)(?:join|joinpath|resolve|file\.path|path_join)$")
_MAKES_PATHS: Final = re.compile(
    r"(?:^|\W)(?:path|posix|File)\W+(?:join|resolve|normalize|expand_path)$"
)
_LISTS_FOLDER: Final = "list.files"
_GLOBS: Final = frozenset(
    {"Dir", "Dir.glob", "glob", "fs.globSync", "globSync", "glob.sync", _LISTS_FOLDER}
)
"""Calls, and what is asked by `[…]`, that give the files that a text fits."""
_WORDS: Final = ("%w", "qw", "%i")


class Values:
    """What expressions of some code are, as far as constants tell."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.lists: dict[str, list[object]] = {}
        self.left = _MOST_ARGUMENTS
        """Tokens of arguments that may still be looked at; none left: the code isn't read whole."""

    def until(self, at: int) -> list[Token]:
        """The tokens up to the end of an expression."""
        depth = 0
        end = at
        every = self.tokens.all
        last = min(len(every), at + _LONGEST)
        while end < last:
            text = every[end].text
            if every[end].kind == "sign":
                depth += (text in _OPEN) - (text in _CLOSE)
                if depth < 0 or (text == ";" and depth == 0):
                    break
            end += 1
        return every[at:end]

    def arguments(self, at: int) -> tuple[list[object], dict[str, object]]:
        """The arguments behind a call's name, each folded if it is a constant."""
        groups = [each for each in self.groups(at) if each]
        named: dict[str, object] = {
            name.text: value.value
            for group in groups
            if len(group) >= _NAMED
            for name, colon, value in zip(group, group[1:], group[2:], strict=False)
            if colon.text == ":" and value.value is not None
        }
        values: list[object] = []
        for each in groups:
            spread = each[0].text in {"*", "."} or each[0].text[:1] == "@"
            given = [one for one in each if one.text not in {"*", "."}] if spread else each
            whole = self._list_of(given) if spread and len(given) == 1 else None
            if whole is not None:
                values.extend(whole)
            else:
                values.append(self.folded(each))
        return values, named

    def groups(self, at: int) -> list[list[Token]]:
        """The tokens of each argument."""
        tokens = self.tokens.all
        paren = self.tokens.text(at) == "("
        at += paren
        groups: list[list[Token]] = [[]]
        depth = 0
        last = min(len(tokens), at + min(_LONGEST_CALL, self.left))
        first = at
        while at < last:
            text = tokens[at].text
            if text in _OPEN:
                depth += 1
            elif text in _CLOSE:
                if depth == 0:
                    break
                depth -= 1
            elif depth == 0 and (text == ";" or (not paren and text in _ENDS)):
                break
            if text == "," and depth == 0:
                groups.append([])
            else:
                groups[-1].append(tokens[at])
            at += 1
        self.left -= at - first
        return groups

    def owner(self, at: int) -> object:
        """What a method belongs to: the argument of the call in front (`Pathname("x").f`)."""
        end = at - 2 if self.tokens.text(at - 1) in {".", "->", ":"} else at - 1
        start = end
        while start > max(end - _LONGEST_NAME, 0) and self.tokens.text(start) != "(":
            start -= 1
        return self.folded(self.tokens.all[start + 1 : end]) if start < end else None

    def grow(self, at: int, name: str) -> None:
        """`push @list, "x"`, `list.push("x")`: a list that is known gets more."""
        groups = [each for each in self.groups(at) if each]
        owner = name.rpartition(".")[0]
        if not owner and groups:
            owner, groups = groups[0][0].text, groups[1:]
        held = self.lists.get(owner.lstrip(_SIGILS))
        if held is not None and len(held) < _LONGEST:
            held.extend(self.folded(each) for each in groups)

    def _list_of(self, tokens: Sequence[Token]) -> list[object] | None:
        return self.lists.get(tokens[0].text.lstrip(_SIGILS)) if tokens else None

    def listed(self, tokens: Sequence[Token]) -> list[object] | None:
        """The list that stands there: `("a", "b")`, `["a", "b"]`, `qw(a b)`."""
        if not tokens:
            return None
        first = tokens[0]
        joins = [each.text for each in tokens[1:3]] == [".", "join"]
        if first.kind == "quoted" and first.text[:2] in _WORDS and not joins:
            return list((first.value or "").split())
        if first.text in {"(", "["} and _encloses(tokens):
            return [self.folded(group) for group in _parted(tokens[1:-1])]
        if first.text in _LISTS and tokens[1:2] and tokens[1].text == "(" and _encloses(tokens[1:]):
            return [self.folded(group) for group in _parted(tokens[2:-1])]
        return None

    def _inside(self, tokens: Sequence[Token]) -> object:
        """The list that an object holds (`{args: ["-rf", "/"]}`)."""
        depth = 0
        found: list[object] = []
        for each in tokens:
            depth += (each.text == "[") - (each.text == "]")
            if depth and each.value is not None:
                found.append(each.value)
        return found or None

    def folded(self, tokens: Sequence[Token]) -> object:  # noqa: C901, PLR0911, PLR0912 - a case a kind
        """A text with holes, a list of such, or None."""
        if not tokens:
            return None
        if len(tokens) == 1 and tokens[0].kind in _TEXTS:
            return _bounded(tokens[0].value or "")
        if len(tokens) == 1 and tokens[0].kind == "quoted" and tokens[0].text[:2] in _WORDS:
            return list((tokens[0].value or "").split())
        home = None
        if self.tokens.says_home:
            home = next((at for at, one in enumerate(tokens) if one.text.endswith("homedir")), None)
        if home is not None:
            glue = "/" if _JOINS_PATHS.search(tokens[0].text) else ""
            rest = (each.value for each in tokens[home + 1 :] if each.value)
            return self.tokens.home + "".join(f"{glue}{each}" for each in rest)
        if tokens[0].text == "{":
            return self._inside(tokens)
        if tokens[0].text in _LISTS and len(tokens) > 1:
            whole = self.listed(tokens)
            if whole is not None:
                return whole
        joined = self._joined(tokens)
        if joined is not None:
            return joined
        if tokens[0].text == "[" and tokens[-1].text == "]" and _encloses(tokens):
            return [self.folded(group) for group in _parted(tokens[1:-1])]
        if tokens[0].text == "[" and tokens[-1].text in {"]", "}"}:
            return [each.value for each in tokens if each.value is not None]
        if len(tokens) == 1 and tokens[0].kind == "name":
            whole = self._list_of(tokens)
            if whole is not None:
                return whole
        changed = self._path_made(tokens) if tokens[-1].text in _CLOSE else None
        if changed is None:
            changed = self._put_in(tokens)
        if changed is None:
            changed = self._changed(tokens)
        if changed is not None:
            return changed
        if tokens[-1].kind == "number" and tokens[-1].text.isdigit():
            sign = [each.text for each in tokens[:-1]]
            if sign in ([], ["-"]):
                return int(tokens[-1].text) * (-1 if sign else 1)
        return _bounded("".join(self._pieces(tokens)))

    def _pieces(self, tokens: Sequence[Token]) -> list[str]:
        """The texts that are put together, with holes for what isn't known."""
        names = self.tokens.names
        pieces: list[str] = []
        skip = 0
        groups: list[bool] = []
        """For each bracket that is open whether it only groups (`"." . ("env")`)."""
        for at, each in enumerate(tokens):
            if at < skip:
                continue
            if each.text in _SAME and at and tokens[at - 1].text == ".":
                brackets = [one.text for one in tokens[at + 1 : at + 3]] == _EMPTY_BRACKETS
                skip = at + 3 if brackets else at + 1
                continue
            told = decoded(tokens, at) if each.kind == "name" else None
            if told is not None:
                pieces.append(told[0])
                skip = told[1]
            elif each.value is not None:
                turned = [one.text for one in tokens[at + 1 : at + 3]] == _TURNED
                pieces.append(each.value[::-1] if turned else each.value)
                skip = at + 3 if turned else skip
            elif each.text == "(":
                groups.append(bool(at) and tokens[at - 1].text in _JOINS)
                pieces += [] if groups[-1] else [HOLE]
            elif each.text == ")":
                pieces += [] if groups and groups.pop() else [HOLE]
            elif each.kind == "name" and each.text.lstrip(_SIGILS) in names:
                pieces.append(names[each.text.lstrip(_SIGILS)])
            elif each.text not in _JOINS:
                pieces.append(HOLE)
        return pieces

    def _changed(self, tokens: Sequence[Token]) -> str | None:
        """`string(".", "env")`, `join(" ", …)`, `pack("H*", …)`, or one text turned round."""
        called = len(tokens) > 1 and tokens[1].text == "(" and _encloses(tokens[1:])
        if called and tokens[0].text in _JOINS_TEXTS:
            return self._put_together(tokens)
        if called and tokens[0].text in _UNPACKS and len(tokens) > 2:  # noqa: PLR2004 - `f(`
            return unpacked([each.value for each in tokens[2:-1] if each.value])
        if tokens[0].kind == "quoted" and tokens[0].text[:2] in _WORDS and len(tokens) > 1:
            names = [each.text for each in tokens[1:] if each.kind == "name"]
            if names == ["join"]:
                mark = next((each.value for each in tokens[1:] if each.value is not None), "")
                return mark.join((tokens[0].value or "").split())
        if tokens[0].text in _PUTS_TOGETHER and len(tokens) > 1 and _encloses(tokens[1:]):
            pieces = [self.folded(group) for group in _parted(tokens[2:-1])]
            return "".join(each if isinstance(each, str) else HOLE for each in pieces)
        if self.tokens.says_turn and any(
            each.kind == "name" and _TURNS.search(each.text) for each in tokens
        ):
            texts = [each.value for each in tokens if each.value]
            return texts[0][::-1] if len(texts) == 1 and HOLE not in texts[0] else None
        return None

    def _put_in(self, tokens: Sequence[Token]) -> str | None:
        """Texts that are put into others: `sprintf(…)`, `"…" % x`, `a.concat(b)`."""
        called = len(tokens) > 1 and tokens[1].text == "(" and _encloses(tokens[1:])
        if called and _NO_LETTERS.split(tokens[0].text)[-1] in _FORMATS:
            return self._formatted(_parted(tokens[2:-1]))
        if len(tokens) > 2 and tokens[1].text == "%" and tokens[0].kind in _TEXTS:  # noqa: PLR2004
            return self._formatted([[tokens[0]], *_parted(_bare(tokens[2:]))])
        if [each.text for each in tokens[2:6]] == _FORMATTED and tokens[0].text == "(":
            return self._formatted([[tokens[1]], *_parted(tokens[6:-1])])
        if _CONCAT in tokens[0].text or (len(tokens) > 1 and tokens[1].text == "."):
            return self._put_behind(tokens)
        return None

    def _formatted(self, groups: list[list[Token]]) -> str | None:
        """`sprintf(".%s", "env")`, `".%s" % "env"`."""
        texts = [self.folded(each) for each in groups]
        if not texts or not isinstance(texts[0], str):
            return None
        return _bounded(formatted(texts[0], [e if isinstance(e, str) else HOLE for e in texts[1:]]))

    def _put_behind(self, tokens: Sequence[Token]) -> str | None:
        """`".".concat("env")`, `name.concat("env")`."""
        at = next((at for at, each in enumerate(tokens) if each.text.endswith(_CONCAT)), None)
        if at is None or at + 1 >= len(tokens) or not _encloses(tokens[at + 1 :]):
            return None
        name, dot, _ = tokens[at].text.rpartition(".")
        first = self.tokens.names.get(name) if dot else self.folded(tokens[: max(at - 1, 0)])
        texts = [first, *(self.folded(group) for group in _parted(tokens[at + 2 : -1]))]
        return _bounded("".join(each if isinstance(each, str) else HOLE for each in texts))

    def _path_made(self, tokens: Sequence[Token]) -> str | None:
        """`path.resolve("/", "x")`, `File.join("a", "b")`; `Dir.glob("/*")`, `Dir["/*"]`."""
        opens = next(
            (
                at
                for at in range(1, len(tokens))
                if tokens[at].text in _OPEN and _encloses(tokens[at:])
            ),
            None,
        )
        if opens is None:
            return None
        name = "".join(each.text for each in tokens[:opens])
        globs = name in _GLOBS
        if not globs and not _MAKES_PATHS.search(name):
            return None
        pieces = [self.folded(each) for each in _parted(tokens[opens + 1 : -1])]
        if not pieces or (globs and not isinstance(pieces[0], str)):
            return None
        if globs:
            return Glob(f"{pieces[0]}/*" if name == _LISTS_FOLDER else pieces[0])
        path = ""
        for each in pieces:
            text = each if isinstance(each, str) else HOLE
            path = text if not path or text.startswith("/") else f"{path.rstrip('/')}/{text}"
        return path

    def _put_together(self, tokens: Sequence[Token]) -> str | None:
        """`join(" ", "a", qw(b c))`, `implode(" ", ["a", "b"])`."""
        groups = _parted(tokens[2:-1])
        mark = self.folded(groups[0]) if groups else None
        if groups and len(groups[0]) == 1 and groups[0][0].value == "":
            mark = ""
        texts: list[object] = []
        for group in groups[1:]:
            value = self.listed(group)
            if value is None:
                one = self.folded(group)
                value = one if isinstance(one, list) else [one]
            texts.extend(value)
        if not isinstance(mark, str) or not texts:
            return None
        return mark.join(each if isinstance(each, str) else HOLE for each in texts)

    def _joined(self, tokens: Sequence[Token]) -> str | None:
        """`["sudo", "id"].join(" ")`."""
        if tokens[0].text != "[":
            return None
        at = next((at for at, each in enumerate(tokens) if each.text == "]"), None)
        if at is None:
            return None
        names = [each.text for each in tokens[at + 1 :] if each.kind == "name"]
        if names != ["join"]:
            return None
        mark = next((each.value for each in tokens[at + 1 :] if each.value is not None), "")
        pieces = [self.folded(each) for each in _parted(tokens[1:at])]
        return mark.join(each if isinstance(each, str) else HOLE for each in pieces)


def _bare(tokens: Sequence[Token]) -> Sequence[Token]:
    """What stands between brackets, if they are around all of it."""
    return tokens[1:-1] if tokens[0].text in _OPEN and _encloses(tokens) else tokens


def _bounded(text: str) -> str | None:
    """A text, if it says anything and isn't too long."""
    return text if text.strip(HOLE) and len(text) <= _LONGEST_TEXT else None


def _encloses(tokens: Sequence[Token]) -> bool:
    """Whether the first bracket is closed by the last token."""
    depth = 0
    for at, each in enumerate(tokens):
        if each.kind == "sign":
            depth += (each.text in _OPEN) - (each.text in _CLOSE)
        if depth == 0:
            return at == len(tokens) - 1
    return False


def _parted(tokens: Sequence[Token]) -> list[list[Token]]:
    """Tokens between commas."""
    groups: list[list[Token]] = [[]]
    depth = 0
    for each in tokens:
        if each.kind == "sign":
            depth += (each.text in _OPEN) - (each.text in _CLOSE)
        if each.text == "," and depth == 0:
            groups.append([])
        else:
            groups[-1].append(each)
    return [each for each in groups if each]
