"""Images to build on, as tar files: one that is good, and some that can't be used."""

import hashlib
import io
import json
import re
import subprocess
import tarfile
from pathlib import Path

from tests.worlds.engine_image import tools_archive

RUNNER = "trustfloor/runner:latest"

NOT_NEEDED = re.compile(r"opt/trustfloor/|usr/share/|var/|usr/lib/git-core/|.*(perl|gconv)")
"""Of the runner's image: what was put on top, and what only makes the test longer."""


def good_base(path: Path) -> None:
    """What the machine's own runner is built on."""
    made = subprocess.run(("docker", "create", RUNNER), check=True, capture_output=True, text=True)
    container = made.stdout.strip()
    try:
        with (
            subprocess.Popen(("docker", "export", container), stdout=subprocess.PIPE) as exported,
            tarfile.open(fileobj=exported.stdout, mode="r|") as archive,
            tarfile.open(path, "w") as kept,
        ):
            for each in archive:
                if NOT_NEEDED.match(each.name) is None:
                    kept.addfile(each, archive.extractfile(each) if each.isreg() else None)
    finally:
        subprocess.run(("docker", "rm", container), check=True, capture_output=True)


def tar_of(files: dict[str, bytes]) -> bytes:
    """The files as a tar file, each to be run by all."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o755
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def for_another_machine(name: str) -> bytes:
    """An image as `docker load` takes it, made for a processor that this one isn't."""
    layer = tar_of({"bin/sh": b"nothing"})
    config = json.dumps(
        {
            "architecture": "s390x",
            "os": "linux",
            "config": {},
            "rootfs": {
                "type": "layers",
                "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"],
            },
        }
    ).encode()
    manifest = [{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]
    return tar_of(
        {
            "config.json": config,
            "layer.tar": layer,
            "manifest.json": json.dumps(manifest).encode(),
        }
    )


OLD_PYTHON = '#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.7.3" && exit\nexit 1\n'


def with_an_old_python() -> bytes:
    """The tools, and a Python as it was once."""
    with tarfile.open(fileobj=io.BytesIO(tools_archive())) as archive:
        files = {each.name: _content(archive, each) for each in archive.getmembers()}
    names = ("git", "rg", "less", "ps")
    return tar_of(
        {**files, "bin/python3": OLD_PYTHON.encode(), **{f"bin/{name}": b"" for name in names}}
    )


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    assert file is not None
    return file.read()
