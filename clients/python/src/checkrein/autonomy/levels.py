"""Levels, and the checkpoint types at which a worker holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import FrozenSet, Optional

from ..client import Client
from ..exceptions import CheckpointError
from ..types import AutonomyLevel

CHECKPOINT_TYPES_DEFAULT: FrozenSet[str] = frozenset({"phase_transition", "deliverable", "final_output"})


@dataclass(frozen=True)
class AutonomyConfig:
    """A level, and the types at which a semi-supervised worker holds. A set replaces the default; types are
    case-sensitive, and any string is one (C1)."""

    level: AutonomyLevel = AutonomyLevel.SEMI_SUPERVISED
    checkpoint_types: FrozenSet[str] = CHECKPOINT_TYPES_DEFAULT

    def __post_init__(self) -> None:
        # What comes from a file is a text and a list.
        object.__setattr__(self, "level", AutonomyLevel(self.level))
        if isinstance(self.checkpoint_types, str):
            raise ValueError(f"`checkpoint_types` takes a set, not the text `{self.checkpoint_types}`")
        object.__setattr__(self, "checkpoint_types", frozenset(self.checkpoint_types))

    @classmethod
    def of_worker(cls, worker: str, client: Optional[Client] = None) -> AutonomyConfig:
        """What the server's settings say about a worker: its entry, else the default of all (C2).

        A policy that says more than a level can is refused rather than cut down to one; ask the server
        at every point then, with `CheckpointStore.create`.
        """
        policy = (client or Client()).explain(scope="worker", worker=worker)["policy"]
        holds = {"manual": [{"on": "*"}], "autonomous": []}
        level, types = policy.get("level"), policy["checkpoint_types"]
        expected = holds.get(str(level), [{"on": kind} for kind in types])
        known = level in [str(member) for member in AutonomyLevel]
        if not known or policy["hold_at"] != expected or policy["overrides"] or policy["require_approval_for"]:
            raise CheckpointError(f"the policy of worker `{worker}` says more than an autonomy level can")
        return cls(level=AutonomyLevel(level), checkpoint_types=frozenset(types))

    def should_checkpoint(self, checkpoint_type: str) -> bool:
        """Whether a worker with these settings holds at a checkpoint of this type."""
        if self.level is AutonomyLevel.SEMI_SUPERVISED:
            return checkpoint_type in self.checkpoint_types
        return self.level is AutonomyLevel.MANUAL


def should_checkpoint(level: AutonomyLevel, checkpoint_type: str) -> bool:
    """The same with the default types. The server is asked nothing: it decides again when work is handed in."""
    return AutonomyConfig(level=level).should_checkpoint(checkpoint_type)
