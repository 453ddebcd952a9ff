"""The image that sandboxes are made of: its name, and how one is known to be ours."""

from collections.abc import Mapping
from typing import Any, Final

from supervisor.errors import ImageMissing

RUNNER_IMAGE: Final = "trustfloor/runner:latest"
RUNNER_LABEL: Final = "trustfloor.runner"
RUNNER_PROTOCOL: Final = "1"
"""What the runner image and this supervisor say to each other; Dockerfile.runner has it as a label.

Raised with every change to the receipt or the start line that an older peer can't take.
"""
BUILD_IMAGE: Final = "run scripts/images"


def require_ours(tag: str, image: Mapping[str, Any]) -> None:
    """Raises ImageMissing unless what the engine reports is a runner image of this version."""
    protocol = ((image.get("Config") or {}).get("Labels") or {}).get(RUNNER_LABEL)
    if protocol != RUNNER_PROTOCOL:
        raise image_missing(tag, _not_ours(tag, protocol))


def image_missing(tag: str, message: str) -> ImageMissing:
    """No sandbox can be made of that image; says how to get one that it can."""
    remedy = BUILD_IMAGE
    if tag != RUNNER_IMAGE and not tag.startswith("sha256:"):
        remedy += f" and unset TRUSTFLOOR_RUNNER_IMAGE, which names {tag}"
    return ImageMissing(message, where=tag, remedy=remedy)


def _not_ours(tag: str, protocol: str | None) -> str:
    if protocol is None:
        return f"{tag} is not a runner image: it lacks the label {RUNNER_LABEL}"
    return (
        f"{tag} is another version's runner image: it speaks {RUNNER_LABEL}={protocol},"
        f" this supervisor {RUNNER_PROTOCOL}"
    )
