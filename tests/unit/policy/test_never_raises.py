"""Whatever an agent sends, the decision is a decision."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supervisor.policy.call import Allow, Ask, Deny, Facts, PathFact, ToolCall, Use
from supervisor.policy.decide import decide
from supervisor.policy.wanted import wanted
from supervisor.trust.levels import TrustLevel
from tests.worlds.policy_world import shipped_policy

POLICY = shipped_policy()
TOOLS = st.sampled_from([*POLICY.tools, "mcp__a__b", "", "Unknown"]) | st.text(max_size=20)
KEYS = st.sampled_from(
    ["file_path", "path", "paths", "notebook_path", "pattern", "glob", "command", "url", "type"]
) | st.text(max_size=6)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=8,
)
FACTS = st.builds(
    PathFact,
    named=st.text(max_size=10),
    inside=st.booleans(),
    names=st.lists(st.text(max_size=20), max_size=3).map(tuple),
    holds_denied=st.booleans(),
    use=st.sampled_from(Use),
)


@settings(max_examples=200)
@given(TOOLS, st.dictionaries(KEYS, JSON, max_size=5), st.sampled_from(TrustLevel), st.data())
def test_decide_never_raises(
    tool: str, input: dict[str, Any], level: TrustLevel, data: st.DataObject
) -> None:
    call = ToolCall(tool, input, "t", level, "/v", "/v")
    wants = wanted(call, POLICY).paths
    fitting = Facts(tuple(PathFact(w.text, inside=True, names=(w.text,), use=w.use) for w in wants))
    verdict = decide(call, fitting, POLICY)
    assert isinstance(verdict, Allow | Deny | Ask)
    assert verdict.rule != "internal-error"
    foreign = Facts(tuple(data.draw(st.lists(FACTS, max_size=3))))
    assert isinstance(decide(call, foreign, POLICY), Allow | Deny | Ask)


@pytest.mark.parametrize(
    "tool", ["Grep", "Glob", "Read", "Bash", "mcp__a__b", "WebFetch", "Unknown"]
)
@pytest.mark.parametrize("key", ["type", "path", "url", "x"])
def test_an_input_that_is_nested_too_deeply_is_denied(tool: str, key: str) -> None:
    deep: Any = []
    for _ in range(5_000):
        deep = [deep]
    verdict = decide(ToolCall(tool, {key: deep}, "t", TrustLevel.FULL, "/v", "/v"), Facts(), POLICY)
    assert isinstance(verdict, Deny)
    assert verdict.rule == "malformed-input"


def test_a_name_on_the_deny_list_is_found_as_deep_as_an_input_may_be() -> None:
    deep: Any = ".env"
    for _ in range(30):
        deep = [deep]
    call = ToolCall("mcp__a__b", {"x": deep}, "t", TrustLevel.FULL, "/v", "/v")
    assert [each.text for each in wanted(call, POLICY).paths] == [".env"]


def test_an_input_that_fails_us_is_denied_with_an_incident_id() -> None:
    call = ToolCall("Read", None, "t", TrustLevel.FULL, "/v", "/v")  # type: ignore[arg-type]
    verdict = decide(call, Facts(), POLICY)
    assert isinstance(verdict, Deny)
    assert verdict.rule == "internal-error"
    assert "incident" in verdict.reason
    assert "NoneType" not in verdict.reason
