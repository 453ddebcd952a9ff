"""`trustfloor doctor` as a process: each thing that is wrong is named with what to do."""

import asyncio
import json
import socket
import sys
from pathlib import Path

import pytest

from supervisor.cli.doctor import check_api, check_data_dir, check_import
from tests.worlds.forked import STDOUT, end_of, trustfloor
from tests.worlds.server import environment, supervisor_process
from tests.worlds.serving import serving


async def doctor(folder: Path, *arguments: str, **settings: str) -> tuple[int, str]:
    """Its exit status and what it says."""
    process = await trustfloor(
        *("doctor", *arguments),
        env=environment(folder, {"TRUSTFLOOR_ENGINE_SOCKET": str(folder / "none"), **settings}),
        stderr=STDOUT,
    )
    status, said, _ = await end_of(process)
    return status, said


async def test_an_engine_that_is_missing_is_a_problem_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    status, said = await doctor(tmp_path)
    assert status == 1
    assert "Traceback" not in said
    assert "problem" in said
    assert "what to do" in said
    assert str(tmp_path / "none") in said
    assert said.splitlines()[-1] == "2 problems"
    assert "start the engine that listens there" in said


async def test_as_json_it_tells_the_same_checks(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    status, said = await doctor(tmp_path, "--json")
    told = json.loads(said)
    assert (status, told["ok"]) == (1, False)
    (engine,) = [each for each in told["checks"] if each["name"] == "engine"]
    assert engine["ok"] is False
    assert str(tmp_path / "none") in engine["detail"]
    status, said = await doctor(tmp_path, "--json", TRUSTFLOOR_PORT="x")
    (only,) = json.loads(said)["checks"]
    assert (status, only["name"], only["ok"]) == (1, "settings", False)


async def test_a_vault_that_is_missing_and_a_policy_that_is_broken_are_named(
    tmp_path: Path,
) -> None:
    policies = tmp_path / "policies"
    policies.mkdir()
    (policies / "default.yaml").write_text("version: 1\ndeny: {{\n")
    status, said = await doctor(tmp_path, TRUSTFLOOR_POLICIES=str(policies))
    assert status == 1
    assert str(tmp_path / "vault") in said
    assert "default.yaml:" in said
    assert "Traceback" not in said


async def test_a_setting_that_makes_no_sense_is_named(tmp_path: Path) -> None:
    status, said = await doctor(tmp_path, TRUSTFLOOR_PORT="99999")
    assert status == 1
    assert "port" in said.lower()


async def test_the_api_is_tried_only_if_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    calls = 0

    async def called(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal calls
        calls += 1
        writer.close()

    async with serving(called) as port:
        url = f"http://127.0.0.1:{port}"
        _, offline = await doctor(tmp_path, TRUSTFLOOR_API_URL=url)
        assert calls == 0
        assert "model's API" not in offline
        _, online = await doctor(tmp_path, "--online", TRUSTFLOOR_API_URL=url)
        assert calls == 1
        assert f"127.0.0.1:{port} can be reached" in online


async def test_an_api_that_can_not_be_reached_is_a_problem_that_says_why() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        for scheme in ("http", "https"):
            check = await check_api(f"{scheme}://user:hidden@127.0.0.1:{port}")
            assert check.ok is False
            assert "127.0.0.1 can't be reached: " in check.detail
            assert "hidden" not in check.detail
    assert (await check_api("https://127.0.0.1:99999")).ok is False


async def test_the_policies_on_the_disk_are_told_by_their_hash(tmp_path: Path) -> None:
    policies = tmp_path / "policies"
    policies.mkdir()
    shipped = Path(__file__).parents[2] / "policies" / "default.yaml"
    (policies / "default.yaml").write_text(shipped.read_text())
    _, before = await doctor(tmp_path, TRUSTFLOOR_POLICIES=str(policies))
    (policies / "site.yaml").write_text("version: 1\ntools: {levels: {vault: {web: ask}}}\n")
    _, after = await doctor(tmp_path, TRUSTFLOOR_POLICIES=str(policies))
    told = [line for text in (before, after) for line in text.splitlines() if " policy: " in line]
    assert all("on the disk: hash " in line for line in told)
    assert told[0] != told[1]


async def test_beside_a_supervisor_that_runs_its_model_is_told_not_this_environments(
    tmp_path: Path,
) -> None:
    script = "version: 1\nscripts:\n  - {name: a, when: {contains: hi}, steps: [{text: hi}]}\n"
    async with supervisor_process(tmp_path, script) as running:
        _, said = await doctor(tmp_path, TRUSTFLOOR_URL=running.url)
        entries = (running.data_dir / "audit.jsonl").stat().st_size
    (model,) = [line for line in said.splitlines() if " model: " in line]
    assert model.startswith("ok ")
    assert "the scripted model" in model
    assert "the supervisor that runs" in model
    (here,) = [line for line in said.splitlines() if " model here: " in line]
    assert here.startswith("info ")
    assert "there is no key" in here
    assert f"audit.jsonl, {entries / 1024:.1f} KB" in said


async def test_control_without_one_it_is_a_problem_that_there_is_no_key(tmp_path: Path) -> None:
    _, said = await doctor(tmp_path, TRUSTFLOOR_URL="http://127.0.0.1:9")
    (model,) = [line for line in said.splitlines() if " model: " in line]
    assert model.startswith("problem ")
    assert "there is no key" in model
    assert "audit.jsonl is made at the first start" in said


def test_a_data_folder_that_others_may_enter_is_a_problem(tmp_path: Path) -> None:
    open_to_all = tmp_path / "data"
    open_to_all.mkdir(mode=0o700)
    assert check_data_dir(open_to_all).ok
    open_to_all.chmod(0o755)
    check = check_data_dir(open_to_all)
    assert check.ok is False
    assert check.remedy == f"chmod 700 {open_to_all}"
    assert check_data_dir(tmp_path / "not yet").ok


def test_another_package_of_our_name_in_front_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert check_import().ok
    foreign = tmp_path / "supervisor"
    foreign.mkdir()
    (foreign / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    with monkeypatch.context() as patched:
        patched.delitem(sys.modules, "supervisor")
        check = check_import()
    assert check.ok is False
    assert str(foreign) in check.detail
    assert "virtual environment" in str(check.remedy)
