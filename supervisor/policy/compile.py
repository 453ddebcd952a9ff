"""Documents, in order → the policy in force: later ones override, self-protection is added."""

import hashlib
import json
from collections.abc import Iterable, Sequence

from supervisor.errors import ConfigurationError
from supervisor.policy.builtin import HIDDEN, PROTECTED, own_folders
from supervisor.policy.compiled import (
    Answer,
    Category,
    CompiledPolicy,
    GatewayTerms,
    Spend,
)
from supervisor.policy.deny_list import DenyList
from supervisor.policy.schema import DenyEntry, PolicyDocument
from supervisor.trust.levels import TrustLevel


def compile_policy(
    documents: Sequence[PolicyDocument],
    *,
    secret_folders: Iterable[str] = (),
    steering_folders: Iterable[str] = (),
) -> CompiledPolicy:
    """One policy out of the documents, later ones overriding by id, tool, level and limit.

    The folders are absolute paths of the supervisor's own: see `builtin.own_folders`. What no
    document answers is denied (a category at a level, server tools) or unlimited (a budget).
    Raises ConfigurationError if the documents together say too little to decide by.
    """
    entries: dict[str, DenyEntry] = {}
    tools: dict[str, Category] = {}
    levels = {level: dict.fromkeys(Category, Answer.DENY) for level in TrustLevel}
    server_tools = dict.fromkeys(TrustLevel, False)
    budgets: dict[tuple[str, str], float | None] = {}
    models: tuple[str, ...] = ()
    for document in documents:
        entries.update((entry.rule.id, entry) for entry in document.deny)
        tools.update(document.categories)
        for level, answers in document.levels.items():
            levels[level].update(answers)
        server_tools.update(document.server_tools)
        budgets.update(document.budgets)
        models = document.models if document.models is not None else models
    if not tools or not models:
        where = documents[-1].file if documents else "policies"
        raise ConfigurationError(
            "the policy files name no tools or no models",
            where=where,
            remedy="keep the shipped default.yaml in the folder of policies",
        )
    own_secret, own_steering = own_folders(secret_folders, steering_folders)
    rules = tuple(entry.rule for entry in entries.values())
    denied = (*rules, own_secret)
    return CompiledPolicy(
        hash=_hash(documents),
        rules=rules,
        denied=DenyList(denied),
        hidden=DenyList((*denied, *HIDDEN)),
        protected=DenyList((*PROTECTED, own_secret, own_steering)),
        tools={name: category for name, category in tools.items() if not name.endswith("*")},
        tool_prefixes=_prefixes(tools),
        levels=levels,
        gateway=GatewayTerms(
            models=models,
            server_tools=server_tools,
            turn=_spend(budgets, "turn"),
            session=_spend(budgets, "session"),
        ),
        examples=tuple(entry.examples for entry in entries.values()),
    )


def failing_examples(policy: CompiledPolicy) -> tuple[str, ...]:
    """What the rules' own examples find wrong, one sentence each; empty if all hold."""
    rules = {rule.id: DenyList((rule,)) for rule in policy.rules}
    found: list[str] = []
    for examples in policy.examples:
        missed = [path for path in examples.deny if rules[examples.rule].match(path) is None]
        found.extend(f"{examples.rule} doesn't deny {path!r}" for path in missed)
        for path in examples.allow:
            rule = policy.denied.match(path)
            if rule is not None:
                found.append(f"{rule.id} denies {path!r}, an example of {examples.rule} to allow")
    return tuple(found)


def _prefixes(tools: dict[str, Category]) -> tuple[tuple[str, Category], ...]:
    found = [(name[:-1], category) for name, category in tools.items() if name.endswith("*")]
    return tuple(sorted(found, key=lambda each: (-len(each[0]), each[0])))


def _spend(budgets: dict[tuple[str, str], float | None], scope: str) -> Spend:
    tokens = budgets.get((scope, "tokens"))
    return Spend(
        tokens=None if tokens is None else int(tokens), cost_usd=budgets.get((scope, "cost_usd"))
    )


def _hash(documents: Sequence[PolicyDocument]) -> str:
    content = [
        {
            "deny": [
                [e.rule.id, e.rule.reason, e.rule.names, e.rule.paths, e.rule.exceptions]
                for e in document.deny
            ],
            "categories": dict(document.categories),
            "levels": {level: dict(answers) for level, answers in document.levels.items()},
            "models": document.models,
            "server_tools": dict(document.server_tools),
            "budgets": {".".join(key): value for key, value in document.budgets.items()},
        }
        for document in documents
    ]
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
