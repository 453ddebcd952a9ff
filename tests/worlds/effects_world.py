"""A folder and a home for commands whose effects are looked at, and effects told in few words."""

from supervisor.policy.bash.effect import Act, Analysis, Effect, ShellContext
from supervisor.policy.bash.effects import analyse
from supervisor.policy.bash.table_reading import shipped_table
from supervisor.policy.bash.use import IN_DOUBT
from supervisor.policy.bash.value import HOLE, Text

CONTEXT = ShellContext("/home/dev/VAULT", "/home/dev", {"USER": "dev"})

_NAMES = {
    Act.LIST: "list", Act.READ: "read", Act.WRITE: "write", Act.DELETE: "delete",
    Act.CHANGE_MODE: "mode", Act.LINK: "link", Act.SEND: "send", Act.ESCALATE: "escalate",
    Act.SIGNAL: "signal", Act.OVERWRITE_DISK: "disk", Act.REMOTE_SHELL: "remote-shell",
    Act.EXHAUST: "exhaust", Act.REPOSITORY: "repository", Act.REVEAL: "reveal", Act.LOSE: "lose",
    Act.SYSTEM: "system",
    Act.UNKNOWN: "unknown", Act.EXECUTE: "run",
}  # fmt: skip


def effects_of(command: str) -> Analysis:
    """What the shipped table says that the command does."""
    return analyse(command, CONTEXT, shipped_table())


def told(effect: Effect) -> str:
    """`delete* build only *.o`: `*` goes down a folder, `!` is severe, `?` in doubt, `@` elsewhere.

    A hole is `…`, a glob stands between slashes of its own: `<*.md>`.
    """
    marks = ("!" if effect.severe else "") + ("*" if effect.recursive else "")
    marks += ("?" if effect.reason == IN_DOUBT else "") + ("@" if effect.elsewhere else "")
    words = [_NAMES[effect.act] + marks]
    if effect.target is not None:
        words.append("|".join(_text(each) for each in effect.target.texts))
    if effect.cwd is not None and effect.cwd.only != CONTEXT.cwd and effect.target is not None:
        words.append(f"in {_text(effect.cwd.texts[0])}")
    if effect.only:
        words.append(f"only {' '.join(effect.only)}")
    return " ".join(words)


def _text(text: Text) -> str:
    shown = f"<{text.pattern}>" if text.pattern is not None else text.text
    return shown.replace(HOLE, "…")


def summary(command: str) -> str:
    """All that it does besides running programs, in the order of its text."""
    found = [told(each) for each in effects_of(command).effects if each.act is not Act.EXECUTE]
    return "; ".join(dict.fromkeys(found)) or "nothing"


def programs(command: str) -> list[tuple[str, ...]]:
    """The words of all that it runs and that needs a permission."""
    effects = effects_of(command).effects
    return [each.words for each in effects if each.act is Act.EXECUTE and not each.harmless]
