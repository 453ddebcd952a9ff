"""Identifiers, made in one place: a foreign id is an attribute of ours, never our key."""

import re
import uuid
from typing import NewType

SessionId = NewType("SessionId", str)
TurnId = NewType("TurnId", str)
RequestId = NewType("RequestId", str)
InstanceId = NewType("InstanceId", str)

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z")


def new_session_id() -> SessionId:
    """A fresh session id; the SDK is told to use it, so transcripts carry the same name."""
    return SessionId(str(uuid.uuid4()))


def new_turn_id() -> TurnId:
    """A fresh turn id; minted before anything starts, so that leftovers can be attributed."""
    return TurnId("turn_" + uuid.uuid4().hex)


def new_request_id() -> RequestId:
    """A fresh id for a question to a person; unguessable, so it can't be answered by accident."""
    return RequestId("req_" + uuid.uuid4().hex)


def new_instance_id() -> InstanceId:
    """The id of one data folder's supervisor; labels containers, folders and processes as ours."""
    return InstanceId(uuid.uuid4().hex)


def is_session_id(text: str) -> bool:
    """Whether the text has the form of a session id (a lower-case UUID)."""
    return _UUID.match(text) is not None
