"""Where values go in Python code: texts that may reach a call whose argument can't be told."""

import ast
from collections.abc import Container, Iterator
from typing import Final

from supervisor.policy.bash.code_loops import CALMS
from supervisor.policy.bash.python_tree import within
from supervisor.policy.bash.roles_of_code import RUNS

OF_TEXTS: Final = frozenset(
    """startswith endswith replace split rsplit join strip lstrip rstrip removeprefix removesuffix
    format find rfind index rindex count append extend insert add get pop remove setdefault update
    write writelines encode decode match search sub fullmatch findall discard info debug warning
    error exception partition rpartition add_argument isin print log""".split()  # noqa: SIM905
)
"""Methods that take a text as a text, never as a file."""
WALKS: Final = frozenset(
    {"os.walk", "os.fwalk", "os.scandir", "os.listdir", "glob.glob", "Path.walk"}
)
"""Calls that go through a folder."""
FLOWS: Final = frozenset({"open", "read", "edit"}) | RUNS
"""Roles of calls for which it matters what reaches them."""


def texts_that_flow(tree: ast.Module) -> list[str]:
    """The texts of some code, but those that are only printed, compared or looked for."""
    quiet: set[int] = set()
    for node in within(tree):
        if isinstance(node, ast.Compare):
            quiet.update(id(each) for each in within(node))
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in OF_TEXTS:
                quiet.update(id(each) for each in node.args)
    return [
        node.value
        for node in within(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in quiet
    ]


def texts_of(tree: ast.Module) -> list[str]:
    """All texts of some code, bytes too."""
    found: list[str] = []
    for node in within(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)):
            value = node.value
            found.append(value if isinstance(value, str) else value.decode("utf-8", "replace"))
    return found


_CONNECTS: Final = frozenset({"socket", "create_connection", "accept", "makefile", "create_server"})
_RECEIVES: Final = frozenset({"recv", "recvfrom", "readline", "readlines", "makefile", "recv_into"})


def received(tree: ast.Module) -> frozenset[str]:
    """Names of connections, and of what comes through them, in some code."""
    given = [(names, within(value)) for names, value in _named(tree)]
    found: set[str] = set()
    for _ in range(3):  # what is made of what is made of them
        before = len(found)
        for names, inside in given:
            if any(_is_of(each, found) or _called(each) in _CONNECTS for each in inside):
                found.update(names)
        if len(found) == before:
            break
    return frozenset(found)


def _named(tree: ast.Module) -> Iterator[tuple[list[str], ast.expr]]:
    """Names with the expressions that they get their values from."""
    for node in within(tree):
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.For):
            targets, value = [node.target], node.iter
        elif isinstance(node, (ast.NamedExpr, ast.AnnAssign)) and node.value is not None:
            targets, value = [node.target], node.value
        elif isinstance(node, ast.withitem) and isinstance(node.optional_vars, ast.Name):
            targets, value = [node.optional_vars], node.context_expr
        else:
            continue
        parts = [each for target in targets for each in within(target)]
        yield [each.id for each in parts if isinstance(each, ast.Name)], value


def is_received(node: ast.expr, names: frozenset[str]) -> bool:
    """Whether an expression holds a connection, or what comes through one."""
    return any(_is_of(each, names) for each in within(node))


def _is_of(node: ast.AST, names: Container[str]) -> bool:
    return (isinstance(node, ast.Name) and node.id in names) or _called(node) in _RECEIVES


def _called(node: ast.AST) -> str:
    """The last name of the function, if it is a call."""
    if not isinstance(node, ast.Call):
        return ""
    return str(getattr(node.func, "attr", getattr(node.func, "id", "")))


def is_calm(loop: ast.While) -> bool:
    """Whether a loop is left somewhere, or waits for something."""
    for node in within(loop):
        if isinstance(node, (ast.Break, ast.Return, ast.Raise, ast.Await)):
            return True
        if isinstance(node, ast.Call):
            name = node.func
            last = name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", "")
            if last in CALMS:
                return True
    return False
