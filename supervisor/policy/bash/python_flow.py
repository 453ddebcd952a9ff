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
