"""The door to the shell reader: from a command's text to all that it would start."""

from supervisor.policy.bash.invocation import Part, Reading, Unresolved
from supervisor.policy.bash.shell.limits import LONGEST, LONGEST_WITH_DOCUMENTS, Budget
from supervisor.policy.bash.shell.parse import parsed
from supervisor.policy.bash.shell.scope import Scope, Shell
from supervisor.policy.bash.shell.walk import Walker
from supervisor.policy.bash.value import HOLE

__all__ = ["Budget", "Shell", "read_script"]


def read_script(text: str, shell: Shell, budget: Budget, part_of: Part | None = None) -> Reading:
    """What a shell in this state would start if it ran the text, as far as can be told.

    With `part_of` the text stood inside of a command (`bash -c '…'`): all that is reported has
    that place, and holes in it are pieces that nobody knows. Never raises; what can't be told is
    in `unresolved`.
    """
    whole = part_of or Part(0, len(text))
    if HOLE in text and part_of is None:
        return Reading(unresolved=(Unresolved("it holds a NUL character", whole),))
    if len(text) > LONGEST and (len(text) > LONGEST_WITH_DOCUMENTS or "<<" not in text):
        budget.exhaust("it is too long to look through")
        return Reading(unresolved=(Unresolved("it is too long to look through", whole),))
    if part_of is not None and not budget.open_text(len(text)):
        return Reading(
            unresolved=(Unresolved(f"it can't be read to its end: {budget.exhausted}", whole),)
        )
    script, rest = parsed(text, budget, (part_of.start, part_of.end) if part_of else None)
    walker = Walker(Scope.starting(shell), budget, shell.stdin, part_of)
    walker.inherit((whole.start, whole.end))
    if rest > LONGEST:
        budget.exhaust("it is too long to look through")
        walker.unresolved.append(Unresolved("it is too long to look through", whole))
        return Reading(unresolved=tuple(walker.unresolved))
    if HOLE in text:
        walker.unresolved.append(Unresolved("a piece of a text that is run can't be known", whole))
    walker.script(script)
    if budget.exhausted:
        walker.unresolved.append(
            Unresolved(f"it can't be read to its end: {budget.exhausted}", whole)
        )
    return Reading(
        tuple(walker.invocations),
        tuple(dict.fromkeys(walker.unresolved)),
        tuple(walker.bombs),
        tuple((path, sink.result) for path, sink in walker.scope.written.items())
        if walker.scope.written
        else (),
    )
