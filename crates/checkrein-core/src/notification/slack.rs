//! What is told, as a message for Slack and those that take the same.

use serde_json::{Value, json};

use super::Envelope;

/// The body for an incoming webhook. Nothing in it that an agent wrote can call people or be a link.
pub fn slack(envelope: &Envelope) -> Value {
    let told = &envelope.data;
    let title = defused(&told.title);
    let link = told.url.as_deref().map(|url| format!("<{}|Look at it>", escaped(url)));
    let look = link.clone().unwrap_or_else(|| format!("`{}`", defused(&told.command).replace('`', "'")));
    let mut blocks = vec![plain("section", &title)];
    if let Some(excerpt) = &told.excerpt {
        blocks.push(plain("section", &defused(excerpt)));
    }
    let mut about = Vec::new();
    if let Some(checkpoint) = &told.checkpoint {
        let since = checkpoint.since.strftime("%Y-%m-%d %H:%M UTC");
        about.push(format!("{} · round {} · since {since}", checkpoint.kind, checkpoint.round));
        about.extend(checkpoint.run.as_ref().map(|run| format!("run {run}")));
    }
    about.extend(told.run.as_ref().map(|run| format!("run {}", run.id)));
    if !about.is_empty() {
        let words = defused(&about.join(" · "));
        blocks.push(json!({
            "type": "context",
            "elements": [{"type": "plain_text", "text": words, "emoji": false}],
        }));
    }
    // Ours, so it may be a link; verbatim keeps what is inside from becoming another.
    blocks.push(json!({"type": "section", "text": {"type": "mrkdwn", "text": look, "verbatim": true}}));
    json!({"text": format!("{title} {look}"), "blocks": blocks, "unfurl_links": false, "unfurl_media": false})
}

fn plain(block: &str, text: &str) -> Value {
    json!({"type": block, "text": {"type": "plain_text", "text": text, "emoji": false}})
}

/// The three characters that begin and end what Slack acts on.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Text of others. Those that take Slack's messages and read Markdown make links and calls of more than
/// Slack does, so what would be one is broken by a space that does not show.
fn defused(text: &str) -> String {
    const BREAK: char = '\u{200b}';
    let mut out = escaped(text);
    for (before, after) in [("@", ""), (":", "//"), ("]", "("), ("www", "."), ("WWW", ".")] {
        out = out.replace(&format!("{before}{after}"), &format!("{before}{BREAK}{after}"));
    }
    out
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::notification::{NotificationType, Told};

    fn message(title: &str, excerpt: &str, url: Option<&str>) -> Value {
        let told = Told {
            title: title.to_owned(),
            excerpt: Some(excerpt.to_owned()),
            url: url.map(str::to_owned),
            command: "checkrein checkpoint show c1".to_owned(),
            checkpoint: None,
            run: None,
        };
        let kind = NotificationType::CheckpointCreated;
        slack(&Envelope::new("msg_1".into(), kind, "c1", Timestamp::UNIX_EPOCH, url, told))
    }

    /// Every text in it.
    fn texts(value: &Value) -> Vec<String> {
        match value {
            Value::String(text) => vec![text.clone()],
            Value::Array(items) => items.iter().flat_map(texts).collect(),
            Value::Object(map) => map.values().flat_map(texts).collect(),
            _ => Vec::new(),
        }
    }

    #[test]
    fn nothing_an_agent_wrote_calls_people_or_is_a_link() {
        for bad in [
            "<!channel>",
            "<!here|x>",
            "<@U123>",
            "<https://evil.example|Approve>",
            "@channel @all",
            "[Approve](https://evil.example)",
            "https://evil.example",
            "mailto://x www.evil.example",
            "&lt;!channel&gt;",
        ] {
            for message in [message(bad, "x", None), message("x", bad, Some("https://rein.example/c"))] {
                for text in texts(&message) {
                    let ours = text.replace("<https://rein.example/c|Look at it>", "");
                    for sign in ["<", ">", "@c", "@a", "@U", "://", "](", "www.", "&lt;!channel&gt;"] {
                        let twice = sign == "&lt;!channel&gt;" && bad != sign;
                        assert!(twice || !ours.contains(sign), "{bad}: {sign} in {text}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_message_says_what_and_links_to_it() {
        let message = message("writer waits", "a & b", Some("https://rein.example/checkpoints/c1"));
        assert_eq!(message["text"], "writer waits <https://rein.example/checkpoints/c1|Look at it>");
        assert_eq!(message["blocks"][1]["text"]["text"], "a &amp; b");
        assert_eq!(message["blocks"][2]["text"]["verbatim"], true);
        let without = super::tests::message("writer waits", "x", None);
        assert_eq!(without["text"], "writer waits `checkrein checkpoint show c1`");
    }
}
