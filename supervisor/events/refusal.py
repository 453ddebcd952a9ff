"""A call that was refused, as the agent's program words it, and as it reads to people. Pure.

CLI 2.1.332 gives the agent what a hook refuses as `PreToolUse:Read hook error: …`: no error at all,
but a decision with its reason.
"""

import re
from typing import Final

REFUSED: Final = "refused: "
"""How the result of a call begins that was not let run."""
_AS_THE_CLI_SAYS: Final = re.compile(r"PreToolUse:\S{1,200} hook error: ")


def in_plain_words(result: str) -> str:
    """The result of a call that failed, with what the program says before a refusal made plain."""
    found = _AS_THE_CLI_SAYS.match(result)
    return result if found is None else REFUSED + result[found.end() :]
