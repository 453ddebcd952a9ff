"""The quick look that tells that no rule about places can hit never leaves one out that does."""

import pytest

from supervisor.policy.bash.effect import Act
from supervisor.policy.call import Kind
from supervisor.policy.dangerous import DangerRule, PlaceRules

VAULT, HOME = "/srv/vault", "/home/agent"
PLACES = (
    "/", "/dev", "/dev/sda", "/dev/disk/by-id/x", "/device", "/proc/kcore", "/etc/passwd",
    "/home/agent/.ssh", "/srv/vault", "/srv/vault/dev/sda", "/srv", "/x",
)  # fmt: skip


@pytest.mark.parametrize(
    "rule",
    [
        DangerRule("a", "r", frozenset({Act.WRITE}), paths=("/dev/sd[a-z]*", "/proc/kcore")),
        DangerRule("b", "r", frozenset({Act.WRITE}), paths=("/dev", "/*/passwd")),
        DangerRule("c", "r", frozenset({Act.WRITE}), paths=("~/.ssh", "VAULT/dev/*")),
        DangerRule("d", "r", frozenset({Act.WRITE}), folders=("/etc",)),
        DangerRule("e", "r", frozenset({Act.WRITE}), kinds=frozenset({Kind.BLOCK_DEVICE})),
    ],
)
@pytest.mark.parametrize("kind", [Kind.FILE, Kind.BLOCK_DEVICE])
def test_a_place_that_a_rule_hits_may_be_hit(rule: DangerRule, kind: Kind) -> None:
    rules = PlaceRules([rule])
    hit = [place for place in PLACES if rule.hits_place(place, VAULT, HOME, kind)]
    assert bool(hit) == (not rule.kinds or kind in rule.kinds)
    assert [place for place in hit if not rules.may_hit([place], kind)] == []


def test_files_of_a_project_are_told_from_devices_by_how_they_begin() -> None:
    rules = PlaceRules([DangerRule("a", "r", frozenset({Act.WRITE}), paths=("/dev/sd[a-z]*",))])
    assert not rules.may_hit(["/srv/vault/dev/sda", "/home/agent/x"], Kind.FILE)
    assert rules.may_hit(["/srv/vault/x", "/dev/sda"], Kind.FILE)
