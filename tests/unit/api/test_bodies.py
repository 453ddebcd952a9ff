"""What clients may send, and how a mistake is named."""

import pytest
from pydantic import ValidationError

from supervisor.api.bodies import Body, ChatBody, TrustBody
from supervisor.api.faults import say
from supervisor.api.grant_bodies import GrantBody
from supervisor.api.policy_bodies import ExplainBody, PermissionsBody
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


@pytest.mark.parametrize(
    ("body", "key", "nearest"),
    [
        (ChatBody, "trustLvel", "trustLevel"),
        (ChatBody, "trust_levl", "trustLevel"),
        (ChatBody, "workspce", "workspace"),
        (PermissionsBody, "trust_mod", "trustMode"),
        (PermissionsBody, "reads", "read"),
        (GrantBody, "expireIn", "expiresIn"),
    ],
)
def test_the_nearest_known_key_is_told(body: type[Body], key: str, nearest: str) -> None:
    with pytest.raises(ValidationError) as refused:
        body.model_validate({"message": "m", key: "canary"})
    fault = next(each for each in refused.value.errors() if each["loc"] == (key,))
    assert say(fault) == f"there is no such field; did you mean `{nearest}`?"
    assert "canary" not in str(refused.value)


def test_a_key_that_is_like_none_is_refused_without_a_guess() -> None:
    with pytest.raises(ValidationError) as refused:
        ChatBody.model_validate({"message": "m", "qqqq": 1})
    assert [say(fault) for fault in refused.value.errors()] == ["there is no such field"]


def test_a_misspelt_key_of_a_part_has_its_whole_place() -> None:
    given = {"tool": "Read", "input": {}, "permissions": {"trustMod": False}}
    with pytest.raises(ValidationError) as refused:
        ExplainBody.model_validate(given)
    assert [error["loc"] for error in refused.value.errors()] == [("permissions", "trustMod")]


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
