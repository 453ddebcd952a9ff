"""Values that decisions are made of: compared by what they hold."""

from dataclasses import replace

from supervisor.policy.bash.value import Text, Value, known
from supervisor.policy.deny_list import LONGEST_NAME, DenyList, DenyRule


def test_records_that_hold_the_same_are_one_key() -> None:
    one, other = Value((Text("a"), Text("b"))), Value((Text("a"), Text("b")))
    assert one == other
    assert {one: 1}[other] == 1
    assert replace(one, from_data=True) != one


def test_records_of_different_kinds_differ() -> None:
    other: object = Text("a")
    assert known("a") != other


def test_a_name_that_no_file_system_holds_is_no_denied_one() -> None:
    names = DenyList((DenyRule("keys", "keys are denied", names=("*.pem",)),))
    assert names.match("x" * 200 + ".pem") is not None
    assert names.match("x" * LONGEST_NAME + ".pem") is None


def test_denied_names_are_found_by_their_length_in_their_order() -> None:
    names = DenyList((DenyRule("some", "some are denied", names=("bb", "a", "ccc", "ab", "*.x")),))
    assert names.plain_names_of(1, 2) == ["a", "ab", "bb"]
    assert names.plain_names_of(3, 100) == ["ccc"]
