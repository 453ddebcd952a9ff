"""Python code → effects: its syntax tree is walked, constants folded, known calls looked up."""

import ast
import re
from typing import Final

from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.literals import doubtful, literals
from supervisor.policy.bash.prints.python import parsed
from supervisor.policy.bash.python_calls import Calls
from supervisor.policy.bash.python_flow import (
    FLOWS,
    OF_TEXTS,
    WALKS,
    is_calm,
    is_received,
    received,
    texts_of,
    texts_that_flow,
)
from supervisor.policy.bash.python_tree import always_true, children, within
from supervisor.policy.bash.roles_of_code import RUNS, Glob
from supervisor.policy.bash.use import Use
from supervisor.policy.bash.value import HOLE, known

_CANT: Final = "runs code that can't be read whole"
_MOST_ROUNDS: Final = 16
_MAGIC: Final = re.compile(
    r"(?:^|;)\s*(?:\w+\s*=\s*)?(?:!{1,2}|%{1,2}(?:sx|system|sc|bash|sh|script\s+\w+)\s|%(?=(?:cat|more|less|rm|cp|mv)\s))(.*)",
    re.MULTILINE,
)
"""What IPython hands to a shell."""
_ADDS: Final = frozenset({"add", "write"})
_MAPS: Final = frozenset({"map", "imap", "starmap", "filter", "submit"})
"""Calls of a function that their first argument is, for each of the second."""
_EVALUATES: Final = frozenset(
    {"exec", "eval", "compile", "timeit.timeit", "timeit.repeat", "timeit.Timer", "cProfile.run",
     "profile.run", "pdb.run", "trace.Trace.run", "code.compile_command"}
)  # fmt: skip
_LOOSE: Final = _EVALUATES | {"__import__", "getattr", "setattr"}


def python_code(use: Use, code: str) -> None:
    """What Python code does."""
    try:
        tree = parsed(code)
        walk = _Walk(use)
        if ".connect" in code or "create_connection" in code:
            walk.received = received(tree)
        walk.block(tree.body)
        if walk.deletes or walk.modes:
            walk.empty()
        if walk.shells:
            doubtful(use, texts_of(tree), "system")
        if walk.untold:
            doubtful(use, texts_that_flow(tree), "system" if walk.untold & RUNS else "")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        use.unknown(_CANT)
        for found in _MAGIC.finditer(code):
            use.script(known(found[1]))
        literals(use, code)


def _rounds(values: object) -> list[object]:
    """What a loop's name stands for, round by round; None where nobody knows."""
    if isinstance(values, Glob):
        return [values]
    if isinstance(values, (list, str)) and values:
        return list(values[:_MOST_ROUNDS])
    return [None]


class _Walk(Calls):
    """The look at one piece of code, from statement to statement."""

    def block(self, body: list[ast.stmt]) -> None:
        """Statements in their order."""
        for each in body:
            if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                self.defined.add(each.name)
            if isinstance(each, ast.FunctionDef):
                self.functions[each.name] = each
        for each in body:
            self.statement(each)

    def statement(self, node: ast.stmt) -> None:  # noqa: C901, PLR0912 - one case a kind
        """One statement with all in it."""
        if isinstance(node, ast.Import):
            for name in node.names:
                self.module(name.name)
                self.fold.alias(
                    name.asname or name.name.partition(".")[0],
                    name.name if name.asname else name.name.partition(".")[0],
                )
        elif isinstance(node, ast.ImportFrom):
            self.module(node.module or ".")
            for name in node.names:
                self.fold.alias(name.asname or name.name, f"{node.module}.{name.name}")
                if name.name == "*":
                    self.doubt(_CANT)
                    self.all_of(node.module or ".")
        elif isinstance(node, ast.Assign):
            self.expression(node.value)
            for target in node.targets:
                self.bind(target, node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self.expression(node.value)
            self.bind(node.target, node.value)
        elif isinstance(node, ast.AugAssign):
            self.expression(node.value)
            if isinstance(node.target, ast.Name):
                before = ast.Name(node.target.id, ast.Load())
                self.bind(node.target, ast.BinOp(before, node.op, node.value))
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            self.loop(node)
        elif isinstance(node, ast.While):
            always = always_true(node.test)
            self.endless += always
            self.expression(node.test)
            spins, self.spins = self.spins, always and not is_calm(node)
            self.block([*node.body, *node.orelse])
            self.endless -= always
            self.spins = spins
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                self.expression(item.context_expr)
                if isinstance(item.optional_vars, ast.Name):
                    self.defined.add(item.optional_vars.id)
                    path = self.fold(item.context_expr)
                    if isinstance(path, str):
                        self.opened[item.optional_vars.id] = path
            self.block(node.body)
        else:
            self.other(node)

    def other(self, node: ast.AST) -> None:
        """Any node: its statements and expressions."""
        for child in children(node):
            if isinstance(child, ast.stmt):
                self.statement(child)
            elif isinstance(child, ast.expr):
                self.expression(child)
            else:
                self.other(child)
        name = getattr(node, "name", None)
        if isinstance(name, str):
            self.defined.add(name)

    def loop(self, node: "ast.For | ast.AsyncFor") -> None:
        """A loop over constants is walked for each of them."""
        self.expression(node.iter)
        values = self.fold(node.iter)
        always = self.never_ends(node.iter)
        self.endless += always
        if isinstance(values, (list, str)) and isinstance(node.target, ast.Name):
            for value in _rounds(values):
                self.fold.names[node.target.id] = value
                self.block(node.body)
        else:
            for each in within(node.target):
                if isinstance(each, ast.Name):
                    self.defined.add(each.id)
                    self.fold.names.pop(each.id, None)
            self.block(node.body)
        self.endless -= always
        self.block(node.orelse)

    def never_ends(self, node: ast.expr) -> bool:
        """Whether a loop over this has no end: `iter(int, 1)`, `itertools.count()`."""
        if not isinstance(node, ast.Call):
            return False
        name = self.fold.dotted(node.func) or ""
        return (name == "iter" and len(node.args) > 1) or name.startswith("itertools.")

    def bind(self, target: ast.expr, value: ast.expr) -> None:
        """A name gets a value: a constant, another name of a function, or something unknown."""
        if not isinstance(target, ast.Name):
            if isinstance(target, (ast.Tuple, ast.List)) and isinstance(
                value, (ast.Tuple, ast.List)
            ):
                for left, right in zip(target.elts, value.elts, strict=False):
                    self.bind(left, right)
            return
        self.defined.add(target.id)
        self.fold.bind(target.id, value)

    def module(self, name: str) -> None:
        """An import: of what is known, or of what might do anything."""
        head = name.partition(".")[0]
        if head not in self.language.modules:
            self.doubt(f"imports {head}, of which nothing is known")
        self.packs = self.packs or head in {"zipfile", "tarfile"}
        reason = self.language.words.get(head)
        if reason:
            self.doubt(reason)

    def all_of(self, module: str) -> None:
        """`from MODULE import *`: the calls of it that are known, by their bare names."""
        start = f"{module}."
        for name in self.language.calls:
            bare = name.removeprefix(start)
            if name.startswith(start) and "." not in bare:
                self.fold.alias(bare, name)

    def expression(self, node: ast.expr) -> None:
        """An expression with all calls in it."""
        if isinstance(node, ast.Call):
            self.call(node)
            return
        if isinstance(node, (ast.Name, ast.Attribute)):
            handed = self.language.calls.get(self.fold.dotted(node) or "")
            self.untold.update(FLOWS.intersection((handed or ())[:1]))
        if isinstance(node, ast.Attribute) and self.fold.dotted(node) in {
            "os.environ",
            "os.environb",
        }:
            self.reveal()
        if isinstance(node, ast.Subscript) and self.fold.dotted(node.value) == "os.environ":
            self.variable(node.slice)
            return
        if isinstance(node, ast.NamedExpr):
            self.bind(node.target, node.value)
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
            self.comprehension(node)
        else:
            self.other(node)

    def comprehension(self, node: "ast.ListComp | ast.SetComp | ast.GeneratorExp") -> None:
        """A comprehension over constants is walked for each of them."""
        first = node.generators[0]
        always = self.never_ends(first.iter)
        self.endless += always
        self.rounds(node, first)
        self.endless -= always

    def rounds(
        self, node: "ast.ListComp | ast.SetComp | ast.GeneratorExp", first: ast.comprehension
    ) -> None:
        """The same, whether it ends or not."""
        values = self.fold(first.iter)
        if len(node.generators) == 1 and isinstance(first.target, ast.Name):
            self.expression(first.iter)
            for value in _rounds(values):
                self.fold.names[first.target.id] = value
                for each in (*first.ifs, node.elt):
                    self.expression(each)
            return
        for generator in node.generators:
            self.defined.update(
                name.id for name in within(generator.target) if isinstance(name, ast.Name)
            )
        self.other(node)

    def call(self, node: ast.Call) -> None:  # noqa: C901, PLR0912 - one case a kind
        """A call: what it does if it is known, a doubt if it could do anything."""
        name = self.fold.dotted(node.func)
        for each in (*node.args, *(one.value for one in node.keywords)):
            self.expression(each.value if isinstance(each, ast.Starred) else each)
        if isinstance(node.func, ast.Attribute):
            self.fold.grow(node)
            if node.func.attr in {"write", "write_text"} and node.args:
                self.writes(node.func.value, node.args[0])
            if self.packs and node.func.attr in _ADDS:
                self.doubtful(node)
            if name in {"os.environ.get", "os.environ.items", "os.environ.copy"}:
                if name == "os.environ.get" and node.args:
                    self.variable(node.args[0])
                else:
                    self.reveal()
                return
            self.expression(node.func.value)
        elif not isinstance(node.func, ast.Name):
            self.expression(node.func)
        if name is None:
            name = f".{node.func.attr}" if isinstance(node.func, ast.Attribute) else ""
        if name in WALKS and node.args:
            folder = self.fold(node.args[0])
            if isinstance(folder, str) and folder.startswith(("/", "~")):
                self.walked.append(folder)
        roles = self.language.calls.get(name)
        if roles is None and isinstance(node.func, ast.Attribute):
            roles = self.language.calls.get(f".{node.func.attr}")
        if roles is not None:
            self.known_call(node, name, roles)
        elif name.rpartition(".")[2] == "partial" and node.args:
            self.partial(node)
        elif name.rpartition(".")[2] in _MAPS and len(node.args) > 1:
            self.mapped(node)
        elif name in _LOOSE:
            self.loose(node, name)
            self.doubtful(node)
        elif isinstance(node.func, ast.Name) and "." not in name:
            if name in self.functions:
                self.own_function(self.functions[name], node)
            elif name not in self.language.plain and node.func.id not in self.defined:
                self.doubt(f"calls {name[:60]}, which isn't known here")
                self.doubtful(node)
        elif name and not name.startswith(".") and self.fold.is_module(name):
            head = name.partition(".")[0]
            if head in {"os", "sys", "shutil", "subprocess", "socket", "ctypes"} and (
                name not in self.language.plain
            ):
                self.doubt(f"calls {name[:60]}, which isn't known here")
            if name not in self.language.plain:
                self.doubtful(node)
        elif name.rpartition(".")[2] not in OF_TEXTS and name not in self.language.plain:
            self.doubtful(node)

    def own_function(self, function: ast.FunctionDef, node: ast.Call) -> None:
        """A call of a function of the code's own: its body again, with what it is given."""
        given = dict(zip([each.arg for each in function.args.args], node.args, strict=False))
        plain = function.args.args[len(function.args.args) - len(function.args.defaults) :]
        for argument, value in zip(plain, function.args.defaults, strict=True):
            given.setdefault(argument.arg, value)
        given |= {each.arg: each.value for each in node.keywords if each.arg}
        told = {name: self.fold(value) for name, value in given.items()}
        if not self.calls_left or all(value is None for value in told.values()):
            return
        self.calls_left -= 1
        kept = dict(self.fold.names)
        self.fold.names |= {name: value for name, value in told.items() if value is not None}
        self.block(function.body)
        self.fold.names = kept

    def loose(self, node: ast.Call, name: str) -> None:
        """`exec` and its kin: constants are read on, all else is unknown."""
        text = self.fold(node.args[0]) if node.args else None
        if self.connects and node.args and is_received(node.args[0], self.received):
            self.use.emit(Act.REMOTE_SHELL, "runs what the network says")
        if name in _EVALUATES and isinstance(text, str) and HOLE not in text:
            python_code(self.use, text)
        elif name == "__import__" and isinstance(text, str):
            self.module(text)
        else:
            self.doubt(_CANT)
