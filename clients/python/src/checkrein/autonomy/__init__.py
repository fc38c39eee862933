"""How far a worker may go, where its work waits, and who answers."""

from .checkpoint import Checkpoint, CheckpointStatus, CheckpointStore
from .levels import AutonomyConfig, should_checkpoint
from .reviewer import AutoApproveReviewer, CheckpointHandler, PendingReviewer

__all__ = [
    "AutoApproveReviewer",
    "AutonomyConfig",
    "Checkpoint",
    "CheckpointHandler",
    "CheckpointStatus",
    "CheckpointStore",
    "PendingReviewer",
    "should_checkpoint",
]
