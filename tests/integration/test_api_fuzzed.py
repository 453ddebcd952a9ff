"""What the OpenAPI document tells is true of a server that runs, for requests made up of it."""

from pathlib import Path

import pytest

from tests.fuzz.run import fuzz


@pytest.mark.slow
async def test_no_request_that_the_document_leads_to_gets_an_answer_that_it_does_not_tell(
    tmp_path: Path,
) -> None:
    tally = await fuzz(tmp_path, 250, whole=False)
    assert tally.failures == 0, tally.by_status()
    assert tally.stateless >= 200
    assert tally.stateful >= 50
    assert not any(answer.startswith("5") for answer in tally.answers if "ready" not in answer)
