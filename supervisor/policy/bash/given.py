"""What code gets from outside: the words behind it, its input, and variables that are known."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from supervisor.policy.bash.places import Found
from supervisor.policy.bash.value import HOLE, Value

_MOST: Final = 32
_LONGEST: Final = 4_096


@dataclass(frozen=True, slots=True)
class Given:
    """Texts that code may get hold of, with holes for what isn't known.

    `words` are its arguments, `text` its input (None: not known), `variables` those of the
    environment that the call sets itself.
    """

    words: tuple[str, ...] = ()
    text: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of the input."""
        return tuple((self.text or "").splitlines()[:_MOST])

    @property
    def all(self) -> tuple[str, ...]:
        """Each text by itself."""
        found = (*self.words, *self.lines, *self.variables.values())
        return tuple(dict.fromkeys(each for each in found if each and HOLE not in each))


NOTHING_GIVEN: Final = Given()


def given_of(
    words: Sequence[Value],
    text: Value | None,
    variables: Iterable[tuple[str, Value]] = (),
) -> Given:
    """The same from a command's words, its input and its variables; of several texts the first."""
    inputs = [each.text for each in text.texts if each.text.strip(HOLE)] if text is not None else []
    held = {name: value.texts[0].text for name, value in variables if len(value.texts) == 1}
    return Given(
        tuple([_told(each) for each in words[:_MOST]]),
        inputs[0][:_LONGEST] if inputs else None,
        held,
    )


def _told(word: Value) -> str:
    """A word's text; of one that can't be told, what it may name."""
    if isinstance(word, Found):
        start = word.start.texts[0].text
        return f"{start.rstrip('/')}/{word.names[0]}" if word.names else start
    return next((each.text for each in word.texts if each.text.strip(HOLE)), word.texts[0].text)
