"""What a git configuration names is found as git itself finds it."""

import subprocess
from pathlib import Path

import pytest

from supervisor.runtimes.local.git_config import Named, named_in
from supervisor.runtimes.local.git_led import MOST_FILES, MOST_NAMED, led_to

SPELLINGS = [
    "[core]\n\thooksPath = .husky\n",
    "[CORE]\nHOOKSPATH=.husky",
    "\ufeff[core]\n\thooksPath = .husky\n",
    "[core] hooksPath = .husky ; theirs\n",
    '[core]\n  hooksPath = ".husky" # theirs\n',
    '[core]\n  hooksPath = .hu"sk"y\n',
    "[core]\n  hooksPath = .hus\\\nky\n",
    '[core]\n  hooksPath = "a ; b"\n',
    "[core]\n  hooksPath = a b  \n",
    '[core]\n  hooksPath = "a \\"b\\" \\\\c"\n',
    '[user]\n name = x\n[core]\r\n\thooksPath = .husky\r\n[alias]\n hooksPath = "no"\n',
    "[core]\n ; hooksPath = no\n # hooksPath = no\n hooksPath = .husky\n",
    '[a][b "c"] [core] hooksPath = .husky\n',
    '[core "x"]\n y = z\n[core]\n bare = false\n hooksPath = .husky\n',
]


@pytest.mark.parametrize("text", SPELLINGS)
def test_the_hooks_folder_is_what_git_takes_for_it(tmp_path: Path, text: str) -> None:
    config = tmp_path / "config"
    config.write_bytes(text.encode())
    asked = ["git", "config", "--file", str(config), "--get", "core.hooksPath"]
    said = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    assert Named(said.removesuffix("\n"), includes=False) in list(named_in(text))


def test_further_files_are_named_with_a_condition_or_without() -> None:
    text = (
        '[include]\n path = a\n[includeIf "gitdir:~/x/"]\n path = "b"\n'
        '[includeIf "onbranch:\\"m"] path = c\n[other]\n path = no\n'
    )
    assert list(named_in(text)) == [Named(each, includes=True) for each in "abc"]


@pytest.mark.parametrize(
    "text", ["", "[core", "hooksPath = x", "[core]\nhooksPath", "\0[[]]=", "="]
)
def test_what_names_nothing_names_nothing(text: str) -> None:
    assert list(named_in(text)) == []


def test_places_are_told_from_where_git_begins_and_only_those_in_the_vault(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    files = {
        "work/.git/config": "[core]\nhooksPath = own/hooks\n[include]\npath = ../shared\n",
        "work/shared": f"[include]\npath = more\n[core]\nhooksPath = {vault}/whole\n",
        "work/more": "[include]\npath = more\n[core]\nhooksPath = ../../out\n",
        "bare/config": "[core]\nhooksPath = own\n[include]\npath = ~/vault/at-home\n",
        "work/.git/modules/sub/config": "[core]\nhooksPath = .husky\n",
    }
    for name, text in files.items():
        (vault / name).parent.mkdir(parents=True, exist_ok=True)
        (vault / name).write_text(text)
    configs = [name for name in files if name.endswith("config")]
    assert set(led_to(vault, configs, tmp_path)) == {
        "work/own/hooks", "work/shared", "work/more", "whole", "bare/own", "at-home",
        "work/.husky",
    }  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "[core]\n" + "hooksPath = x\n" * (MOST_NAMED + 1),
        "[include]\n" + "".join(f"path = {n}\n" for n in range(MOST_FILES)),
    ],
)
def test_what_names_more_than_can_be_followed_is_no_vault_to_work_in(
    tmp_path: Path, text: str
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text(text)
    with pytest.raises(OSError, match="more than can be followed"):
        list(led_to(tmp_path, [".git/config"], None))


def test_sections_without_end_on_a_line_are_soon_read() -> None:
    text = "[a]" * 300_000 + "[core] hooksPath = x"
    assert list(named_in(text)) == [Named("x", includes=False)]
