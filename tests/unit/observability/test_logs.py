import asyncio
import json
import logging

import pytest

from supervisor.events.redact import Redactor
from supervisor.observability.logs import configure_logs, fields, log_context

KEY = "sk-ant-canary-0123456789"
LOG = logging.getLogger("supervisor.test")

pytestmark = pytest.mark.usefixtures("restored_logging")


def fail_with(message: str) -> None:
    try:
        int(message)
    except ValueError:
        LOG.exception("it failed")


def test_a_json_line_says_when_where_and_for_whom(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("json")
    with log_context(session_id="s1"), log_context(turn_id="t1"):
        LOG.info("hello %s", "wörld\nnext")
    LOG.info("outside")
    inside, outside = map(json.loads, capsys.readouterr().err.splitlines())
    assert inside["message"] == "hello wörld\nnext"
    assert (inside["session_id"], inside["turn_id"]) == ("s1", "t1")
    assert (inside["level"], inside["logger"]) == ("info", "supervisor.test")
    assert "session_id" not in outside


async def test_tasks_keep_the_ids_of_where_they_began(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("json")

    async def say(name: str) -> None:
        with log_context(session_id=name):
            await asyncio.sleep(0)
            LOG.info(name)

    await asyncio.gather(*(say(name) for name in "abc"))
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert all(line["session_id"] == line["message"] for line in lines)
    assert len(lines) == 3


@pytest.mark.parametrize("log_format", ["json", "human"])
def test_a_secret_is_in_no_line_and_no_trace_back(
    capsys: pytest.CaptureFixture[str], log_format: str
) -> None:
    configure_logs(log_format, redact=Redactor([KEY]).text)  # type: ignore[arg-type]
    LOG.warning("key %s", KEY)
    fail_with(f"bad key {KEY}")
    shown = capsys.readouterr().err
    assert KEY not in shown
    assert shown.count("[redacted]") >= 2
    configure_logs(log_format)  # type: ignore[arg-type]
    LOG.warning("key %s", KEY)
    assert KEY in capsys.readouterr().err


def test_nothing_logged_can_forge_a_line_or_move_the_cursor(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logs("human")
    LOG.warning("a\nb\x1b[2J\u2028\u202ec")
    assert len(capsys.readouterr().err.splitlines()) == 1
    LOG.warning("a\nb\x1b[2J\u2028\u202ec")
    shown = capsys.readouterr().err
    assert r"a\nb\x1b[2J\u2028\u202ec" in shown


def test_arguments_that_do_not_fit_still_give_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("human")
    LOG.warning("%d of %d", "one")  # noqa: PLE1206 - the mistake is what is tried
    assert "'one'" in capsys.readouterr().err


def test_access_lines_urls_and_statements_stay_out_at_every_level(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logs("human", logging.DEBUG)
    logging.getLogger("uvicorn.access").info("GET /api?token=%s", KEY)
    logging.getLogger("httpx").info("POST https://x/?k=%s", KEY)
    logging.getLogger("aiosqlite").debug("INSERT %s", KEY)
    assert capsys.readouterr().err == ""
    logging.getLogger("uvicorn.error").info("started")
    assert "started" in capsys.readouterr().err


def test_what_is_known_of_an_event_is_a_member_of_its_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logs("json")
    LOG.info("turn ended", extra=fields(outcome="done", duration_ms=12, code=None, message="x"))
    told = json.loads(capsys.readouterr().err)
    assert (told["message"], told["outcome"], told["duration_ms"]) == ("turn ended", "done", 12)
    assert told["message_"] == "x"
    assert "code" not in told


def test_for_people_it_follows_the_words_and_forges_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logs("human", redact=Redactor([KEY]).text)
    LOG.info("denied", extra=fields(tool="Bash", rule="a b=c\nfake", path=KEY, empty=""))
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert told.rstrip().endswith('denied tool=Bash rule="a b=c\\nfake" path=[redacted] empty=""')
