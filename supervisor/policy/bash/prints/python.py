"""What Python code may print, as far as its constants and what it is given tell."""

import ast
import warnings
from collections.abc import Iterator
from typing import Final

from supervisor.policy.bash.given import Given
from supervisor.policy.bash.modern_python import older
from supervisor.policy.bash.python_flow import texts_that_flow
from supervisor.policy.bash.python_folding import Folder
from supervisor.policy.bash.python_tree import children, within
from supervisor.policy.bash.value import HOLE

_WRITES: Final = frozenset(
    {"sys.stdout.write", "sys.stdout.buffer.write", "sys.stderr.write", "stdout.write"}
)
_MOST_ROUNDS: Final = 16
_MOST_STEPS: Final = 2_000


def parsed(code: str) -> ast.Module:
    """The syntax tree; newer spellings than those of this Python are read as well.

    Raises what `ast.parse` does.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # odd literals in the code are no concern of ours
        code = code.replace(HOLE, "_untold_")
        try:
            return ast.parse(code)
        except SyntaxError:
            return ast.parse(older(code))


def python(code: str, given: Given, home: str) -> Iterator[str]:
    """All that is printed, one after the other; then the texts in the code that may be printed."""
    try:
        tree = parsed(code)
        printing = _Printing(home, given)
        printing.block(tree.body)
        if printing.made:
            yield "".join(printing.made)
        if not printing.made or printing.untold:
            yield from texts_that_flow(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return


class _Printing:
    def __init__(self, home: str, given: Given) -> None:
        self.fold = Folder(home, given=given)
        self.made: list[str] = []
        self.untold = False
        self.left = _MOST_STEPS

    def block(self, body: list[ast.stmt]) -> None:
        for each in body:
            self.statement(each)

    def statement(self, node: ast.stmt) -> None:  # noqa: C901, PLR0912 - one case a kind
        self.left -= 1
        if self.left < 0:
            self.untold = True
            return
        if isinstance(node, ast.Import):
            for name in node.names:
                head = name.name.partition(".")[0]
                self.fold.alias(name.asname or head, name.name if name.asname else head)
        elif isinstance(node, ast.ImportFrom):
            for name in node.names:
                self.fold.alias(name.asname or name.name, f"{node.module}.{name.name}")
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    self.fold.bind(target.id, node.value)
        elif isinstance(node, (ast.For, ast.AsyncFor)) and isinstance(node.target, ast.Name):
            values = self.fold(node.iter)
            for value in values[:_MOST_ROUNDS] if isinstance(values, (list, str)) else [None]:
                self.fold.names[node.target.id] = value
                self.block(node.body)
        else:
            for child in children(node):
                if isinstance(child, ast.stmt):
                    self.statement(child)
                elif isinstance(child, ast.expr):
                    self.expression(child)

    def expression(self, node: ast.expr) -> None:
        for each in within(node):
            if isinstance(each, ast.Call):
                self.call(each)

    def call(self, node: ast.Call) -> None:
        name = self.fold.dotted(node.func) or ""
        if name == "print":
            named = {each.arg: self.fold(each.value) for each in node.keywords if each.arg}
            values: list[object] = []
            for each in node.args:
                value = self.fold(each.value if isinstance(each, ast.Starred) else each)
                spread = isinstance(each, ast.Starred) and isinstance(value, list)
                values += value if spread and isinstance(value, list) else [value]
            mark, end = named.get("sep", " "), named.get("end", "\n")
            texts = [_text(each) for each in values]
            self.untold = self.untold or HOLE in texts
            self.made.append(str(mark).join(texts) + str(end))
        elif name in _WRITES or (name == "os.write" and len(node.args) > 1):
            text = _text(self.fold(node.args[-1])) if node.args else ""
            self.untold = self.untold or text == HOLE
            self.made.append(text)


def _text(value: object) -> str:
    return str(value) if isinstance(value, (str, int)) else HOLE
