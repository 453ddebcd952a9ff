"""Absolute paths and paths relative to the vault, as texts: nothing is looked up."""

import posixpath


def is_inside(path: str, folder: str) -> bool:
    """Whether a normalised absolute path is the folder or lies below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def relative_to_vault(path: str, vault: str) -> str:
    """The path without the vault's, if it lies in it; else as it is. The vault itself is `.`."""
    if path == vault:
        return "."
    start = f"{vault.rstrip('/')}/"
    return path.removeprefix(start)


def absolute(name: str, vault: str) -> str:
    """The absolute path of a name that is relative to the vault, or absolute already."""
    if name.startswith("/"):
        return name
    return vault if name == "." else f"{vault.rstrip('/')}/{name}"


def spelt_out(text: str, cwd: str) -> str:
    """The absolute, normalised path that a text means in a folder; `..` is taken away as text."""
    path = text if text.startswith("/") else f"{cwd.rstrip('/')}/{text}"
    if text and not path.endswith("/") and "/." not in path and "//" not in path:
        return path
    path = posixpath.normpath(path)
    return path[1:] if path.startswith("//") else path
