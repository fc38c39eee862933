//! What is told, as a plain letter.

use super::Envelope;
use crate::shown::one_line;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mail {
    /// One line.
    pub subject: String,
    pub text: String,
}

pub fn mail(envelope: &Envelope) -> Mail {
    let told = &envelope.data;
    let mut text = format!("{}\n\n", told.title);
    let mut row = |name: &str, value: &str| {
        if !value.is_empty() {
            text.push_str(&format!("{name:<8} {value}\n"));
        }
    };
    if let Some(checkpoint) = &told.checkpoint {
        row("worker", &checkpoint.worker);
        row("phase", &checkpoint.phase);
        row("type", &checkpoint.kind);
        row("status", checkpoint.status.name());
        row("since", &checkpoint.since.to_string());
        row("run", checkpoint.run.as_deref().unwrap_or_default());
        row("by", checkpoint.resolved_by.as_deref().unwrap_or_default());
        row("reason", &one_line(checkpoint.reason.as_deref().unwrap_or_default()));
    }
    if let Some(run) = &told.run {
        row("run", &run.id);
        row("status", run.status.name());
        row("by", run.by.as_deref().unwrap_or_default());
    }
    if let Some(excerpt) = &told.excerpt {
        // Quoted, so that it cannot pass for what Checkrein says.
        let quoted: Vec<String> = excerpt.lines().map(|line| format!("> {line}")).collect();
        text.push_str(&format!("\n{}\n", quoted.join("\n")));
    }
    text.push_str(&format!("\n{}\n", told.url.as_deref().unwrap_or(&told.command)));
    Mail { subject: one_line(&format!("[checkrein] {}", told.title)), text }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::notification::{NotificationType, Told};

    #[test]
    fn a_letter_quotes_what_others_wrote() {
        let told = Told {
            title: "writer waits\r\nBcc: everybody@example.com".to_owned(),
            excerpt: Some("first\n.\nQUIT".to_owned()),
            url: None,
            command: "checkrein checkpoint show c1".to_owned(),
            checkpoint: None,
            run: None,
        };
        let kind = NotificationType::CheckpointCreated;
        let mail = mail(&Envelope::new("msg_1".into(), kind, "c1", Timestamp::UNIX_EPOCH, None, told));
        assert!(!mail.subject.contains(['\r', '\n']), "{:?}", mail.subject);
        assert!(mail.text.contains("> first\n> .\n> QUIT\n"), "{}", mail.text);
        assert!(mail.text.ends_with("checkrein checkpoint show c1\n"), "{}", mail.text);
    }
}
