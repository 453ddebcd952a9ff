"""An image that isn't our runner is told by `doctor`, at the start and before a turn: never run."""

import asyncio
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from supervisor.errors import ImageMissing
from supervisor.runtimes.container.checks import engine_checks
from supervisor.runtimes.container.image import RUNNER_IMAGE, RUNNER_LABEL, RUNNER_PROTOCOL
from tests.worlds.engine import real_engine
from tests.worlds.engine_image import docker, tools_image_fixture  # noqa: F401
from tests.worlds.forked import PIPE, trustfloor
from tests.worlds.house import a_house, bash, prompt, step
from tests.worlds.server import environment, supervisor_process
from tests.worlds.waiting import A_WHILE

pytestmark = pytest.mark.engine
ROOT = Path(__file__).parents[2]
SCENARIO = "version: 1\nscripts:\n  - {name: any, when: {always: true}, steps: [{text: Hello.}]}\n"


@pytest.fixture(name="older_runner")
def older_runner_fixture(tools_image: str, tmp_path: Path) -> Iterator[str]:
    """An image with the label of another version."""
    name = "trustfloor-test/older-runner:1"
    recipe = tmp_path / "Dockerfile"
    recipe.write_text(f'FROM {tools_image}\nLABEL {RUNNER_LABEL}="0"\n')
    docker(
        "build", "--network", "none", "--quiet", "--tag", name, "--file", str(recipe), str(tmp_path)
    )
    yield name
    docker("image", "rm", name)


def test_the_label_that_the_image_gets_is_the_one_that_is_asked_for() -> None:
    recipe = (ROOT / "Dockerfile.runner").read_text(encoding="utf-8")
    assert re.findall(r"^LABEL (.*)$", recipe, re.MULTILINE) == [
        f'{RUNNER_LABEL}="{RUNNER_PROTOCOL}"'
    ]


async def test_our_image_is_accepted_and_others_are_refused_with_what_to_do(
    tools_image: str, older_runner: str
) -> None:
    async with real_engine() as engine:
        assert await engine.image_id(RUNNER_IMAGE)
        with pytest.raises(ImageMissing, match="is not a runner image") as foreign:
            await engine.image_id(tools_image)
        with pytest.raises(ImageMissing, match="another version's runner image"):
            await engine.image_id(older_runner)
    assert "scripts/images" in (foreign.value.remedy or "")
    assert "TRUSTFLOOR_RUNNER_IMAGE" in (foreign.value.remedy or "")


async def test_doctor_tells_a_wrong_image_from_ours(tools_image: str) -> None:
    async with real_engine() as engine:
        wrong = (await engine_checks(engine, tools_image))[-1]
        ours = (await engine_checks(engine, RUNNER_IMAGE))[-1]
    assert (ours.name, ours.ok) == ("runner image", True)
    assert (wrong.name, wrong.ok) == ("runner image", False)
    assert "scripts/images" in (wrong.remedy or "")


async def test_a_message_is_refused_before_a_wrong_image_runs(tools_image: str) -> None:
    async with a_house(runner_image=tools_image) as house:
        turn = await house.send(prompt(bash("echo ran"), step("x")))
        assert turn.types == ["session", "user_message", "error"]
        assert turn.end["code"] == "image_missing"
        assert "scripts/images" in turn.end["remedy"]


@pytest.mark.parametrize("missing", ["engine", "image"])
async def test_serve_starts_without_and_warns_once_with_what_to_do(
    tmp_path: Path, missing: str
) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "scenario.yaml").write_text(SCENARIO)
    setting, remedy = {
        "engine": (
            {"TRUSTFLOOR_ENGINE_SOCKET": str(tmp_path / "none")},
            "start the engine that listens there",
        ),
        "image": ({"TRUSTFLOOR_RUNNER_IMAGE": "trustfloor-test/none:1"}, "run scripts/images"),
    }[missing]
    process = await trustfloor(
        *("serve", "--port", "0", "--model", f"scripted:{tmp_path / 'scenario.yaml'}"),
        env=environment(tmp_path, setting),
        stderr=PIPE,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(A_WHILE):
            first = await process.stdout.readline()
            process.terminate()
            _, said = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert first.startswith(b"listening")
    assert process.returncode == 0
    warnings = [line for line in said.decode().splitlines() if "sandboxed sessions" in line]
    assert len(warnings) == 1
    assert remedy in warnings[0]


async def test_a_clean_stop_leaves_the_runtime_folder_empty(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="tf-", dir="/tmp") as short:
        runtime = Path(short)
        async with supervisor_process(tmp_path, SCENARIO, runtime_dir=short) as running:
            assert list(runtime.iterdir())
            assert await running.stop() == 0
        assert list(runtime.iterdir()) == []
