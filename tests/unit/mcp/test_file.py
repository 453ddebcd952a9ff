"""`.mcp.json` is changed whole or not at all, in place, and never through a link."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from supervisor.errors import InvalidRequest, NotFound
from supervisor.mcp.file import LARGEST, ChangedMeanwhile, McpFile

ENTRY: dict[str, Any] = {"command": "x", "args": ["y"]}
WRITTEN = """{
   "$schema": "https://example.org/s.json",
   "browser": {"extra": {"b": 1.0, "a": 2}, "command": "npx", "args": ["-y"], "env": {"A": "1"}},
   "notes": {"type": "http", "url": "http://localhost:1/"}
}
"""


@pytest.fixture(name="path")
def path_fixture(tmp_path: Path) -> Path:
    return tmp_path / ".mcp.json"


def names(path: Path) -> list[str]:
    return [each.name for each in McpFile(path.parent).read().servers]


def test_no_file_is_no_servers_and_the_first_one_makes_it_closed_to_others(path: Path) -> None:
    assert McpFile(path.parent).read().servers == ()
    _, is_new = McpFile(path.parent).put("a", ENTRY)
    assert is_new
    assert json.loads(path.read_text()) == {"a": ENTRY}
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in path.parent.iterdir()] == [".mcp.json"]


@pytest.mark.parametrize("nested", [False, True])
def test_both_forms_are_read_and_kept(path: Path, nested: bool) -> None:
    plain = {"a": ENTRY}
    path.write_text(json.dumps({"mcpServers": plain, "inputs": [1]} if nested else plain))
    McpFile(path.parent).put("b", ENTRY)
    assert names(path) == ["a", "b"]
    found = json.loads(path.read_text())
    assert ("mcpServers" in found) == nested
    McpFile(path.parent).remove("a")
    assert names(path) == ["b"]


def test_a_change_keeps_unknown_keys_order_layout_and_mode(path: Path) -> None:
    path.write_text(WRITTEN)
    path.chmod(0o640)
    entry, is_new = McpFile(path.parent).put("browser", {"args": ["-n"], "command": "npx"})
    assert not is_new
    assert entry.other == {"extra": {"b": 1.0, "a": 2}}
    text = path.read_text()
    first, last = WRITTEN.splitlines(keepends=True)[1], '   "notes": {"type": "http"'
    assert first in text
    assert last in text
    found = json.loads(text)
    assert list(found) == ["$schema", "browser", "notes"]
    assert list(found["browser"]) == ["extra", "command", "args"]
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_change_keeps_the_owner(path: Path) -> None:
    path.write_text(WRITTEN)
    os.chown(path, 12345, 12345)
    McpFile(path.parent).put("a", ENTRY)
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 12345)


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ('{\n  "a": {"command": "x"},\n}', ".mcp.json:3:1"),
        ('{"a": {"command": "CANARY" "b": 1}}', ".mcp.json:1:28"),
        ("not json", ".mcp.json:1:1"),
        ('{"a": {}, "a": {}}', ".mcp.json:1:11"),
        ('{"mcpServers": []}', ".mcp.json:1:16"),
    ],
)
def test_a_broken_file_is_told_with_its_place_and_never_written_over(
    path: Path, content: str, place: str
) -> None:
    path.write_text(content)
    (fault,) = McpFile(path.parent).read().broken
    assert fault.place == place
    with pytest.raises(InvalidRequest) as caught:
        McpFile(path.parent).put("b", ENTRY)
    assert caught.value.where == place
    assert "CANARY" not in caught.value.message
    with pytest.raises(InvalidRequest):
        McpFile(path.parent).remove("a")
    assert path.read_text() == content


@pytest.mark.parametrize("what", ["link", "dangling", "folder", "pipe", "bytes", "huge"])
def test_what_is_no_plain_text_file_is_refused_and_left(path: Path, what: str) -> None:
    target = path.parent / "outside.json"
    target.write_text('{"a": {"command": "x"}}')
    match what:
        case "link":
            path.symlink_to(target)
        case "dangling":
            path.symlink_to(path.parent / "nowhere")
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "bytes":
            path.write_bytes(b'{"a": "\xff"}')
        case _:
            path.write_text(" " * (LARGEST + 1))
    before = path.lstat()
    (fault,) = McpFile(path.parent).read().broken
    assert fault.file == ".mcp.json"
    assert names(path) == []
    with pytest.raises(InvalidRequest):
        McpFile(path.parent).put("b", ENTRY)
    assert (path.lstat().st_ino, path.lstat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert target.read_text() == '{"a": {"command": "x"}}'


def test_an_entry_with_a_mistake_costs_itself_only(path: Path) -> None:
    path.write_text('{\n "good": {"command": "x"},\n "bad": {"command": 1},\n "odd": 3\n}')
    found = McpFile(path.parent).read()
    assert [each.name for each in found.servers] == ["good"]
    places = [(each.place, each.expected) for each in found.broken]
    assert places[0] == (".mcp.json:3:2 bad.command", "a text is expected")
    assert places[1][0] == ".mcp.json:4:2 odd"
    assert found.fault("bad") == found.broken[0]
    assert found.fault("ba") is None
    McpFile(path.parent).put("bad", ENTRY)
    assert names(path) == ["good", "bad"]


def test_a_byte_order_mark_and_windows_lines_stay(path: Path) -> None:
    path.write_bytes('\ufeff{\r\n\t"a": {"command": "x"}\r\n}\r\n'.encode())
    McpFile(path.parent).put("b", ENTRY)
    raw = path.read_bytes()
    assert raw.startswith("\ufeff{\r\n\t".encode())
    assert raw.count(b"\n") == raw.count(b"\r\n")
    assert names(path) == ["a", "b"]


def test_changes_side_by_side_lose_nothing(path: Path) -> None:
    file = McpFile(path.parent)
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda n: file.put(f"s{n}", ENTRY), range(60)))
        list(pool.map(lambda n: file.remove(f"s{n}"), range(0, 60, 2)))
    assert set(names(path)) == {f"s{n}" for n in range(1, 60, 2)}


def test_what_an_editor_saves_meanwhile_is_not_lost(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_text('{"a": {"command": "x"}}')
    file = McpFile(path.parent)
    look = McpFile._content
    looks = iter(range(100))

    def editing(self: McpFile) -> Any:
        if next(looks) == 1:
            path.write_text('{"edited": {"command": "x"}}')
        return look(self)

    monkeypatch.setattr(McpFile, "_content", editing)
    file.put("b", ENTRY)
    assert names(path) == ["edited", "b"]


def test_a_change_of_what_somebody_else_changed_is_refused(path: Path) -> None:
    file = McpFile(path.parent)
    file.put("a", ENTRY)
    seen = file.read().tag
    file.put("b", ENTRY, seen)
    with pytest.raises(ChangedMeanwhile):
        file.put("c", ENTRY, seen)
    with pytest.raises(ChangedMeanwhile):
        file.remove("a", seen)
    assert names(path) == ["a", "b"]


def test_what_is_not_there_cannot_be_removed_and_odd_names_cannot_be_added(path: Path) -> None:
    with pytest.raises(NotFound):
        McpFile(path.parent).remove("a")
    for name in ("mcpServers", "", "a b", "a__b", "../x", "$schema"):
        with pytest.raises(InvalidRequest):
            McpFile(path.parent).put(name, ENTRY)
    assert not path.exists()
