//! Verdicts on several checkpoints at once.

pub mod give;
