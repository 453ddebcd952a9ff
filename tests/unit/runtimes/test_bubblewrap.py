"""The cage as an argument list: what is bound, in which order, and with which rights."""

import errno
import struct
from dataclasses import replace

import pytest

from supervisor.runtimes.local.bubblewrap import (
    SWITCHING,
    Bind,
    CageSpec,
    Emptied,
    Link,
    arguments,
    entry_command,
    looks,
)
from supervisor.runtimes.local.seccomp import program

SPEC = CageSpec(
    vault="/home/ada/vault",
    cwd="/home/ada/vault/work",
    home="/home/ada",
    system=(Bind("/usr", "/usr"), Link("usr/bin", "/bin"), Bind("/etc/hosts", "/etc/hosts")),
    programs=(Bind("/opt/cli", "/opt/venv/cli"),),
    turn=(Bind("/run/t/run", "/run/t/run"), Bind("/run/t/tmp", "/run/t/tmp", writable=True)),
    uid=1000,
    gid=1000,
    by_root=True,
    covers=(
        Bind("/m/1", "/home/ada/vault/policies/.env"),
        Bind("/m/2", "/home/ada/vault/.env"),
    ),
    read_only=("/home/ada/vault/policies",),
    emptied=(
        Emptied(
            "/home/ada/vault/Chat",
            (Bind("/home/ada/vault/Chat/a", "/home/ada/vault/Chat/a", writable=True),),
        ),
    ),
    kept_names=("/home/ada/vault/.git",),
    absent=("/data",),
)


def at(given: list[str], *words: str) -> int:
    """Where these words follow each other."""
    for place in range(len(given)):
        if given[place : place + len(words)] == list(words):
            return place
    raise AssertionError(f"{words} are not in {given}")


def test_the_vault_is_writable_and_the_system_is_not() -> None:
    given = arguments(SPEC, 9)
    at(given, "--bind", SPEC.vault, SPEC.vault)
    at(given, "--ro-bind", "/usr", "/usr")
    at(given, "--symlink", "usr/bin", "/bin")
    writable = [given[i + 2] for i, word in enumerate(given) if word == "--bind"]
    assert set(writable) == {SPEC.vault, "/run/t/tmp", "/home/ada/vault/Chat/a", *SPEC.kept_names}


def test_each_cage_has_namespaces_of_its_own_and_dies_with_its_parent() -> None:
    given = arguments(SPEC, 9)
    wanted = {"--unshare-pid", "--unshare-ipc", "--unshare-uts", "--new-session"}
    assert wanted | {"--die-with-parent"} <= set(given)
    at(given, "--cap-drop", "ALL")
    at(given, "--seccomp", "9")


def test_masks_lie_over_the_vault_and_folders_come_before_what_is_in_them() -> None:
    given = arguments(SPEC, 9)
    vault = at(given, "--bind", SPEC.vault, SPEC.vault)
    policies = at(given, "--ro-bind", SPEC.read_only[0], SPEC.read_only[0])
    mask = at(given, "--ro-bind", "/m/1", "/home/ada/vault/policies/.env")
    assert vault < policies < mask
    assert vault < at(given, "--ro-bind", "/m/2", "/home/ada/vault/.env")


def test_a_folder_whose_name_counts_is_a_mount_of_itself_and_may_be_written() -> None:
    (kept,) = SPEC.kept_names
    given = arguments(SPEC, 9)
    assert at(given, "--bind", SPEC.vault, SPEC.vault) < at(given, "--bind", kept, kept)
    assert kept in SPEC.writable


def test_an_emptied_folder_shows_what_is_kept_and_takes_nothing_more() -> None:
    given = arguments(SPEC, 9)
    empty = at(given, "--tmpfs", "/home/ada/vault/Chat")
    kept = at(given, "--bind", "/home/ada/vault/Chat/a", "/home/ada/vault/Chat/a")
    assert empty < kept < at(given, "--remount-ro", "/home/ada/vault/Chat")


def test_the_home_is_empty_and_lies_below_the_vault() -> None:
    given = arguments(SPEC, 9)
    assert at(given, "--tmpfs", "/home/ada") < at(given, "--bind", SPEC.vault, SPEC.vault)


def test_what_root_could_write_in_proc_by_mode_bits_is_read_only() -> None:
    given = arguments(SPEC, 9)
    assert at(given, "--proc", "/proc") < at(given, "--ro-bind-try", "/proc/sys", "/proc/sys")
    at(given, "--ro-bind-try", "/proc/sysrq-trigger", "/proc/sysrq-trigger")


def test_root_keeps_what_it_takes_to_become_the_owner_and_a_plain_user_gets_a_namespace() -> None:
    by_root = arguments(SPEC, 9)
    assert [by_root[i + 1] for i, word in enumerate(by_root) if word == "--cap-add"] == [*SWITCHING]
    assert "--unshare-user" not in by_root
    plain = arguments(replace(SPEC, by_root=False), 9)
    assert "--cap-add" not in plain
    assert plain.index("--disable-userns") == plain.index("--unshare-user") + 1


def test_the_network_is_the_hosts_unless_it_is_cut_off() -> None:
    assert "--unshare-net" not in arguments(SPEC, 9)
    assert "--unshare-net" in arguments(replace(SPEC, network=False), 9)


def test_the_command_line_in_the_cage_names_no_place_of_the_vault() -> None:
    command = entry_command(SPEC, "/usr/bin/python3", 8, ("/opt/venv/cli", "--x"))
    assert command[-2:] == ["/opt/venv/cli", "--x"]
    assert command[-5:-2] == ["1000", "1000", "8"]
    assert not any("vault" in word for word in command)
    assert looks(SPEC)[:3] == [SPEC.cwd, "1", "/data"]


@pytest.mark.parametrize(
    ("call", "argument", "answer"),
    [
        (41, 1, "allow"),  # socket(AF_UNIX)
        (41, 2, "allow"),
        (41, 40, errno.EAFNOSUPPORT),  # AF_VSOCK
        (41, 38, errno.EAFNOSUPPORT),  # AF_ALG
        (56, 0x10000000, errno.EPERM),  # clone(CLONE_NEWUSER)
        (56, 0x00000011, "allow"),
        (272, 0x10020000, errno.EPERM),  # unshare(CLONE_NEWUSER | CLONE_NEWNS)
        (272, 0x00000400, "allow"),
        (308, 0, errno.EPERM),  # setns
        (425, 0, errno.ENOSYS),  # io_uring_setup
        (435, 0, errno.ENOSYS),  # clone3: libraries fall back to clone
        (250, 0, errno.ENOSYS),  # keyctl
        (321, 0, errno.ENOSYS),  # bpf
        (437, 0, errno.ENOSYS),  # openat2: libraries fall back to openat
        (0, 0, "allow"),  # read
        (0x40000000 + 41, 1, errno.ENOSYS),  # x32
    ],
)
def test_the_filter_refuses_ways_out_and_nothing_else(
    call: int, argument: int, answer: int | str
) -> None:
    assert verdict(program("x86_64"), call, argument) == answer


@pytest.mark.parametrize(
    ("call", "arguments", "answer"),
    [
        (90, (0, 0o4755), errno.EPERM),  # chmod
        (90, (0, 0o1777), "allow"),
        (91, (3, 0o2755), errno.EPERM),  # fchmod
        (268, (3, 0, 0o6755), errno.EPERM),  # fchmodat
        (268, (3, 0, 0o755), "allow"),
        (452, (3, 0, 0o4755), errno.EPERM),  # fchmodat2
        (133, (0, 0o104755), errno.EPERM),  # mknod
        (259, (3, 0, 0o104755), errno.EPERM),  # mknodat
        (85, (0, 0o4755), errno.EPERM),  # creat
        (2, (0, 0o102, 0o4755), errno.EPERM),  # open(O_RDWR | O_CREAT)
        (2, (0, 0o102, 0o755), "allow"),
        (2, (0, 0o2, 0o4755), "allow"),  # it makes nothing, and reads no mode
        (257, (3, 0, 0o20200002, 0o2755), errno.EPERM),  # openat(O_TMPFILE)
        (257, (3, 0, 0o102, 0o644), "allow"),
    ],
)
def test_the_filter_lets_no_file_be_made_that_runs_as_its_owner(
    call: int, arguments: tuple[int, ...], answer: int | str
) -> None:
    assert verdict(program("x86_64"), call, *arguments) == answer


def verdict(code: bytes, call: int, *arguments: int) -> int | str:
    """Run the filter as the kernel would, for x86-64."""
    given = {16 + 8 * number: argument for number, argument in enumerate(arguments)}
    memory = {0: call, 4: 0xC000003E, **given}
    steps = list(struct.iter_unpack("=HBBI", code))
    at_step = value = 0
    while True:
        operation, yes, no, number = steps[at_step]
        at_step += 1
        if operation == 0x20:
            value = memory[number]
        elif operation == 0x06:
            return "allow" if number == 0x7FFF0000 else number & 0xFFFF
        else:
            holds = {
                0x15: value == number,
                0x35: value >= number,
                0x45: bool(value & number),
            }[operation]
            at_step += yes if holds else no
