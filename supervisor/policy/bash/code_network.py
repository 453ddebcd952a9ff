"""Whether code hands a shell to a connection that it opens: by the flow between the two."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from supervisor.policy.bash.code_flow import PARTS, last_part, roles_of
from supervisor.policy.bash.code_tokens import Token, Tokens
from supervisor.policy.bash.code_values import Values
from supervisor.policy.bash.roles_of_code import RUNS
from supervisor.policy.bash.table import Language
from supervisor.policy.bash.value import HOLE

SHELL: Final = re.compile(
    r"(?:^|[\s/\"'`,;|&(=])(?:ba|da|z|k|a|c|tc|fi)?sh(?:\.exe)?(?:\s+-[il]+)*\s*(?:\d?[<>]|[\"'`]?\s*$|\0)"
    r"|\bcmd(?:\.exe)?\s*$|powershell"
)
"""A shell by itself, that takes orders: `/bin/sh -i`, `sh <&3`."""
_TIES: Final = frozenset({"fdopen", "reopen", "dup2", "dup", "pipe"})
"""What ties a program's input and output to a connection."""
_RECEIVES: Final = frozenset(
    """gets recv recvfrom read readline readlines readpartial sysread getline fgets fread getc
    stream_get_contents socket_read receive each_line on data toString iter_lines recv_into
    read_nonblock sysread getlines fscanf stream_get_line""".split()  # noqa: SIM905
)
_ONLY_RECEIVES: Final = frozenset(
    """gets recv recvfrom readpartial sysread fgets socket_read receive read_nonblock
    getline""".split()  # noqa: SIM905
)
"""Of these those that nobody uses for files of the code's own."""
_STARTS: Final = frozenset(
    """exec system spawn popen proc_open passthru shell_exec pcntl_exec execSync spawnSync execFile
    popen2 popen3 eval instance_eval class_eval Function load loadstring assert execute capture2
    capture2e capture3""".split()  # noqa: SIM905
)
_HEARS: Final = frozenset({"on", "each_line", "each", "addListener"})
_TIED_STREAMS: Final = re.compile(r">&|<&")
_LONGEST: Final = 48
_SIGILS: Final = "$@%&*"

Assigned: TypeAlias = tuple[str, Sequence[Token]]
"""A name with the expression behind its `=`."""


def hands_shell(language: Language, tokens: Tokens, values: Values) -> bool:
    """Whether a program that the code starts takes orders from the connection, or is tied to it.

    A program that is started beside a connection, with words of the code's own, isn't.
    """
    every = tokens.all
    runs = [at for at, each in enumerate(every) if _is_run(language, each)]
    if runs and any(each.kind == "name" and last_part(each.text) in _TIES for each in every):
        return True
    texts = [each for each in every if each.kind in {"tick", "quoted"}]
    if not runs and not texts:
        return False
    if (runs or any(each.kind == "tick" for each in texts)) and any(
        each.value and _TIED_STREAMS.search(each.value) for each in every
    ):
        return True
    assigned = list(_assignments(every))
    own = _connections(language, assigned)
    received = _received(every, assigned, own)
    for each in texts:
        runs_it = language.quote_runs if each.kind == "tick" else each.text[:2] in {"qx", "%x"}
        if runs_it and each.value:
            untold = HOLE in each.value and _mentions(each.text, received)
            if SHELL.search(each.value) or untold or "$_" in each.text:
                return True
    return any(_takes_orders(values, at, own, received) for at in runs)


def _is_run(language: Language, token: Token) -> bool:
    if token.kind != "name":
        return False
    last = last_part(token.text.lstrip(_SIGILS))
    if last in _STARTS:
        return True
    roles = roles_of(language, token.text, method=False)
    return roles is not None and roles[0] in RUNS


def _takes_orders(values: Values, at: int, own: set[str], received: set[str]) -> bool:
    left = values.left
    groups = values.groups(at + 1)
    values.left = left
    for group in groups:
        for each in group:
            name = each.text.lstrip(_SIGILS)
            if each.kind == "name" and (name in own or name in received or _receives(name)):
                return True
            if each.text == "$_":
                return True
            if each.value and (SHELL.search(each.value) or _mentions(each.text, received)):
                return True
    return False


def _receives(name: str) -> bool:
    pieces = PARTS.split(name)
    return len(pieces) > 1 and pieces[-1] in _RECEIVES


def _mentions(text: str, names: set[str]) -> bool:
    """Whether a text puts one of these variables into itself."""
    return any(re.search(rf"[$#@{{]\{{?\W?{re.escape(each)}\b", text) for each in names)


def _connections(language: Language, assigned: Iterable[Assigned]) -> set[str]:
    """The names that a connection is given."""
    found: set[str] = set()
    for name, expression in assigned:
        for each in expression:
            roles = roles_of(language, each.text, method=True) if each.kind == "name" else None
            if roles is not None and roles[0] == "connect":
                found.add(name)
    return found


def _received(every: Sequence[Token], assigned: Iterable[Assigned], own: set[str]) -> set[str]:
    """The names of what may come through a connection, and of what is made of it."""
    found = set(_parameters(every, own))
    named = [
        (name, {each.text.lstrip(_SIGILS) for each in expression if each.kind == "name"})
        for name, expression in assigned
    ]
    for _ in range(2):
        for name, names in named:
            heads = {PARTS.split(each)[0] for each in names}
            last = {last_part(each) for each in names}
            known = not own or not heads.isdisjoint(own | found)
            reads = known and not last.isdisjoint(_RECEIVES if own else _ONLY_RECEIVES)
            handed = not names.isdisjoint(own) and not last.isdisjoint(_RECEIVES)
            if (reads or handed or not heads.isdisjoint(found)) and name not in own:
                found.add(name)
    return found


def _assignments(every: Sequence[Token]) -> Iterator[Assigned]:
    """Names with what stands behind their `=`, up to the end of the expression."""
    for at, each in enumerate(every[:-1]):
        if each.kind != "name" or every[at + 1].text != "=":
            continue
        end, depth = at + 2, 0
        last = min(len(every), at + _LONGEST)
        while end < last:
            text = every[end].text
            depth += (text in {"(", "[", "{"}) - (text in {")", "]", "}"})
            if depth < 0 or (text == ";" and depth == 0):
                break
            end += 1
        yield each.text.lstrip(_SIGILS), every[at + 2 : end]


def _parameters(every: Sequence[Token], own: set[str]) -> Iterator[str]:
    """What a function gets that the connection calls: `c.on("data", d => …)`."""
    for at, each in enumerate(every):
        if each.kind != "name" or last_part(each.text.lstrip(_SIGILS)) not in _HEARS:
            continue
        pieces = PARTS.split(each.text.lstrip(_SIGILS))
        if len(pieces) > 1 and own and pieces[0] not in own:
            continue
        texts = [one.text for one in every[at + 1 : at + 4]]
        if pieces[-1] in {"on", "addListener"} and not any(
            "data" in one or "line" in one for one in texts
        ):
            continue
        window = every[at + 1 : at + 12]
        for place, one in enumerate(window[:-1]):
            after = window[place + 1].text
            if (
                one.kind == "name"
                and one.text not in {"function", "do"}
                and after in {"=", ")", "|", ","}
            ):
                yield one.text.lstrip(_SIGILS)
