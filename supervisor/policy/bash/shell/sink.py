"""Where the output of commands is gathered, as far as it is known."""

from supervisor.policy.bash.shell.algebra import EMPTY, join
from supervisor.policy.bash.value import Value


class Sink:
    """What a command's output goes into."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = EMPTY

    def write(self, value: Value) -> None:
        """Add to what has been printed."""
        self.value = value if self.value is EMPTY else join((self.value, value))
