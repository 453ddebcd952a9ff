"""What a text must be to be stored: Unicode that SQLite takes, and of a length."""

from supervisor.errors import InvalidRequest


def require_text(value: str, where: str, *, most: int) -> str:
    """The text. Raises InvalidRequest, naming the field, if it is empty, too long or no Unicode.

    `most` is in characters.
    """
    problem = None
    if not value.strip():
        problem = "is empty"
    elif len(value) > most:
        problem = f"has more than {most} characters"
    elif "\0" in value or not _is_unicode(value):
        problem = "holds a NUL, or what is no Unicode"
    if problem is not None:
        raise InvalidRequest(f"this {where} {problem}", where=where)
    return value


def _is_unicode(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
