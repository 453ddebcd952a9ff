"""Programs of which little is known, and that may run the command in their words.

All of it is only likely, so it counts for what is denied, and never for what is covered.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from supervisor.policy.bash.effect import Act, Effect
from supervisor.policy.bash.table import Role
from supervisor.policy.bash.use import IN_DOUBT, Use
from supervisor.policy.bash.value import Value, known
from supervisor.policy.hosts import hosts_of, is_metadata

_DANGEROUS: Final = frozenset(
    {"sudo", "doas", "pkexec", "su", "runuser", "gosu", "run0", "gpg", "gpg2", "rm", "dd", "chmod",
     "chown", "chgrp", "kill", "shred", "wipefs", "bash", "sh", "zsh", "dash", "nc", "ncat",
     "socat", "xargs", "busybox", "python", "python3", "perl", "ruby", "node", "php", "rimraf",
     "del-cli", "trash"}
)  # fmt: skip
_VERBS: Final = frozenset(
    """run exec shell develop do enter with spawn start x launch invoke wrap inject ssh
    local:run""".split()  # noqa: SIM905
)
"""Subcommands behind which a command is likely to stand."""
_SPEAK: Final = frozenset(
    """echo printf grep egrep fgrep rg ag ack cat head tail less ls man which whereis type test
    git gh jq sed awk find fd logger notify-send""".split()  # noqa: SIM905
)
"""Programs that are carried as likely as not, and whose own words are no commands."""
_CODE: Final = frozenset(
    """-c -e --command --cmd --exec --execute --eval --run --shell --script --wrap
    --entrypoint""".split()  # noqa: SIM905
)
"""Options whose value is likely to be run: by a shell, or as code."""
_CALLED: Final = frozenset({"--command", "--cmd", "--script"})
"""Those that a project's own program rather has for what it speaks of (`./check --cmd X`)."""
_SEEKS: Final = frozenset({"grep", "search", "find", "match", "filter", "rg"})
_PLACES: Final = frozenset({"-o", "-O"})
_PLACES_OF_UNKNOWN: Final = _PLACES | {"-d"}
"""Options that in many programs name the place where something is put."""
_MOST_SKIPPED: Final = 6
_LATEST_VERB: Final = 3
_NAME: Final = re.compile(r"[#/:@]")
_ORDERS: Final = re.compile(
    r"--?(?:[\w-]+-)?(?:command|cmd|script|parameter)s?|cmd\.(?:run|shell|run_all)"
)
_ORDERS_NAMED: Final = re.compile(r"(?:--?(?:[\w-]+-)?)?(?:command|cmd|script|parameter)s?=")
"""Words of a service's client behind which a command for a machine there is likely to stand."""
_LISTED: Final = re.compile(r"\b(?:command|script)s?\"?\s*[=:]\s*\[?")
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
_MOST_ORDERS: Final = 16


def perhaps_carries(use: Use) -> None:
    """A wrapper that isn't known (`wrap -n 5 rm -rf /`): what would be denied if it ran counts."""
    argv = use.argv
    texts = [each.texts[0].text for each in argv]
    starts = [
        at
        for at, text in enumerate(texts[:_MOST_SKIPPED])
        if at and (_dangerous(text) or text in _SPEAK)
    ][:1]
    if "--" in texts:
        behind = texts.index("--") + 1
        starts.append(_first_program(use, texts, behind, behind + 1))
        if behind < len(texts):
            likely(use, lambda: begun_before(use, argv[1 : behind - 1], argv[behind:]))
    for at, text in enumerate(texts[1 : _LATEST_VERB + 1], 1):
        if text in _VERBS:
            starts.append(_first_program(use, texts, at + 1, at + _MOST_SKIPPED))
            break
    for start in dict.fromkeys(each for each in starts if 0 < each < len(argv) - 1):
        likely(use, lambda start=start: use.start(argv[start:]))  # type: ignore[misc]
    _options(use, texts)


def _options(use: Use, texts: Sequence[str]) -> None:
    """What options hold that by their names are places, or are run."""
    argv = use.argv
    unlisted = use.command.operands.middle == Role("either")
    of_project = "/" in texts[0] and not texts[0].startswith("/")
    places = (_PLACES_OF_UNKNOWN if unlisted else _PLACES) - use.command.options.keys()
    seeks = not _SEEKS.isdisjoint(texts)
    for at, text in enumerate(texts):
        if text[:1] != "-":
            continue
        if text in places and at + 1 < len(argv) and " " not in texts[at + 1]:
            use.emit(Act.WRITE, IN_DOUBT, argv[at + 1], recursive=True)
        if seeks and text == "-e":
            continue  # a pattern
        name, equals, value = text.partition("=")
        if at and name in _CODE and name not in use.command.options:
            if of_project and name in _CALLED:
                continue
            given = known(value) if equals else argv[at + 1] if at + 1 < len(argv) else None
            if given is not None:
                rest = argv[at + 1 :] if equals else argv[at + 2 :]
                likely(use, lambda given=given, rest=rest: _code(use, given, rest))  # type: ignore[misc]


def handed_on(use: Use) -> None:
    """What a client of a service has run on a machine there: behind `--`, or in an option."""
    argv = use.argv
    texts = [each.texts[0].text for each in argv]
    if "--" in texts:
        behind = argv[texts.index("--") + 1 :]
        likely(use, lambda: use.start(behind, stdin=False))
    for at, text in enumerate(texts[1:], 1):
        found = _ORDERS.fullmatch(text) or _ORDERS_NAMED.match(text)
        if found is None:
            continue
        after = texts[at + 1] if at + 1 < len(texts) else ""
        for order in _orders(text[found.end() :] if found.re is _ORDERS_NAMED else after):
            likely(use, lambda order=order: use.script(known(order), stdin=False))  # type: ignore[misc]


def _orders(text: str) -> list[str]:
    """The commands in an option's value: one, or those of a list (`commands=["A","B"]`)."""
    found = _LISTED.search(text)
    if found is None:
        return [text]
    rest = text[found.end() :]
    listed = [each.replace('\\"', '"') for each in _QUOTED.findall(rest)]
    return listed[:_MOST_ORDERS] or [rest]


def _dangerous(text: str) -> bool:
    base = text.rpartition("/")[2]
    return base in _DANGEROUS or base.startswith("mkfs")


def _first_program(use: Use, texts: Sequence[str], start: int, end: int) -> int:
    """Where the first word stands that names a program which is known; -1 if none does."""
    for at in range(start, min(end, len(texts))):
        text = texts[at]
        if text[:1] != "-" and "=" not in text and " " not in text:
            command = use.look.table.find(text)
            if command is not None and (not command.harmless or at == start):
                return at
    return -1


def begun_before(use: Use, before: Sequence[Value], rest: Sequence[Value]) -> None:
    """`run nixpkgs#bash -- -c TEXT`: the program stands in front of `--`, as the end of a name."""
    names = [each.texts[0].text for each in before if each.texts[0].text[:1] != "-"]
    name = _NAME.split(names[-1])[-1] if names else ""
    if name and use.look.table.find(name) is not None:
        use.start([known(name), *rest])


def _code(use: Use, given: Value, rest: Sequence[Value]) -> None:
    """What an option holds that may be run: a text for a shell, code, or a program's name."""
    from supervisor.policy.bash.literals import literals  # noqa: PLC0415 - it asks us what counts

    for each in given.texts:
        if any(sign in each.text for sign in " (\n"):
            first = next(iter(each.text.split(maxsplit=1)), "")
            if use.look.table.find(first) is not None:
                use.script(known(each.text), stdin=False)
            literals(use, each.text)
        elif rest and use.look.table.find(each.text) is not None:
            use.start([given, *rest])
            behind = next((at for at, one in enumerate(rest) if (one.only or "")[:1] == "-"), 0)
            use.start([given, *rest[behind:]])


def likely(use: Use, do: Callable[[], None]) -> None:
    """Does `do`; of its effects those are kept that count where they are only likely."""
    for each in use.look.gathered(do):
        kept = in_doubt(each)
        if kept is not None:
            use.look.add(kept)


def in_doubt(effect: Effect) -> Effect | None:
    """An effect that is only likely, as it counts for what is denied; None if it doesn't."""
    if counts(effect) or effect.severe:
        return effect
    if effect.act is Act.READ:
        return replace(effect, reason=IN_DOUBT)
    if effect.act is Act.SEND:
        texts = effect.target.texts if effect.target is not None else ()
        hosts = (host for each in texts for host in hosts_of(each.text))
        return effect if any(map(is_metadata, hosts)) else None
    if effect.act in {Act.WRITE, Act.DELETE, Act.CHANGE_MODE, Act.LINK}:
        return replace(effect, act=Act.WRITE, reason=IN_DOUBT)
    return None


def counts(effect: Effect) -> bool:
    """Whether an effect is so dangerous that it counts even where it is only likely."""
    if effect.act in {Act.ESCALATE, Act.REMOTE_SHELL, Act.EXHAUST}:
        return True
    if effect.act is Act.OVERWRITE_DISK or (effect.act is Act.WRITE and effect.target is not None):
        texts = effect.target.texts if effect.target is not None else ()
        return any(each.text.startswith("/dev/") for each in texts)
    return (effect.act is Act.SIGNAL and effect.severe) or (
        effect.act in {Act.DELETE, Act.CHANGE_MODE} and effect.recursive
    )
