"""A problem can be told whatever a text in it holds."""

import orjson
from hypothesis import given
from hypothesis import strategies as st

from supervisor.api.problems import FieldError, Problem

_ODD = st.text(st.characters(exclude_categories=()), max_size=20)
"""Surrogates too: a file's name that is no UTF-8 holds them."""


@given(detail=_ODD, where=_ODD, remedy=_ODD, field=_ODD)
def test_every_text_arrives_as_json_and_what_is_none_is_spelt_out(
    detail: str, where: str, remedy: str, field: str
) -> None:
    problem = Problem(
        422, "odd", "Odd", detail, where=where, remedy=remedy, errors=[FieldError(field, detail)]
    )
    said = orjson.loads(problem.response("/x").body)
    assert said["status"] == 422
    assert said["detail"] == detail.encode("utf-8", "backslashreplace").decode()
    assert said["where"] == where.encode("utf-8", "backslashreplace").decode()
    assert said["remedy"] == remedy.encode("utf-8", "backslashreplace").decode()
    assert said["errors"][0]["field"] == field.encode("utf-8", "backslashreplace").decode()
