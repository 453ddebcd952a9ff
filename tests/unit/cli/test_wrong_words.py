"""What is mistyped is refused with what was meant, or what is taken; before anybody is asked."""

import pytest
from typer.testing import CliRunner

from supervisor.cli.main import app

MEANT = {
    "a command": ("sesions", "Did you mean 'sessions'?"),
    "a command in capitals": ("Sessions", "Did you mean 'sessions'?"),
    "a command's beginning": ("approval", "Did you mean 'approvals'?"),
    "a subcommand": ("sessions lst", "Did you mean 'list'?"),
    "a lazy group's": ("policy tst", "Did you mean 'test'?"),
    "help as a word": ("help", "Did you mean '--help'?"),
    "version as a word": ("version", "Did you mean '--version'?"),
    "an option": ("chat hi --trst vault", "--trust"),
    "an option of a list that isn't named": ("sessions --jsn", "--json"),
    "a level": ("chat hi --trust vaults", "did you mean `vault`?"),
    "a scope": ("tokens create x --scope chta", "did you mean `chat`?"),
}
REFUSED = {
    "several words": ("chat read my notes", "put it into quotes"),
    "a span": ("tokens create x --scope chat --expires 3", "write it as 45m, 12h, 30d or 8w"),
    "no pair": ("mcp add x --env A -- y", "'--env'"),
    "no header": ("mcp add x --header A --url http://x", "'--header'"),
    "a long span": ("tokens create x --scope chat --expires 522w", "3650d at most"),
}
WRONG = {**MEANT, **REFUSED}
NAMED = (
    "mcp add {} -- x",
    "mcp allow {}",
    "mcp remove {}",
    "mcp test {}",
    "captures get {}",
    "captures delete {}",
    "grants revoke {}",
    "tokens revoke {}",
    "login --end {}",
    "workspaces set {} --floor vault",
    "workspaces remove {}",
)


def said(*words: str) -> tuple[int, str]:
    ran = CliRunner().invoke(app, words, prog_name="trustfloor", env={"COLUMNS": "200"})
    return ran.exit_code, ran.output


@pytest.mark.parametrize(("words", "told"), WRONG.values(), ids=WRONG)
def test_a_wrong_word_is_refused_with_what_was_meant_or_is_taken(words: str, told: str) -> None:
    status, output = said(*words.split())
    assert (status, told in output) == (2, True), output


def test_a_word_like_none_is_refused_without_a_guess() -> None:
    status, output = said("zzzzzz")
    assert (status, "Did you mean" in output) == (2, False)


@pytest.mark.parametrize("name", ["", " ", "a/b", ".."])
@pytest.mark.parametrize("words", NAMED)
def test_what_can_be_no_name_is_refused_before_it_is_sent(words: str, name: str) -> None:
    given = [each.replace("{}", name) for each in words.split()]
    status, output = said(*given)
    assert status == 2, output
    assert "may not be empty" in output or "can't have slashes" in output


@pytest.mark.parametrize(
    "group", ["sessions", "workspaces", "grants", "tokens", "captures", "agents", "mcp"]
)
def test_the_options_of_a_list_need_not_name_it(group: str) -> None:
    status, output = said(group, "--json", "--data-dir", "/nonexistent")
    assert (status, "there is no token to read" in output) == (1, True), output
    assert said(group, "-h") == said(group, "--help")
