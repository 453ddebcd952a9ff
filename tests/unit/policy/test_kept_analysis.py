"""What a command does is kept for when it is judged again, and only for that very command."""

from supervisor.policy.bash.effect import ShellContext
from supervisor.policy.bash.effects import analyse
from supervisor.policy.compiled import LONGEST_KEPT
from tests.worlds.policy_world import shipped_policy


def test_the_same_command_elsewhere_is_another() -> None:
    policy = shipped_policy()
    here = policy.analysis_of("cat notes.md > ~/x", "/vault", "/root")
    assert policy.analysis_of("cat notes.md > ~/x", "/vault", "/root") is here
    for cwd, home in (("/vault/a", "/root"), ("/vault", "/home/me")):
        other = policy.analysis_of("cat notes.md > ~/x", cwd, home)
        assert other == analyse("cat notes.md > ~/x", ShellContext(cwd, home, {}), policy.commands)
        assert other != here


def test_what_is_long_is_not_kept() -> None:
    policy = shipped_policy()
    text = "echo " + "x" * LONGEST_KEPT
    assert policy.analysis_of(text, "/v", "/r") is not policy.analysis_of(text, "/v", "/r")


def test_another_policy_reads_for_itself() -> None:
    one, other = shipped_policy(), shipped_policy()
    assert one.analysis_of("ls", "/v", "/r") is not other.analysis_of("ls", "/v", "/r")
