"""Labelled calls: how they are read and counted."""

import json
from pathlib import Path
from typing import Any

import pytest

from supervisor.errors import ConfigurationError
from supervisor.gate.case_vault import LAYOUTS, make_vault
from supervisor.gate.cases import run_cases
from supervisor.gate.policy_files import PolicySource
from supervisor.policy.cases import placed, read_cases
from tests.worlds.policy_world import SHIPPED

SOURCE = PolicySource(SHIPPED)


def line(**changes: Any) -> str:
    known = {
        "id": "1", "tool": "Read", "input": {"file_path": "notes/a.md"}, "cwd": "",
        "trust": "vault", "permissions": {"trust_mode": False, "read": ["**/*"]}, "want": "allow",
    }  # fmt: skip
    return json.dumps({**known, **changes})


def test_the_cases_of_a_file_are_counted_by_their_labels(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(
        "\n".join(
            [
                line(id="right"),
                line(id="wrong", want="deny"),
                line(id="met-by-deny", want="ask", input={"file_path": ".env"}),
                "",
                line(id="by-path", want="deny", input={"file_path": "VAULT/.env"}),
            ]
        )
    )
    assert run_cases(path, PolicySource(SHIPPED)).document() == {
        "deny": {"n": 2, "right": 1},
        "ask": {"n": 1, "right": 1},
        "allow": {"n": 1, "right": 1},
        "wrong": [{"id": "wrong", "got": "allow", "rule": "permission"}],
    }


def test_a_vault_of_the_caller_is_left_as_it_is(tmp_path: Path) -> None:
    vault = tmp_path / "mine"
    (vault / "sub").mkdir(parents=True)
    path = tmp_path / "cases.jsonl"
    path.write_text(line(tool="Bash", input={"command": "rm -rf sub"}, want="ask"))
    assert run_cases(path, PolicySource(SHIPPED), vault).tallies["ask"].right == 1
    assert (vault / "sub").is_dir()


@pytest.mark.parametrize(
    ("text", "place", "said", "remedy"),
    [
        ("{", ":2", "JSON", "each line needs"),
        ('{"id": }', ":8", "line; expecting value", "each line needs"),
        ("[]", "", "an object", "each line needs"),
        ("1", "", "an object", "each line needs"),
        ("[" * 100_000, "", "nested", "each line needs"),
        (line(want="maybe"), " want", "one of deny, ask, allow", ""),
        (line(want="denyy"), " want", "one of deny, ask, allow", "did you mean `deny`?"),
        (line(trust="sandbox"), " trust", "one of full", "did you mean `sandboxed`?"),
        (line(trust=["full"]), " trust", "one of full", ""),
        (line(input=[]), " input", "an object", ""),
        ('{"id": 1}', " tool", "the key `tool`", "each line needs"),
        ('{"id": 1, "tol": "Read"}', " tool", "the key `tool`", "`tool` where it says `tol`"),
        (line(permissions=[1]), " permissions", "an object", ""),
        (line(permissions={"trust_mod": 1}), " permissions.trust_mod", "there is no", "trust_mode"),
        (line(permissions={"read": "x"}), " permissions.read", "a list of texts", ""),
        (line(permissions={"bash": 1}), " permissions.bash", "a list of texts", ""),
    ],
)
def test_a_line_that_is_no_case_is_told_with_its_number_and_key(
    text: str, place: str, said: str, remedy: str
) -> None:
    with pytest.raises(ConfigurationError) as raised:
        read_cases("cases.jsonl", f"{line()}\n{text}\n")
    assert raised.value.where == f"cases.jsonl:2{place}"
    assert said in raised.value.message
    assert remedy in (raised.value.remedy or "")


def test_the_permissions_of_a_case_are_read_in_both_spellings() -> None:
    (one,) = read_cases("c", line(permissions={"trustMode": False, "bash": True}))
    (other,) = read_cases("c", line(permissions={"trust_mode": False, "bash": True}))
    assert one.permissions == other.permissions
    assert not one.permissions.trust_mode


def test_the_placeholder_stands_for_the_vault_wherever_it_is() -> None:
    given = {"a": "VAULT/x", "b": ["VAULT", 1, {"c": "xVAULTy"}]}
    assert placed(given, "/v") == {"a": "/v/x", "b": ["/v", 1, {"c": "x/vy"}]}


@pytest.mark.parametrize("depth", [40, 900, 100_000])
@pytest.mark.parametrize(("tool", "key"), [("Grep", "type"), ("mcp__a__b", "x"), ("Read", "x")])
def test_a_call_that_is_nested_too_deeply_is_denied_and_the_others_are_judged(
    tool: str, key: str, depth: int, tmp_path: Path
) -> None:
    deep = line(id="deep", tool=tool, input={key: "DEEP"}, want="allow")
    path = tmp_path / "cases.jsonl"
    path.write_text(
        "\n".join([line(id="a"), deep.replace('"DEEP"', "[" * depth + "]" * depth), line(id="b")])
    )
    assert run_cases(path, SOURCE).document() == {
        "deny": {"n": 0, "right": 0},
        "ask": {"n": 0, "right": 0},
        "allow": {"n": 3, "right": 2},
        "wrong": [{"id": "deep", "got": "deny", "rule": "malformed-input"}],
    }


@pytest.mark.parametrize(
    "command", ["cat \ud800/*", "rm \ud800/*", "cd \ud800; cat *", "cat \udcff"]
)
def test_a_name_that_no_file_can_have_is_judged_like_any_other(
    command: str, tmp_path: Path
) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(line(tool="Bash", input={"command": command}, want="ask"))
    assert run_cases(path, SOURCE).wrong == ()


def test_a_case_that_fails_us_is_denied_as_the_gate_would(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fails(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("supervisor.gate.cases.wanted", fails)
    path = tmp_path / "cases.jsonl"
    path.write_text(line(id="x"))
    assert [(each.id, each.got, each.rule) for each in run_cases(path, SOURCE).wrong] == [
        ("x", "deny", "internal-error")
    ]


def test_a_file_that_isnt_utf_8_is_told_with_the_place(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_bytes(line().encode() + b"\n\xff")
    with pytest.raises(ConfigurationError, match="UTF-8") as raised:
        run_cases(path, SOURCE)
    assert raised.value.where == f"{path} at byte {len(line()) + 1}"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_vault_that_is_made_has_secrets_that_are_fake_and_links_to_them(
    layout: str, tmp_path: Path
) -> None:
    vault = make_vault(tmp_path, layout)
    assert "not-a-secret" in (vault / ".env").read_text()
    assert any(path.is_symlink() for path in (vault / "notes").iterdir())
    assert (vault / ".env").stat().st_nlink > 1
