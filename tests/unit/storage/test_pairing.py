import logging
from pathlib import Path
from uuid import uuid4

import pytest

from supervisor.errors import AlreadyAnswered, InvalidRequest, NotFound
from supervisor.storage import pairing
from supervisor.storage.pairing import NewPairingRequest, PairingStore
from supervisor.trust.levels import TrustLevel
from tests.worlds.storage import TickingClock, stores


def asks(user: str = "7", display: str | None = "Ann", chat: str = "70") -> NewPairingRequest:
    return NewPairingRequest(
        id=str(uuid4()),
        platform="telegram",
        platform_user_id=user,
        platform_chat_id=chat,
        platform_user_display=display,
    )


async def test_a_person_has_one_open_request_however_often_they_ask(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        store = PairingStore(at.db, TickingClock())
        first = await store.upsert_pairing_request(asks())
        again = await store.upsert_pairing_request(asks(display="Ann B.", chat="71"))
        await store.upsert_pairing_request(asks("8"))
        assert (again.id, again.created_at) == (first.id, first.created_at)
        assert (again.platform_user_display, again.platform_chat_id) == ("Ann B.", "71")
        pending = await store.get_pending_pairing_requests()
        assert [each.platform_user_id for each in pending] == ["7", "8"]
        assert await store.get_pairing_request(first.id) == again
        assert await store.get_pairing_by_platform_user("telegram", "7") is None
        with pytest.raises(NotFound):
            await store.get_pairing_request("nobody")
        with pytest.raises(InvalidRequest, match="id"):
            await store.upsert_pairing_request(
                NewPairingRequest(
                    id=first.id, platform="discord", platform_user_id="9", platform_chat_id="9"
                )
            )


async def test_approval_is_at_a_level_and_the_strictest_if_none_is_said(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        store = PairingStore(at.db, TickingClock())
        ann = await store.upsert_pairing_request(asks())
        bob = await store.upsert_pairing_request(asks("8"))
        approved = await store.resolve_pairing_request(ann.id, "approved", TrustLevel.VAULT, "me")
        assert approved == await store.get_pairing_by_platform_user("telegram", "7")
        assert (approved.approved_trust_level, approved.resolved_by) == (TrustLevel.VAULT, "me")
        strict = await store.resolve_pairing_request(bob.id, "approved")
        assert strict.approved_trust_level is TrustLevel.SANDBOXED
        assert await store.get_pending_pairing_requests() == []
        with pytest.raises(AlreadyAnswered):
            await store.resolve_pairing_request(bob.id, "approved", TrustLevel.FULL)
        with pytest.raises(NotFound):
            await store.resolve_pairing_request("nobody", "denied")


async def test_the_newest_answer_counts(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        store = PairingStore(at.db, TickingClock())
        for answer in ("approved", "denied", "denied", "approved"):
            request = await store.upsert_pairing_request(asks())
            await store.resolve_pairing_request(request.id, answer)
            approved = await store.get_pairing_by_platform_user("telegram", "7")
            assert (approved is not None) == (answer == "approved")
        assert approved is not None
        pending = await store.upsert_pairing_request(asks())
        taken_back = await store.resolve_pairing_request(approved.id, "denied", TrustLevel.FULL)
        assert (taken_back.status, taken_back.approved_trust_level) == ("denied", None)
        assert await store.get_pairing_by_platform_user("telegram", "7") is None
        assert [each.id for each in await store.get_pending_pairing_requests()] == [pending.id]
        with pytest.raises(AlreadyAnswered):
            await store.resolve_pairing_request(approved.id, "approved", TrustLevel.FULL)


@pytest.mark.parametrize(
    "bad", [asks(""), asks("\ud800"), asks(chat=""), asks(display="x" * 501), asks("a\0")]
)
async def test_what_can_not_be_stored_is_refused(tmp_path: Path, bad: NewPairingRequest) -> None:
    async with stores(tmp_path) as at:
        store = PairingStore(at.db)
        with pytest.raises(InvalidRequest):
            await store.upsert_pairing_request(bad)


async def test_strangers_can_not_fill_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairing, "MOST_PENDING", 3)
    async with stores(tmp_path) as at:
        store = PairingStore(at.db)
        for number in range(3):
            await store.upsert_pairing_request(asks(str(number)))
        with pytest.raises(InvalidRequest, match="wait already"):
            await store.upsert_pairing_request(asks("stranger"))
        await store.upsert_pairing_request(asks("1"))  # who waits already may ask again


async def test_rows_written_by_hand_approve_nobody_looser(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with stores(tmp_path) as at:
        store = PairingStore(at.db)
        for user, level in (("1", "root"), ("2", None), ("3", b"full")):
            request = await store.upsert_pairing_request(asks(user))
            async with at.db.write() as cx:
                await cx.execute(
                    "UPDATE pairing_requests SET status = 'approved', approved_trust_level = ?,"
                    " created_at = 'yesterday' WHERE id = ?",
                    (level, request.id),
                )
        odd = await store.upsert_pairing_request(asks("4"))
        async with at.db.write() as cx:
            await cx.execute(
                "UPDATE pairing_requests SET status = 'Approved' WHERE id = ?", (odd.id,)
            )
        with caplog.at_level(logging.WARNING):
            for user in ("1", "2", "3"):
                found = await store.get_pairing_by_platform_user("telegram", user)
                assert found is not None
                assert found.approved_trust_level is TrustLevel.SANDBOXED
                assert set(found.damaged) == {"approved_trust_level", "created_at"}
            assert await store.get_pairing_by_platform_user("telegram", "4") is None
            with pytest.raises(NotFound):
                await store.get_pairing_request(odd.id)
        assert "counts for nothing" in caplog.text
