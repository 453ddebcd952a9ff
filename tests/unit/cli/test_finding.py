"""Where a supervisor is, and the token for it, as the environment has it: told where wrong."""

from pathlib import Path

import pytest

from trustfloor.errors import Unreachable
from trustfloor.finding import find_token
from trustfloor.private_socket import PrivateSocket
from trustfloor.sync.connection import Connection

CANARY = "canary-of-a-token"


@pytest.mark.parametrize("token", [f"{CANARY} x", f"{CANARY}\nx", f"{CANARY}ü", " "])
@pytest.mark.parametrize("place", ["environment", "file"])
def test_what_no_header_can_carry_is_refused_and_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, token: str, place: str
) -> None:
    monkeypatch.delenv("TRUSTFLOOR_TOKEN", raising=False)
    (tmp_path / "token").write_text(token)
    if place == "environment":
        monkeypatch.setenv("TRUSTFLOOR_TOKEN", token)
    with pytest.raises(Unreachable) as told:
        find_token(tmp_path)
    assert told.value.where in {"TRUSTFLOOR_TOKEN", str(tmp_path / "token")}
    assert CANARY not in f"{told.value.message} {told.value.remedy}"


def test_blanks_around_a_token_are_none_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRUSTFLOOR_TOKEN", f" {CANARY}\n")
    assert find_token(tmp_path) == CANARY


@pytest.mark.parametrize("address", ["nonsense", "localhost:3333", "ftp://x", "//x", ""])
def test_what_is_no_address_is_refused_with_what_is(address: str) -> None:
    with pytest.raises(Unreachable) as told:
        Connection(address, CANARY)
    assert "http://HOST:PORT" in str(told.value.remedy)


def test_a_socket_that_is_not_there_is_no_reason_to_change_a_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with pytest.raises(Unreachable) as told:
        PrivateSocket(tmp_path / "none.sock")
    assert "chmod" not in str(told.value.remedy)
    (tmp_path / "some.sock").touch()  # control: one that is there isn't trusted
    with pytest.raises(Unreachable) as told:
        PrivateSocket(tmp_path / "some.sock")
    assert "chmod 700" in str(told.value.remedy)
