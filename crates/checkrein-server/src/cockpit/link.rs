//! The addresses of pages.

/// A path of these parts, each of them encoded.
pub fn to(parts: &[&str]) -> String {
    let mut path = String::new();
    for part in parts {
        path.push('/');
        path.push_str(&encoded(part));
    }
    path
}

pub fn run(id: &str) -> String {
    to(&["runs", id])
}

/// Leads to the right page for any checkpoint.
pub fn checkpoint(id: &str) -> String {
    to(&["checkpoints", id])
}

/// The page of a job's review.
pub fn review(id: &str) -> String {
    to(&["reviews", id])
}

/// A path with a query; what is empty is left out.
pub fn with_query(path: &str, query: &[(&str, &str)]) -> String {
    let mut written = form_urlencoded::Serializer::new(String::new());
    for (name, value) in query.iter().filter(|(_, value)| !value.is_empty()) {
        written.append_pair(name, value);
    }
    match written.finish() {
        query if query.is_empty() => path.to_owned(),
        query => format!("{path}?{query}"),
    }
}

pub fn encoded(text: &str) -> String {
    let encoded: String = form_urlencoded::byte_serialize(text.as_bytes()).collect();
    encoded.replace('+', "%20")
}

/// Whether an address is a page of this server: a path, and nothing a browser takes for another site.
pub fn is_local(address: &str) -> bool {
    let sound = |c: char| c.is_ascii_graphic() && c != '\\';
    address.starts_with('/') && !address.starts_with("//") && address.chars().all(sound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_this_server_are_local() {
        for (address, local) in [
            ("/inbox", true),
            ("/inbox?type=x&after=3", true),
            ("//evil.example", false),
            ("/\\evil.example", false),
            ("https://evil.example", false),
            ("javascript:alert(1)", false),
            ("/a\r\nSet-Cookie: x", false),
            ("", false),
        ] {
            assert_eq!(is_local(address), local, "{address}");
        }
    }

    #[test]
    fn parts_of_a_path_are_encoded() {
        assert_eq!(to(&["checkpoints", "a/b c?#"]), "/checkpoints/a%2Fb%20c%3F%23");
        assert_eq!(with_query("/x", &[("a", ""), ("b", "1&2")]), "/x?b=1%262");
    }
}
