"""The process's metrics for Prometheus, as they are at this moment."""

from typing import Any, Final

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response

from supervisor.api.parts import Supervisor
from supervisor.observability.metrics import METRICS

router = APIRouter(tags=["health"])

_TEXT: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "Prometheus' text format",
        "content": {"text/plain": {"schema": {"type": "string"}}},
    }
}


@router.get("/metrics", response_class=Response, responses=_TEXT)
async def metrics(supervisor: Supervisor) -> Response:
    """Numbers under few labels: no ids, no names that people or agents gave, no texts."""
    METRICS.running.set(len(supervisor.conversations.active()))
    METRICS.waiting.labels("permissions").set(len(supervisor.approvals.pending()))
    METRICS.waiting.labels("questions").set(len(supervisor.questions.pending()))
    METRICS.queued.set(supervisor.log.queued)
    return Response(METRICS.exposition(), media_type=CONTENT_TYPE_LATEST)
