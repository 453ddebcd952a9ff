"""Programs of which nothing is known, and that may run the command in their words."""

from typing import Final

from supervisor.policy.bash.effect import Act, Effect
from supervisor.policy.bash.use import Use

_DANGEROUS: Final = frozenset(
    {"sudo", "doas", "pkexec", "rm", "dd", "chmod", "chown", "chgrp", "kill", "shred", "wipefs",
     "bash", "sh", "zsh", "dash", "nc", "ncat"}
)  # fmt: skip
_MOST_SKIPPED: Final = 6


def perhaps_carries(use: Use) -> None:
    """An unknown wrapper (`mywrap -n 5 rm -rf /`): what would be dangerous counts as if it ran."""
    argv = use.argv
    for at, word in enumerate(argv[1:_MOST_SKIPPED], 1):
        text = word.texts[0].text
        base = text.rpartition("/")[2]
        if at + 1 < len(argv) and (base in _DANGEROUS or base.startswith("mkfs")):
            effects = use.look.aside()
            try:
                use.start(argv[at:])
            finally:
                use.look.back()
            for each in effects:
                if counts(each):
                    use.look.add(each)
            return


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
