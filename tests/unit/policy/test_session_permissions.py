"""What a session's own record permits, in the policy's own reading of its patterns."""

import pytest
from pydantic import ValidationError

from supervisor.policy.permissions import Permissions
from supervisor.policy.session_permissions import NOTHING_UNASKED, SessionPermissions


def asking(**said: object) -> SessionPermissions:
    return SessionPermissions.model_validate({"trust_mode": False, **said})


def test_the_defaults_are_the_documented_ones() -> None:
    assert SessionPermissions().model_dump(mode="json") == {
        "read": [],
        "write": ["Chat/artifacts/*"],
        "bash": False,
        "trust_mode": True,
    }


@pytest.mark.parametrize(
    ("glob", "path", "covered"),
    [
        ("Blogs/*", "Blogs/x.md", True),
        ("Blogs/*", "Blogs/deep/er/x.md", False),
        ("Blogs/**/*", "Blogs/deep/er/x.md", True),
        ("Blogs/**/*", "BlogsPrivate/x.md", False),
        ("Blogs/**/*", "Blogs/../Secret/x.md", False),
        ("**/*", "/etc/passwd", False),
        ("**/*", "notes/a.md", True),
        ("**/*", "../a.md", False),
        ("Projects/*", "Projects", True),  # its names may be listed
    ],
)
def test_a_glob_covers_what_it_covers_in_a_grant(glob: str, path: str, covered: bool) -> None:
    assert asking(read=[glob]).can_read(path) is covered
    if path != "Projects":
        assert asking(write=[glob]).can_write(path) is covered
        assert asking(write=[glob]).can_read(path) is False


@pytest.mark.parametrize(
    ("prefix", "command", "covered"),
    [
        ("git log", "git log -n 5", True),
        ("git log:*", "git log", True),
        ("git log", "git push", False),
        ("git log", "git logger", False),
        ("ls", "ls && cat .env", False),
        ("ls", "ls; rm -rf x", False),
        ("ls", "ls $(cat .env)", False),
        ("ls", "ls\nrm x", False),
        ("ls", "/usr/bin/ls", True),
        ("=ls && pwd", "ls && pwd", True),
        ("=ls && pwd", "ls && pwd && rm x", False),
        ("=ls", "=ls", False),
        ("ls", "", False),
    ],
)
def test_a_command_is_covered_as_a_whole_or_not_at_all(
    prefix: str, command: str, covered: bool
) -> None:
    assert asking(bash=[prefix]).can_bash(command) is covered


def test_all_or_no_commands_can_be_said_too() -> None:
    assert asking(bash=True).can_bash("ls && pwd")
    assert not asking(bash=False).can_bash("ls")
    assert not asking(bash=[]).can_bash("ls")


def test_trust_mode_covers_the_vault_and_nothing_outside() -> None:
    trusted = SessionPermissions()
    assert trusted.can_read("a/b")
    assert trusted.can_write("a/b")
    assert trusted.can_bash("anything")
    assert not trusted.can_bash(" ")
    for outside in ("/etc/passwd", "../x", "a/../../x", ""):
        assert not trusted.can_read(outside)
        assert not trusted.can_write(outside)


def test_nothing_unasked_is_nothing() -> None:
    assert not NOTHING_UNASKED.can_read("a")
    assert not NOTHING_UNASKED.can_write("Chat/artifacts/a")
    assert not NOTHING_UNASKED.can_bash("ls")


@pytest.mark.parametrize(
    "said",
    [
        {"bash": "yes"},
        {"bash": 1},
        {"trust_mode": "true"},
        {"trust_mode": 1},
        {"read": "notes/*"},
        {"read": ["/etc/*"]},
        {"write": ["../*"]},
        {"write": [5]},
        {"bash": ["ls; rm x"]},
        {"bash": [""]},
    ],
)
def test_what_is_no_permission_is_refused(said: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        SessionPermissions.model_validate(said)


def test_a_decision_reads_the_same() -> None:
    said = asking(read=["a/*"], bash=["ls"])
    assert said.as_permissions(confined=False) == Permissions(
        trust_mode=False,
        read=("a/*",),
        write=("Chat/artifacts/*",),
        bash=("ls",),
        confined=False,
    )
