"""One call with all that its verdict is made from, put together once."""

from dataclasses import dataclass, field
from typing import Final

from supervisor.policy.call import Facts, PathFact, ToolCall, Use
from supervisor.policy.compiled import Category, CompiledPolicy
from supervisor.policy.deny_list import DenyList, DenyRule
from supervisor.policy.targets import MOST_JUDGED, Target, targets
from supervisor.policy.wants import Wants

_EFFECT: Final = Use.EFFECT


@dataclass(slots=True)
class Judged:
    """A call, what it names and does, and what the file system says of it."""

    call: ToolCall
    category: Category
    wants: Wants
    facts: Facts
    policy: CompiledPolicy
    paths: tuple[PathFact, ...] = field(init=False)
    """The paths that the input names as such."""
    targets: list[Target] = field(init=False)
    """The paths that a command's effects act upon."""
    doubt: str | None = field(init=False)
    """Why the call couldn't be looked at whole."""
    denied: DenyList = field(init=False)
    """The names that this call may not touch in any way."""

    def __post_init__(self) -> None:
        wants, paths = self.wants, self.facts.paths
        self.doubt = wants.doubt
        self.denied = self.policy.may_not_be_named(self.call.level)
        if wants.analysis is None:
            self.paths, self.targets = paths, []
        else:
            self.paths = tuple([fact for fact in paths if fact.use is not _EFFECT])
            self.targets, complete = targets(wants.analysis, self.call, wants.paths, paths)
            if not complete and self.doubt is None:
                self.doubt = f"the command names more than {MOST_JUDGED} paths"


def first_match(names: DenyList, spellings: tuple[str, ...]) -> DenyRule | None:
    """The first rule that one of the spellings of a path falls under."""
    for name in spellings:
        rule = names.match(name)
        if rule is not None:
            return rule
    return None
