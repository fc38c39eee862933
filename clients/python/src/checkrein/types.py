"""Words that are shared by everything else."""

from __future__ import annotations

from enum import Enum


class Word(str, Enum):
    """A closed set of words; each is its own text, as with `enum.StrEnum` of newer Pythons."""

    def __str__(self) -> str:
        return str(self.value)

    @classmethod
    def _missing_(cls, value: object) -> None:
        words = ", ".join(f"`{member}`" for member in cls)
        raise ValueError(f"unknown {cls.__name__} `{value}`, expected one of {words}")


class AutonomyLevel(Word):
    """How far a worker may go without a person."""

    MANUAL = "manual"
    SEMI_SUPERVISED = "semi_supervised"
    AUTONOMOUS = "autonomous"
