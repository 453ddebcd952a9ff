"""What a person may type in a conversation besides messages."""

from typing import Final

ENDS: Final = frozenset({"/quit", "/exit"})
HELPS: Final = frozenset({"/help", "/?"})

NO_UTF_8: Final = ("this text is no UTF-8, and can't be sent", None, "give it as UTF-8")
"""What is wrong, where, and what helps."""

HELP: Final = (
    "What you type is sent to the agent, also what begins with a slash but for these:",
    "  /help            what you read now",
    "  /quit            ends the conversation, as Ctrl-D does; the session stays",
    "  Ctrl-C           stops the turn that runs; a second time leaves it to itself; at the prompt",
    "                   it drops the line, and ends the conversation if there is none",
    "What you paste is one message, with all its lines, and waits for Enter.",
    "A request that needs you says which keys answer it. In another terminal:",
    "  trustfloor approvals               what waits in all sessions",
    "  trustfloor sessions                the sessions; show, stop, trust, rename, fork, …",
    "  trustfloor chat --session ID       goes on with one",
    "  trustfloor grants                  what was granted for longer than a call, and revoke",
)


def ways_to_allow(session: str | None) -> tuple[str, ...]:
    """What helps where requests were refused for want of an answer: they can't be answered now."""
    again = f"trustfloor chat --session {session}"
    return (
        "  what to do: they are over, so send the message again where somebody can answer:",
        f"    {again}                at a terminal, which asks you",
        f"    {again} --approve wait '…'",
        "        and while it waits, in another terminal or the console: trustfloor approvals",
        "    What is granted for the session (a number at the prompt) isn't asked about there any",
        "    more, without a terminal either; nor is what a rule of your policy allows.",
    )
