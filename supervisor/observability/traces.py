"""Spans over a request, its turn, the turn's container and tool calls, for OpenTelemetry.

Off unless a receiver is named; then the libraries aren't even loaded, and a span is one look at a
variable. Attributes are words of ours, numbers and ids; no text of a message, path, or tool input,
and no exception either, whose text may hold any of them.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Final

from supervisor.errors import ConfigurationError
from supervisor.observability.health import version

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
    from opentelemetry.trace import Span, Tracer

Word = str | int | float | bool

_FLUSH_MS: Final = 3_000


class _Off:
    """What is written to where nothing is traced."""

    def set_attribute(self, _name: str, _value: Word) -> None:
        """Nothing."""


class _State:
    tracer: "Tracer | None" = None


_OFF: Final[AbstractContextManager[_Off]] = nullcontext(_Off())


def span(name: str, **known: Word | None) -> "AbstractContextManager[Span | _Off]":
    """A span of this name while the block lasts, within the one around it."""
    tracer = _State.tracer
    if tracer is None:
        return _OFF
    attributes = {f"trustfloor.{key}": value for key, value in known.items() if value is not None}
    return tracer.start_as_current_span(
        name, attributes=attributes, record_exception=False, set_status_on_exception=False
    )


@asynccontextmanager
async def traces(url: str | None) -> AsyncIterator[None]:
    """Send spans to the OTLP receiver at this address (HTTP) while the block lasts; None: none.

    Raises ConfigurationError if the libraries aren't installed. A receiver that is away costs
    spans and a line in the log, nothing else.
    """
    if url is None:
        yield
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415
            OTLPSpanExporter,
        )
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError as error:
        raise ConfigurationError(
            "traces take libraries that aren't installed",
            where="TRUSTFLOOR_TRACES_URL",
            remedy="install the extra: pip install 'trustfloor[traces]'; or unset the variable",
        ) from error
    async with traced_by(BatchSpanProcessor(OTLPSpanExporter(endpoint=url, timeout=2))):
        yield


@asynccontextmanager
async def traced_by(processor: "SpanProcessor") -> AsyncIterator["TracerProvider"]:
    """Give spans to this processor while the block lasts."""
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415

    resource = Resource({"service.name": "trustfloor", "service.version": version()})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(processor)
    _State.tracer = provider.get_tracer("trustfloor")
    try:
        yield provider
    finally:
        _State.tracer = None
        await asyncio.to_thread(provider.force_flush, _FLUSH_MS)
        await asyncio.to_thread(provider.shutdown)
