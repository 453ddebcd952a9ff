"""What the names of commands stand for in the shell itself: aliases and functions, walked."""

from abc import abstractmethod

from supervisor.policy.bash.invocation import Redirect
from supervisor.policy.bash.shell.grammar import Grammar
from supervisor.policy.bash.shell.machine import MOST_TEXTS_RUN, Work
from supervisor.policy.bash.shell.secrets import POSITIONAL, shown_secret
from supervisor.policy.bash.shell.syntax import Command, Simple, Word, plain_word
from supervisor.policy.bash.value import HOLE, Value

Row = tuple[Value, ...]
Environment = tuple[tuple[str, Value], ...]


class Called(Work):
    """The shell, as far as it calls what it has been told before."""

    @abstractmethod
    def aside_files(
        self, node: Command, redirects: tuple[Redirect, ...], environment: Environment = ()
    ) -> None:
        """Report redirects and assignments that no program stands beside."""

    def alias(self, name: str, node: Simple) -> None:
        """Also run what an alias stands for: the shell may or may not expand it."""
        text = self.scope.aliases.pop(name)
        rest = [word for word in node.words[1:] if isinstance(word, Word)]
        if rest and rest[0].plain in self.scope.aliases and text.texts[0].text[-1:] in (" ", "\t"):
            # Behind an alias that ends in a blank the next word may be one too.
            other = self.scope.aliases[rest[0].plain].only
            rest = [rest[0] if other is None else plain_word(other), *rest[1:]]
        for each in text.texts[:MOST_TEXTS_RUN]:
            if not self.budget.open_text(len(each.text)) or not self.deeper():
                break
            script = Grammar(each.text, self.budget, (node.start, node.end)).whole()
            for item in script.body.items[-1:]:
                stage = item.links[-1][1].stages[-1:]
                if stage and isinstance(stage[0], Simple):
                    stage[0].words.extend(rest)
                    stage[0].fixed = stage[0].fixed and all(word.value for word in rest)
                    stage[0].redirects.extend(node.redirects)
            self.troubles(script)
            if HOLE in each.text:
                self.doubt("what an alias stands for can't be known")
            self.sequence(script.body)
            self.budget.nesting += 1
        self.scope.aliases[name] = text
        self.node = node

    def function(
        self, name: str, argv: Row, node: Simple, redirects: tuple[Redirect, ...],
        environment: Environment,
    ) -> None:  # fmt: skip
        """Walk a function's body with its own positional parameters."""
        if redirects or environment:
            self.aside_files(node, redirects, environment)
        definition = self.scope.functions[name]
        # With ever fewer words a function that calls itself comes to an end (`shift; f "$@"`).
        if any(each is definition and words <= len(argv) for each, words in self.calls):
            if self.forked and (not self.conditional or len(argv) == 1):
                self.bomb(node)
            return
        if definition.body is None or not self.deeper():
            return
        positional = self.scope.positional
        attributes = self.scope.references, self.scope.shapes
        kept = self.forked, self.conditional, self.leaves
        self.scope.positional = argv[1:]
        secrets = self.scope.secrets
        if not node.fixed and shown_secret(node.words, self.scope) is not None:
            self.scope.secrets |= POSITIONAL
        self.forked = self.conditional = False
        self.calls.append((definition, len(argv)))
        self.locals.append({})
        self.command(definition.body)
        self.calls.pop()
        variables = self.scope.variables
        for local, value in self.locals.pop().items():
            variables.pop(local, None)
            if value is not None:
                variables[local] = value
        self.forked, self.conditional, self.leaves = kept
        self.scope.references, self.scope.shapes = attributes
        self.scope.positional = positional
        self.scope.secrets = (self.scope.secrets - POSITIONAL) | (secrets & POSITIONAL)
        self.budget.nesting += 1
