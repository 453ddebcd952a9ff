"""Whether what a call names leads elsewhere than it did when a person was asked about it. Pure.

They saw the names, and decided on where these led. What lies there may have changed meanwhile, as
others of the turn's calls go on: that is for the rules to judge anew.
"""

from collections.abc import Iterable, Iterator

from supervisor.policy.call import Facts, PathFact

Place = tuple[bool, str | None, str | None, str | None]


def swapped(asked: Facts, now: Facts) -> str | None:
    """The first name that leads elsewhere by now; None: each leads where it did."""
    if [each.named for each in asked.paths] == [each.named for each in now.paths]:
        pairs = zip(asked.paths, now.paths, strict=True)
        return next(filter(None, (_moved((old,), (new,)) for old, new in pairs)), None)
    return _moved(asked.paths, now.paths)  # by another policy other paths may matter


def _moved(before: Iterable[PathFact], now: Iterable[PathFact]) -> str | None:
    """The first name whose place isn't one of those that it had; one name may have several."""
    known: dict[str, set[Place]] = {}
    for name, place in _places(before):
        known.setdefault(name, set()).add(place)
    return next(
        (name for name, place in _places(now) if place not in known.get(name, {place})), None
    )


def _places(facts: Iterable[PathFact]) -> Iterator[tuple[str, Place]]:
    for fact in facts:
        for each in (fact, *(fact.matches or ())):
            yield each.named, _place(each)


def _place(fact: PathFact) -> Place:
    return fact.inside, fact.resolved, fact.entry, fact.mount
