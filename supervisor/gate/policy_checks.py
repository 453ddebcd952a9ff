"""What can be said of the policy files' health: in force, broken, or no longer watched."""

from supervisor.errors import ConfigurationError
from supervisor.gate.policy_files import PolicySource
from supervisor.observability.health import Check

_MEND = "mend the file; docs/policy.md says what it may hold"


def policy_on_disk(source: PolicySource) -> Check:
    """The files as they are on the disk, by the hash that a running supervisor tells of its own."""
    return Check("policy", ok=True, detail=_told(source, "on the disk"))


def policy_in_force(source: PolicySource) -> Check:
    """What a running supervisor decides by, and whether a change of the files would reach it."""
    if source.error is not None:
        broken = broken_policy(source.error)
        detail = f"{broken.detail}; in force stays the last good policy, {_short(source)}"
        return Check("policy", ok=False, detail=detail, remedy=broken.remedy)
    if source.unwatched is not None:
        return Check(
            "policy",
            ok=False,
            detail=f"{_told(source, 'in force')}; but changes aren't seen: {source.unwatched}",
            remedy="it is tried again by itself; if it says that a limit is reached, raise "
            "fs.inotify.max_user_watches, else restart",
        )
    return Check("policy", ok=True, detail=_told(source, "in force"))


def broken_policy(error: ConfigurationError) -> Check:
    """Files that can't be put in force."""
    return Check(
        "policy", ok=False, detail=f"{error.where}: {error.message}", remedy=error.remedy or _MEND
    )


def _told(source: PolicySource, when: str) -> str:
    return f"{source.folder}, {when}: {_short(source)}"


def _short(source: PolicySource) -> str:
    return f"hash {source.current.hash[:12]}"
