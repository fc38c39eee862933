//! An answer without a model: what a search finds.

use std::fmt::Write;
use std::time::Duration;

use super::Asking;
use crate::{Engine, EngineError, SearchBy, SearchRequest};

const HITS: usize = 5;
const PATIENCE: Duration = Duration::from_secs(2);

impl Engine {
    /// What there is to say about a question where nobody thinks.
    pub(super) async fn answer_by_search(&self, asking: &Asking) -> Result<String, EngineError> {
        let why = self.companion.notes().into_iter().next().unwrap_or_default();
        let Some(run) = &asking.run else {
            return Ok(format!(
                "Nobody can answer: {why}. A job can be given without it, as you describe it yourself."
            ));
        };
        let mut text = format!("Nobody thinks about your question ({why}). ");
        let request = SearchRequest {
            query: asking.question.text.clone(),
            by: SearchBy::Both,
            file: None,
            phase: None,
            limit: HITS,
            patience: PATIENCE,
        };
        let answer = match self.search(&asking.by, run.as_str(), &request).await {
            Ok(answer) => answer,
            Err(error @ EngineError::NoIndex { .. }) => {
                let _ = write!(text, "And nothing can be searched: {error}.");
                return Ok(text);
            }
            Err(error) => return Err(error),
        };
        if answer.hits.is_empty() {
            text.push_str("A search of the workspace found nothing.");
            return Ok(text);
        }
        text.push_str("This is what a search of the workspace found:\n");
        for hit in &answer.hits {
            let _ = write!(text, "\n- `{}:{}`", hit.file, hit.first_line);
            if !hit.heading.is_empty() {
                let _ = write!(text, " {}", hit.heading);
            }
            let snippet = hit.snippet.text.split_whitespace().collect::<Vec<_>>().join(" ");
            let _ = write!(text, ": {snippet}");
        }
        Ok(text)
    }
}
