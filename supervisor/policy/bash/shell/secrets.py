"""Variables of the environment that a command would print, and that may hold a secret."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from supervisor.policy.bash.shell.algebra import alone
from supervisor.policy.bash.shell.scope import Scope
from supervisor.policy.bash.shell.syntax import Assignment, Parameter, Piece, Variable, Word
from supervisor.policy.bash.value import Value

_PRINTS: Final = frozenset(
    """echo printf yes expr basename dirname seq figlet toilet cowsay cowthink banner awk gawk mawk
    nawk jq gojq jaq""".split()  # noqa: SIM905  (a table to read)
)
"""Programs that print their words, or what they are given by them."""
_FILTERS: Final = frozenset(
    """cat tac rev nl od xxd hexdump hd hexyl base64 base32 basenc uuencode strings sort uniq head
    tail cut tr sed gsed awk gawk mawk nawk grep egrep fgrep rg jq gojq jaq yq tee pee sponge dd
    fold fmt pr paste column col colrm expand unexpand iconv less more most bat batcat view
    xargs parallel shuf split csplit figlet toilet cowsay lolcat rot13 caesar gzip bzip2 xz zstd
    openssl pv ts mapfile vipe vim ex ed perl glow rich script cpio bc dc xclip pbcopy""".split()  # noqa: SIM905
)
"""Programs that print what they get, or keep it, in whatever form."""
_SILENT: Final = re.compile(r"-[a-zA-Z]*[qc][a-zA-Z]*|--quiet|--silent|--count")
_FIRST_WORDS: Final = 4
_SECRET: Final = re.compile(
    r"(?!.*_(?:FILE|PATH|DIR|NAME|URL|TYPE|LENGTH|LEN|COUNT|TTL|PREFIX)\Z)(?:"
    r"(?:[A-Z0-9]+_)*(?:API_?)?(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|PAT)S?"
    r"(?:_[A-Z0-9]+)*|[A-Z0-9_]*(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|APIKEY|SSHPASS|_PWD))"
)
"""By custom the names of the environment's variables are in capitals."""
POSITIONAL: Final = frozenset("@*123456789")


def shown_secret(words: Sequence[Word | Assignment], scope: Scope) -> str | None:
    """Why a command that prints its words may show a secret: a variable that isn't the call's."""
    for word in words:
        why = held_secret(word.parts, scope) if isinstance(word, Word) else None
        if why is not None:
            return why
    return None


def held_secret(parts: Iterable[Piece], scope: Scope) -> str | None:
    """Why a text may hold a secret, if a variable of the environment is in it."""
    for piece in parts:
        name = _printed(piece, scope)
        if name is None:
            continue
        if type(piece) is Parameter and piece.indirect:
            told = scope.get(name)
            name = None if told is None else alone(told)
            if name is None:
                return "prints a variable whose name can't be told before it runs"
        if name in scope.secrets or (
            _SECRET.fullmatch(name) and name not in scope.variables and name not in scope.arrays
        ):
            return f"prints ${name}, which may hold a secret"
    return None


def takes_secret(node: Assignment, scope: Scope) -> None:
    """Notes whether a variable has a secret from an assignment on, or no longer."""
    value = node.value
    words = (value,) if isinstance(value, Word) else tuple(each.value for each in value)
    name = scope.resolved(node.name) if scope.references else node.name
    if any(held_secret(each.parts, scope) for each in words if each.value is None):
        scope.secrets |= {name}
    elif scope.secrets and not node.append and node.index is None:
        scope.secrets -= {name}


def prints_words(argv: Sequence[Value]) -> bool:
    """Whether a command, or one that it starts, prints its words."""
    return any(each.texts[0].text.rpartition("/")[2] in _PRINTS for each in argv[:_FIRST_WORDS])


def prints_input(argv: Sequence[Value]) -> bool:
    """Whether a command, or one that it starts, prints what it gets as its input."""
    for at, each in enumerate(argv[:_FIRST_WORDS]):
        text = each.texts[0].text
        if text.rpartition("/")[2] in _FILTERS:
            quiet = "grep" in text or text == "rg"
            return not quiet or all(_SILENT.fullmatch(w.texts[0].text) is None for w in argv[at:])
    return False


def _printed(piece: Piece, scope: Scope) -> str | None:
    """The variable whose text a piece of a word puts in."""
    if type(piece) is Variable:
        return piece.name
    if type(piece) is not Parameter or piece.length:
        return None
    if piece.index is not None and piece.name not in scope.secrets:
        return None
    only_asks = piece.operator in {"+", ":+"} or (piece.indirect and piece.operator)
    return None if only_asks else piece.name
