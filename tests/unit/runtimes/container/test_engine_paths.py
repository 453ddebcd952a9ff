"""Whose container we are in, and where its folders are on the engine's host: from plain texts."""

from pathlib import Path, PurePosixPath

from supervisor.runtimes.container.engine_paths import EnginePaths, mounts_of, own_container

ID = "4f" * 32
IN_A_CONTAINER = f"""\
700 600 0:50 / / ro,relatime - overlay overlay rw
710 700 254:0 /var/lib/docker/containers/{ID}/hostname /etc/hostname rw - ext4 /dev/vda rw
720 700 254:0 /var/lib/docker/volumes/v/_data /data rw - ext4 /dev/vda rw
730 700 254:0 /srv/a\\040vault /vault rw - ext4 /dev/vda rw
"""
ON_A_HOST = f"""\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
90 22 0:60 / /var/lib/docker/containers/{ID}/mounts/shm rw - tmpfs shm rw
"""


def test_the_kernel_says_in_whose_files_we_are() -> None:
    assert own_container(IN_A_CONTAINER, "db", marked=True) == ID


def test_a_host_with_containers_is_none() -> None:
    assert own_container(ON_A_HOST, "0123456789ab", marked=False) is None


def test_a_host_name_counts_only_beside_the_engines_mark() -> None:
    assert own_container(ON_A_HOST, "0123456789ab", marked=True) == "0123456789ab"
    assert own_container(ON_A_HOST, "my-machine", marked=True) is None


def test_the_innermost_mount_comes_first() -> None:
    report = {
        "Mounts": [
            {"Destination": "/vault", "Source": "/srv/a vault"},
            {"Destination": "/data", "Source": "/var/lib/docker/volumes/v/_data"},
        ]
    }
    found = mounts_of(
        {"Mounts": [*report["Mounts"], {"Destination": "/", "Source": "/outer"}]}, IN_A_CONTAINER
    )
    assert found is not None
    assert found[-1] == (Path("/"), Path("/outer"))


def test_a_report_of_another_container_is_known_by_a_mount_that_is_not_here() -> None:
    assert (
        mounts_of({"Mounts": [{"Destination": "/other", "Source": "/x"}]}, IN_A_CONTAINER) is None
    )


def test_a_path_is_told_by_the_first_pair_that_covers_it() -> None:
    paths = EnginePaths(
        ((Path("/data/inner"), Path("/somewhere")), (Path("/data"), Path("/volumes/v")))
    )
    assert paths(Path("/data/inner/x")) == PurePosixPath("/somewhere/x")
    assert paths(Path("/data/x")) == PurePosixPath("/volumes/v/x")
    assert paths(Path("/database")) == PurePosixPath("/database")
