"""The plan of a turn of which nothing special is known."""

from pathlib import PurePosixPath

from supervisor.ids import SessionId, TurnId
from supervisor.policy.deny_list import DenyList
from supervisor.sessions import plan
from supervisor.sessions.message import Message
from supervisor.sessions.plan import SessionFacts, Terms, trust_of_message
from supervisor.sessions.turn_plan import TurnPlan
from supervisor.trust.levels import TrustLevel

FACTS = SessionFacts(
    session_id=SessionId("11111111-2222-4333-8444-555555555555"),
    vault=PurePosixPath("/v"),
    level=TrustLevel.FULL,
    floors=(),
    workspace="default",
    message_count=0,
    tokens_used=0,
    cost_usd=0.0,
    transcript=PurePosixPath(".claude/projects/-v/x.jsonl"),
    transcript_exists=False,
    working_directory=PurePosixPath("notes"),
)
TERMS = Terms(
    deny_list=DenyList(()),
    models=("claude-*",),
    server_tools=True,
    cage_network=False,
    trust_mode=True,
    turn_tokens=100,
    turn_cost_usd=None,
    session_tokens=150,
    session_cost_usd=2.0,
)


def planned(
    message: Message = Message("hello"),  # noqa: B008  (frozen)
    facts: SessionFacts = FACTS,
    terms: Terms = TERMS,
) -> TurnPlan:
    trust = trust_of_message(facts, message.trust_level)
    return plan.plan_turn(
        turn_id=TurnId("turn_1"), message=message, facts=facts, trust=trust, terms=terms
    )
