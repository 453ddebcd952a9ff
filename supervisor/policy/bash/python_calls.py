"""Calls in Python code whose arguments have roles, and what is known while they are looked at."""

import ast
import re
from typing import Final

from supervisor.policy.bash.code_loops import STARTS, goes_on
from supervisor.policy.bash.code_network import SHELL
from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.given import NOTHING_GIVEN
from supervisor.policy.bash.literals import A_SHELL, doubtful
from supervisor.policy.bash.outside import given_to
from supervisor.policy.bash.places import join
from supervisor.policy.bash.python_flow import FLOWS, is_received
from supervisor.policy.bash.python_folding import Folder
from supervisor.policy.bash.roles_of_code import RUNS, call_roles, secret_name
from supervisor.policy.bash.use import Use
from supervisor.policy.bash.value import HOLE, known

_SHELL_ALONE: Final = re.compile(A_SHELL)
_MOST_CALLS: Final = 24


def _is_shell(given: object) -> bool:
    """Whether a program is a shell without orders: those come through its input."""
    words = given if isinstance(given, list) else [given]
    told = [each for each in words if isinstance(each, str) and each[:1] != "-"]
    bare = len(told) == 1 and "-c" not in words
    return bare and _SHELL_ALONE.fullmatch(told[0]) is not None


class Calls:
    """What one piece of code has been found to do so far, call by call."""

    def __init__(self, use: Use) -> None:
        self.use = use
        self.language = use.look.table.languages["python"]
        given = given_to(use) if use.outside else NOTHING_GIVEN
        self.fold = Folder(use.look.home, self.language.calls, given)
        self.untold: set[str] = set()
        """The roles of calls that get what can't be told."""
        self.defined: set[str] = set()
        self.doubts: set[str] = set()
        self.connects = False
        self.packs = False
        """Whether it deals with archives, to which files are added by name."""
        self.opened: dict[str, str] = {}
        """Names of open files, with their paths."""
        self.deletes = False
        """Whether something is removed that can't be told."""
        self.modes = False
        """Whether the mode or owner of something changes that can't be told."""
        self.walked: list[str] = []
        """Folders that it goes through, by absolute paths."""
        self.shells = False
        """Whether a bare shell is started, which runs what it is given."""
        self.functions: dict[str, ast.FunctionDef] = {}
        self.calls_left = _MOST_CALLS
        """Calls of the code's own functions that are still followed."""
        self.received: frozenset[str] = frozenset()
        """Names of connections, and of what comes through them."""
        self.endless = 0
        self.spins = False
        """Whether the loop at hand never ends, and nothing in it waits."""

    def doubt(self, reason: str) -> None:
        """Says once that something can't be told."""
        if reason not in self.doubts:
            self.doubts.add(reason)
            self.use.unknown(reason)

    def reveal(self) -> None:
        """The whole environment is at hand."""
        self.use.emit(Act.REVEAL, "prints the environment, which may hold secrets")

    def variable(self, node: ast.expr) -> None:
        """One variable of the environment."""
        name = self.fold(node)
        if not isinstance(name, str) or secret_name(name):
            self.reveal()

    def doubtful(self, node: ast.Call) -> None:
        """The arguments of a call that isn't known: texts that are just paths may be read."""
        values = [self.fold(each) for each in node.args]
        values += [self.fold(each.value) for each in node.keywords]
        doubtful(self.use, (each for each in values if type(each) is str), "")

    def known_call(self, node: ast.Call, name: str, roles: tuple[str, ...]) -> None:
        """A call whose arguments have roles."""
        if roles[0] == "fork":
            if self.endless:
                self.use.emit(Act.EXHAUST, "starts itself without end")
            return
        self.dangers(node, name, roles)
        own = self.fold(node.func.value) if isinstance(node.func, ast.Attribute) else None
        values = [self.fold(each) for each in node.args]
        named = {each.arg: self.fold(each.value) for each in node.keywords if each.arg}
        call_roles(self.use, roles, own, values, named)
        if self.fold.is_used:
            self.doubt("does what it is told from outside")
        if roles[0].rstrip("*") == "delete" and (
            not values or values[0] is None or HOLE in str(values[0])
        ):
            self.deletes = True
        if roles[0].lstrip(".") == "mode":
            changed = own if roles[0][0] == "." else values[0] if values else None
            self.modes = self.modes or changed is None or HOLE in str(changed)
        if roles[0] in RUNS and values and _is_shell(values[0]):
            self.shells = True
        if roles[0] in FLOWS and (not values or values[0] is None) and not named:
            self.untold.add(roles[0])
        if not name.startswith(".") and not values and named:
            call_roles(self.use, roles, own, list(named.values())[:1], named)

    def dangers(self, node: ast.Call, name: str, roles: tuple[str, ...]) -> None:
        """Programs without end, and a shell that is tied to a connection."""
        if roles[0] == "connect":
            self.connects = True
        if self.spins and (
            name.rpartition(".")[2] in STARTS
            or (roles[0] == "shell" and node.args and goes_on(str(self.fold(node.args[0]))))
        ):
            self.use.emit(Act.EXHAUST, "starts programs without end")
        if (
            self.connects
            and roles[0] in {"dup", "process", "shell"}
            and self.takes_orders(node, roles[0])
        ):
            self.use.emit(Act.REMOTE_SHELL, "hands a shell to the network")

    def partial(self, node: ast.Call) -> None:
        """`functools.partial(shutil.rmtree, "/etc")`: a function with what it will get."""
        roles = self.language.calls.get(self.fold.dotted(node.args[0]) or "")
        if roles is not None:
            call_roles(self.use, roles, None, [self.fold(each) for each in node.args[1:]], {})

    def mapped(self, node: ast.Call) -> None:
        """`map(shutil.rmtree, ["/etc"])`: a function that is handed on with what it gets."""
        roles = self.language.calls.get(self.fold.dotted(node.args[0]) or "")
        values = self.fold(node.args[1])
        if roles is None or not isinstance(values, list):
            return
        for each in values[:_MOST_CALLS]:
            call_roles(self.use, roles, None, [each], {})

    def writes(self, file: ast.expr, text: ast.expr) -> None:
        """`open(NAME, "w").write(TEXT)`, `Path(NAME).write_text(TEXT)`, `f.write(TEXT)`."""
        told, path = self.fold(text), self.fold(file)
        if isinstance(file, ast.Name) and path is None:
            path = self.opened.get(file.id)
        if isinstance(told, str) and isinstance(path, str):
            self.use.look.kept.hold(join(self.use.cwd, known(path)), told)

    def empty(self) -> None:
        """What is removed, or changed, may be all that was gone through."""
        for each in self.walked:
            value = known(each)
            if self.deletes:
                self.use.emit(Act.DELETE, "may be removed by code", value, recursive=True)
            if self.modes:
                self.use.emit(Act.CHANGE_MODE, "may be changed by code", value, recursive=True)

    def takes_orders(self, node: ast.Call, role: str) -> bool:
        """Whether a program that is started is a shell, or is told by the connection what to do."""
        if role == "dup":
            return True
        folded = self.fold(node.args[0]) if node.args else None
        words = folded if isinstance(folded, list) else [folded]
        if SHELL.search(" ".join(each for each in words if isinstance(each, str))):
            return True
        given = [*node.args, *(each.value for each in node.keywords)]
        return any(is_received(each, self.received) for each in given)
