"""The supervisor in a container beside its engine, by compose.yaml as it is shipped (S30).

One project for all: the demo with a vault of the test's own, and a script that obeys the prompt.
"""

import json
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from pytest_docker.plugin import Services

from supervisor.observability.health import version
from tests.worlds.house import bash, calls, prompt, step
from tests.worlds.process_house import SCENARIO
from tests.worlds.strict_sse import StrictParser

pytestmark = [pytest.mark.engine, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 10002
LONG = 150.0
DOCKER = "/usr/bin/docker" if Path("/usr/bin/docker").exists() else "docker"
LOOK = prompt(
    # The denied name is only known as the command runs, so that the mask is what holds.
    bash(
        "ls -A /vault; cat /vault/note.md; f=$(ls -A /vault | awk /^.en/); grep -c CANARY /vault/$f"
    ),
    calls(("Read", {"file_path": "/vault/.env"})),
    step("ok"),
)


def docker(*arguments: str, check: bool = True) -> str:
    done = subprocess.run(
        [DOCKER, *arguments], capture_output=True, text=True, check=False, timeout=LONG
    )
    assert not check or done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@dataclass(frozen=True)
class Project:
    """A running compose project."""

    name: str
    url: str
    token: str
    command: str
    files: tuple[str, ...]

    def container(self, service: str) -> str:
        return docker(
            *("ps", "-aq", "--filter", f"label=com.docker.compose.project={self.name}"),
            *("--filter", f"label=com.docker.compose.service={service}"),
        ).strip()

    def compose(self, *arguments: str, name: str = "", **variables: str) -> tuple[int, str]:
        """A command of the compose tool's; for another project, if `name` says so."""
        done = subprocess.run(
            [
                *self.command.split(),
                *(part for file in self.files[: 1 if name else None] for part in ("-f", file)),
                *("-p", name or self.name, *arguments),
            ],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=LONG,
        )
        return done.returncode, done.stdout + done.stderr

    def turn(self, message: str) -> list[dict[str, Any]]:
        asked = {"message": message, "trustLevel": "sandboxed"}
        parser = StrictParser()
        with (
            httpx.Client(trust_env=False, timeout=LONG) as client,
            client.stream(
                *("POST", f"{self.url}/api/chat/stream"),
                json=asked,
                headers={"Authorization": f"Bearer {self.token}"},
            ) as response,
        ):
            assert response.status_code == 200, response.read()
            return [
                json.loads(found.data)
                for piece in response.iter_raw()
                for found in parser.feed(piece)
            ]


@pytest.fixture(scope="session", name="folder")
def folder_fixture() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="trustfloor-test-"))
    folder.chmod(0o755)
    vault = folder / "a vault"
    vault.mkdir()
    (vault / "note.md").write_text("Buy oat milk.\n")
    (vault / ".env").write_text("KEY=CANARY-of-the-vault\n")
    (folder / "scenario.yaml").write_text(SCENARIO)
    if os.geteuid() == 0:
        for each in (vault, *vault.iterdir()):
            os.chown(each, NOBODY, NOBODY)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session", name="port")
def port_fixture() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture(scope="session")
def docker_compose_command(port: int) -> str:
    second = subprocess.run([DOCKER, "compose", "version"], capture_output=True, check=False)
    tool = f"{DOCKER} compose" if second.returncode == 0 else "docker-compose"
    user = f"{NOBODY}:{NOBODY}" if os.geteuid() == 0 else f"{os.geteuid()}:{os.getegid()}"
    return f"env TRUSTFLOOR_PORT={port} TRUSTFLOOR_USER={user} {tool} --profile demo"


@pytest.fixture(scope="session")
def docker_compose_project_name(folder: Path) -> str:
    return folder.name.replace("_", "x").lower()


@pytest.fixture(scope="session")
def docker_compose_file(folder: Path) -> list[str]:
    bound = {"type": "none", "o": "bind", "device": str(folder / "a vault")}
    own = {
        "volumes": {"vault": {"driver_opts": bound}},
        "services": {
            "demo": {
                "environment": {
                    "TRUSTFLOOR_MODEL": "scripted:/scenario.yaml",
                    "TRUSTFLOOR_SHUTDOWN_SECONDS": "0",
                },
                "volumes": ["vault:/vault", f"{folder}/scenario.yaml:/scenario.yaml:ro"],
            }
        },
    }
    (folder / "own.json").write_text(json.dumps(own))
    return [str(ROOT / "compose.yaml"), str(folder / "own.json")]


@pytest.fixture(scope="session")
def docker_setup() -> list[str]:
    return ["up -d demo"]


@pytest.fixture(scope="session")
def docker_cleanup() -> list[str]:
    return ["down --volumes --timeout 10"]


@pytest.fixture(scope="session", name="project")
def project_fixture(
    docker_services: Services,
    port: int,
    docker_compose_project_name: str,
    docker_compose_command: str,
    docker_compose_file: list[str],
) -> Project:
    project = Project(
        docker_compose_project_name,
        f"http://127.0.0.1:{port}",
        "",
        docker_compose_command,
        tuple(docker_compose_file),
    )

    def healthy() -> bool:
        state = json.loads(docker("inspect", project.container("demo")))[0]["State"]
        assert state["Status"] == "running", docker("logs", project.container("demo"))
        return bool(state["Health"]["Status"] == "healthy")

    docker_services.wait_until_responsive(healthy, timeout=LONG, pause=0.3)
    token = docker("exec", project.container("demo"), "cat", "/var/lib/trustfloor/data/token")
    return replace(project, token=token.strip())


def test_a_sandbox_beside_us_sees_the_vault_and_the_mask_is_in_place(project: Project) -> None:
    turn = project.turn(LOOK)
    assert turn[-1]["type"] == "done", turn[-1]
    results = [event["content"] for event in turn if event["type"] == "tool_result"]
    assert "Buy oat milk." in results[0]
    assert "CANARY-of-the-vault" not in repr(turn)
    denied = [event["rule"] for event in turn if event["type"] == "permission_denied"]
    assert denied == ["env-files"]


def test_the_program_in_the_image_tells_its_version_and_its_log_has_no_token(
    project: Project,
) -> None:
    demo = project.container("demo")
    assert docker("exec", demo, "trustfloor", "--version").strip() == f"trustfloor {version()}"
    assert "token in" in docker("logs", demo)
    assert project.token not in docker("logs", demo)


def test_the_containers_are_as_the_page_says(project: Project) -> None:
    for service in ("demo", "engine-filter"):
        report = json.loads(docker("inspect", project.container(service)))[0]
        host = report["HostConfig"]
        assert host["ReadonlyRootfs"]
        assert host["CapDrop"] == ["ALL"]
        assert not host["Privileged"]
        assert any("no-new-privileges" in each for each in host["SecurityOpt"])
        assert host["PidsLimit"] > 0
        assert host["Memory"] > 0
    demo = json.loads(docker("inspect", project.container("demo")))[0]
    assert demo["Config"]["User"] != "0:0"
    assert not host_socket(demo)
    assert host_socket(json.loads(docker("inspect", project.container("engine-filter")))[0])


def host_socket(report: dict[str, Any]) -> bool:
    return any(each["Destination"].endswith("docker.sock") for each in report["Mounts"])


# What somebody does who has a shell in the supervisor's container. Prints what came of each try.
ATTACK = """
import json, sys, docker
client = docker.APIClient("unix://" + sys.argv[1], version="auto")
victim, image = sys.argv[2:4]
def make(**host):
    made = client.create_container_from_config(
        {"Image": image, "Entrypoint": ["/bin/true"], "HostConfig": host})
    client.remove_container(made["Id"])
tries = {
    "privileged": lambda: make(Privileged=True),
    "root": lambda: make(Binds=["/:/host"]),
    "devices": lambda: make(DeviceCgroupRules=["c *:* rwm"]),
    "exec": lambda: client.exec_create(victim, ["true"]),
    "inspect": lambda: client.inspect_container(victim)["Config"]["Env"],
    "a signal": lambda: client.kill(victim, "SIGCONT"),
    "list": lambda: client.containers(all=True),
    "volumes": lambda: client.volumes(),
}
done = {}
for name, attempt in tries.items():
    try:
        attempt()
        done[name] = "DONE"
    except docker.errors.APIError as error:
        done[name] = str(error.explanation)
    except KeyError as error:
        done[name] = f"the engine filter: no {error}"
print(json.dumps(done))
"""


def attack(project: Project, service: str, socket: str) -> dict[str, str]:
    """Run by that service's user, against that socket; the victim is the filter's container."""
    victim = project.container("engine-filter")
    image = docker("image", "inspect", "--format", "{{.Id}}", "trustfloor/runner:latest").strip()
    said = docker(
        *("exec", project.container(service), "python3", "-c", ATTACK, socket, victim, image)
    )
    done: dict[str, str] = json.loads(said.splitlines()[-1])
    return done


def test_a_shell_in_the_supervisors_container_gets_nothing_from_the_engine(
    project: Project,
) -> None:
    refused = attack(project, "demo", "/run/engine/engine.sock")
    assert all(each.startswith("the engine filter: ") for each in refused.values()), refused
    control = attack(project, "engine-filter", "/var/run/docker.sock")
    assert set(control.values()) == {"DONE"}, control


@pytest.mark.parametrize(
    "settings",
    [
        {"TRUSTFLOOR_ENGINE_PATH_MAP": "/var/lib/trustfloor=/nowhere,/run/trustfloor=/nowhere"},
        {"TRUSTFLOOR_DATA_DIR": "/home/trustfloor/data"},
    ],
    ids=["a path that the host hasn't", "no volume"],
)
def test_where_the_engine_has_no_such_folder_the_start_is_refused(
    project: Project, settings: dict[str, str]
) -> None:
    own = {
        "TRUSTFLOOR_DATA_DIR": "/var/lib/trustfloor/other",
        "TRUSTFLOOR_VAULT": "/home/trustfloor",
        **settings,
    }
    given = [part for name, value in own.items() for part in ("-e", f"{name}={value}")]
    # As the service is, by the engine's own client, which is quicker.
    said = docker(
        *("run", "--rm", "--read-only", "--tmpfs", "/tmp", "--tmpfs", "/home/trustfloor"),
        *("--label", "trustfloor.supervisor=1", "--volumes-from", project.container("demo")),
        *(*given, "-e", "TRUSTFLOOR_MODEL=scripted:/scenario.yaml"),
        *("-e", "TRUSTFLOOR_ENGINE_SOCKET=/run/engine/engine.sock"),
        *("trustfloor/supervisor:latest", "serve"),
        check=False,
    )
    assert "where: TRUSTFLOOR_ENGINE_PATH_MAP" in said
    assert not Path("/nowhere").exists()


def test_a_vault_that_is_not_there_is_refused_and_not_made(project: Project, folder: Path) -> None:
    missing = folder / "missing"
    name = f"{project.name}-missing"
    try:
        status, said = project.compose(
            *("run", "--rm", "--no-deps", "-T", "supervisor"),
            name=name,
            TRUSTFLOOR_VAULT=str(missing),
        )
        assert status != 0
        assert str(missing) in said
        assert not missing.exists()
    finally:
        project.compose("down", "--volumes", name=name)


def test_down_ends_it_in_order_and_leaves_nothing(project: Project) -> None:
    demo = project.container("demo")
    docker("stop", "--time", "20", demo)
    assert json.loads(docker("inspect", demo))[0]["State"]["ExitCode"] == 0
    status, said = project.compose("down", "--volumes", "--timeout", "10")
    assert status == 0, said
    mine = f"label=com.docker.compose.project={project.name}"
    assert docker("ps", "-aq", "--filter", mine) == ""
    assert docker("volume", "ls", "-q", "--filter", mine) == ""
    assert docker("network", "ls", "-q", "--filter", mine) == ""
