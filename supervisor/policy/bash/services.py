"""Programs that talk to services: verbs that remove, words that show what is stored."""

import re
from typing import Final

from supervisor.policy.bash.apply import apply
from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.roles import play_as
from supervisor.policy.bash.use import Use
from supervisor.policy.bash.value import known

_ENDS_IN_LOSS: Final = re.compile(
    r"(?:^|[-:_])(delete|remove|destroy|terminate|purge|drop|rm|prune|reset|cancel|wipe|deregister"
    r"|disable|revoke|detach|undeploy)(?:$|[-:_])"
)
_MOST_VERBS: Final = 6


def cloud(use: Use) -> None:
    """Services with many verbs: those that remove, and files that are sent (`file://…`)."""
    apply(use)
    words = [each.texts[0].text for each in use.argv]
    if any(_ENDS_IN_LOSS.search(each) for each in words[1:_MOST_VERBS] if each[:1] != "-"):
        use.emit(Act.LOSE, "removes what is kept there")
    for each in words:
        found = re.search(r"fileb?://(.+)", each)
        if found:
            use.emit(Act.READ, "is sent", known(found[1]))


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


def ssh_keygen(use: Use) -> None:
    """Makes a key, or shows one."""
    kind = "read" if "private" in use.tags else "list" if "shows" in use.tags else "write"
    for option, value in use.parsed.values:
        if "file" in option.tags:
            play_as(use, kind, value)
