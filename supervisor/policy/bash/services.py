"""Programs that talk to services: verbs that remove, words that show what is stored."""

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Final

from supervisor.policy.bash.apply import apply, natural
from supervisor.policy.bash.carried import handed_on, perhaps_carries
from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.roles import play_as
from supervisor.policy.bash.use import Use
from supervisor.policy.bash.value import HOLE, known

_ENDS_IN_LOSS: Final = re.compile(
    r"(?:^|[-:_])(delete|remove|destroy|terminate|purge|drop|rm|prune|reset|cancel|wipe|deregister"
    r"|disable|revoke|detach|undeploy)(?:$|[-:_])"
)
_CHANGES: Final = frozenset(
    """abort accept activate add allocate apply approve assign associate attach authorize close
    comment commit copy cp create deploy edit enable exec execute import insert install invoke
    launch link lock merge migrate modify mv note open patch post promote publish push put
    rebase reboot register release rename reopen resize restart restore resume rollback rotate
    run scale send set start stop submit suspend swap sync tag transfer trigger unlink unset
    untag up update upgrade upload write""".split()  # noqa: SIM905
)
"""Verbs that change what a service keeps or runs."""
_LOOKS: Final = frozenset(
    """check describe diff download fetch get head help info lint list log logs ls plan preview
    pull read search show status tail test validate version view wait whoami""".split()  # noqa: SIM905
)
_WRITES: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_METHODS: Final = frozenset({"-X", "--method", "--request"})
_MUTATES: Final = re.compile(r"\bmutation\b")
_MOST_VERBS: Final = 6
_CHANGED: Final = "changes what is kept there"
_REMOVED: Final = "removes what is kept there"


def cloud(use: Use) -> None:
    """Services with many verbs: those that remove or change, files that are sent (`file://…`)."""
    apply(use)
    words = [each.texts[0].text for each in use.argv]
    plain = _verbs(use)
    method = method_of(use)
    if method == "DELETE" or any(_ENDS_IN_LOSS.search(each) for each in plain):
        use.emit(Act.LOSE, _REMOVED)
    elif method in _WRITES or any(map(_is_change, plain)):
        use.send(None, _CHANGED)
    handed_on(use)
    for each in words:
        found = re.search(r"fileb?://(.+)", each)
        if found:
            use.emit(Act.READ, "is sent", known(found[1]))


def orders(use: Use) -> None:
    """Programs that give orders to other machines, in words of their own."""
    perhaps_carries(use)
    apply(use)
    handed_on(use)


def _verbs(use: Use) -> list[str]:
    """The first words: those before options that come behind a word."""
    values = {id(value) for _, value in use.parsed.values}
    found: list[str] = []
    for each in use.argv[1:]:
        text = each.texts[0].text
        if text[:1] == "-":
            if found:
                break
        elif id(each) not in values:
            found.append(text)
    return found[:_MOST_VERBS]


def _is_change(word: str) -> bool:
    """Whether a word is a verb that changes something (`run-instances`, `config:set`)."""
    parts = _JOINTS.split(word)
    return parts[0] not in _LOOKS and (parts[0] in _CHANGES or parts[-1] in _CHANGES)


_EXECUTES: Final = re.compile(r"-Dexec\.(executable|args|commandlineArgs)=(.*)", re.DOTALL)
_JOINTS: Final = re.compile(r"[-:_.]")


def method_of(use: Use) -> str:
    """The method that an option names, in capitals; empty if none does."""
    for option, value in use.parsed.values:
        if "method" in option.tags:
            return value.texts[0].text.upper()
    texts = [each.texts[0].text for each in use.argv]
    for at, text in enumerate(texts):
        name, equals, told = text.partition("=")
        if name in _METHODS:
            return (told if equals else "".join(texts[at + 1 : at + 2])).upper()
        if text[:2] == "-X":
            return text[2:].lstrip("=").upper()
    return ""


def api(use: Use) -> None:
    """`gh api`, `az rest`: what a request does by its method; fields make it a POST."""
    apply(use)
    method = method_of(use)
    words = use.parsed.operands
    if not method and "fields" in use.tags:
        asks = bool(words) and words[0].only == "graphql"
        texts = [text.text for _, value in use.parsed.values for text in value.texts]
        method = "GET" if asks and not any(map(_MUTATES.search, texts)) else "POST"
    if HOLE in method:
        use.unknown("asks a service by a method that can't be told")
    elif method == "DELETE":
        use.emit(Act.LOSE, _REMOVED)
    elif method not in {"", "GET", "HEAD", "OPTIONS"}:
        use.send(None, _CHANGED)


def requests(use: Use) -> None:
    """`curl -X DELETE`: removes what an address stands for."""
    apply(use)
    if method_of(use) == "DELETE":
        use.emit(Act.LOSE, _REMOVED)


def goals(use: Use) -> None:
    """Build tools whose goals publish what they build (`mvn deploy`); the table lists them."""
    apply(use)
    _executed(use)
    table = use.look.table.languages.get("goals")
    if table is None:
        return
    for word in use.parsed.operands:
        for text in word.texts:
            name = text.text.lstrip(":+")
            names = {name, name.rpartition(":")[2]}
            if _fits(names, table.calls) and not _fits(names, table.plain):
                use.send(None, "publishes what is built")
                use.emit(Act.LOSE, "can't be taken back")
                return


def _executed(use: Use) -> None:
    """`mvn exec:exec -Dexec.executable=PROGRAM -Dexec.args=WORDS`."""
    texts = (each.texts[0].text for each in use.argv)
    given = {found[1]: found[2] for text in texts if (found := _EXECUTES.fullmatch(text))}
    if "executable" in given:
        words = given.get("args", given.get("commandlineArgs", "")).split()
        use.start([known(each) for each in (given["executable"], *words)], stdin=False)


def _fits(names: Iterable[str], patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, each) for each in patterns for name in names)


def kubectl_get(use: Use) -> None:
    """`kubectl get secret -o yaml` shows what is stored."""
    apply(use)
    texts = [each.texts[0].text for each in use.argv]
    kinds = {part.partition("/")[0] for text in texts for part in text.split(",")}
    shows = any(text.startswith(("-o", "--output", "--template")) for text in texts)
    if shows and kinds & {"secret", "secrets", "all"}:
        use.emit(Act.REVEAL, "shows stored secrets")


_FLUSHES: Final = frozenset({"flushall", "flushdb", "del", "unlink", "shutdown", "debug"})


def redis(use: Use) -> None:
    """Commands of a key-value store."""
    apply(use)
    words = [each.texts[0].text.lower() for each in use.parsed.operands]
    if words and words[0] in _FLUSHES:
        use.emit(Act.LOSE, "removes data from a database")
    elif words[:2] in (["config", "set"], ["script", "load"]) or words[:1] == ["eval"]:
        use.unknown("changes a database server")


def httpie(use: Use) -> None:
    """`http [METHOD] ADDRESS [ITEM…]`."""
    words = use.parsed.operands
    if len(words) < 2 or not words[0].texts[0].text.isupper():  # noqa: PLR2004 - method, address
        words.insert(0, known("GET"))
    apply(use)
    if words and words[0].texts[0].text.upper() == "DELETE":
        use.emit(Act.LOSE, _REMOVED)


def ssh_keygen(use: Use) -> None:
    """Makes a key, or shows one."""
    kind = "read" if "private" in use.tags else "list" if "shows" in use.tags else "write"
    for option, value in use.parsed.values:
        if "file" in option.tags:
            play_as(use, kind, value)
    natural(use)
