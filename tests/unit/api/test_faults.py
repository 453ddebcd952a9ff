"""What is wrong is said in our words, whatever it is, and without the value."""

import pytest
from pydantic import BaseModel, Field, ValidationError, field_validator

from supervisor.api.faults import say
from supervisor.settings import Settings
from supervisor.trust.levels import TrustLevel

CANARY = "canary-of-a-value"


class Sample(BaseModel):
    level: TrustLevel = TrustLevel.FULL
    count: int = Field(1, ge=1, lt=10)
    name: str = Field("x", max_length=9)
    tags: list[str] = Field(["x"], min_length=1, max_length=2)
    flag: bool = False
    own: str = "x"

    @field_validator("own")
    @classmethod
    def _own(cls, value: str) -> str:
        if value == CANARY:
            raise ValueError("this is what we say")
        return value


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"level": CANARY}, "use one of: full, vault, sandboxed"),
        ({"level": "vualt"}, "use one of: full, vault, sandboxed; did you mean `vault`?"),
        ({"count": CANARY}, "a whole number is expected"),
        ({"count": 1.5}, "a whole number is expected"),
        ({"count": 0}, "it must be at least 1"),
        ({"count": 10}, "it must be less than 10"),
        ({"name": [CANARY]}, "text is expected"),
        ({"name": CANARY}, "it may have at most 9 characters"),
        ({"tags": []}, "it needs at least 1 of these"),
        ({"tags": [CANARY] * 3}, "it may hold at most 2 of these"),
        ({"flag": CANARY}, "true or false is expected"),
        ({"own": CANARY}, "this is what we say"),
    ],
)
def test_each_kind_of_fault_has_its_words(given: dict[str, object], words: str) -> None:
    with pytest.raises(ValidationError) as found:
        Sample.model_validate(given)
    (fault,) = found.value.errors()
    assert say(fault) == words


def test_a_setting_of_ours_says_what_its_check_says() -> None:
    with pytest.raises(ValidationError) as found:
        Settings(allowed_hosts="*")
    (fault,) = found.value.errors(include_input=False, include_url=False)
    assert say(fault) == "a wildcard would let any web page in; list the names"
