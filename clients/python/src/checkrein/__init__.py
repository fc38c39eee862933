"""Checkpoints for workers written in Python: how far a worker may go alone, and a durable place where
its work waits for a person. Everything is a thin face of a Checkrein server (`checkrein serve`)."""

from .autonomy import (
    AutoApproveReviewer,
    AutonomyConfig,
    Checkpoint,
    CheckpointHandler,
    CheckpointStatus,
    CheckpointStore,
    PendingReviewer,
    should_checkpoint,
)
from .client import Client
from .exceptions import (
    AlreadyDecidedError,
    CheckpointError,
    CheckpointPendingError,
    CheckpointRejectedError,
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    OtherContentError,
    ProblemError,
    UnauthenticatedError,
    UnavailableError,
    UnreachableError,
)
from .types import AutonomyLevel

__all__ = [
    "AlreadyDecidedError",
    "AutoApproveReviewer",
    "AutonomyConfig",
    "AutonomyLevel",
    "Checkpoint",
    "CheckpointError",
    "CheckpointHandler",
    "CheckpointPendingError",
    "CheckpointRejectedError",
    "CheckpointStatus",
    "CheckpointStore",
    "Client",
    "ConflictError",
    "ForbiddenError",
    "InvalidError",
    "NotFoundError",
    "OtherContentError",
    "PendingReviewer",
    "ProblemError",
    "UnauthenticatedError",
    "UnavailableError",
    "UnreachableError",
    "should_checkpoint",
]
