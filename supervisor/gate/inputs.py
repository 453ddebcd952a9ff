"""A call's input on its way through the gate: copied, bounded, and no burden to others."""

import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, Final, TypeVar

from supervisor.events.size import is_light
from supervisor.policy.call import Deny
from supervisor.threads import begin_in

LARGEST_INPUT: Final = 16 * 1024 * 1024
"""Bytes of a call's input as JSON."""
INLINE_CHARS: Final = 16_384
"""Characters of an input (at most 64 KiB) that are judged at once; more takes a thread."""
THREADS: Final = 4
"""For large inputs, of all turns together."""
LONGEST_NAME: Final = 256
"""Characters of a tool's name, and of the ids that come with a call."""

LONGEST_PLACE: Final = 4_096
"""Characters of the folder that a call is made in."""

T = TypeVar("T")


async def run(input: Any, work: Callable[..., T], *arguments: Any) -> T:
    """Do it at once, or in a thread where the input is so large that others would have to wait.

    In one of its own: what an agent sends must not keep the audit log and others from theirs.
    """
    if is_light(input, INLINE_CHARS, INLINE_CHARS):
        return work(*arguments)
    return await begin_in(_threads(), work, *arguments)


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix="gate")


def copy_of(input: Mapping[str, Any]) -> tuple[dict[str, Any], int] | Deny:
    """The input as a value that nobody else holds: what is judged and shown is what runs.

    With its size in bytes of JSON.
    """
    refusal = Deny(rule="malformed-input", reason="the tool's input isn't valid JSON or Unicode")
    if not is_light(input, LARGEST_INPUT, LARGEST_INPUT):
        return _too_large()
    try:
        text = json.dumps(input, ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError):
        return refusal
    if size > LARGEST_INPUT:
        return _too_large()
    copy = json.loads(text)
    return (copy, size) if isinstance(copy, dict) else refusal


def _too_large() -> Deny:
    return Deny("malformed-input", f"the tool's input is larger than {LARGEST_INPUT} bytes")


def names_fit(tool: str, tool_use_id: str, agent: str | None) -> Deny | None:
    """The refusal of a call whose names are too long to be kept."""
    if any(len(name) > LONGEST_NAME for name in (tool, tool_use_id, agent or "")):
        return Deny("malformed-input", f"a name or id has over {LONGEST_NAME} characters")
    return None


def place_fits(cwd: object) -> Deny | None:
    """The refusal of a call that is made in no folder that there could be."""
    if cwd is None or (
        isinstance(cwd, str)
        and cwd.startswith("/")
        and len(cwd) <= LONGEST_PLACE
        and "\0" not in cwd
    ):
        return None
    return Deny("malformed-input", "the call's working directory is no absolute path")


def short(text: object, longest: int) -> str:
    """The text, cut where it is too long; of what isn't one, its type."""
    whole = text if isinstance(text, str) else type(text).__name__
    return whole if len(whole) <= longest else whole[: longest - 1] + "…"
