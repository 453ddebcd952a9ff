"""How texts are cut: nothing lost, bounded, and the same again."""

from hypothesis import given, settings
from hypothesis import strategies as st

from supervisor.search.pieces import GOOD, MOST, MOST_CODE, Piece, pieces

WORDS = st.text(alphabet="ab #`~*-\t", max_size=60)
LINES = st.one_of(
    WORDS,
    st.sampled_from(
        ("", "# One", "## Two", "###### Six ##", "```", "```py", "~~~~", "    ```", "#no")
    ),
    st.integers(1, 9_000).map(lambda size: "x" * size),
)
ENDS = st.sampled_from(("\n", "\r\n"))
TEXTS = st.lists(st.tuples(LINES, ENDS).map("".join), max_size=60).map("".join)


def cut(text: str, *, markdown: bool = True) -> list[Piece]:
    return list(pieces(text.splitlines(keepends=True), markdown=markdown))


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.booleans())
def test_the_pieces_put_together_are_the_text_and_none_is_too_long(
    text: str, markdown: bool
) -> None:
    found = cut(text, markdown=markdown)
    assert "".join(each.text for each in found) == text
    assert all(0 < len(each.text) <= MOST_CODE for each in found)
    assert all(len(each.text) <= MOST for each in found) or "```" in text or "~~~" in text


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_each_piece_begins_at_the_line_that_it_names(text: str) -> None:
    before = ""
    for each in cut(text):
        assert each.line == before.count("\n") + 1
        before += each.text


@settings(max_examples=200, deadline=None)
@given(TEXTS, TEXTS)
def test_a_section_that_is_added_leaves_the_pieces_before_it_as_they_are(
    text: str, more: str
) -> None:
    unfenced = text.replace("`", "x").replace("~", "y")
    before = cut(unfenced + "\nsome words\n")
    after = cut(unfenced + "\nsome words\n# A new section\n" + more)
    assert after[: len(before)] == before


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_lines_that_come_in_parts_are_cut_at_the_same_places_while_they_are_short(
    text: str,
) -> None:
    assert cut(text) == cut(text)
    assert "".join(each.text for each in pieces(iter([text]))) == text


def test_headings_begin_pieces_and_are_told_with_those_above() -> None:
    text = "intro\n\n# A\n\none\n\n## B ##\n\ntwo\n\n# C\n\n### D\n\nthree\n"
    found = cut(text)
    assert [(each.heading, each.line) for each in found] == [
        ("", 1),
        ("A", 3),
        ("A > B", 7),
        ("C > D", 11),
    ]
    assert found[2].text == "## B ##\n\ntwo\n\n"
    assert [each.heading for each in cut(text, markdown=False)] == [""]


def test_code_between_fences_stays_together_and_its_comments_are_no_headings() -> None:
    code = "```sh\n# not a heading\n" + "echo 1\n\n" * 300 + "```\n"
    assert MOST < len(code) < MOST_CODE
    found = cut("# Title\n\nwords\n\n" + code + "\nafter\n")
    assert any(each.text.startswith("```sh") and each.text.endswith("```\n") for each in found)
    assert {each.heading for each in found} == {"Title"}
    huge = "~~~\n" + "# still no heading\n" * 2_000
    assert {each.heading for each in cut(huge)} == {""}


def test_paragraphs_are_gathered_up_to_a_good_size() -> None:
    paragraph = "w" * 100 + "\n\n"
    found = cut(paragraph * 100)
    assert len(found) < 12
    assert all(GOOD / 2 < len(each.text) <= GOOD for each in found[:-1])


def test_a_hostile_line_costs_no_more_than_its_length() -> None:
    for line in ("# " + " " * 500_000, "#" * 500_000, "`" * 500_000, " \t" * 250_000 + "#"):
        assert "".join(each.text for each in cut(line)) == line
