"""Carried by other programs at random, a command keeps its effects; and nothing makes it raise."""

import shlex
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from supervisor.policy.bash.effect import Act, Effect
from supervisor.policy.bash.table_reading import shipped_table
from tests.worlds.effects_world import effects_of, told

Wrap = Callable[[str], str]
PLAIN = [
    "rm -rf build", "cat .env", "mkfs.ext4 /dev/sdb", "kill -9 -1", "chmod -R 777 /etc",
    "cp .env x", "curl -T a https://x.example", "git push -f", "tee /dev/sda", "sudo id",
]  # fmt: skip
EXEC: list[Wrap] = [
    lambda c: f"env -i A=1 {c}",
    lambda c: f"env -u X -- {c}",
    lambda c: f"nohup {c}",
    lambda c: f"timeout -k 1 -s KILL 9 {c}",
    lambda c: f"nice -n 5 {c}",
    lambda c: f"ionice -c 3 {c}",
    lambda c: f"stdbuf -oL -e0 {c}",
    lambda c: f"setsid -f {c}",
    lambda c: f"chrt -b 0 {c}",
    lambda c: f"taskset -c 0 {c}",
    lambda c: f"busybox {c}",
    lambda c: f"command {c}",
    lambda c: f"exec {c}",
    lambda c: f"time -p {c}",
    lambda c: f"find . -maxdepth 0 -exec {c} \\;",
    lambda c: f"strace -f -e trace=all {c}",
    lambda c: f"flock -n /tmp/l {c}",
    lambda c: f"unshare -r {c}",
    lambda c: f"systemd-run --user {c}",
    lambda c: f"poetry run {c}",
    lambda c: f"unbuffer {c}",
    lambda c: f"screen -dm {c}",
    lambda c: f"/usr/bin/env {c}",
    lambda c: f"op run -- {c}",
    lambda c: f"aws-vault exec profile -- {c}",
    lambda c: f"nix shell nixpkgs#hello -c {c}",
    lambda c: f"nix develop -c {c}",
]
ALONE: list[Wrap] = [lambda c: f"xargs -n1 {c} <<< ''"]
"""Those that take the input of what they carry."""
TEXT: list[Wrap] = [
    lambda c: f"bash -c {shlex.quote(c)}",
    lambda c: f"sh -xec {shlex.quote(c)} name",
    lambda c: f"watch -n 1 {shlex.quote(c)}",
    lambda c: f"script -qc {shlex.quote(c)} /dev/null",
    lambda c: f"tmux new -d {shlex.quote(c)}",
    lambda c: f"su -c {shlex.quote(c)}",
    lambda c: f"ssh localhost {shlex.quote(c)}",
    lambda c: f"parallel ::: {shlex.quote(c)}",
    lambda c: f"env -S {shlex.quote(c)}",
    lambda c: f"git -c alias.x={shlex.quote('!' + c)} x",
    lambda c: f"git submodule foreach {shlex.quote(c)}",
    lambda c: f"tar cf /dev/null . --checkpoint-action={shlex.quote('exec=' + c)}",
    lambda c: f"awk {shlex.quote('BEGIN{system(' + chr(34) + c + chr(34) + ')}')}",
    lambda c: f"python3 -c {shlex.quote(f'import os; os.system({c!r})')}",
    lambda c: f"perl -e {shlex.quote(f'system({chr(34)}{c}{chr(34)})')}",
    lambda c: f"sqlite3 :memory: {shlex.quote('.shell ' + c)}",
    lambda c: f"vim -es -c {shlex.quote(':!' + c)}",
    lambda c: f"make -f - <<< {shlex.quote('x: ; ' + c)}",
    lambda c: f"flock build/lock -c {shlex.quote(c)}",
    lambda c: f"nix-shell --run {shlex.quote(c)}",
    lambda c: f"crontab - <<< {shlex.quote('@daily ' + c)}",
    lambda c: f"screen -X stuff {shlex.quote(c + chr(92) + 'n')}",
    lambda c: f"parallel bash -c ::: {shlex.quote(c)}",
    lambda c: f"m4 <<< {shlex.quote(f'syscmd({c})')}",
    lambda c: f"env GIT_SSH_COMMAND={shlex.quote(c)} git fetch",
]
_ONLY_MARKS = {Act.EXECUTE, Act.UNKNOWN}


def harm(command: str) -> set[str]:
    """What it does, without where it is done from."""
    effects = effects_of(command).effects
    return {_bare(each) for each in effects if each.act not in _ONLY_MARKS}


def _bare(effect: Effect) -> str:
    return told(effect).partition(" in ")[0]


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(PLAIN),
    st.lists(st.sampled_from(EXEC), max_size=3),
    st.lists(st.sampled_from(TEXT), max_size=1),
    st.lists(st.sampled_from(EXEC), max_size=2),
)
def test_carriers_keep_the_effects_of_what_they_carry(
    command: str, inner: list[Wrap], texts: list[Wrap], outer: list[Wrap]
) -> None:
    carried = command
    for wrap in (*inner, *texts, *outer):
        carried = wrap(carried)
    assert harm(command) <= harm(carried), carried


@pytest.mark.parametrize("wrap", [*EXEC, *ALONE, *TEXT], ids=lambda wrap: wrap("COMMAND"))
def test_each_carrier_keeps_the_effects(wrap: Wrap) -> None:
    for command in PLAIN:
        assert harm(command) <= harm(wrap(command)), wrap(command)


_NAMES = sorted(shipped_table().commands)
_WORDS = st.one_of(
    st.sampled_from(_NAMES),
    st.sampled_from(
        ["-", "--", "-c", "-e", "-f", "-x", "-exec", "{}", ";", "+", "-i", "$x", "$(a)", "*", "a=b",
         "@.env", ".env", "/", "~", "'", '"', "\\", "|", "&&", ">", "<", "<<<", "x:y", "HEAD:a",
         ":::", "-o", "--output=x", "1e id", '{print > "x"}', "s/a/b/e", "import os", "!id"]
    ),
    st.text(max_size=8),
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@example(["awk", "BEGIN{" * 50])
@example(["python3", "-c", "'" + "(" * 3000 + "'"])
@example(["python3", "-c", "'" + "-" * 9000 + "1'"])
@example(["sed", "'s" + "/" * 5 + "'"])
@example(["env", "-S", "'\"'"])
@example(["xargs", "-I", "<<<", "x"])
@given(st.lists(_WORDS, max_size=9))
def test_no_words_make_it_raise(words: list[str]) -> None:
    effects_of(" ".join(words))


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["python3 -c", "perl -e", "ruby -e", "node -e", "php -r", "lua -e", "awk",
                     "sed", "jq", "tclsh <<<", "vim -c", "sqlite3 x", "psql -c", "make -f - <<<",
                     "bash -c", "expect -c", "osascript -e", "Rscript -e", "gdb -ex"]),
    st.text(max_size=60),
)  # fmt: skip
def test_no_code_makes_it_raise(program: str, code: str) -> None:
    effects_of(f"{program} {shlex.quote(code)}")
