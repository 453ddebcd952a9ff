"""Where texts and functions go in code: each attack beside the same code that does no harm."""

import shlex

import pytest

from supervisor.policy.bash.effect import Act
from tests.worlds.effects_world import effects_of


def _acts(command: str) -> set[tuple[Act, str]]:
    return {
        (each.act, each.target.texts[0].text if each.target is not None else "")
        for each in effects_of(command).effects
    }


def _reads(program: str, code: str, path: str = ".env") -> bool:
    return (Act.READ, path) in _acts(f"{program} {shlex.quote(code)}")


def _escalates(program: str, code: str) -> bool:
    return any(act is Act.ESCALATE for act, _ in _acts(f"{program} {shlex.quote(code)}"))


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("node -e", 'const r=require("fs").readFileSync; r(".env")'),
        ("node -e", 'for (const f of [".env"]) require("fs").readFileSync(f)'),
        ("node -e", 'require("fs")["read"+"FileSync"](".env")'),
        ("node -e", 'eval("require(\\"fs\\").readFileSync(\\".env\\")")'),
        ("ruby -e", "f=->(p){File.read(p)}; f.('.env')"),
        ("php -r", '$f="readfile"; $f(".env");'),
        ("python3 -c", "f=lambda p: open(p).read(); f('.env')"),
        ("python3 -c", "list(map(open, ['.env']))"),
    ],
)
def test_a_path_that_reaches_a_reading_call_is_read(program: str, code: str) -> None:
    assert _reads(program, code)


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("node -e", 'console.log("never read .env")'),
        ("node -e", 'const fs=require("fs"); fs.readdirSync(".").filter(f=>f!==".env")'),
        ("node -e", 'for (const f of g()) if (f !== ".env") require("fs").readFileSync(f)'),
        ("python3 -c", "for f in g():\n if f != '.env': open(f).read()"),
        ("python3 -c", "print('.env')"),
    ],
)
def test_a_path_that_is_only_printed_or_compared_is_not_read(program: str, code: str) -> None:
    assert not _reads(program, code)


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("node -e", 'const e=require("child_process").exec; e("sudo id")'),
        ("node -e", 'const c=["sudo","id"]; require("child_process").spawnSync(c[0],c.slice(1))'),
        ("perl -e", 'my @c=("sudo","id"); system(@c)'),
        ("awk -v c='sudo id'", "BEGIN{system(c)}"),
        ("elixir -e", 'System.cmd("sudo", ["id"])'),
        ("zz --eval", "sudo id"),
    ],
)
def test_an_order_that_reaches_a_call_is_run(program: str, code: str) -> None:
    assert _escalates(program, code)


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("node -e", 'console.log("sudo id")'),
        ("node -e", 'const t=require("fs").readFileSync(f,"utf8"); t.includes("sudo id")'),
        ("perl -e", 'print "sudo id"'),
        ("awk -v c='sudo id'", "$0==c"),
        ("elixir -e", 'IO.puts("sudo id")'),
        ("zz --message", "sudo id"),
    ],
)
def test_an_order_that_is_only_said_is_not_run(program: str, code: str) -> None:
    assert not _escalates(program, code)


def test_code_of_a_thousand_assignments_is_read_in_bounds() -> None:
    code = "a=" * 5_000
    assert any(each.act is Act.UNKNOWN for each in effects_of(f"node -e {code}").effects)


def test_an_order_behind_a_thousand_calls_within_calls_is_still_run() -> None:
    code = "read(string(" * 1_000 + ";" + "rm -rf x; run(`sudo id`)"
    found = effects_of(f"julia -e {shlex.quote(code)}").effects
    assert any(each.act is Act.UNKNOWN for each in found)
    assert any(each.act is Act.ESCALATE for each in found)


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("gawk", '@load "readfile"; BEGIN{print readfile(".env")}'),
        ("julia -e", 'print(read(string(".","env"),String))'),
        ("node -e", 'console.log(require("fs").readFileSync("vne.".split("").reverse().join("")))'),
        ("php -r", 'readfile("php://filter/convert.base64-encode/resource=.env");'),
        ("lua -e", "print(io.open([[.env]]):read())"),
        ("Rscript -e", 'cat(readLines(paste0(".","env")))'),
    ],
)
def test_a_path_that_is_put_together_in_some_other_way_is_read(program: str, code: str) -> None:
    assert _reads(program, code)
    assert not _reads(program, code.replace("vne", "vnf").replace("env", "enf"))
