//! The agents Checkrein works with: coding programs people have, and one of its own on a model's API.

pub mod llm;
