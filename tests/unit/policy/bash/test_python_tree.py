"""A walk through Python's syntax tree meets what `ast` meets, but for operators and contexts."""

import ast
import inspect

import pytest

from supervisor.policy.bash import python_calls, python_code, python_folding
from supervisor.policy.bash.python_tree import children, within

_LEFT_OUT = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
_ODD = """
match x:
    case [1, *rest] | {"a": 1, **others} if y: pass
    case A(b=c) as d: break
try: ...
except* (E, F) as e: raise
async def f(a, /, b: int = 1, *c, d=2, **e) -> g[1:2, ...]:
    async with a as b, c: global h; del i.j, k[0]
    return [await x async for x in y if z if w], {**a, 'b': c}, lambda *a: (yield)
x: int = (y := 1) if a < b <= c and not -d else f"{x!r:>{w}}"
"""


@pytest.mark.parametrize(
    "code", [_ODD, *map(inspect.getsource, (python_calls, python_code, python_folding))]
)
def test_a_walk_meets_what_ast_meets_in_the_same_order(code: str) -> None:
    tree = ast.parse(code)
    assert within(tree) == [each for each in ast.walk(tree) if not isinstance(each, _LEFT_OUT)]


def test_the_children_of_a_node_stand_in_their_order() -> None:
    call = ast.parse("f(a, *b, c=d)", mode="eval").body
    assert children(call) == list(ast.iter_child_nodes(call))


def test_a_constant_has_no_nodes_below_it() -> None:
    assert children(ast.Constant("a")) == []
