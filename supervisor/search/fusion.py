"""Two rankings → one: reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009). Pure.

Ranks count and not scores, as those of words and of vectors have nothing to do with each other.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from supervisor.storage.found import Found

K: Final = 60
"""Of the paper: how little the very first ranks count more than the next."""


def fused(by_words: Sequence[Found], near: Sequence[Found]) -> list[Found]:
    """The contents of both, the best first; the place is where the words are, if they are."""
    scores: dict[str, float] = {}
    contents: dict[str, Found] = {}
    for ranking in (by_words, near):
        for rank, found in enumerate(ranking, start=1):
            contents.setdefault(found.content_id, found)
            scores[found.content_id] = scores.get(found.content_id, 0.0) + 1 / (K + rank)
    order = sorted(scores, key=lambda name: (-scores[name], name))
    return [replace(contents[name], score=round(scores[name], 6)) for name in order]
