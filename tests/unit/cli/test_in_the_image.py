"""What can hardly start in a sandbox is said when it is allowed there."""

import pytest

from supervisor.cli.in_the_image import why_not_in_the_image


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("npx", "fetches what it runs"),
        ("/usr/local/bin/uvx", "fetches what it runs"),
        ("/home/ada/bin/notes-mcp", "a path of this machine"),
        ("notes-mcp", "has to be in the runner image"),
        ("/usr/bin/node", "has to be in the runner image"),
        ("python3", None),
        ("/usr/bin/python3", None),
        ("/vault/tools/server", None),
        (None, None),
    ],
)
def test_a_command_is_doubted_by_what_the_image_holds(
    command: str | None, said: str | None
) -> None:
    why = why_not_in_the_image(command)
    assert (why is None) == (said is None)
    assert said is None or said in str(why)
