"""What a person types, or pastes, at the prompt of a conversation."""

import readline
from typing import Final, NoReturn

from supervisor.cli.chat_help import NO_UTF_8
from supervisor.cli.ctrl_c import CtrlC
from supervisor.cli.render import Screen

_PROMPT: Final = "> "


class Prompt:
    """Asks for messages, one after the other; one may have several lines where it is pasted."""

    def __init__(self, screen: Screen, ctrl_c: CtrlC) -> None:
        self._screen = screen
        self._ctrl_c = ctrl_c
        self._dropped = ""
        if "libedit" not in (readline.__doc__ or ""):
            # Python switches it off; then each line of what is pasted is a message of its own.
            readline.parse_and_bind("set enable-bracketed-paste on")

    def message(self) -> str | None:
        """The next message; None when the person is done: by Ctrl-D, or Ctrl-C on an empty line.

        An empty line says nothing, and ends nothing: one among lines that are pasted into a
        terminal without bracketed paste would leave the rest of them to the shell.
        """
        while True:
            try:
                with self._ctrl_c.acting(self._drop):
                    said = input(_PROMPT).strip()
                said.encode()
            except EOFError:
                self._screen.line("")
                return None
            except KeyboardInterrupt:
                self._screen.line("")
                if not self._dropped.strip():
                    return None
            except UnicodeError:
                self._screen.failure(*NO_UTF_8)
            else:
                if said:
                    return said

    def _drop(self) -> NoReturn:
        """As in a shell: Ctrl-C gives up the line that is being typed, and nothing else."""
        self._dropped = readline.get_line_buffer()
        raise KeyboardInterrupt
