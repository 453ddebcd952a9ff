"""Requests to the model's API, as an agent could send them to the gateway."""

import json
from typing import Any

from hypothesis import strategies as st

from supervisor.gateway.access import Budget, ModelAccess
from supervisor.gateway.admission import Admitted, Asked, admit
from supervisor.gateway.refusal import Refused

NOTHING = Budget(None, None)
CLOSED = ModelAccess(models=("claude-*",), server_tools=False, budget=NOTHING)
OPEN = ModelAccess(models=("claude-*",), server_tools=True, budget=NOTHING)
BETA = [("beta", "true")]

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["type", "content", "source", "tool", "text", "file_id"])
            | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)
"""Whatever a field can hold, with the names in it that the API reads something from."""


def body(**fields: Any) -> Any:
    """A body that passes, with these fields."""
    return {"model": "claude-sonnet-5-5", "messages": [], **fields}


def user(*blocks: Any) -> Any:
    """A body with a person's message of these blocks."""
    return body(messages=[{"role": "user", "content": list(blocks)}])


def ask(
    content: Any = None,
    *,
    terms: ModelAccess = CLOSED,
    method: str = "POST",
    path: str = "/v1/messages",
    query: Any = BETA,
    raw: bytes | None = None,
) -> Admitted | Refused:
    """The gateway's verdict on a request; without server tools, unless `terms` say otherwise."""
    data = raw if raw is not None else json.dumps(body() if content is None else content).encode()
    return admit(Asked(method, path, query, [("accept", "application/json")], data), terms)
