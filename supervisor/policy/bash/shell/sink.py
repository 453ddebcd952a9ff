"""Where the output of commands is gathered, as far as it is known."""

from supervisor.policy.bash.shell.algebra import EMPTY, hinted, join
from supervisor.policy.bash.value import HOLE, Text, Value


class Sink:
    """What a command's output goes into.

    What unknown output may name is kept beside the text, since it holds wherever in it it stands.
    """

    __slots__ = ("hints", "value")

    def __init__(self) -> None:
        self.value = EMPTY
        self.hints: tuple[Text, ...] = ()

    def write(self, value: Value) -> None:
        """Add to what has been printed."""
        if len(value.texts) > 1 and value.texts[0].text == HOLE:
            self.hints += value.texts[1:]
            value = Value(value.texts[:1], value.from_data)
        self.value = value if self.value is EMPTY else join((self.value, value))

    @property
    def result(self) -> Value:
        """All that has been printed, with the hints as further texts that it may be."""
        return hinted(self.value, self.hints) if self.hints else self.value
