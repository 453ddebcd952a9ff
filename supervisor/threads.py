"""Work in threads that are somebody's own, so that nobody else's work is waited for."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


def begin_in(threads: Executor, work: Callable[..., T], *arguments: Any) -> asyncio.Future[T]:
    """Begin it in one of these threads, in the caller's context: `asyncio.to_thread` for them."""
    inside = partial(copy_context().run, work, *arguments)
    return asyncio.get_running_loop().run_in_executor(threads, inside)
