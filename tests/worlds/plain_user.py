"""A house that whoever runs this program opens: one turn at `vault`, told as JSON."""

import asyncio
import json
import sys

from tests.worlds.house import a_house
from tests.worlds.vault_cage import fill, receipt, run


async def main() -> None:
    """Play the turn and print what came of it."""
    async with a_house(fill=fill) as house:
        turn = await run(house, "sh look.sh")
        event = receipt(turn)
        told = {
            "end": turn.end["type"],
            "cage": event["cage"],
            "receipt": event["receipt"],
            "results": turn.results(),
            "left": [str(each) for each in house.turns.rglob("*")],
        }
        sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    asyncio.run(main())
