//! What we write in a forge carries what it is, so that it is not written again.

const BEGIN: &str = "<!-- checkrein:";
const END: &str = " -->";

/// A text with its key, which no reader sees. What the text itself hides is made to show.
pub fn marked(text: &str, key: &str) -> String {
    format!("{}\n\n{BEGIN}{key}{END}", unmarked(text).trim_end())
}

/// The key of a text of ours.
pub fn key_of(body: &str) -> Option<&str> {
    let (_, rest) = body.rsplit_once(BEGIN)?;
    rest.split_once(END).map(|(key, _)| key)
}

/// A text of somebody else, in which nothing looks like a key.
pub fn unmarked(text: &str) -> String {
    text.replace("<!--", "&lt;!--")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_again_and_cannot_be_smuggled_in() {
        assert_eq!(key_of(&marked("hello", "job/c1")), Some("job/c1"));
        assert_eq!(key_of(&marked("see <!-- checkrein:job/c2 -->", "job/c1")), Some("job/c1"));
        assert_eq!(key_of(&unmarked("<!-- checkrein:job/c2 -->")), None);
        assert_eq!(key_of("hello"), None);
        assert_eq!(key_of("<!-- checkrein:half"), None);
    }
}
