"""What was done to a database from elsewhere is told in a sentence."""

import pytest

from supervisor.storage.adoption import Adoption


@pytest.mark.parametrize(
    ("done", "told"),
    [
        (
            Adoption(sessions=37, workspaces=1, turns=0, transcripts=0, grants=2),
            "37 sessions set to sandboxed, 1 workspace floor set to sandboxed, 2 grants revoked",
        ),
        (
            Adoption(sessions=0, workspaces=0, turns=1, transcripts=2, permissions=3, pairings=1),
            (
                "1 turn ended, 2 transcript pointers emptied, 3 sessions' permissions taken back,"
                " 1 approved bot user to be approved again"
            ),
        ),
        (
            Adoption(sessions=0, workspaces=0, turns=0, transcripts=0, permissions=1),
            "1 session's permissions taken back",
        ),
        (
            Adoption(sessions=0, workspaces=0, turns=0, transcripts=0),
            "nothing in it had to be tightened",
        ),
    ],
)
def test_what_there_was_none_of_is_not_told(done: Adoption, told: str) -> None:
    assert done.detail.endswith(f"or came from elsewhere: {told}")
