"""Secrets that are given out once."""

from hypothesis import given
from hypothesis import strategies as st

from supervisor.access.secrets import digest, new_code, new_secret, plain_code


def test_no_two_secrets_are_alike_and_none_is_found_in_its_digest() -> None:
    made = [new_secret("tf_") for _ in range(100)]
    assert len(set(made)) == 100
    assert not any(each in digest(each) or digest(each) in each for each in made)


def test_a_code_can_be_typed_as_it_is_read_out() -> None:
    for _ in range(50):
        code = new_code()
        assert not set(code) & set("ILOU")
        said = code.lower().replace("-", " ").replace("1", "l").replace("0", "o")
        assert plain_code(said) == plain_code(code)


@given(st.text())
def test_any_text_has_a_digest_and_a_plain_form(text: str) -> None:
    assert len(digest(text)) == 64
    plain_code(text)
