"""Programs that take their orders from their input: editors, database shells, `at`."""

from typing import Final

from supervisor.policy.bash.apply import apply
from supervisor.policy.bash.code import run_code
from supervisor.policy.bash.roles import option_values
from supervisor.policy.bash.use import Use

_TAKE_ORDERS: Final = frozenset({"ed", "red", "ex", "vim", "vi", "nvim"})


def editor(use: Use) -> None:
    """`ed`, `ex`, `vim -es`."""
    apply(use)
    if use.invocation.stdin is not None and use.base in _TAKE_ORDERS:
        run_code(use, "ed", use.invocation.stdin.text)


def dialogue(use: Use) -> None:
    """Orders in the language that a tag names (`in:psql`), unless an option holds them."""
    apply(use)
    stdin = use.invocation.stdin
    language = next((tag[3:] for tag in use.tags if tag.startswith("in:")), "expect")
    if stdin is not None and not option_values(use, "code"):
        run_code(use, language, stdin.text)


def later(use: Use) -> None:
    """`at TIME`: runs what its input says."""
    if "asks" in use.tags:
        return
    apply(use)
    if use.invocation.stdin is not None and not option_values(use, "source"):
        use.script(use.invocation.stdin.text)
