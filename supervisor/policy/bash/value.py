"""What a word of a command may become: known texts, with holes where nothing can be known."""

from typing import Final

from supervisor.policy.record import record

HOLE: Final = "\0"
"""Stands in a text for a piece that can't be known; a command itself can't hold a NUL."""

MOST_TEXTS: Final = 64
"""Alternatives that are kept apart; beyond, the value is unknown."""


@record
class Text:
    """One text that a word may become.

    `pattern` is set where the shell would match it against file names: the same text as a glob in
    which characters that the shell takes as they are stand behind a backslash. `many` says that
    the hole may be any number of words (an unquoted substitution).
    """

    text: str
    pattern: str | None = None
    many: bool = False

    @property
    def known(self) -> bool:
        """Whether no piece of it is missing."""
        return HOLE not in self.text


@record
class Value:
    """All the texts that a word may become; never empty.

    `from_data` says that a piece of it is the output of a command or the content of a file: what
    is sent with it may be anything the machine holds.
    """

    texts: tuple[Text, ...]
    from_data: bool = False

    @property
    def known(self) -> bool:
        """Whether each alternative is known whole."""
        for each in self.texts:  # noqa: SIM110 - twice as fast as `all` with a generator
            if HOLE in each.text:
                return False
        return True

    @property
    def only(self) -> str | None:
        """The text, if there is just one and it is known."""
        texts = self.texts
        if len(texts) != 1 or HOLE in texts[0].text:
            return None
        return texts[0].text


def known(*texts: str) -> Value:
    """A value that is one of these texts."""
    return Value(tuple(Text(each) for each in texts))


UNKNOWN: Final = Value((Text(HOLE),))
"""A value of which nothing is known."""
