"""Honeytokens: what a decoy is, and that its token is known again however it is written and cut."""

import base64
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.runtimes.honeytokens import MAX_DECOYS, UNNAMED, Honeytokens, Scanner, tripped

PATH = "projects/site/.env"


def tokens(secret: bytes = b"one turn's own secret") -> Honeytokens:
    return Honeytokens(secret)


def decoy(path: str = PATH) -> bytes:
    return tokens().decoy(path)


def token_in(content: bytes) -> str:
    """The token itself: the longest word of a decoy."""
    return max(content.decode().split(), key=len)


TOKEN = token_in(decoy())


def wrapped(data: bytes) -> bytes:
    """As `base64` of coreutils writes it: 76 characters a line."""
    text = base64.b64encode(data)
    return b"\n".join(text[at : at + 76] for at in range(0, len(text), 76))


def run(*command: str) -> Callable[[bytes], bytes]:
    return lambda data: subprocess.run(command, input=data, capture_output=True, check=True).stdout


def every_byte(before: str) -> Callable[[bytes], bytes]:
    return lambda data: "".join(f"{before}{byte:02x}" for byte in data).encode()


ENCODINGS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "upper case": bytes.upper,
    "reversed": lambda data: data[::-1],
    "base64": base64.b64encode,
    "base64 after one byte": lambda data: base64.b64encode(b"\xff" + data),
    "base64 after two bytes": lambda data: base64.b64encode(b"\xff\xff" + data),
    "base64, URL-safe": lambda data: base64.urlsafe_b64encode(b"\xfb\xff" + data),
    "base64 in lines": wrapped,
    "base64 in lines, in JSON": lambda data: json.dumps(wrapped(data).decode()).encode(),
    "base64 in lines, in JSON in JSON": lambda data: json.dumps(
        json.dumps(base64.encodebytes(data).replace(b"\n", b"\r\n").decode())
    ).encode(),
    "hex": lambda data: data.hex().encode(),
    "hex, upper case": lambda data: data.hex().upper().encode(),
    "hex with colons": lambda data: data.hex(":").encode(),
    "hex with blanks": lambda data: data.hex(" ", 2).encode(),
    "percent-encoded as needed": lambda data: quote(data).encode(),
    "percent-encoded throughout": every_byte("%"),
    "JSON": lambda data: json.dumps(data.decode("latin-1")).encode(),
    "JSON escapes throughout": every_byte("\\u00"),
    "escapes throughout": every_byte("\\x"),
    "numbers of C": lambda data: ", ".join(f"0x{byte:02X}" for byte in data).encode(),
    "spaced out": lambda data: b" ".join(bytes([byte]) for byte in data),
    "one character a line": lambda data: b"\r\n".join(bytes([byte]) for byte in data),
    "UTF-16": lambda data: data.decode("latin-1").encode("utf-16"),
}


@pytest.mark.parametrize("encoding", ENCODINGS.values(), ids=ENCODINGS)
@pytest.mark.parametrize("content", [decoy(), TOKEN.encode()], ids=["decoy", "token"])
def test_a_token_is_known_in_each_encoding_of_the_list(
    encoding: Callable[[bytes], bytes], content: bytes
) -> None:
    known = tokens()
    known.decoy("another/.env")
    known.decoy(PATH)
    assert known.trip(b'{"text":"' + encoding(content) + b'"}') == PATH


@pytest.mark.parametrize(
    "command",
    [
        ("base64",),
        ("od", "-A", "x", "-t", "x1"),
        ("od", "-t", "x1z"),
        ("od", "-x"),
        ("od", "-c"),
        ("rev",),
        ("tr", "a-z", "A-Z"),
        ("fold", "-w", "60"),
        ("cat", "-v"),
        ("sed", "s/./& /g"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("shift", [0, 1, 2, 3, 7, 11, 15])
def test_a_decoy_is_known_as_the_usual_commands_show_it(
    command: tuple[str, ...], shift: int
) -> None:
    known = tokens()
    shown = run(*command)(b"." * shift + known.decoy(PATH))
    assert known.trip(json.dumps(shown.decode())) in {PATH, UNNAMED}
    if shift == 0 and command[0] != "fold":
        assert known.trip(shown) == PATH


def test_what_is_not_recognised_is_what_the_docs_say() -> None:
    known = tokens()
    content = known.decoy(PATH)
    assert known.trip(base64.b64encode(base64.b64encode(content))) is None
    assert known.trip(base64.b32encode(content)) is None
    assert known.trip(" / ".join([TOKEN[:20], TOKEN[20:24], "in between", TOKEN[24:]])) is None


@given(
    encoding=st.sampled_from(list(ENCODINGS.values())),
    before=st.binary(max_size=300),
    after=st.binary(max_size=50),
    data=st.data(),
)
def test_a_stream_finds_a_token_however_it_is_cut(
    encoding: Callable[[bytes], bytes], before: bytes, after: bytes, data: st.DataObject
) -> None:
    known = tokens()
    stream = before + b" " + encoding(known.decoy(PATH)) + b" " + after
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=30).map(sorted))
    scanner = known.scanner()
    found = [
        scanner.feed(stream[start:end])
        for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)
    ]
    assert any(path in {PATH, UNNAMED} for path in found)


@given(st.sampled_from(list(ENCODINGS.values())))
def test_a_stream_finds_a_token_that_comes_byte_by_byte(
    encoding: Callable[[bytes], bytes],
) -> None:
    known = tokens()
    scanner = known.scanner()
    stream = encoding(known.decoy(PATH))
    assert any(scanner.feed(bytes([byte])) for byte in stream)


@given(st.lists(st.binary(max_size=4000), max_size=8))
def test_nothing_else_trips(pieces: list[bytes]) -> None:
    known = tokens()
    known.decoy(PATH)
    scanner = known.scanner()
    assert [scanner.feed(piece) for piece in pieces] == [None] * len(pieces)


def test_a_decoy_that_another_turn_made_does_not_trip() -> None:
    other = tokens(b"another turn's secret")
    other.decoy(".env")
    assert other.trip(decoy()) is None
    assert other.trip(other.decoy(PATH)) == PATH


def test_memory_stays_flat_however_long_the_stream_is() -> None:
    known = tokens()
    known.decoy(PATH)
    scanner = known.scanner()
    for _ in range(200):
        scanner.feed(b"abc 123 " * 8192)
    assert 0 < held(scanner) < 1024


def held(scanner: Scanner) -> int:
    return sum(len(value) for value in vars(scanner).values() if isinstance(value, bytes))


def test_pieces_of_text_are_looked_at_where_they_meet() -> None:
    known = tokens()
    text = f"{'long ' * 500}{token_in(known.decoy(PATH))}{' and on' * 500}"
    middle = text.index(TOKEN) + 22
    scanner = known.scanner()
    assert scanner.feed_seam(text[:middle]) is None
    assert scanner.feed_seam(text[middle:]) in {PATH, UNNAMED}


def test_each_path_has_a_token_of_its_own_and_the_same_secret_gives_the_same() -> None:
    paths = [".env", "a/.env", "b/.env", "b/\udce9.pem"]
    contents = {path: tokens().decoy(path) for path in paths}
    assert len(set(contents.values())) == len(paths)
    assert contents == {path: tokens().decoy(path) for path in paths}
    known = tokens()
    for path in paths:
        known.decoy(path)
    assert [known.trip(contents[path]) for path in paths] == paths


@pytest.mark.parametrize("search", [("grep", "-r", "e"), ("grep", "-rn", ".")], ids=" ".join)
def test_a_broad_search_prints_no_line_of_a_decoy(search: tuple[str, ...], tmp_path: Path) -> None:
    known = tokens()
    (tmp_path / ".env").write_bytes(known.decoy(".env"))
    (tmp_path / "notes.md").write_text("Tomatoes to the south.\n")
    found = subprocess.run([*search, tmp_path], capture_output=True, check=True).stdout
    assert b"Tomatoes" in found
    assert known.trip(found) is None
    control = subprocess.run([*search, "-a", tmp_path], capture_output=True, check=True).stdout
    assert known.trip(control) == ".env"


def test_a_decoy_assigns_nothing_and_is_a_comment_after_its_first_line() -> None:
    first, second, rest = decoy().split(b"\n")
    assert first == b"\0"
    assert second.startswith(b"# ")
    assert rest == b""
    assert b"=" not in second


@pytest.mark.parametrize(
    "path",
    [".git/config", "web/.git/objects", "backup.git/objects", "old/objects/4b", "pack-1.pack",
     ".hg/store", "x/.svn/pristine", ".claude/settings.json", "Chat/sessions.db",
     "a/.claude/projects"],
)  # fmt: skip
def test_what_programs_keep_for_themselves_has_no_decoy(path: str) -> None:
    assert decoy(path) == b""


def test_there_is_an_end_to_decoys() -> None:
    known = tokens()
    made = sum(known.decoy(f"{number}.pem") != b"" for number in range(MAX_DECOYS + 10))
    assert made == MAX_DECOYS
    assert known.decoy("0.pem")  # what has one keeps it


def test_the_first_report_counts_and_is_told_once() -> None:
    known, told = tokens(), list[str]()
    known.listen(lambda: told.append("rung"))
    assert known.check("nothing", "a note") is None
    first = known.check(known.decoy(PATH), "a tool's input")
    assert first is not None
    assert (first.path, first.where) == (PATH, "a tool's input")
    assert known.check(known.decoy(".env"), "elsewhere") == first
    assert known.tripped == first
    assert told == ["rung"]


def test_no_word_of_the_ending_holds_the_token_or_what_a_name_could_draw() -> None:
    known = tokens()
    odd = "notes/\x1b[31m\udce9\n.env"
    trip = known.check(known.decoy(odd), "the agent's output")
    assert trip is not None
    failure = tripped(trip)
    words = f"{failure.message} {failure.where} {failure.remedy}"
    assert known.trip(words) is None
    assert words.isprintable()
    assert "notes/" in words
    assert failure.code == "honeytoken"
    assert not failure.retryable


def test_neither_secret_nor_token_is_in_a_repr() -> None:
    known = tokens()
    known.decoy(PATH)
    assert "secret" not in repr(known)
    assert known.trip(repr(known) + repr(known.scanner())) is None
