"""INV-14: whoever changes the audit log without its key is found, and the very place is told.

The attacker writes all its files, but can't read the key. Beside each kind of attack stands its
control: the same attack on a log that is looked at without the guard passes.
"""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from supervisor.observability.audit import AuditLog, Rotation
from supervisor.observability.audit_files import head_path, key_path
from supervisor.observability.chain import Fault, Head, Key, seal
from tests.worlds.audit import LogCopy, copied, forged, head_of, written

TRY = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
places = st.integers(0, 10_000)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> LogCopy:
    return written(tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tampered") / "log"


def place(log: LogCopy, at: int) -> tuple[int, int]:
    """A file and a line's index in it, anywhere in the log."""
    all_places = [
        (file, line) for file in range(len(log.files)) for line in range(len(log.lines(file)))
    ]
    return all_places[at % len(all_places)]


def found(log: LogCopy, file: int, line: int, *kinds: Fault) -> None:
    report = log.examine()
    assert report.bad is not None
    assert (report.bad.file, report.bad.line) == (log.files[file].name, line), report.bad
    assert report.bad.kind in kinds, report.bad


def test_control_an_untouched_log_over_several_files_is_whole(whole: LogCopy) -> None:
    report = whole.examine()
    assert report.whole
    assert len(whole.files) > 4
    assert list(report.files) == [file.name for file in whole.files]
    assert (report.first, report.head) == (1, head_of(whole.lines(-1)[-1]))
    assert (report.signed, report.unsigned) == ("checked", 0)


@TRY
@given(at=places, byte=places, bit=st.integers(0, 7))
def test_any_bit_of_any_line_that_was_turned_is_found(
    whole: LogCopy, room: Path, at: int, byte: int, bit: int
) -> None:
    log = copied(whole, room)
    file, line = place(log, at)
    lines = log.lines(file)
    changed = bytearray(lines[line])
    changed[byte % len(changed)] ^= 1 << bit
    lines[line] = bytes(changed)
    log.put(file, lines)
    report = log.examine()
    assert report.bad is not None
    assert report.bad.file == log.files[file].name
    # A line end that is gone joins two lines, or ends the log with a half one.
    assert report.bad.line == line + 1


@TRY
@given(at=places)
def test_an_edited_line_with_a_hash_made_anew_is_found_in_its_place(
    whole: LogCopy, room: Path, at: int
) -> None:
    log = copied(whole, room)
    file, line = place(log, at)
    lines = log.lines(file)
    entry = json.loads(lines[line])
    before = Head(entry["n"] - 1, entry["prev"])
    lines[line] = forged(before, number="another")
    log.put(file, lines)
    found(log, file, line + 1, Fault.FORGED)


@TRY
@given(at=places)
def test_a_line_that_was_taken_out_is_found_where_it_is_missing(
    whole: LogCopy, room: Path, at: int
) -> None:
    log = copied(whole, room)
    file, line = place(log, at)
    lines = log.lines(file)
    taken = json.loads(lines.pop(line))["n"]
    log.put(file, lines)
    report = log.examine()
    assert report.bad is not None
    assert report.bad.n == taken
    assert str(taken) in report.bad.why
    last = len(log.files) - 1
    kind = Fault.TRUNCATED if (file, line) == (last, len(lines)) else Fault.MISSING
    assert report.bad.kind is kind


@TRY
@given(at=places, other=places)
def test_lines_that_changed_places_are_found_at_the_first(
    whole: LogCopy, room: Path, at: int, other: int
) -> None:
    log = copied(whole, room)
    one, two = sorted((place(log, at), place(log, other)))
    if one == two:
        return
    first, second = log.lines(one[0])[one[1]], log.lines(two[0])[two[1]]
    for (file, line), content in ((one, second), (two, first)):
        lines = log.lines(file)
        lines[line] = content
        log.put(file, lines)
    found(log, one[0], one[1] + 1, Fault.REORDERED)


@TRY
@given(at=places, source=places, fits=st.booleans())
def test_a_line_that_was_put_in_is_found_in_its_place(
    whole: LogCopy, room: Path, at: int, source: int, fits: bool
) -> None:
    """One that fits the line before, or one that was there already, in front of any line."""
    log = copied(whole, room)
    file, line = place(log, at)
    lines = log.lines(file)
    entry = json.loads(lines[line])
    copy = log.lines(place(log, source)[0])[place(log, source)[1]]
    put = forged(Head(entry["n"] - 1, entry["prev"]), number="put in") if fits else copy
    if put == lines[line]:
        return
    log.put(file, [*lines[:line], put, *lines[line:]])
    found(log, file, line + 1, Fault.INSERTED, Fault.REORDERED)


@TRY
@given(keep=st.integers(0, 23), rewrite=st.booleans())
def test_an_end_that_was_cut_off_is_found_with_the_head_file_as_it_was_or_made_to_fit(
    whole: LogCopy, room: Path, keep: int, rewrite: bool
) -> None:
    log = copied(whole, room)
    left = keep
    for file in range(len(log.files)):
        lines = log.lines(file)[:left]
        left -= len(lines)
        log.put(file, lines)
    if rewrite:
        lines = [line for file in range(len(log.files)) for line in log.lines(file)]
        head = head_of(lines[-1]) if lines else Head(0, "0" * 64)
        mac = json.loads(head_path(log.path).read_bytes())["mac"]
        said = {"n": head.n, "hash": head.hash, "mac": mac}
        head_path(log.path).write_text(json.dumps(said))
    report = log.examine()
    assert report.bad is not None
    assert report.bad.kind is (Fault.HEAD if rewrite else Fault.TRUNCATED)
    assert report.entries == keep
    if rewrite:
        assert log.examine(signed=False).whole  # the control: hashes alone don't tell


def test_each_whole_file_that_was_taken_away_is_found(whole: LogCopy, room: Path) -> None:
    for gone in range(len(whole.files)):
        log = copied(whole, room)
        name, first = log.files[gone].name, json.loads(log.lines(gone)[0])["n"]
        log.files[gone].unlink()
        report = log.examine()
        assert report.bad is not None, name
        assert report.bad.n == first
        assert report.bad.kind in {Fault.MISSING, Fault.TRUNCATED}


@pytest.mark.parametrize("one_more", [False, True])
def test_an_entry_that_was_added_at_the_end_is_found_even_if_only_one(
    whole: LogCopy, room: Path, one_more: bool
) -> None:
    log = copied(whole, room)
    last = log.lines(-1)
    put = [forged(head_of(last[-1]), number="put in")]
    if one_more:
        put.append(forged(head_of(put[0]), number="and another"))
    log.put(-1, [*last, *put])
    found(log, -1, len(last) + 1, Fault.FORGED)


@pytest.mark.parametrize("keyed", ["no signature", "one's own"])
def test_a_log_that_was_made_anew_from_the_first_line_is_found(
    whole: LogCopy, room: Path, keyed: str
) -> None:
    log = copied(whole, room)
    entries = [each for each in log.entries() if each["n"] != 3]
    own = None if keyed == "no signature" else Key(b"of the attacker, thirty-two bytes")
    log.make_anew(entries, own)
    report = log.examine()
    assert report.bad is not None
    assert report.bad.kind is Fault.HEAD
    assert log.examine(signed=False).bad is None  # the control: hashes alone don't tell


async def test_taking_the_key_away_is_told_by_the_next_start_for_ever(
    whole: LogCopy, room: Path
) -> None:
    log = copied(whole, room)
    log.make_anew(log.entries()[:5])
    key_path(log.path).unlink()
    assert not log.path.with_name("nothing").exists()
    async with AuditLog(log.path, rotation=Rotation(2_000)) as again:
        await again.append("decision", None, None, {})
    report = log.examine()
    assert not report.whole
    assert "key is missing" in report.noted[0].why


def test_an_older_copy_that_was_put_back_is_found_by_an_anchor_and_by_nothing_else(
    tmp_path: Path,
) -> None:
    log = written(tmp_path / "log", count=5, most_bytes=0)
    older = copied(log, tmp_path / "older")
    written(tmp_path / "log", count=3, most_bytes=0)
    anchor = log.examine().head
    assert log.examine(anchor=anchor).whole
    back = copied(older, tmp_path / "log")
    assert back.examine().whole  # the control: nothing on this machine tells
    report = back.examine(anchor=anchor)
    assert report.bad is not None
    assert report.bad.kind is Fault.TRUNCATED


def test_an_anchor_tells_a_log_that_was_made_anew_with_the_key(whole: LogCopy, room: Path) -> None:
    log = copied(whole, room)
    anchor = head_of(log.lines(2)[0])
    key = log.key()
    head, lines = Head(0, "0" * 64), []
    for entry in log.entries():
        said = {each: entry[each] for each in ("ts", "kind", "session_id", "turn_id")}
        line, head = seal(head, {**said, "body": {}}, key)
        lines.append(line)
    for file in log.files[:-1]:
        file.unlink()
    log.path.write_bytes(b"".join(lines))
    report = log.examine(anchor=anchor)
    assert report.bad is not None
    assert (report.bad.kind, report.bad.n) == (Fault.ANCHOR, anchor.n)
