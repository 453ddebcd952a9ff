"""Constants of Python code: what an expression is, if it can be told without running it."""

import ast
import base64
import binascii
import codecs
import sys
from collections.abc import Container
from typing import Final

from supervisor.policy.bash.given import NOTHING_GIVEN, Given
from supervisor.policy.bash.roles_of_code import Glob
from supervisor.policy.bash.value import HOLE

LONGEST: Final = 4_096
"""Characters of a folded text."""


_CONSTANTS: Final = {"os.sep": "/", "os.path.sep": "/", "os.curdir": ".", "os.pardir": "..",
                     "posixpath.sep": "/"}  # fmt: skip
_READS_INPUT: Final = frozenset(
    {"sys.stdin.read", "sys.stdin.readline", "sys.stdin.buffer.read", "sys.stdin.buffer.readline",
     "input"}
)  # fmt: skip


_MOST_ELEMENTS: Final = 512
"""Elements of a folded list, with those of the lists in it."""


def _size(value: object) -> int:
    """How many elements there are; each list in it has been held against the limit before."""
    if isinstance(value, dict):
        return 1 + sum(_size(each) for each in value.values())
    return 1 + sum(_size(each) for each in value) if isinstance(value, list) else 1


class Folder:
    """Names with constant values, and other names of modules and functions."""

    def __init__(
        self, home: str, functions: Container[str] = frozenset(), given: Given = NOTHING_GIVEN
    ) -> None:
        """`functions` are the names that mean something by themselves, as `open` does."""
        self.given = given
        self.is_used = False
        """Whether input or variables from outside were taken for what they seem to be."""
        self.names: dict[str, object] = {}
        self.aliases: dict[str, str] = {}
        self.home = home
        self.functions = functions

    def alias(self, name: str, dotted: str) -> None:
        """Another name of a module or function."""
        self.aliases[name] = dotted

    def bind(self, name: str, value: ast.expr) -> None:
        """A name gets a value."""
        folded = self(value)
        dotted = self.dotted(value)
        self.names.pop(name, None)
        if folded is not None:
            self.names[name] = folded
        elif dotted is not None and (self.is_module(dotted) or dotted in self.functions):
            self.aliases[name] = dotted

    def grow(self, node: ast.Call) -> None:
        """`words.append(X)`, `words.extend(X)`: a list that is known gets more."""
        func = node.func
        if not (isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and node.args):
            return
        own, more = self.names.get(func.value.id), self(node.args[0])
        if isinstance(own, list) and func.attr == "append":
            self.names[func.value.id] = [*own, more]
        elif isinstance(own, list) and func.attr == "extend" and isinstance(more, list):
            self.names[func.value.id] = [*own, *more]

    def is_module(self, dotted: str) -> bool:
        """Whether the name begins with a module that was imported."""
        heads = {each.partition(".")[0] for each in self.aliases.values()}
        return dotted.partition(".")[0] in heads or dotted.startswith(("os.", "__import__"))

    def dotted(self, node: ast.expr) -> str | None:
        """The full name of what an expression refers to (`o.system` → `os.system`)."""
        if isinstance(node, ast.Name):
            return self.aliases.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            left = self.dotted(node.value)
            return None if left is None else f"{left}.{node.attr}"
        if isinstance(node, ast.Subscript):
            return self._looked_up(node)
        if isinstance(node, ast.Call):
            name = self.dotted(node.func)
            first = self(node.args[0]) if node.args else None
            if name in {"__import__", "importlib.import_module"} and isinstance(first, str):
                return first
            if name == "getattr" and len(node.args) > 1:
                left, attribute = self.dotted(node.args[0]), self(node.args[1])
                if left is not None and isinstance(attribute, str):
                    return f"{left}.{attribute}"
        return None

    def _looked_up(self, node: ast.Subscript) -> str | None:
        """`os.__dict__["system"]`, `vars(os)["system"]`, `sys.modules["os"]`."""
        key, within = self(node.slice), node.value
        if not isinstance(key, str):
            return None
        if isinstance(within, ast.Call) and self.dotted(within.func) == "vars" and within.args:
            owner = self.dotted(within.args[0])
            return None if owner is None else f"{owner}.{key}"
        owner = self.dotted(within) or ""
        if owner == "sys.modules":
            return key
        return f"{owner.removesuffix('.__dict__')}.{key}" if owner.endswith(".__dict__") else None

    def __call__(self, node: ast.expr) -> object:
        """A text, a number, a list of such, or None; a text may have holes."""
        value = self._fold(node)
        if isinstance(value, str) and len(value) > LONGEST:
            return None
        if isinstance(value, (list, dict)) and _size(value) > _MOST_ELEMENTS:
            return None
        return value

    def _fold(self, node: ast.expr) -> object:  # noqa: C901, PLR0911, PLR0912 - one case a kind
        if isinstance(node, ast.Constant):
            if isinstance(node.value, bytes):
                return node.value.decode("utf-8", "replace")
            return node.value if isinstance(node.value, (str, int)) else None
        if isinstance(node, ast.Name):
            found = self.names.get(node.id)
            return found if found is not None else self._from_outside(node)
        if isinstance(node, ast.Attribute):
            return self._from_outside(node)
        if isinstance(node, ast.BinOp):
            return self._operation(node)
        if isinstance(node, ast.JoinedStr):
            return "".join(self._piece(each) for each in node.values)
        if isinstance(node, (ast.List, ast.Tuple)):
            return [one for each in node.elts for one in self._element(each)]
        if isinstance(node, ast.Subscript):
            return self._part(node)
        if isinstance(node, ast.Dict):
            keys = [None if each is None else self(each) for each in node.keys]
            pairs = zip(keys, node.values, strict=True)
            return {key: self(each) for key, each in pairs if isinstance(key, (str, int))}
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.UnaryOp):
            return self._number(node)
        if isinstance(node, ast.IfExp):
            return self(node.body)
        if isinstance(node, ast.Await):
            return self(node.value)
        return None

    def _element(self, node: ast.expr) -> list[object]:
        """The elements that stand at a place of a list: of `*LIST` all of its own."""
        if not isinstance(node, ast.Starred):
            return [self(node)]
        inner = self(node.value)
        return inner if isinstance(inner, list) else [inner]

    def _from_outside(self, node: ast.expr) -> object:
        """`sys.argv`, and the lines of `sys.stdin`, as far as they are known."""
        given = self.given
        constant = _CONSTANTS.get(self.dotted(node) or "")
        if constant is not None:
            return constant
        if given.words and self.dotted(node) == "sys.argv":
            return ["-c", *given.words]
        if given.text is not None and self.dotted(node) in {"sys.stdin", "sys.stdin.buffer"}:
            self.is_used = True
            return list(given.lines)
        return None

    def _variable(self, name: str) -> str | None:
        found = self.given.variables.get(name)
        self.is_used = self.is_used or found is not None
        return found

    def _piece(self, node: ast.expr) -> str:
        value = self(node.value if isinstance(node, ast.FormattedValue) else node)
        return str(value) if isinstance(value, (str, int)) else HOLE

    def _operation(self, node: ast.BinOp) -> object:  # noqa: PLR0911 - one case an operator
        left, right = self(node.left), self(node.right)
        if isinstance(node.op, ast.Div) and isinstance(right, str):
            return (
                right if right.startswith("/") else f"{left if left is not None else HOLE}/{right}"
            )
        if isinstance(node.op, ast.Mod) and isinstance(left, str):
            values = right if isinstance(right, list) else [right]
            for each in values:
                left = left.replace("%s", str(each) if each is not None else HOLE, 1)
            return left
        if isinstance(node.op, ast.Add):
            if isinstance(left, list) and isinstance(right, list):
                return [*left, *right]
            if isinstance(left, str) or isinstance(right, str):
                return f"{HOLE if left is None else left}{HOLE if right is None else right}"
            if isinstance(left, int) and isinstance(right, int):
                return left + right
        if isinstance(node.op, ast.Mult) and isinstance(left, str) and isinstance(right, int):
            return left * right if len(left) * max(right, 0) <= LONGEST else None
        return None

    def _part(self, node: ast.Subscript) -> object:
        value = self(node.value)
        if self.dotted(node.value) == "os.environ":
            name = self(node.slice)
            return self.home if name == "HOME" else self._variable(str(name)) or HOLE
        if isinstance(value, Glob):
            return value
        if isinstance(value, dict):
            key = self(node.slice)
            return value.get(key) if isinstance(key, (str, int)) else None
        if isinstance(value, (str, list)):
            if isinstance(node.slice, ast.Slice):
                bounds = [
                    None if each is None else self._number(each)
                    for each in (node.slice.lower, node.slice.upper, node.slice.step)
                ]
                return value[slice(*bounds)] if bounds[2] != 0 else None
            index = self._number(node.slice)
            if index is not None and -len(value) <= index < len(value):
                return value[index]
        return None

    def _number(self, node: ast.expr) -> int | None:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self._number(node.operand)
            return None if inner is None else -inner
        value = self(node) if not isinstance(node, ast.UnaryOp) else None
        return value if isinstance(value, int) else None

    def _call(self, node: ast.Call) -> object:  # noqa: C901, PLR0911, PLR0912 - one case a kind
        name = self.dotted(node.func) or ""
        values = [self(each) for each in node.args]
        texts = [each for each in values if isinstance(each, str)]
        last = node.func.attr if isinstance(node.func, ast.Attribute) else name.rpartition(".")[2]
        if name in {"bytes", "bytearray"} and values and isinstance(values[0], list):
            numbers = [each for each in values[0] if isinstance(each, int)]
            if len(numbers) == len(values[0]) and all(0 < each < 128 for each in numbers):  # noqa: PLR2004
                return "".join(map(chr, numbers))
        if name in {"str", "bytes", "os.fspath", "os.path.abspath", "os.path.realpath", "list",
                    "os.path.normpath", "open"}:  # fmt: skip
            return values[0] if values else ""
        if name in {"os.path.dirname", "os.path.basename"} and texts:
            folder, slash, end = texts[0].rpartition("/")
            return end if name == "os.path.basename" else folder or slash
        if name in {"os.path.expanduser", "os.path.expandvars"} and texts:
            text = texts[0].replace("$HOME", self.home).replace("${HOME}", self.home)
            return self.home + text[1:] if text.startswith("~") else text
        if name in {"glob.glob", "glob.iglob"} and texts:
            return Glob(texts[0])
        if isinstance(node.func, ast.Attribute) and (
            last == "iterdir" or (last in {"glob", "rglob"} and texts)
        ):
            base = self(node.func.value)
            pattern = "*" if last == "iterdir" else texts[0]
            return Glob(f"{base.rstrip('/') if isinstance(base, str) else HOLE}/{pattern}")
        if name in {"next", "sorted", "iter", "list"} and values and isinstance(values[0], Glob):
            return values[0]
        if name in {"pathlib.Path.home", "Path.home"}:
            return self.home
        if name in {"os.getcwd", "os.getcwdb", "pathlib.Path.cwd", "Path.cwd"}:
            return "."
        if last in {"Path", "PurePath", "PosixPath"} or name == "os.path.join":
            return self._path(values)
        if name in {"os.getenv", "os.environ.get", "os.environ.pop"} and texts:
            return self.home if texts[0] == "HOME" else self._variable(texts[0])
        if name in _READS_INPUT and self.given.text is not None:
            self.is_used = True
            return self.given.text if name.endswith(".read") else next(iter(self.given.lines), "")
        if name == "sys.stdin.readlines" and self.given.text is not None:
            self.is_used = True
            return list(self.given.lines)
        if name == "shlex.split" and texts:
            return texts[0].split()
        if (
            name == "chr"
            and values
            and isinstance(values[0], int)
            and 0 < values[0] <= sys.maxunicode
        ):
            return chr(values[0])
        if name == "map" and len(values) > 1 and isinstance(values[1], list):
            numbers = [
                each for each in values[1] if isinstance(each, int) and 0 < each <= sys.maxunicode
            ]
            return [chr(each) for each in numbers] if self.dotted(node.args[0]) == "chr" else None
        if name == "codecs.decode" and len(texts) > 1 and texts[1].lower() in {"rot13", "rot_13"}:
            return codecs.decode(texts[0], "rot13")
        if name in {"base64.b64decode", "base64.decodebytes", "bytes.fromhex"} and texts:
            return _decoded(name, texts[0])
        if isinstance(node.func, ast.Attribute):
            return self._method(node.func, values)
        return None

    def _path(self, values: list[object]) -> str:
        path = ""
        for each in values:
            text = each if isinstance(each, str) else HOLE
            path = text if text.startswith("/") or not path else f"{path.rstrip('/')}/{text}"
        return path or "."

    def _method(self, func: ast.Attribute, values: list[object]) -> object:  # noqa: C901, PLR0911 - a case a name
        own = self(func.value)
        if not isinstance(own, str):
            return None
        if func.attr == "join" and values and isinstance(values[0], list):
            return own.join(each if isinstance(each, str) else HOLE for each in values[0])
        if (
            func.attr == "replace"
            and len(values) > 1
            and all(isinstance(each, str) for each in values)
        ):
            return own.replace(str(values[0]), str(values[1]))
        if func.attr in {"decode", "encode", "resolve", "absolute", "as_posix", "strip", "rstrip"}:
            return own.strip() if "strip" in func.attr else own
        if func.attr == "expanduser":
            return self.home + own[1:] if own.startswith("~") else own
        if func.attr in {"lower", "upper"}:
            return own.lower() if func.attr == "lower" else own.upper()
        if func.attr == "joinpath":
            return self._path([own, *values])
        if func.attr == "split" and not values:
            return own.split()
        if func.attr == "splitlines" or (func.attr == "split" and values == ["\n"]):
            return own.splitlines()
        if func.attr == "format":
            for each in values:
                own = own.replace("{}", str(each) if each is not None else HOLE, 1)
            return own
        return None


def _decoded(name: str, text: str) -> str | None:
    try:
        if name == "bytes.fromhex":
            return bytes.fromhex(text).decode("utf-8", "replace")
        return base64.b64decode(text).decode("utf-8", "replace")
    except (ValueError, binascii.Error):
        return None
