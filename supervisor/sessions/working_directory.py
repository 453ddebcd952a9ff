"""Where a session works: a folder in the vault, told apart from everything outside of it."""

from pathlib import Path, PurePosixPath

from supervisor.errors import InvalidRequest
from supervisor.policy.deny_list import DenyList


def resolve_working_directory(
    vault: Path, asked: str | None, deny_list: DenyList
) -> tuple[PurePosixPath, str | None]:
    """The folder relative to the vault, and a warning if it isn't the one that was asked for.

    A folder that doesn't exist falls back to the vault's root. Raises InvalidRequest for one that
    lies outside the vault, by whatever links, or is on the deny list.
    """
    if not asked:
        return PurePosixPath(), None
    if "\0" in asked:
        raise InvalidRequest("a path has no NUL", where="workingDirectory")
    root = vault.resolve()
    try:
        folder = (root / Path(asked).expanduser()).resolve()
        is_there = folder.is_dir()
    except (OSError, RuntimeError, ValueError) as error:  # a link loop, an unknown ~user, too long
        raise InvalidRequest(
            "the working directory is no path that can be looked up",
            where="workingDirectory",
            remedy="give a folder within the vault",
        ) from error
    if not folder.is_relative_to(root):
        raise InvalidRequest(
            "the working directory lies outside the vault",
            where="workingDirectory",
            remedy="give a folder within the vault",
        )
    relative = PurePosixPath(folder.relative_to(root))
    rule = deny_list.match(str(relative))
    if rule is not None:
        raise InvalidRequest(
            f"the working directory is on the deny list: {rule.reason}", where="workingDirectory"
        )
    if not is_there:
        return PurePosixPath(), f"the folder {asked!r} doesn't exist; working in the vault's root"
    return relative, None
