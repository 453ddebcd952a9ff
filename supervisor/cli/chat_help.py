"""What a person may type in a conversation besides messages."""

from typing import Final

ENDS: Final = frozenset({"/quit", "/exit"})
HELPS: Final = frozenset({"/help", "/?"})

HELP: Final = (
    "What you type is sent to the agent, also what begins with a slash but for these:",
    "  /help            what you read now",
    "  /quit            ends the conversation, as an empty line and Ctrl-D do; the session stays",
    "  Ctrl-C           stops the turn that runs; a second time leaves it to itself",
    "A request that needs you says which keys answer it. In another terminal:",
    "  trustfloor approvals               what waits in all sessions",
    "  trustfloor sessions                the sessions; show, trust, rename, fork, archive, delete",
    "  trustfloor chat --session ID       goes on with one",
    "  trustfloor grants                  what was granted for longer than a call, and revoke",
)
