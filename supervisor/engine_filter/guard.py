"""What happens to a call that has a row: whose container it is about, and what it is allowed.

A container that it lets start has been judged three times: what was asked for, what the engine says
it made, and, before any input reaches it, which folders are really mounted in it. The last because
the folders' owner may put a link in one's place at any moment, and the engine follows links.
"""

import asyncio
import json
import os
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final

from supervisor.engine_filter import calls
from supervisor.engine_filter.calls import Call, Refused, Verb
from supervisor.engine_filter.creates import Grounds, is_ours, judged
from supervisor.engine_filter.engine_side import Answer, EngineSide
from supervisor.engine_filter.room import Room, is_listed
from supervisor.runtimes.container.image import RUNNER_LABEL
from supervisor.runtimes.container.spec import (
    AGENT_USER,
    TURN_FOLDER,
    VAULT,
    ContainerSpec,
)
from supervisor.runtimes.container.verify import shortfalls

SUPERVISOR_LABEL: Final = "trustfloor.supervisor"
"""A container with it may be looked at, so that a supervisor finds out where its volumes are."""

_OF_INFO: Final = (
    "ServerVersion",
    "NCPU",
    "MemTotal",
    "CgroupVersion",
    "SecurityOptions",
    "DockerRootDir",
)
_OK, _CREATED, _NO_CONTENT, _NOT_FOUND, _CONFLICT = 200, 201, 204, 404, 409
_MANY: Final = 1024
_LOOK_SECONDS: Final = 5.0


@dataclass(slots=True)
class _Made:
    """A container of ours since its create; `open` once input may reach it."""

    spec: ContainerSpec
    open: asyncio.Event = field(default_factory=asyncio.Event)


class Guard:
    """Decides and asks the engine. `here` gives a path of the engine's host as this process has it.

    `image` is the tag of the only image that may be run, `most` how many containers of it may be
    there at once.
    """

    def __init__(
        self,
        engine: EngineSide,
        grounds: Grounds,
        image: str,
        here: Mapping[str, Path],
        most: int,
    ) -> None:
        self._engine = engine
        self._grounds = grounds
        self._image = image
        self._here = here
        self._room = Room(engine, grounds, most)
        self._made: OrderedDict[str, _Made] = OrderedDict()

    async def answer(self, call: Call, body: bytes) -> Answer:
        """The answer to any call but an attach. Raises Refused."""
        if body and call.verb is not Verb.CREATE:
            raise Refused(f"{call.verb.value} with a body")
        answers = {
            Verb.CREATE: self._create,
            Verb.START: self._start,
            Verb.INSPECT: self._inspect,
            Verb.LIST: self._list,
            Verb.INFO: self._info,
            Verb.IMAGE: self._describe_image,
            Verb.EVENTS: self._past,
            Verb.WAIT: self._of_ours,
            Verb.KILL: self._of_ours,
            Verb.REMOVE: self._of_ours,
            Verb.PING: self._pass_on,
            Verb.VERSION: self._pass_on,
        }
        if call.verb not in answers:
            raise Refused(f"{call.verb.value} is no ordinary call")
        return await answers[call.verb](call, body)

    async def may_attach(self, call: Call) -> asyncio.Event:
        """Raises Refused if it isn't ours; the event says when input may pass."""
        await self._ours(call.subject)
        made = self._made.get(call.subject)
        if made is None:
            raise Refused("attach: not made through this filter since it started")
        return made.open

    async def _create(self, call: Call, body: bytes) -> Answer:
        name = call.query.get("name", "")
        spec = judged(calls.read_json(body), name, await self._image_id(), self._grounds)
        async with self._room.taken_by(name):
            said = await self._engine.ask(call.method, call.target, spec.as_api())
        if said.status == _CREATED:
            self._made[str(said.json()["Id"])] = _Made(spec)
            while len(self._made) > _MANY:
                self._made.popitem(last=False)
        return said

    async def _start(self, call: Call, _body: bytes) -> Answer:
        inspected = await self._ours(call.subject)
        made = self._made.get(call.subject)
        if made is None:
            raise Refused("start: not made through this filter since it started")
        weak = shortfalls(made.spec, inspected)
        if weak:
            raise Refused(f"start: {'; '.join(weak[:5])}")
        said = await self._engine.ask(call.method, call.target)
        if said.status == _NO_CONTENT:
            await self._open_if_rightly_placed(call.subject, made)
        return said

    async def _open_if_rightly_placed(self, container: str, made: _Made) -> None:
        wanted = [await asyncio.to_thread(self._identity, each.source) for each in made.spec.mounts]
        try:
            async with asyncio.timeout(_LOOK_SECONDS):
                found = await self._mounted_in(container)
        except (TimeoutError, Refused):
            found = []
        if found is None:  # it has ended: nothing can be said to it
            return
        if None in wanted or found != wanted:
            await self._engine.ask("DELETE", f"/containers/{container}?force=1&v=1")
            raise Refused("start: what is mounted isn't the folder that was asked for")
        made.open.set()

    async def _mounted_in(self, container: str) -> list[str] | None:
        """Device and inode of its two folders, seen from inside; None: it doesn't run any more."""
        look = {
            "AttachStdout": True,
            "Tty": True,
            "User": AGENT_USER,
            "Cmd": ["/usr/bin/stat", "-c", "%d:%i", VAULT, TURN_FOLDER],
        }
        made = await self._engine.ask("POST", f"/containers/{container}/exec", look)
        if made.status in (_CONFLICT, _NOT_FOUND):
            return None
        if made.status != _CREATED:
            return []
        terms = {"Detach": False, "Tty": True}
        said = await self._engine.ask("POST", f"/exec/{made.json()['Id']}/start", terms)
        if said.status in (_CONFLICT, _NOT_FOUND):
            return None
        return said.body.decode("ascii", "replace").split()

    def _identity(self, source: str) -> str | None:
        """Device and inode of a folder of ours, reached without a link; None: there is none."""
        for there, here in self._here.items():
            if PurePosixPath(source).is_relative_to(there):
                steps = PurePosixPath(source).relative_to(there).parts
                return identity(here, steps)
        return None

    async def _inspect(self, call: Call, _body: bytes) -> Answer:
        said = await self._engine.ask("GET", f"/containers/{call.subject}/json")
        if said.status != _OK:
            return said
        report = said.json()
        if self._is_ours(report):
            return said
        if SUPERVISOR_LABEL in (report["Config"].get("Labels") or {}):
            return _as_json({"Id": report["Id"], "Mounts": report["Mounts"]})
        raise _not_ours()

    async def _list(self, call: Call, _body: bytes) -> Answer:
        calls.listed_instance(call)
        said = await self._engine.ask(call.method, call.target)
        if said.status != _OK:
            return said
        return _as_json([each for each in said.json() if is_listed(each, self._grounds)])

    async def _pass_on(self, call: Call, _body: bytes) -> Answer:
        return await self._engine.ask(call.method, call.target)

    async def _of_ours(self, call: Call, _body: bytes) -> Answer:
        await self._ours(call.subject)
        said = await self._engine.ask(call.method, call.target)
        if call.verb is Verb.REMOVE and said.status == _NO_CONTENT:
            self._made.pop(call.subject, None)
        return said

    async def _past(self, call: Call, body: bytes) -> Answer:
        await self._ours(calls.watched_container(call))
        return await self._pass_on(call, body)

    async def _describe_image(self, call: Call, body: bytes) -> Answer:
        if call.subject not in {self._image, await self._image_id()}:
            raise Refused("no such image for this supervisor", _NOT_FOUND)
        return await self._pass_on(call, body)

    async def _info(self, call: Call, _body: bytes) -> Answer:
        said = await self._engine.ask(call.method, call.target)
        if said.status != _OK:
            return said
        known = said.json()
        return _as_json({name: known[name] for name in _OF_INFO if name in known})

    async def _ours(self, container: str) -> dict[str, Any]:
        said = await self._engine.ask("GET", f"/containers/{container}/json")
        report = said.json() if said.status == _OK else {}
        if not self._is_ours(report):
            raise _not_ours()
        return dict(report)

    def _is_ours(self, report: Mapping[str, Any]) -> bool:
        mounts = (report.get("HostConfig") or {}).get("Mounts") or ()
        return is_ours(
            (report.get("Config") or {}).get("Labels"),
            [mount.get("Source") for mount in mounts],
            self._grounds,
        )

    async def _image_id(self) -> str:
        said = await self._engine.ask("GET", f"/images/{self._image}/json")
        image = said.json() if said.status == _OK else {}
        if RUNNER_LABEL not in ((image.get("Config") or {}).get("Labels") or {}):
            raise Refused("there is no runner image", _NOT_FOUND)
        return str(image["Id"])


def identity(root: Path, steps: tuple[str, ...]) -> str | None:
    """Device and inode of the folder that these steps lead to, none of them a link."""
    fd = None
    try:
        fd = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        for step in steps:
            following = os.open(
                step, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd
            )
            os.close(fd)
            fd = following
        found = os.fstat(fd)
    except OSError:
        return None
    finally:
        if fd is not None:
            os.close(fd)
    return f"{found.st_dev}:{found.st_ino}"


def _as_json(value: Any) -> Answer:
    return Answer(_OK, "application/json", json.dumps(value).encode())


def _not_ours() -> Refused:
    return Refused("no such container of this supervisor", _NOT_FOUND)
