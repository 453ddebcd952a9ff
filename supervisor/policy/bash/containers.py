"""Commands that run elsewhere: on another machine, or in a container with folders of this one."""

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from supervisor.policy.bash.apply import apply
from supervisor.policy.bash.effect import Act, Effect
from supervisor.policy.bash.options import parse
from supervisor.policy.bash.places import flat, join
from supervisor.policy.bash.roles import joined, option_values, play_as
from supervisor.policy.bash.use import IN_DOUBT, Use
from supervisor.policy.bash.value import HOLE, Text, Value, known

Mounts = Sequence[tuple[str, Value]]
"""Folders of the container, each with what it is on this machine."""

_IMAGE: Final = re.compile(r"[:@][^/]*\Z")
"""The tag and the digest of an image."""
_HERE: Final = frozenset({"localhost", "127.0.0.1", "::1", "[::1]", "0.0.0.0", "127.1"})  # noqa: S104
_RUNS_OF_SSH: Final = frozenset({"proxycommand", "localcommand", "knownhostscommand"})
_READ_BY_SSH: Final = frozenset(
    {"userknownhostsfile", "globalknownhostsfile", "certificatefile", "revokedhostkeys"}
)
_LOADED_BY_SSH: Final = frozenset({"pkcs11provider", "securitykeyprovider"})
_OWN: Final = frozenset({Act.SEND, Act.SYSTEM, Act.ESCALATE, Act.LOSE, Act.REVEAL})
"""What the carrier itself does here."""


def carried(
    use: Use,
    do: Callable[[], None],
    mounts: Mounts = (),
    *,
    rights: bool = False,
    stays: bool = False,
) -> None:
    """Does `do`; its effects are elsewhere, but for paths in mounted folders of this machine.

    `rights` says that the container is given the machine's devices; `stays` that all happens on
    this machine after all (`chroot`).
    """
    for each in use.look.gathered(do):
        own = each.program == use.program and each.act in _OWN
        use.look.add(each if own else _placed(each, mounts, rights, stays))


def _placed(effect: Effect, mounts: Mounts, rights: bool, stays: bool) -> Effect:
    if effect.act is Act.OVERWRITE_DISK and rights:
        return effect
    if effect.target is not None and effect.act is not Act.SEND:
        cwd = effect.cwd or known("/")
        here = _here(join(cwd, effect.target), mounts)
        if here is not None:
            return replace(effect, target=here, cwd=known("/"))
    return effect if stays else replace(effect, elsewhere=True)


def _here(path: Value, mounts: Mounts) -> Value | None:
    """The path on this machine, if it lies in a mounted folder, or holds one (`rm -rf /`)."""
    for inside, outside in sorted(mounts, key=lambda each: -len(each[0])):
        stem = inside.rstrip("/")
        texts = []
        for each in path.texts:
            text = flat(each.text)
            if text != (stem or "/") and not text.startswith(f"{stem}/"):
                break
            rest = text[len(stem) :].lstrip("/")
            base = outside.texts[0].text
            glue = "" if base.endswith("/") or not rest else "/"
            pattern = None
            if each.pattern is not None:
                pattern = f"{base}{glue}{each.pattern[len(stem) :].lstrip('/')}"
            texts.append(Text(f"{base}{glue}{rest}", pattern))
        else:
            return Value(tuple(texts), path.from_data)
    return None


def _mounts(use: Use) -> list[tuple[str, Value]]:
    """Sources that aren't paths are names of volumes, and no folders here."""
    found = []
    for value in option_values(use, "mount"):
        text = value.texts[0].text
        if "=" in text.partition(":")[0] or text.startswith("type="):
            fields = dict(each.partition("=")[::2] for each in text.split(","))
            source = fields.get("source") or fields.get("src") or ""
            target = fields.get("target") or fields.get("destination") or fields.get("dst") or ""
        else:
            source, _, rest = text.partition(":")
            target = rest.partition(":")[0]
        if source.startswith(("/", ".", "~")) or HOLE in source:
            found.append((flat(target) if target else source, join(use.cwd, known(source))))
            if source.endswith("docker.sock"):
                use.emit(Act.SYSTEM, "hands the container engine to a container")
    return found


def docker_run(use: Use) -> None:
    """`docker run [OPTIONS] IMAGE [COMMAND]`: also the programs that it may start by itself."""
    mounts = _mounts(use)
    for _, source in mounts:
        use.emit(Act.READ, "is handed to a container", source, recursive=True)
    for kind in ("read", "write"):
        for value in option_values(use, kind):
            play_as(use, kind, value)
    rights = "rights" in use.tags
    if rights:
        use.emit(Act.SYSTEM, "gives a container the rights of the machine")
    words = use.parsed.operands
    entry = option_values(use, "program")
    inner = [*entry[-1:], *words[1:]]
    if inner:
        folders = option_values(use, "cd")
        cwd = join(known("/"), folders[-1]) if folders else known("/")
        carried(use, lambda: use.start(inner, cwd), mounts, rights=rights)
        if not entry:
            carried(use, lambda: _entered(use, words, cwd), mounts)
    elif words:
        use.unknown("runs what an image holds")


def _entered(use: Use, words: Sequence[Value], cwd: Value) -> None:
    """An image of a program's name is likely to give its words to it (`curlimages/curl URL`)."""
    name = _IMAGE.sub("", words[0].texts[0].text).rpartition("/")[2]
    if (
        use.look.table.find(name) is not None
        and use.look.table.find(words[1].texts[0].text) is None
    ):
        use.start([known(name), *words[1:]], cwd)


def ssh(use: Use) -> None:
    """`ssh [OPTIONS] HOST [OPTIONS] [COMMAND]`: the words are joined, and run by a shell there."""
    words = use.parsed.operands
    if len(words) > 1 and words[1].texts[0].text.startswith("-"):
        behind = parse(use.command, words, 1)
        use.parsed.values += behind.values
        words = [words[0], *behind.operands]
    for option, value in use.parsed.values:
        kind = option.role.kind if option.role else ""
        if kind == "setting":
            ssh_setting(use, value)
        elif kind != "text":
            play_as(use, kind, value)
    if not words:
        return
    use.send(words[0], "logs in to another machine")
    host = words[0].texts[0].text.rpartition("@")[2].lower()
    host = re.sub(r"^ssh://|:\d+$", "", host)
    stdin = use.invocation.stdin
    line = joined(words[1:]) if len(words) > 1 else stdin.text if stdin else None
    if line is None:
        return
    if host in _HERE:
        use.script(line, cwd=known(use.invocation.cwd.texts[0].text))
    else:
        carried(use, lambda: use.script(line))


def ssh_setting(use: Use, value: Value) -> None:
    """A setting of ssh (`-o NAME=VALUE`): some name programs that it runs."""
    name, _, text = re.sub(r"\s*[=\s]\s*", "=", value.texts[0].text.strip(), count=1).partition("=")
    lowered = name.lower()
    if lowered in _RUNS_OF_SSH and text.strip().lower() != "none":
        use.script(Value(known(text.strip()).texts, value.from_data))
    elif lowered == "include":
        play_as(use, "source", known(text.strip()))
    elif lowered in _LOADED_BY_SSH and text.strip().lower() != "none":
        use.unknown("loads a library that speaks to a key's device")
    elif lowered == "identityfile":
        play_as(use, "read", known(text.strip()))
    elif lowered in _READ_BY_SSH:
        for each in text.split():
            use.emit(Act.READ, IN_DOUBT, known(each))
    elif lowered in {"proxyjump", "hostname"}:
        use.send(Value(known(text.strip()).texts, value.from_data), "goes by another machine")


def elsewhere(use: Use) -> None:
    """A command whose words run in a container or on a machine that already exists."""
    # A debugger of a node has the node's own files below `/host`.
    mounts = [("/host", known("/"))] if "node" in use.tags else []
    carried(use, lambda: apply(use), mounts)


def ansible(use: Use) -> None:
    """`ansible HOSTS -m MODULE -a WORDS`: a file that is sent, a command, a folder that goes."""
    elsewhere(use)
    for text in (text.text for value in option_values(use, "shell") for text in value.texts):
        try:
            given = dict(each.partition("=")[::2] for each in shlex.split(text))
        except ValueError:
            continue
        if source := given.get("src"):
            use.emit(Act.READ, "is sent", known(source))
        if command := given.get("cmd"):
            carried(use, lambda command=command: use.script(known(command)))  # type: ignore[misc]
        place = given.get("path") or given.get("dest") or given.get("name")
        if place and given.get("state") == "absent":
            carried(use, lambda place=place: _removed_there(use, place))  # type: ignore[misc]


def _removed_there(use: Use, place: str) -> None:
    use.emit(Act.DELETE, "is removed on other machines", known(place), recursive=True)


def root(use: Use) -> None:
    """`chroot FOLDER COMMAND`: paths of the command lie below the folder."""
    words = use.parsed.operands
    if not words:
        return
    folder = join(use.cwd, words[0])
    play_as(use, "list", words[0])
    if len(words) > 1:
        carried(use, lambda: use.start(words[1:], known("/")), [("/", folder)], stays=True)


def bwrap(use: Use) -> None:
    """`bwrap [--bind HERE THERE]… COMMAND`: what isn't bound is taken for what is here."""
    values = use.parsed.values
    mounts = [
        (flat(there.texts[0].text), join(use.cwd, here))
        for (option, here), (_, there) in pairwise(values)
        if option.role is not None and option.role.kind == "mount"
    ]
    for _, source in mounts:
        use.emit(Act.LIST, "is handed to a cage", source)
    folders = option_values(use, "cd")
    cwd = join(known("/"), folders[-1]) if folders else use.cwd
    if use.parsed.operands:
        carried(use, lambda: use.start(use.parsed.operands, cwd), mounts, stays=True)


def scp(use: Use) -> None:
    """`scp [-o SETTING] FROM… TO`."""
    for value in option_values(use, "setting"):
        ssh_setting(use, value)
    use.parsed.values = [
        each for each in use.parsed.values if each[0].role is None or each[0].role.kind != "setting"
    ]
    apply(use)
