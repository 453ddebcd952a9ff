"""What only shows once all commands of a call are seen together."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from supervisor.policy.bash.effect import Act, Effect
from supervisor.policy.bash.invocation import Invocation
from supervisor.policy.bash.links import through_links
from supervisor.policy.bash.redirects import NETWORK
from supervisor.policy.bash.use import PUT, RUN
from supervisor.policy.bash.value import HOLE

_SHELLS: Final = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash", "mksh", "fish", "csh"})
_EVAL: Final = "eval"
_RUNS_ORDERS: Final = _SHELLS | {_EVAL}
_NOT_WRAPPERS: Final = _RUNS_ORDERS | {"echo", "printf", "grep", "rg", "which", "type", "man"}
# A member of an enumeration is looked up by its name each time: these are used by the hundred.
_EXECUTE: Final = Act.EXECUTE
_READ: Final = Act.READ
_WRITE: Final = Act.WRITE
_LINK: Final = Act.LINK
_MOST_BEFORE: Final = 4
"""Words of a wrapper before the program that it starts."""
_NETWORK: Final = frozenset(
    {"nc", "ncat", "netcat", "socat", "telnet", "nc.traditional", "nc.openbsd",
     "websocat", "chisel"}
)  # fmt: skip


def aftermath(effects: Sequence[Effect], seen: Sequence[Invocation]) -> list[Effect]:
    """The effects, with those that come from commands working together."""
    found = list(effects)
    if _may_give_orders(seen):
        found.extend(_remote_shells(seen))
    links = False
    written: set[str] = set()
    for each in effects:
        act = each.act
        if act is _WRITE:
            if each.target is not None and each.reason != PUT:
                written.update([text.text for text in each.target.texts])
        elif act is _LINK:
            links = True
    if links:
        found.extend(through_links(effects))
    if written:
        found.extend(_own_scripts(found, written))
    return found


def _may_give_orders(seen: Sequence[Invocation]) -> bool:
    """Whether a shell or a connection is among the commands: nearly always none is."""
    for each in seen:
        if each.argv:
            name = each.argv[0].texts[0].text
            if name in _RUNS_ORDERS:
                return True
            if "/" in name and (name[:5] == "/dev/" or name.rpartition("/")[2] in _RUNS_ORDERS):
                return True
    return False


def _remote_shells(seen: Sequence[Invocation]) -> list[Effect]:
    """Shells whose input or output is the network."""
    names = [each.argv[0].texts[0].text if each.argv else "" for each in seen]
    bases = [name.rpartition("/")[2] for name in names]
    carriers = [
        invocation.argv
        for invocation in seen
        if invocation.redirects
        and any(NETWORK.match(each.target.texts[0].text) for each in invocation.redirects)
    ]
    tied = bool(carriers)
    network = set(_NETWORK)
    if "openssl" in bases and any(
        base == "openssl" and len(each.argv) > 1 and each.argv[1].only == "s_client"
        for base, each in zip(bases, seen, strict=True)
    ):
        network.add("openssl")
    network.update(_wrappers_of(network, bases, seen))
    found = []
    for base, each in zip(bases, seen, strict=True):
        if base not in _SHELLS:
            if (tied and base == _EVAL and _is_untold(each)) or _is_an_order(each):
                found.append(
                    Effect(Act.REMOTE_SHELL, base, each.part, "runs what the network says")
                )
            continue
        texts = [word.texts[0].text for word in each.argv[1:]]
        runs_text = any(text[:1] == "-" and text[:2] != "--" and "c" in text for text in texts)
        own = any(carrier[-len(each.argv) :] == each.argv for carrier in carriers)
        sources = each.stdin.sources if each.stdin is not None else ()
        fed = any(name.rpartition("/")[2] in network for name in sources)
        feeds = any(name.rpartition("/")[2] in network for name in each.feeds)
        open_ended = each.stdin is not None and not each.stdin.text.known
        if own or (not runs_text and (fed or feeds or (tied and open_ended))):
            found.append(Effect(Act.REMOTE_SHELL, base, each.part, "hands a shell to the network"))
    return found


def _wrappers_of(network: set[str], bases: Sequence[str], seen: Sequence[Invocation]) -> set[str]:
    """Programs that start one of these in this call (`rlwrap nc`, `busybox telnet`)."""
    return {
        base
        for base, each in zip(bases, seen, strict=True)
        if any(
            word.texts[0].text.rpartition("/")[2] in network
            for word in each.argv[1 : _MOST_BEFORE + 1]
        )
        and base not in _NOT_WRAPPERS
    }


def _is_untold(each: Invocation) -> bool:
    """Whether a word behind the first holds what can't be known."""
    return any(HOLE in text.text for word in each.argv[1:] for text in word.texts)


def _is_an_order(each: Invocation) -> bool:
    """Whether the command itself is what comes through a connection."""
    return bool(each.argv) and NETWORK.match(each.argv[0].texts[0].text) is not None


def _own_scripts(effects: Sequence[Effect], written: set[str]) -> list[Effect]:
    """Scripts that the same call writes and runs: what is in them then can't be read."""
    found = []
    bare = {text.removeprefix("./") for text in written}
    for each in effects:
        act = each.act
        if act is _EXECUTE:
            name = each.words[0] if each.words else each.program
            if name == each.program and "/" not in name:
                continue  # it is looked for among the installed programs
            hit = "/" in name and name.removeprefix("./") in bare
            if not hit and each.program != name:
                hit = any(word.removeprefix("./") in bare for word in each.words[1:3])
        elif act is _READ and each.reason == RUN and each.target is not None:
            hit = any(one.text.removeprefix("./") in bare for one in each.target.texts)
        else:
            continue
        if hit:
            found.append(
                replace(
                    each, act=Act.UNKNOWN, reason="runs a file that the same call writes",
                    target=None, words=(),
                )
            )  # fmt: skip
    return found
