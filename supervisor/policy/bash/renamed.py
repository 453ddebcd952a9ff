"""Programs that a command links, copies or moves to another path, where they are the same."""

from collections.abc import Sequence
from typing import Final

from supervisor.policy.bash.effect import Act, Effect
from supervisor.policy.bash.kept_scripts import KeptScripts
from supervisor.policy.bash.places import join
from supervisor.policy.bash.use import Use
from supervisor.policy.bash.value import known

_GIVES: Final = frozenset({Act.READ, Act.LINK})
"""What happens to a file that gets another name, or is copied."""


def renamed(use: Use, effects: Sequence[Effect], kept: KeptScripts) -> bool:
    """Keeps what programs are under their new names (`ln -s /usr/bin/env x`); whether any are."""
    part, table = use.invocation.part, use.look.table
    program: str | None = None
    places: list[str] = []
    for each in effects:
        if each.part is not part or each.target is None:
            continue
        for text in each.target.texts:
            if each.act is Act.WRITE:
                places.append(text.text)
            elif (
                program is None
                and each.act in _GIVES
                and "/" in text.text
                and text.pattern is None
                and table.find(text.text) is not None
            ):
                program = text.text
    if program is None:
        return False
    for place in places:
        kept.called(join(use.cwd, known(place)), program)
    return bool(places)
