"""Values that a decision makes by the hundred: frozen for the type checker, plain slots when run.

A frozen dataclass sets each field by a call of `object.__setattr__`, which takes four times as
long. Nobody assigns to a record: the type checker refuses it, as of a frozen class.
"""

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

_Class = TypeVar("_Class")


@dataclass_transform(frozen_default=True, eq_default=True)
def record(made: type[_Class]) -> type[_Class]:
    """A dataclass with slots, compared and hashed by its fields, which never change."""
    return dataclass(slots=True, unsafe_hash=True)(made)
