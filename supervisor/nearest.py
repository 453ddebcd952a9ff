"""What was probably meant by a word that isn't known."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is most like this one, whatever its case; None: none is like it."""
    found = get_close_matches(word.lower(), list(known), n=1)
    return found[0] if found else None


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """A remedy that names the known word most like this one, if one is."""
    near = nearest(word, known)
    return f"did you mean `{near}`?" if near else None


def guess(word: str, known: Iterable[str]) -> str:
    """The same, as the end of a complaint about the word; empty if no word is like it."""
    said = did_you_mean(word, known)
    return f"; {said}" if said else ""
