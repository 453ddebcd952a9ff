"""What clients may send, and how a mistake is named."""

import pytest
from pydantic import ValidationError

from supervisor.api.bodies import ChatBody, TrustBody
from supervisor.trust.levels import TrustLevel


def test_both_spellings_of_a_key_mean_the_same() -> None:
    camel = {
        "message": "m",
        "sessionId": "s",
        "workspaceId": "w",
        "trustLevel": "vault",
        "workingDirectory": "d",
        "systemPrompt": "p",
        "agentPath": "a",
        "initialContext": "c",
    }
    snake = {
        "message": "m",
        "session_id": "s",
        "workspace_id": "w",
        "trust_level": "vault",
        "working_directory": "d",
        "system_prompt": "p",
        "agent_path": "a",
        "initial_context": "c",
    }
    assert ChatBody.model_validate(camel) == ChatBody.model_validate(snake)
    assert ChatBody.model_validate({"message": "m", "workspace": "w"}).workspace == "w"


@pytest.mark.parametrize("key", ["trustLvel", "trust", "TrustLevel", "sessionID", "token"])
def test_a_misspelt_key_is_named_and_not_ignored(key: str) -> None:
    with pytest.raises(ValidationError) as refused:
        ChatBody.model_validate({"message": "m", key: "full"})
    assert [error["loc"] for error in refused.value.errors()] == [(key,)]


def test_a_key_in_two_spellings_is_refused_rather_than_one_of_them_dropped() -> None:
    with pytest.raises(ValidationError):
        ChatBody.model_validate({"message": "m", "trustLevel": "sandboxed", "trust_level": "full"})


@pytest.mark.parametrize("word", ["root", "", "fulll", None, 0, True, ["full"]])
def test_a_word_that_is_no_trust_level_never_becomes_one(word: object) -> None:
    with pytest.raises(ValidationError):
        TrustBody.model_validate({"trustLevel": word})


def test_the_case_of_a_trust_level_does_not_matter() -> None:
    assert TrustBody.model_validate({"trustLevel": " Sandboxed "}).trust_level is (
        TrustLevel.SANDBOXED
    )


def test_a_lone_surrogate_is_refused_before_anything_has_to_store_it() -> None:
    with pytest.raises(ValidationError):
        ChatBody.model_validate({"message": "\ud800"})
