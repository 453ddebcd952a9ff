"""Where values go in Python code: texts that may reach a call whose argument can't be told."""

import ast
from typing import Final

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
RUNS: Final = frozenset({"shell", "process", "words"})
"""Roles of calls that run programs."""
FLOWS: Final = frozenset({"open", "read", "edit"}) | RUNS
"""Roles of calls for which it matters what reaches them."""


def texts_that_flow(tree: ast.Module) -> list[str]:
    """The texts of some code, but those that are only printed, compared or looked for."""
    quiet: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            quiet.update(id(each) for each in ast.walk(node))
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in OF_TEXTS:
                quiet.update(id(each) for each in node.args)
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in quiet
    ]


_CONNECTS: Final = frozenset({"socket", "create_connection", "accept", "makefile", "create_server"})
_RECEIVES: Final = frozenset(
    {"recv", "recvfrom", "read", "readline", "readlines", "makefile", "recv_into"}
)


def received(tree: ast.Module) -> frozenset[str]:
    """Names of connections, and of what comes through them, in some code."""
    names: set[str] = set()
    for _ in range(3):  # what is made of what is made of them
        before = len(names)
        for node in ast.walk(tree):
            if isinstance(node, (ast.Assign, ast.NamedExpr, ast.AnnAssign, ast.For)):
                value = node.iter if isinstance(node, ast.For) else node.value
                if value is not None and (_opens(value) or is_received(value, names)):
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    names.update(
                        one.id
                        for each in targets
                        for one in ast.walk(each)
                        if isinstance(one, ast.Name)
                    )
            elif (
                isinstance(node, ast.withitem)
                and isinstance(node.optional_vars, ast.Name)
                and (_opens(node.context_expr) or is_received(node.context_expr, names))
            ):
                names.add(node.optional_vars.id)
        if len(names) == before:
            break
    return frozenset(names)


def _opens(node: ast.expr) -> bool:
    return any(_called(each) in _CONNECTS for each in ast.walk(node))


def is_received(node: ast.expr, names: "frozenset[str] | set[str]") -> bool:
    """Whether an expression holds a connection, or what comes through one."""
    return any(
        (isinstance(each, ast.Name) and each.id in names) or _called(each) in _RECEIVES - {"read"}
        for each in ast.walk(node)
    )


def _called(node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return ""
    return str(getattr(node.func, "attr", getattr(node.func, "id", "")))
