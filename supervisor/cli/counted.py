"""Numbers of things, as a person writes them."""


def counted(number: int, thing: str, several: str | None = None) -> str:
    """`1 message`, `2 messages`; `several` where an `s` doesn't make it."""
    return f"{number:,} {thing if number == 1 else several or f'{thing}s'}"
