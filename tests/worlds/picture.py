"""A world with a picture in it, made of nothing but its format."""

import zlib


def png(side: int = 64) -> bytes:
    """A picture that any reader takes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data).to_bytes(4, "big")
        return len(data).to_bytes(4, "big") + kind + data + check

    size = side.to_bytes(4, "big")
    rows = b"".join(b"\0" + bytes([row, 0, 99] * side) for row in range(side))
    head = chunk(b"IHDR", size + size + b"\x08\x02\0\0\0")
    body = chunk(b"IDAT", zlib.compress(rows))
    return b"\x89PNG\r\n\x1a\n" + head + body + chunk(b"IEND", b"")
