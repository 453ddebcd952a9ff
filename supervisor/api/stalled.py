"""Readers that stand still for ever are let go: the kernel closes their connections."""

import socket
from typing import Final

STALLED_SECONDS: Final = 60
"""So long a client may take nothing at all of what there is for it."""


def let_go_of_stalled(listener: socket.socket, seconds: float = STALLED_SECONDS) -> None:
    """Close a connection whose other end, for so long, acknowledges nothing or has no room.

    For every connection that comes in by this socket: tcp(7), TCP_USER_TIMEOUT, which an accepted
    one inherits. It ends what a full buffer holds up (closing it in order would wait for the
    reader), and it ends peers that vanished without a word. Whoever reads anything in that time
    stays, however slow; so does an idle stream, whose comments find room.
    """
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(seconds * 1000))
