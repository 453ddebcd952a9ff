"""What is wrong with a policy file, in parts: file, line, column, field, what was expected."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from supervisor.errors import ConfigurationError

_PLACE = re.compile(
    r"(?P<file>.*?):(?P<line>\d+)(?::(?P<column>\d+))?(?: (?P<field>.+))?", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class PolicyFault:
    """One mistake. Line and column count from 1; None where it is the file's or the folder's."""

    file: str
    expected: str
    line: int | None = None
    column: int | None = None
    field: str | None = None
    remedy: str | None = None

    @classmethod
    def of(cls, error: ConfigurationError) -> "PolicyFault":
        """The parts of an error that `policy.document` and its readers raise."""
        found = _PLACE.fullmatch(error.where or "")
        if found is None:
            return cls(error.where or "policies", error.message, remedy=error.remedy)
        column = found["column"]
        return cls(
            file=found["file"],
            expected=error.message,
            line=int(found["line"]),
            column=None if column is None else int(column),
            field=found["field"],
            remedy=error.remedy,
        )

    @property
    def place(self) -> str:
        """`file:line:column field`, as far as it is known."""
        steps = (self.file, self.line, self.column)
        where = ":".join(str(step) for step in steps if step is not None)
        return f"{where} {self.field}" if self.field else where

    def parts(self) -> Mapping[str, Any]:
        """The fault for the log and the audit log; what isn't known is left out."""
        known = {
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "field": self.field,
            "expected": self.expected,
            "remedy": self.remedy,
        }
        return {name: value for name, value in known.items() if value is not None}
