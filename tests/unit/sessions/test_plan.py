"""The pure plan of a turn: floors at every message, budgets, prompt, resume."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.errors import InvalidRequest
from supervisor.sessions import message as message_module
from supervisor.sessions.message import Message
from supervisor.sessions.plan import trust_of_message
from supervisor.trust.floor import Floor, FloorSource
from supervisor.trust.levels import TrustLevel
from tests.worlds.plans import FACTS, TERMS, planned

LEVELS = st.sampled_from(list(TrustLevel))


@given(LEVELS, LEVELS, LEVELS, st.none() | LEVELS)
def test_no_message_runs_below_any_floor(
    server: TrustLevel, workspace: TrustLevel, session: TrustLevel, asked: TrustLevel | None
) -> None:
    floors = (Floor(FloorSource.SERVER, server), Floor(FloorSource.WORKSPACE, workspace, "w"))
    facts = replace(FACTS, floors=floors, level=session)
    level = planned(Message("x", trust_level=asked), facts).run.level
    assert not any(level.is_looser_than(floor) for floor in (server, workspace, session))
    assert asked is None or not level.is_looser_than(asked)


def test_a_scripted_model_is_told_with_the_first_event() -> None:
    assert not planned().opening().scripted
    assert replace(planned(), scripted=True).opening().scripted


def test_the_opening_says_whose_floor_raised_the_level() -> None:
    floor = Floor(FloorSource.WORKSPACE, TrustLevel.SANDBOXED, "locked")
    facts = replace(FACTS, workspace="locked", floors=(floor,))
    opening = planned(Message("x", trust_level=TrustLevel.FULL), facts).opening()
    assert opening.trust_level is TrustLevel.SANDBOXED
    assert "workspace 'locked'" in opening.trust.trace[-1]


def test_a_turn_may_spend_no_more_than_the_session_has_left() -> None:
    budget = planned(facts=replace(FACTS, tokens_used=120, cost_usd=0.5)).run.access.budget
    assert (budget.tokens, budget.cost_usd) == (30, 1.5)


def test_an_overdrawn_session_has_nothing_left_and_not_less() -> None:
    budget = planned(facts=replace(FACTS, tokens_used=500, cost_usd=9.0)).run.access.budget
    assert (budget.tokens, budget.cost_usd) == (0, 0.0)


def test_without_limits_there_is_no_budget() -> None:
    terms = replace(TERMS, turn_tokens=None, session_tokens=None, session_cost_usd=None)
    budget = planned(terms=terms).run.access.budget
    assert (budget.tokens, budget.cost_usd) == (None, None)


def test_initial_context_frames_the_first_message_only() -> None:
    message = Message("do it", initial_context="ctx")
    expected = "## Context\n\nctx\n\n---\n\n## Request\n\ndo it"
    assert planned(message).prompt == expected
    assert planned(message, replace(FACTS, message_count=2)).prompt == "do it"


def test_initial_context_alone_is_the_whole_message() -> None:
    assert planned(Message("", initial_context="ctx")).prompt == "ctx"


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_an_empty_message_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        planned(Message(text))
    assert refused.value.where == "message"


def test_a_message_at_the_limit_passes_and_one_above_it_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(message_module, "MAX_MESSAGE_CHARS", 5)
    assert planned(Message("12345")).prompt == "12345"
    with pytest.raises(InvalidRequest):
        planned(Message("123456"))


def test_a_kept_transcript_is_resumed_and_said_so() -> None:
    resumed = planned(facts=replace(FACTS, transcript_exists=True, message_count=4))
    assert resumed.run.resume
    assert resumed.resume.method == "sdk_resume"
    assert resumed.resume.previous_message_count == 4
    assert planned().resume.method == "new"


@pytest.mark.parametrize("model", [None, "claude-x-5", "claude-x-5[1m]", "sonnet", "opus[1m]"])
def test_a_model_that_the_policy_allows_passes(model: str | None) -> None:
    assert planned(Message("x", model=model)).run.model == model


@pytest.mark.parametrize("model", ["gpt-5", "Claude-x", "sonet", "x-claude-y", "claude"])
def test_another_is_refused_before_anything_runs(model: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        planned(Message("x", model=model))
    assert refused.value.where == "model"
    assert "claude-*" in str(refused.value.remedy)


def test_a_session_that_begins_demands_nothing_of_itself_yet() -> None:
    trust = trust_of_message(replace(FACTS, level=None), TrustLevel.FULL)
    assert "session" not in " ".join(trust.trace())
    assert trust.effective is TrustLevel.FULL
