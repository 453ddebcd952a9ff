"""Whether what a call names leads elsewhere than it did when a person was asked about it. Pure.

They saw the names, and decided on where these led. What lies there may have changed meanwhile, as
others of the turn's calls go on: that is for the rules to judge anew.
"""

from collections.abc import Iterator

from supervisor.policy.call import Facts, PathFact

Place = tuple[bool, str | None, str | None, str | None]


def swapped(asked: Facts, now: Facts) -> str | None:
    """The first name that leads elsewhere by now; None: each leads where it did."""
    before = dict(_places(asked))
    return next((name for name, place in _places(now) if before.get(name, place) != place), None)


def _places(facts: Facts) -> Iterator[tuple[str, Place]]:
    for fact in facts.paths:
        for each in (fact, *(fact.matches or ())):
            yield each.named, _place(each)


def _place(fact: PathFact) -> Place:
    return fact.inside, fact.resolved, fact.entry, fact.mount
