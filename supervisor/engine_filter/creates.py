"""Whether a container may be made: only exactly the one that `spec.py` makes of the same facts.

The few facts that differ from turn to turn (ids, times, limits) are read out of the request, the
sandbox is made of them anew, and that must be what was asked for, to the last key. So no rule of
the cage stands here a second time, and a key that nobody knows is a difference.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from supervisor.engine_filter.calls import Refused
from supervisor.ids import InstanceId, SessionId, TurnId
from supervisor.runtimes.container.spec import (
    HOME,
    LABEL_INSTANCE,
    LABEL_SESSION,
    LABEL_STARTED,
    LABEL_TURN,
    ContainerSpec,
    Limits,
    container_spec,
)

_INSTANCE: Final = re.compile(r"[0-9a-f]{32}", re.ASCII)
_TURN: Final = re.compile(r"turn_[0-9a-f]{32}", re.ASCII)
_SESSION: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_STARTED: Final = re.compile(r"[0-9]{1,12}", re.ASCII)
_SIZE: Final = re.compile(r"(?:^|,)size=([0-9]{1,15})(?:,|$)", re.ASCII)
_NANO: Final = 1e9
_INSTANCE_STEP: Final = 12  # characters of the instance in the runtime folder's path


@dataclass(frozen=True, slots=True)
class Grounds:
    """Where one supervisor's sandboxes may look, as the engine's host has it; and their limits."""

    views: PurePosixPath
    runtime: PurePosixPath
    most: Limits
    engine_root: PurePosixPath | None = None

    def sources(self, instance: str, turn: str) -> tuple[PurePosixPath, PurePosixPath]:
        """The vault's view and the turn's folder; there are no others."""
        return (
            self.views / turn,
            self.runtime / instance[:_INSTANCE_STEP] / "turns" / turn / "run",
        )


def judged(asked: Any, name: str, image: str, grounds: Grounds) -> ContainerSpec:
    """The sandbox that is asked for. Raises Refused, with the first differences.

    `image` is the id of the only image that may be run.
    """
    try:
        spec = _made_anew(asked, image, grounds)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise Refused("create: this is no sandbox of a turn") from None
    differences = [*_differences("", spec.as_api(), asked)]
    if name != spec.name:
        differences.append(f"name is {name!r}")
    if differences:
        raise Refused(f"create: no sandbox has this: {'; '.join(differences[:5])}")
    too_much = [*_beyond(spec.limits, grounds.most)]
    if too_much:
        raise Refused(f"create: beyond the limits set here: {', '.join(too_much)}")
    return spec


def is_ours(labels: Any, sources: list[Any], grounds: Grounds) -> bool:
    """Whether a container is one of this supervisor's sandboxes: by its labels and what it sees."""
    if not isinstance(labels, Mapping):
        return False
    instance, turn = labels.get(LABEL_INSTANCE), labels.get(LABEL_TURN)
    if not isinstance(instance, str) or not isinstance(turn, str):
        return False
    if not _INSTANCE.fullmatch(instance) or not _TURN.fullmatch(turn):
        return False
    return sorted(map(str, sources)) == sorted(map(str, grounds.sources(instance, turn)))


def _made_anew(asked: Any, image: str, grounds: Grounds) -> ContainerSpec:
    labels, host = asked["Labels"], asked["HostConfig"]
    turn = _formed(_TURN, labels[LABEL_TURN])
    instance = _formed(_INSTANCE, labels[LABEL_INSTANCE])
    view, folder = grounds.sources(instance, turn)
    return container_spec(
        image=image,
        instance=InstanceId(instance),
        session=_session(labels.get(LABEL_SESSION)),
        turn=TurnId(turn),
        started=float(_formed(_STARTED, labels[LABEL_STARTED])),
        vault_view=view,
        turn_folder=folder,
        engine_root=grounds.engine_root,
        limits=Limits(
            memory_bytes=_whole(host["Memory"]),
            pids=_whole(host["PidsLimit"]),
            cpus=_whole(host["NanoCpus"]) / _NANO,
            tmp_bytes=_size(host["Tmpfs"]["/tmp"]),  # noqa: S108 - in the sandbox
            home_bytes=_size(host["Tmpfs"][HOME]),
            file_bytes=next(
                _whole(each["Hard"]) for each in host["Ulimits"] if each["Name"] == "fsize"
            ),
        ),
    )


def _session(label: str | None) -> SessionId | None:
    return None if label is None else SessionId(_formed(_SESSION, label))


def _beyond(asked: Limits, most: Limits) -> Iterator[str]:
    for name in ("memory_bytes", "pids", "cpus", "tmp_bytes", "home_bytes", "file_bytes"):
        if not 0 < getattr(asked, name) <= getattr(most, name):
            yield name


def _differences(path: str, wanted: Any, asked: Any) -> Iterator[str]:
    """Where two JSON values differ; true is no 1 here, and no number is another's type."""
    if type(wanted) is not type(asked):
        yield f"{path or 'the body'} is {_short(asked)}"
    elif isinstance(wanted, dict):
        for key in sorted(wanted.keys() | asked.keys()):
            here = f"{path}.{key[:60]}" if path else key[:60]
            if key not in asked:
                yield f"{here} is missing"
            elif key not in wanted:
                yield f"{here} is {_short(asked[key])}"
            else:
                yield from _differences(here, wanted[key], asked[key])
    elif isinstance(wanted, list):
        if len(wanted) != len(asked):
            yield f"{path} is {_short(asked)}"
            return
        for place, (one, other) in enumerate(zip(wanted, asked, strict=True)):
            yield from _differences(f"{path}[{place}]", one, other)
    elif wanted != asked:
        yield f"{path} is {_short(asked)}"


def _short(value: Any) -> str:
    return repr(value)[:80]


def _formed(form: re.Pattern[str], value: str) -> str:
    if not form.fullmatch(value):
        raise ValueError(value)
    return value


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise TypeError(value)
    return value


def _size(options: str) -> int:
    found = _SIZE.search(options)
    if found is None:
        raise ValueError(options)
    return int(found[1])
