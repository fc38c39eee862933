//! Notices a model that does the same again and again.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::llm::ToolInput;

#[derive(Debug, Default)]
pub struct Repeats {
    call: u64,
    answer: u64,
    /// How often the same call was answered the same in a row.
    times: u32,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    Go,
    /// It is told instead of done.
    Refuse(u32),
    Stop(u32),
}

const REFUSED_FROM: u32 = 3;
const STOPPED_FROM: u32 = 10;

impl Repeats {
    pub fn check(&mut self, tool: &str, input: &ToolInput) -> Verdict {
        let mut hasher = DefaultHasher::new();
        tool.hash(&mut hasher);
        match input {
            ToolInput::Read(value) => value.to_string().hash(&mut hasher),
            ToolInput::Malformed(raw) => raw.hash(&mut hasher),
        }
        let call = hasher.finish();
        if std::mem::replace(&mut self.call, call) != call {
            self.times = 0;
            self.answer = 0;
        }
        match self.times {
            times if times >= STOPPED_FROM => Verdict::Stop(times),
            times if times >= REFUSED_FROM => {
                self.times += 1;
                Verdict::Refuse(times)
            }
            _ => Verdict::Go,
        }
    }

    pub fn answered(&mut self, text: &str) {
        // Once it is refused, what it is told differs and does not count.
        if self.times > REFUSED_FROM {
            return;
        }
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let answer = hasher.finish();
        let same = std::mem::replace(&mut self.answer, answer) == answer;
        self.times = if same { self.times + 1 } else { 1 };
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_same_call_with_the_same_answer_is_noticed() {
        let mut repeats = Repeats::default();
        let input = ToolInput::Read(json!({"path": "a"}));
        let mut verdicts = Vec::new();
        for _ in 0..12 {
            let verdict = repeats.check("read_file", &input);
            verdicts.push(match verdict {
                Verdict::Go => 'g',
                Verdict::Refuse(_) => 'r',
                Verdict::Stop(_) => 's',
            });
            repeats.answered("same");
        }
        assert_eq!(verdicts.into_iter().collect::<String>(), "gggrrrrrrrss");
        assert_eq!(repeats.check("read_file", &ToolInput::Read(json!({"path": "b"}))), Verdict::Go);
        let mut polling = Repeats::default();
        for count in 0..20 {
            assert_eq!(polling.check("run_command", &input), Verdict::Go, "another answer each time");
            polling.answered(&count.to_string());
        }
    }
}
