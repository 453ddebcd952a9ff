"""Search as one part: its index, what answers from it, and similarity where an admin set it up."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx

from supervisor.errors import ConfigurationError
from supervisor.policy.deny_list import DenyList
from supervisor.search.embeds import HttpEmbeds, Similar
from supervisor.search.finding import Finding
from supervisor.search.index import Index, Look
from supervisor.settings import Settings
from supervisor.storage.database import Database
from supervisor.storage.index_rows import IndexRows


@asynccontextmanager
async def open_search(
    settings: Settings, database: Database, look: Look, hidden: Callable[[], DenyList]
) -> AsyncIterator[tuple[Index, Finding]]:
    """The index, kept up to date while the block lasts, and what answers from it.

    Raises ConfigurationError where similarity is set up without its extra.
    """
    rows = IndexRows(database)
    if database.adoption is not None:
        await rows.forget_all()  # who made it may have written anything into it
    async with AsyncExitStack() as stack:
        similar = await _similar(settings, rows, database, stack)
        index = Index(
            rows, settings.vault, look=look, hidden=hidden, home=Path.home(), similar=similar
        )
        await stack.enter_async_context(index)
        yield index, Finding(database.path, settings.vault, index, hidden, similar)


async def _similar(
    settings: Settings, rows: IndexRows, database: Database, stack: AsyncExitStack
) -> Similar | None:
    if settings.embeddings_url is None:
        return None
    try:
        from supervisor.search.similarity import Similarity  # noqa: PLC0415 - takes the extra
    except ImportError:
        raise ConfigurationError(
            "similarity in search takes the extra `embeddings`",
            where="TRUSTFLOOR_EMBEDDINGS_URL",
            remedy="install requirements/embeddings.txt, or leave the setting out",
        ) from None
    # A proxy from the environment must not get to see the texts, and no answer sends them on.
    client = await stack.enter_async_context(
        httpx.AsyncClient(trust_env=False, follow_redirects=False)
    )
    embeds = HttpEmbeds(
        settings.embeddings_url, settings.embeddings_model, settings.embeddings_key, client
    )
    return Similarity(rows, database, embeds)
