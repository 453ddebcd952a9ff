"""Grants at work: a gate that asks, a person's yes, and which later calls run without asking."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from supervisor.approvals.grants import MOST_ASKED, MOST_GRANTS, AskedBefore
from supervisor.errors import AlreadyAnswered, InvalidRequest, NotFound, RequestVoid
from supervisor.events.schema import PermissionResolvedEvent
from supervisor.policy.call import Allow, Deny
from supervisor.policy.needs import Needs
from supervisor.policy.permissions import GrantKind, GrantScope, Permissions
from supervisor.runtimes.honeytokens import Honeytokens
from supervisor.trust.levels import TrustLevel
from tests.worlds.grants import BY, GrantsWorld, grants_world, suggestion
from tests.worlds.storage import OTHER, SESSION

NOTE = "notes/a.md"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[GrantsWorld]:
    async with grants_world(tmp_path) as world:
        yield world


async def test_a_request_carries_suggestions_with_the_files_they_match(world: GrantsWorld) -> None:
    request = await world.asks(world.gate(), "Read", file_path=NOTE)
    assert [(each.id, each.pattern, each.matches) for each in request.suggested_grants] == [
        ("s1", "notes/a.md", 1),
        ("s2", "notes/*", 3),
        ("s3", "notes/**/*", 3),
        ("s4", "**/*", 7),
    ]
    assert all(each.scopes == (GrantScope.SESSION,) for each in request.suggested_grants)
    assert request.file_path == NOTE


async def test_of_an_agent_s_session_the_agent_can_be_granted(world: GrantsWorld) -> None:
    request = await world.asks(world.gate(agent="agents/a.md"), "Read", file_path=NOTE)
    assert request.suggested_grants[0].scopes == (GrantScope.SESSION, GrantScope.AGENT)


async def test_granted_once_the_next_call_asks_again(world: GrantsWorld) -> None:
    gate = world.gate()
    request = await world.asks(gate, "Read", file_path=NOTE)
    await world.grant(request, scope=GrantScope.ONCE)
    assert isinstance(await world.verdict(), Allow)
    assert not await world.runs(gate, "Read", file_path=NOTE)
    assert await world.book.list() == []


async def test_a_folder_that_was_granted_is_read_without_asking_and_nothing_else_is(
    world: GrantsWorld,
) -> None:
    gate = world.gate()
    request = await world.asks(gate, "Read", file_path=NOTE)
    granted = await world.grant(request, suggestions=(suggestion(request, "notes/*"),))
    assert isinstance(await world.verdict(), Allow)
    assert [(row.kind, row.pattern) for row in granted.rows] == [(GrantKind.READ, "notes/*")]
    assert await world.runs(gate, "Read", file_path="notes/Café.md")
    for path in ("docs/guide.md", "notes/up/vault/docs/guide.md", ".env", "notes/innocent.md"):
        assert not await world.runs(gate, "Read", file_path=path), path
    assert not await world.runs(gate, "Write", file_path=NOTE, content="x")
    assert not await world.runs(gate, "Bash", command=f"cat {NOTE}")


async def test_the_grant_of_one_file_grants_that_file_and_nothing_besides(
    world: GrantsWorld,
) -> None:
    """Fault 1 of the earlier system: one file granted, and the session could do everything."""
    gate = world.gate()
    request = await world.asks(gate, "Write", file_path=NOTE, content="x")
    before = world.book.permissions_for(SESSION, None, TrustLevel.VAULT, 0.0, Permissions(False))
    await world.grant(request, suggestions=(suggestion(request, NOTE),))
    after = world.book.permissions_for(SESSION, None, TrustLevel.VAULT, 0.0, Permissions(False))
    assert before == Permissions(trust_mode=False)
    (grant,) = after.grants
    assert (grant.kind, grant.pattern) == (GrantKind.WRITE, NOTE)
    assert after == Permissions(trust_mode=False, grants=(grant,))
    tried = {
        "the same write": ("Write", {"file_path": NOTE, "content": "y"}),
        "an edit of it": ("Edit", {"file_path": NOTE, "old_string": "y", "new_string": "z"}),
        "a read of it": ("Read", {"file_path": NOTE}),
        "its neighbour": ("Write", {"file_path": "notes/b.md", "content": "x"}),
        "a name that begins so": ("Write", {"file_path": NOTE + ".bak", "content": "x"}),
        "another folder": ("Write", {"file_path": "docs/guide.md", "content": "x"}),
        "the outside": ("Write", {"file_path": "/tmp/x", "content": "x"}),
        "a denied file": ("Write", {"file_path": ".env", "content": "x"}),
        "what steers agents": ("Write", {"file_path": ".claude/settings.json", "content": "{}"}),
        "a list": ("LS", {"path": "notes"}),
        "a search": ("Grep", {"pattern": "x", "path": "notes"}),
        "a command": ("Bash", {"command": "git log"}),
        "a command that writes it": ("Bash", {"command": f"echo x > {NOTE}"}),
        "an unknown tool": ("Strange", {"x": "y"}),
    }
    became = [
        name for name, (tool, given) in tried.items() if await world.runs(gate, tool, **given)
    ]
    assert became == ["the same write", "an edit of it"]


async def test_several_suggestions_may_be_granted_in_one_answer(world: GrantsWorld) -> None:
    gate = world.gate()
    request = await world.asks(gate, "Bash", command="git log | sort > docs/log.txt")
    chosen = [suggestion(request, each) for each in ("git log", "sort", "docs/*")]
    granted = await world.grant(request, suggestions=tuple(chosen))
    assert len(granted.rows) == 3
    assert await world.runs(gate, "Bash", command="git log -n 3 | sort -r > docs/other.txt")
    assert not await world.runs(gate, "Bash", command="git log -n 3 | sort -r > notes/other.txt")
    assert not await world.runs(gate, "Bash", command="git push | sort > docs/log.txt")


async def test_an_own_pattern_is_granted_if_it_may_be(world: GrantsWorld) -> None:
    gate = world.gate()
    request = await world.asks(gate, "Read", file_path=NOTE)
    granted = await world.grant(request, pattern="notes/*.md")
    assert granted.rows[0].kind is GrantKind.READ
    assert await world.runs(gate, "Read", file_path="notes/Café.md")
    assert not await world.runs(gate, "Read", file_path="notes/other.txt")


@pytest.mark.parametrize(
    ("yes", "field"),
    [
        ({"pattern": "/etc/*"}, "pattern"),
        ({"pattern": "../*"}, "pattern"),
        ({"pattern": ".env"}, "pattern"),
        ({"pattern": "docs/*"}, "pattern"),
        ({"pattern": "notes/*", "kind": GrantKind.WRITE}, "pattern"),
        ({"pattern": "Read", "kind": GrantKind.TOOL}, "pattern"),
        ({"suggestions": ("s99",)}, "suggestion"),
        ({"suggestions": ()}, "suggestion"),
        ({"suggestions": ("s1",), "expires_in": 0}, "expiresIn"),
        ({"suggestions": ("s1",), "expires_in": float("nan")}, "expiresIn"),
        ({"suggestions": ("s1",), "expires_in": 1e12}, "expiresIn"),
        ({"suggestions": ("s1",), "scope": GrantScope.ONCE}, "suggestion"),
        ({"pattern": "notes/*", "scope": GrantScope.ONCE}, "pattern"),
        ({"expires_in": 5, "scope": GrantScope.ONCE}, "expiresIn"),
        ({"suggestions": ("s1",), "scope": GrantScope.AGENT}, "scope"),
        ({"suggestions": ("s1",), "content_hash": "0" * 64}, "contentHash"),
    ],
)
async def test_a_grant_that_can_not_be_names_the_field_and_leaves_the_request_open(
    world: GrantsWorld, yes: dict[str, object], field: str
) -> None:
    request = await world.asks(world.gate(), "Read", file_path=NOTE)
    with pytest.raises(InvalidRequest) as refused:
        await world.grant(request, **yes)
    assert refused.value.where == field
    assert world.approvals.pending() == (request,)
    assert await world.book.list(ended=True) == []


async def test_a_honeytoken_in_a_grant_is_refused_and_rings_the_turn_s_alarm(
    world: GrantsWorld,
) -> None:
    honeytokens = Honeytokens(b"a secret of this test's own, 32 b")
    token = honeytokens.decoy("keys/id_ed25519").decode().split("\n")[-2]
    gate = world.gate(honeytokens=honeytokens)
    request = await world.asks(gate, "Read", file_path=NOTE)
    with pytest.raises(InvalidRequest) as refused:
        await world.grant(request, pattern=token)
    assert token not in refused.value.message
    assert honeytokens.tripped is not None
    assert (honeytokens.tripped.path, honeytokens.tripped.where) == ("keys/id_ed25519", "a grant")


async def test_a_grant_ends_by_the_clock_from_the_next_call_on(world: GrantsWorld) -> None:
    gate = world.gate()
    request = await world.asks(gate, "Read", file_path=NOTE)
    await world.grant(request, suggestions=("s1",), expires_in=60)
    world.clock.at += 59
    assert await world.runs(gate, "Read", file_path=NOTE)
    world.clock.at += 1
    assert not await world.runs(gate, "Read", file_path=NOTE)
    assert await world.book.list() == []
    assert len(await world.book.list(ended=True)) == 1


async def test_a_revoked_grant_does_not_count_for_the_next_call(world: GrantsWorld) -> None:
    gate = world.gate()
    request = await world.asks(gate, "Read", file_path=NOTE)
    granted = await world.grant(request, suggestions=("s1",))
    assert await world.runs(gate, "Read", file_path=NOTE)
    ended = await world.book.revoke(granted.rows[0].id, "somebody")
    assert ended.revoked_by == "somebody"
    assert not await world.runs(gate, "Read", file_path=NOTE)
    assert await world.book.revoke(granted.rows[0].id, "somebody else") == ended
    with pytest.raises(NotFound):
        await world.book.revoke("grant_none", "somebody")


async def test_a_session_s_grants_survive_a_restart_and_ended_ones_stay_ended(
    tmp_path: Path,
) -> None:
    async with grants_world(tmp_path) as world:
        for path in (NOTE, "docs/guide.md"):
            request = await world.asks(world.gate(), "Read", file_path=path)
            granted = await world.grant(request, suggestions=("s1",))
        await world.book.revoke(granted.rows[0].id, "somebody")
    async with grants_world(tmp_path) as world:
        assert await world.runs(world.gate(), "Read", file_path=NOTE)
        assert not await world.runs(world.gate(), "Read", file_path="docs/guide.md")


async def test_an_agent_s_grant_counts_in_all_its_sessions_and_in_no_other_s(
    world: GrantsWorld,
) -> None:
    gate = world.gate(agent="agents/a.md")
    request = await world.asks(gate, "Read", file_path=NOTE)
    await world.grant(request, suggestions=("s1",), scope=GrantScope.AGENT)
    assert await world.runs(
        world.gate(session_id=OTHER, agent="agents/a.md"), "Read", file_path=NOTE
    )
    for other in (world.gate(agent="agents/b.md"), world.gate()):
        assert not await world.runs(other, "Read", file_path=NOTE)
    assert len(await world.book.list(agent="agents/a.md")) == 1


async def test_other_requests_that_a_grant_covers_are_answered_by_it(world: GrantsWorld) -> None:
    gate = world.gate()
    first = await world.asks(gate, "Read", file_path=NOTE)
    covered = await world.asks(gate, "Read", file_path="notes/Café.md")
    other_folder = await world.asks(gate, "Read", file_path="docs/guide.md")
    other_session = await world.asks(
        world.gate(session_id=OTHER), "Read", file_path="notes/Café.md"
    )
    granted = await world.grant(first, suggestions=(suggestion(first, "notes/*"),))
    assert granted.also == (covered.id,)
    assert isinstance(await world.verdict(1), Allow)
    assert world.approvals.pending() == (other_folder, other_session)
    told = {each.id: each for each in world.sink.of(PermissionResolvedEvent)}
    assert [each.pattern for each in told[first.id].grants] == ["notes/*"]
    assert told[first.id].scope is GrantScope.SESSION
    assert told[covered.id].covered_by == (granted.rows[0].id,)
    assert told[covered.id].grants == ()


async def test_a_grant_once_answers_nothing_but_its_own_request(world: GrantsWorld) -> None:
    gate = world.gate()
    first = await world.asks(gate, "Read", file_path=NOTE)
    same = await world.asks(gate, "Read", file_path=NOTE)
    await world.grant(first, scope=GrantScope.ONCE)
    assert world.approvals.pending() == (same,)


async def test_what_a_suggestion_had_saved_is_counted_from_the_session_s_earlier_requests(
    world: GrantsWorld,
) -> None:
    gate = world.gate()
    for path in (NOTE, "notes/Café.md", "docs/guide.md", NOTE):
        await world.runs(gate, "Read", file_path=path)
    await world.runs(gate, "Write", file_path=NOTE, content="x")
    await world.runs(world.gate(session_id=OTHER), "Read", file_path=NOTE)
    request = await world.asks(gate, "Read", file_path=NOTE)
    assert {each.pattern: each.earlier_prompts for each in request.suggested_grants} == {
        "notes/a.md": 2,
        "notes/*": 3,
        "notes/**/*": 3,
        "**/*": 4,
    }


def test_what_was_asked_before_is_remembered_within_bounds() -> None:
    asked = AskedBefore()
    for _ in range(MOST_ASKED + 5):
        asked.remember(SESSION, Needs("vault"))
    assert len(asked.of(SESSION)) == MOST_ASKED
    assert asked.of(OTHER) == ()


async def test_of_two_answers_the_first_wins_and_the_second_leaves_no_grant(
    world: GrantsWorld,
) -> None:
    gate = world.gate()
    request = await world.asks(gate, "Read", file_path=NOTE)
    await world.approvals.answer(request.id, "denied")
    with pytest.raises(AlreadyAnswered):
        await world.grant(request, suggestions=("s1",))
    assert isinstance(await world.verdict(), Deny)
    assert not await world.runs(gate, "Read", file_path=NOTE)
    assert await world.book.list(ended=True) == []


async def test_an_answer_that_comes_while_the_grant_is_stored_wins_and_the_grant_is_ended(
    world: GrantsWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = world.gate()
    request = await world.asks(gate, "Read", file_path=NOTE)
    append = world.audit.append

    async def denied_meanwhile(*entry: object) -> object:
        if entry[0] == "grant":
            await world.approvals.answer(request.id, "denied")
        return await append(*entry)  # type: ignore[arg-type]

    monkeypatch.setattr(world.book, "_record", denied_meanwhile)
    with pytest.raises(AlreadyAnswered):
        await world.grant(request, suggestions=("s1",))
    assert not await world.runs(gate, "Read", file_path=NOTE)
    (row,) = await world.book.list(ended=True)
    assert row.revoked_at is not None
    assert [each["grant"] for each in world.audited("revoke")] == [row.id]


async def test_a_request_whose_turn_has_ended_is_void(world: GrantsWorld) -> None:
    request = await world.asks(world.gate(), "Read", file_path=NOTE)
    world.running[-1].cancel()
    with pytest.raises(asyncio.CancelledError):
        await world.running[-1]
    with pytest.raises(RequestVoid):
        await world.grant(request, suggestions=("s1",))


async def test_a_grant_that_can_not_be_audited_does_not_count(
    world: GrantsWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = world.gate()
    request = await world.asks(gate, "Read", file_path=NOTE)
    append = world.audit.append

    async def full(*entry: object) -> object:
        if entry[0] == "grant":
            raise OSError("no space")
        return await append(*entry)  # type: ignore[arg-type]

    monkeypatch.setattr(world.book, "_record", full)
    with pytest.raises(OSError, match="no space"):
        await world.grant(request, suggestions=("s1",))
    assert world.approvals.pending() == (request,)
    assert not await world.runs(gate, "Read", file_path=NOTE)


async def test_each_grant_and_each_end_is_in_the_audit_log(world: GrantsWorld) -> None:
    request = await world.asks(world.gate(), "Read", file_path=NOTE)
    granted = await world.grant(request, suggestions=("s2",), expires_in=60)
    await world.book.revoke(granted.rows[0].id, "somebody")
    (given,) = world.audited("grant")
    assert given == {
        "grant": granted.rows[0].id,
        "scope": "session",
        "agent": None,
        "kind": "read",
        "pattern": "notes/*",
        "shown": "notes/*",
        "level": "vault",
        "givenBy": BY,
        "request": request.id,
        "expiresAt": "2023-11-14T22:14:20+00:00",
    }
    (ended,) = world.audited("revoke")
    assert ended == {**given, "by": "somebody"}


async def test_a_session_has_so_many_grants_and_no_more(world: GrantsWorld) -> None:
    request = await world.asks(world.gate(), "Read", file_path=NOTE)
    (row,) = (await world.grant(request, suggestions=("s1",))).rows
    world.book._sessions[SESSION] = {str(n): row.grant() for n in range(MOST_GRANTS)}
    request = await world.asks(world.gate(), "Read", file_path="docs/guide.md")
    with pytest.raises(InvalidRequest, match=f"{MOST_GRANTS} grants already"):
        await world.grant(request, suggestions=("s1",))


async def test_a_request_says_why_nothing_can_be_granted_beyond_it(world: GrantsWorld) -> None:
    outside = await world.asks(world.gate(), "Bash", command="cat /etc/hostname")
    assert outside.suggested_grants == ()
    assert outside.reason.endswith(
        "it can be allowed this once only: no grant opens the outside of the vault"
    )
    inside = await world.asks(world.gate(), "Bash", command="npx tsc --noEmit")
    assert "this once only" not in inside.reason
    await world.grant(inside, suggestions=(suggestion(inside, "npx tsc"),))
    assert await world.runs(world.gate(), "Bash", command="npx tsc -p notes")
    assert not await world.runs(world.gate(), "Bash", command="npx tsc-other")
