"""Wrapped, quoted and nested at random, a command keeps its verdict."""

import shlex
from collections.abc import Callable

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from supervisor.policy.call import Allow, Ask, Deny
from supervisor.policy.permissions import Grant, GrantKind, GrantScope, Permissions
from supervisor.trust.levels import TrustLevel
from tests.worlds.cases_world import answer, bash, verdict_of

DENIED = [
    "rm -rf /", "rm -rf ~", "sudo id", "cat .env", "mkfs.ext4 /dev/sda1", "chmod -R 777 /",
    "kill -9 -1", "dd if=/dev/zero of=/dev/sda", "cat ~/.ssh/id_rsa", "cat /proc/self/environ",
    "cp x .mcp.json", "rm -rf policies", "find / -delete", "cat keys/id_ed25519",
]  # fmt: skip
HARMLESS = ["ls -la", "cat notes/a.md", "git status", "grep -rn TODO docs", "wc -l notes/a.md"]
SAID = ["sudo id", "rm -rf /", "cat .env", ":(){ :|:& };:", "mkfs.ext4 /dev/sda1", "$(sudo id)"]
WRAPPINGS: list[Callable[[str], str]] = [
    lambda c: f"bash -c {shlex.quote(c)}",
    lambda c: f"sh -ec {shlex.quote(c)}",
    lambda c: f"eval {shlex.quote(c)}",
    lambda c: f"env A=1 {c}" if _is_simple(c) else f"env bash -c {shlex.quote(c)}",
    lambda c: f"nohup {c} &" if _is_simple(c) else f"( {c}\n) &",
    lambda c: f"timeout 5 nice -n 3 {c}" if _is_simple(c) else f"timeout 5 sh -c {shlex.quote(c)}",
    lambda c: f"command {c}" if _is_simple(c) else f"{{ {c}\n}}",
    lambda c: f"( {c}\n)",
    lambda c: f"{{ {c}\n}}",
    lambda c: f"true && {{ {c}\n}}",
    lambda c: f"if true; then {c}\nfi",
    lambda c: f"for i in 1; do {c}\ndone",
    lambda c: f"while :; do {c}\nbreak; done",
    lambda c: f"f{len(c)}() {{ {c}\n}}; f{len(c)}",
    lambda c: f"x=$({c}\n)",
    lambda c: f'echo "a $({c}\n) b"',
    lambda c: f"bash <<'END{len(c)}'\n{c}\nEND{len(c)}",
    lambda c: f"cat <({c}\n)",
    lambda c: f"! {{ {c}\n}}",
    lambda c: f"printf '%s' {shlex.quote(c)} | sh",
    lambda c: f"cd notes && cd .. && {{ {c}\n}}",
    lambda c: f"# a note\n{c}",
]
FULL, VAULT = TrustLevel.FULL, TrustLevel.VAULT


def _is_simple(command: str) -> bool:
    return not any(c in command for c in "\n;|&(){}<>'\"$#!`")


def wrapped(command: str, wrappings: list[Callable[[str], str]]) -> str:
    for wrap in wrappings:
        command = wrap(command)
    assume(len(command) < 4000)
    return command


def spelt(draw: st.DrawFn, word: str) -> str:
    """A word in another spelling that means the same to a shell."""
    if word.startswith("~"):
        return word
    plain = word.replace("\\", "")
    at = draw(st.integers(0, len(plain)))
    return draw(
        st.sampled_from(
            [word, shlex.quote(plain), f'"{plain}"', plain[:at] + "''" + plain[at:],
             plain[:at] + '""' + plain[at:], "".join("\\" + c for c in plain),
             "$'" + "".join(f"\\x{ord(c):02x}" for c in plain) + "'"]
        )
    )  # fmt: skip


@st.composite
def spellings(draw: st.DrawFn, commands: list[str]) -> str:
    return " ".join(spelt(draw, word) for word in draw(st.sampled_from(commands)).split())


chains = st.lists(st.sampled_from(WRAPPINGS), max_size=3)


@settings(max_examples=300, deadline=None)
@given(spellings(DENIED), chains)
def test_what_is_denied_stays_denied(command: str, chain: list[Callable[[str], str]]) -> None:
    assert bash(wrapped(command, chain), level=FULL) == "deny"


@settings(max_examples=200, deadline=None)
@given(spellings(HARMLESS), chains)
def test_what_is_harmless_is_never_denied(command: str, chain: list[Callable[[str], str]]) -> None:
    assert bash(wrapped(command, chain), level=FULL) == "allow"


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(SAID),
    st.sampled_from(
        ["echo {}", "printf '%s' {}", "git commit -m {}", "grep -rn {} docs", ": {}", "x={}",
         "[ a = {} ]", "cat > build/x <<'END'\n{raw}\nEND", "git log --grep={}", "# {raw}\ntrue"]
    ),
)  # fmt: skip
def test_what_is_only_said_is_left_alone(said: str, form: str) -> None:
    command = form.replace("{raw}", said).replace("{}", shlex.quote(said))
    assert bash(command, level=FULL) == "allow"


READABLE = Permissions(trust_mode=False, read=("**/*",), bash=("ls", "cat", "echo", "git"))


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(["$X", '"$X"', "${X}", "$(curl x)", "`id`", "$(<notes/a.md)", "${!X}"]),
    st.sampled_from(
        ["{}", "{} --version", "bash -c {}", "eval {}", "cat {}", "env {}", "cd {} && ls"]
    ),
    chains,
)
def test_what_cannot_be_told_is_never_allowed_at_vault(
    hole: str, form: str, chain: list[Callable[[str], str]]
) -> None:
    command = wrapped(form.replace("{}", hole), chain)
    for permissions in (READABLE, Permissions(), Permissions(trust_mode=False, bash=True)):
        assert bash(command, level=VAULT, permissions=permissions) != "allow"


patterns = st.sampled_from(
    ["**/*", "notes/*", "notes/**/*", ".env", "ls", "cat", "git", "git status", "rm", "bash -c",
     "=cat .env", "Read", "Bash", "WebFetch:127.0.0.1", "mcp__x__*", "*", "sudo"]
)  # fmt: skip
grants = st.builds(
    Grant, st.just("g"), st.sampled_from(GrantScope), st.sampled_from(GrantKind), patterns,
    st.sampled_from(TrustLevel), st.sampled_from([None, 0.0, 1.0]),
)  # fmt: skip
calls: st.SearchStrategy[tuple[str, dict[str, object]]] = st.one_of(
    st.tuples(
        st.just("Bash"), st.builds(lambda c: {"command": c}, st.sampled_from([*DENIED, *HARMLESS]))
    ),
    st.tuples(
        st.sampled_from(["Read", "Write"]),
        st.builds(
            lambda p: {"file_path": p}, st.sampled_from([".env", "notes/a.md", "/etc/hosts"])
        ),
    ),
    st.tuples(st.just("WebFetch"), st.just({"url": "http://127.0.0.1/"})),
)
ORDER = {Allow: 0, Ask: 1, Deny: 2}


@settings(max_examples=300, deadline=None)
@given(calls, st.lists(grants, max_size=3), grants, st.sampled_from(TrustLevel))
def test_a_further_grant_never_makes_a_verdict_stricter_and_never_beats_a_denial(
    call: tuple[str, dict[str, object]], held: list[Grant], more: Grant, level: TrustLevel
) -> None:
    tool, given = call

    def verdict(*granted: Grant) -> Allow | Ask | Deny:
        permissions = Permissions(trust_mode=False, grants=granted)
        return verdict_of(tool, given, level=level, permissions=permissions)

    before, after = verdict(*held), verdict(*held, more)
    assert ORDER[type(after)] <= ORDER[type(before)]
    assert isinstance(after, Deny) is isinstance(before, Deny)


@pytest.mark.parametrize("level", TrustLevel)
@settings(max_examples=150, deadline=None)
@given(command=st.text(alphabet="ab.env ~/'\"\\$(){}`<>|&;\n#=*[]!?-\0\r\té", max_size=120))
def test_no_command_makes_the_decision_fail(command: str, level: TrustLevel) -> None:
    verdict = verdict_of("Bash", {"command": command}, level=level)
    assert verdict.rule != "internal-error"


def test_where_the_kernel_does_not_hold_a_command_a_person_is_asked_each_time() -> None:
    loose = Permissions(trust_mode=True, read=("**/*",), bash=("ls", "=ls"), confined=False)
    assert bash("ls", level=VAULT, permissions=loose) == "ask"
    assert bash("cat .env", level=VAULT, permissions=loose) == "deny"
    assert bash("ls", level=FULL, permissions=loose) == "allow"
    assert answer("Read", {"file_path": "notes/a.md"}, permissions=loose) == "allow"
