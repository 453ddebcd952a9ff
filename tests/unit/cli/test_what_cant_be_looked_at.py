"""A path or address that leads nowhere is told in a line, in whatever command and variable it is.

Where one may not enter, as root may everywhere, stands a name too long for any file: looking at it
fails in the same way, and `Path.is_dir` and its like raise.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from supervisor.cli.main import main

_NOWHERE = "/tmp/" + "x" * 300
_SCRIPT = str(Path(__file__).parents[3] / "examples" / "first-steps.yaml")
_OF_SERVE_ALONE = {"TRUSTFLOOR_TLS_CERT", "TRUSTFLOOR_AUDIT_KEY_FILE", "TRUSTFLOOR_RUNTIME_DIR"}
_PLAYED = ["--model", f"scripted:{_SCRIPT}", "--port", "0"]


@pytest.fixture(autouse=True)
def _of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    for name in ("TRUSTFLOOR_TOKEN", "TRUSTFLOOR_URL", "DOCKER_HOST", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "vault").mkdir()
    monkeypatch.setenv("TRUSTFLOOR_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("TRUSTFLOOR_VAULT", str(tmp_path / "vault"))
    with tempfile.TemporaryDirectory(prefix="tf-") as short:  # as sockets demand
        monkeypatch.setenv("TRUSTFLOOR_RUNTIME_DIR", short)
        yield


def _run(monkeypatch: pytest.MonkeyPatch, words: list[str]) -> int:
    """The command's exit status; anything but an orderly end is raised."""
    monkeypatch.setattr(sys, "argv", ["trustfloor", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.mark.parametrize(
    "words",
    [
        ["serve", "--vault", _NOWHERE, *_PLAYED],
        ["serve", "--data-dir", _NOWHERE, *_PLAYED],
        ["serve", "--model", f"scripted:{_NOWHERE}"],
        ["doctor", "--data-dir", _NOWHERE],
        ["sessions", "--data-dir", _NOWHERE],
        ["chat", "--attach", _NOWHERE, "hi"],
        ["import", _NOWHERE],
        ["captures", "add", _NOWHERE],
        ["audit", "verify", _NOWHERE],
        ["audit", "verify", "--log", _NOWHERE],
        ["audit", "show", "--log", f"{_NOWHERE}/a.jsonl"],
        ["audit", "export", "--log", f"{_NOWHERE}/a.jsonl"],
        ["audit", "archive", "--log", f"{_NOWHERE}/a.jsonl", _NOWHERE],
        ["policy", "check", _NOWHERE],
        ["policy", "show", "--policies", _NOWHERE],
        ["policy", "test", "--policies", _NOWHERE],
        ["policy", "test", "--cases", _NOWHERE],
        ["policy", "explain", "Bash", "ls", "--vault", _NOWHERE],
        ["policy", "explain", "Bash", "ls", "--policies", _NOWHERE],
        ["policy", "replay", "--candidate", _NOWHERE],
        pytest.param(["engine-filter", "--listen", f"{_NOWHERE}/s"], marks=pytest.mark.engine),
    ],
    ids=lambda words: " ".join(words).replace(_NOWHERE, "…").replace(_SCRIPT, "…"),
)
def test_a_command_says_in_a_line_which_path_leads_nowhere(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert _run(monkeypatch, words) in (1, 2)
    said = capfd.readouterr()
    assert "Traceback" not in said.err
    assert _NOWHERE in said.err + said.out


@pytest.mark.parametrize(
    "name",
    [
        "TRUSTFLOOR_VAULT",
        "TRUSTFLOOR_DATA_DIR",
        "TRUSTFLOOR_RUNTIME_DIR",
        "TRUSTFLOOR_POLICIES",
        "TRUSTFLOOR_AUDIT_KEY_FILE",
        "TRUSTFLOOR_TLS_CERT",
        "DOCKER_HOST",
    ],
)
@pytest.mark.parametrize("words", [["serve", *_PLAYED], ["doctor"]], ids=["serve", "doctor"])
def test_a_variable_that_leads_nowhere_is_told_in_a_line(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    name: str,
    words: list[str],
) -> None:
    value = "tcp://192.0.2.1:2375" if name == "DOCKER_HOST" else _NOWHERE
    monkeypatch.setenv(name, value)
    if name == "TRUSTFLOOR_TLS_CERT":
        monkeypatch.setenv("TRUSTFLOOR_TLS_KEY", value)
    assert _run(monkeypatch, words) in (1, 2)
    said = capfd.readouterr()
    assert "Traceback" not in said.err
    if words != ["doctor"] or name not in _OF_SERVE_ALONE:
        assert value in said.err + said.out


@pytest.mark.parametrize("url", ["http://", "http://a:b", "https://[::1", "ftp://x", "127.0.0.1:1"])
def test_an_address_that_is_none_is_told_in_a_line(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], url: str
) -> None:
    monkeypatch.setenv("TRUSTFLOOR_URL", url)
    monkeypatch.setenv("TRUSTFLOOR_TOKEN", "tf_x")
    assert _run(monkeypatch, ["sessions"]) == 1
    assert "this is no address of a supervisor" in capfd.readouterr().err


def test_nothing_is_made_for_a_script_that_cant_be_read(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert _run(monkeypatch, ["serve", "--model", f"scripted:{tmp_path}/none.yaml"]) == 1
    assert "can't be read: No such file or directory\n" in capfd.readouterr().err
    assert not (tmp_path / "data").exists()


def test_a_fault_of_ours_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_: object) -> None:
        raise ValueError("ours")

    monkeypatch.setattr("supervisor.cli.main.app", broken)
    monkeypatch.setattr(sys, "argv", ["trustfloor", "doctor"])
    with pytest.raises(ValueError, match="ours"):
        main()
