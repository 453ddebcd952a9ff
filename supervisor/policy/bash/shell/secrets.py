"""Variables of the environment that a command would print, and that may hold a secret."""

import re
from collections.abc import Sequence
from typing import Final

from supervisor.policy.bash.shell.algebra import alone
from supervisor.policy.bash.shell.scope import Scope
from supervisor.policy.bash.shell.syntax import Assignment, Parameter, Piece, Variable, Word

PRINTS: Final = frozenset({"echo", "printf"})
_SECRET: Final = re.compile(
    r"(?:[A-Z0-9]+_)*(?:API_?)?(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|PAT)S?"
    r"(?:_[A-Z0-9]+)*"
)
"""By custom the names of the environment's variables are in capitals."""


def shown_secret(words: Sequence[Word | Assignment], scope: Scope) -> str | None:
    """Why a command that prints its words may show a secret: a variable that isn't the call's."""
    for word in words:
        for piece in word.parts if isinstance(word, Word) else ():
            name = _printed(piece)
            if name is None:
                continue
            if type(piece) is Parameter and piece.indirect:
                told = scope.get(name)
                name = None if told is None else alone(told)
                if name is None:
                    return "prints a variable whose name can't be told before it runs"
            if _SECRET.fullmatch(name) and name not in scope.variables and name not in scope.arrays:
                return f"prints ${name}, which may hold a secret"
    return None


def _printed(piece: Piece) -> str | None:
    """The variable whose text a piece of a word puts in."""
    if type(piece) is Variable:
        return piece.name
    if type(piece) is not Parameter or piece.length or piece.index is not None:
        return None
    only_asks = piece.operator in {"+", ":+"} or (piece.indirect and piece.operator)
    return None if only_asks else piece.name
