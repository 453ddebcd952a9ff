from pathlib import Path

from supervisor.events.schema import SessionResume
from supervisor.sessions.conversation_record import ResumeInfo, SessionWithMessages
from tests.worlds.storage import session, stores


async def test_a_record_with_its_messages_is_the_record_and_its_messages(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        stored = await at.sessions.create_session(session())
    read = SessionWithMessages.of(stored, [{"role": "user", "content": "hello"}])
    assert dict(read) == {**dict(stored), "messages": ({"role": "user", "content": "hello"},)}
    assert read.permissions == stored.permissions


def test_how_a_session_was_taken_up_is_told_in_short() -> None:
    resumed = SessionResume(method="sdk_resume", sdk_session_valid=True, previous_message_count=10)
    assert ResumeInfo.of(resumed) == ResumeInfo(
        method="sdk_resume",
        is_new_session=False,
        previous_message_count=10,
        sdk_session_available=True,
    )
    assert ResumeInfo.of(SessionResume(method="new")).is_new_session
