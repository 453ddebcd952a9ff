"""What the engine is told: data, complete, and with no way round."""

from pathlib import PurePosixPath
from typing import Any

import pytest

from supervisor.runtimes.container.spec import Limits
from tests.worlds.cage_reports import a_spec


def test_equal_turns_give_equal_specs_that_can_be_hashed_and_printed() -> None:
    assert a_spec() == a_spec()
    assert len({a_spec(), a_spec()}) == 1
    assert "/srv/views/turn_1" in repr(a_spec())


def test_the_engine_is_told_of_exactly_two_mounts_both_read_only_and_not_recursive() -> None:
    mounts = a_spec().as_api()["HostConfig"]["Mounts"]
    assert [(each["Source"], each["Target"]) for each in mounts] == [
        ("/srv/views/turn_1", "/vault"),
        ("/srv/turns/turn_1/run", "/run/trustfloor"),
    ]
    for each in mounts:
        assert each["Type"] == "bind"
        assert each["ReadOnly"] is True
        assert each["BindOptions"] == {"Propagation": "rprivate", "NonRecursive": True}


def test_a_path_with_colon_comma_quote_and_newline_stays_one_path() -> None:
    odd = "/srv/2026-03-01T10:00, 'a'\n\"b\""
    mounts = a_spec(vault_view=PurePosixPath(odd)).as_api()["HostConfig"]["Mounts"]
    assert mounts[0]["Source"] == odd


def test_it_names_no_seccomp_profile_since_the_default_one_is_meant() -> None:
    assert a_spec().as_api()["HostConfig"]["SecurityOpt"] == ["no-new-privileges"]


def test_memory_has_no_swap_beside_it() -> None:
    host = a_spec(limits=Limits(memory_bytes=1 << 28)).as_api()["HostConfig"]
    assert host["Memory"] == host["MemorySwap"] == 1 << 28


def test_labels_say_whose_it_is() -> None:
    assert a_spec().as_api()["Labels"] == {
        "trustfloor.instance": "i" * 32,
        "trustfloor.session": "00000000-0000-4000-8000-000000000000",
        "trustfloor.started": "1800000000",
        "trustfloor.turn": "turn_1",
    }


@pytest.mark.parametrize(("processors", "cpus"), [(1, 1.0), (2, 2.0), (64, 2.0)])
def test_a_small_machine_gets_a_limit_that_its_engine_accepts(processors: Any, cpus: Any) -> None:
    assert Limits(cpus=2.0).fitting(processors) == Limits(cpus=cpus)
