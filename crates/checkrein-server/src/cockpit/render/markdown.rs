//! Markdown, rendered: a text by itself, or two versions of it as one with what changed.
//!
//! A document is read into its leaves (paragraphs, headings, rows, code), each with the lists and quotes it is
//! in. Only what `write` knows becomes a tag; HTML in the text is shown as text, pictures become links.

mod compare;
mod read;
mod write;

pub use read::Document;

/// Longer texts are shown as they were written.
pub const BYTES_MAX: usize = 512 << 10;

/// Where links that lead to files of the same branch go.
#[derive(Clone, Copy)]
pub struct Links<'l> {
    /// The directory the text is in.
    pub directory: &'l str,
    /// The address of a file; none where there is nowhere to go.
    pub file: Option<&'l dyn Fn(&str) -> String>,
}

impl Links<'_> {
    /// Only links that leave.
    pub const NONE: Links<'static> = Links { directory: "", file: None };
}

/// What stands below the lines from one to another, such as their threads.
pub type Below<'b> = &'b mut dyn FnMut(u32, u32) -> Option<String>;

/// A text as HTML.
pub fn render(text: &str, links: &Links<'_>) -> String {
    let document = Document::read(text);
    write::write(&compare::as_it_is(&document), links, &mut |_, _| None)
}

/// The same, with something below some lines, which say in `data-line` where they are from.
pub fn render_with(text: &str, links: &Links<'_>, below: Below<'_>) -> String {
    let document = Document::read(text);
    write::write(&compare::as_it_is(&document), links, below)
}

/// Two versions as one; none if they are too long to be compared.
pub fn render_changes(old: &str, new: &str, links: &Links<'_>, below: Below<'_>) -> Option<String> {
    if old.len().max(new.len()) > BYTES_MAX {
        return None;
    }
    let (old, new) = (Document::read(old), Document::read(new));
    compare::compared(&old, &new).map(|shown| write::write(&shown, links, below))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(text: &str) -> String {
        // Where a line is from does not matter here.
        let html = render(text, &Links::NONE);
        let mut out = String::new();
        let mut rest = html.as_str();
        while let Some((before, after)) = rest.split_once(" data-line=\"") {
            out.push_str(before);
            rest = after.split_once('"').map_or("", |(_, rest)| rest);
        }
        out + rest
    }

    #[test]
    fn blocks_and_words() {
        for (text, expected) in [
            ("# Plan", "<h3>Plan</h3>"),
            ("a *b* **c** ~~d~~ `e<`", "<p>a <em>b</em> <strong>c</strong> <s>d</s> <code>e&lt;</code></p>"),
            ("a\nb  \nc", "<p>a b<br>c</p>"),
            ("- a\n- b\n  - c", "<ul><li><p>a</p></li><li><p>b</p><ul><li><p>c</p></li></ul></li></ul>"),
            ("3. a\n4. b", "<ol start=\"3\"><li><p>a</p></li><li><p>b</p></li></ol>"),
            (
                "- [x] a\n- [ ] b",
                "<ul><li class=\"task\"><span role=\"img\" aria-label=\"done\">☑</span><p>a</p></li>\
                 <li class=\"task\"><span role=\"img\" aria-label=\"to do\">☐</span><p>b</p></li></ul>",
            ),
            ("> a\n>\n> b", "<blockquote><p>a</p><p>b</p></blockquote>"),
            ("```rs\nlet x;\n```", "<pre><code><span class=\"hk\">let</span> x;</code></pre>"),
            (
                "| a | b |\n|---|--:|\n| 1 | *2* |",
                "<table><tbody><tr><th>a</th><th class=\"right\">b</th></tr>\
                 <tr><td>1</td><td class=\"right\"><em>2</em></td></tr></tbody></table>",
            ),
            ("---", "<hr>"),
            (
                "[a](https://x.example/)",
                "<p><a href=\"https://x.example/\" rel=\"noopener noreferrer nofollow\">a</a></p>",
            ),
        ] {
            assert_eq!(html(text), expected, "{text}");
        }
    }

    #[test]
    fn nothing_runs_and_nothing_is_fetched() {
        for text in [
            "<script>alert(1)</script>",
            "a <img src=x onerror=alert(1)> b",
            "<svg/onload=alert(1)>",
            "[a](javascript:alert(1))",
            "[a](JaVaScRiPt:alert(1))",
            "[a](data:text/html;base64,PHNjcmlwdD4=)",
            "[a](vbscript:x)",
            "[a](  javascript:x )",
            "<javascript:alert(1)>",
            "![a](javascript:alert(1))",
            "![a\"onerror=alert(1)](https://x.example/i.png)",
            "[a](https://x.example/\"onmouseover=alert(1))",
            "[a]: javascript:alert(1)\n\n[a]",
            "<style>*{display:none}</style>",
            "<iframe src=//evil.example></iframe>",
            "<form action=/v1/verdicts><button>x</form>",
            "`<script>`",
            "```\"><script>\nx\n```",
            "```html\n<script>alert(1)</script>\n```",
            "| <script> | b |\n|---|---|\n| <img src=x> | c |",
            "# <script>x</script>",
            "- [x] <script>x</script>",
            "<a id=inbox name=forms>x</a>",
        ] {
            let html = html(text).to_ascii_lowercase();
            for bad in [
                "<script",
                "<img",
                "<svg",
                "<style",
                "<iframe",
                "<form",
                "<a id",
                "href=\"java",
                "href=\"data",
                "href=\"vb",
                "src=\"",
                " style=",
            ] {
                assert!(!html.contains(bad), "{text}: {html}");
            }
            for piece in html.split('<').skip(1) {
                let tag = piece.split('>').next().unwrap_or_default();
                assert!(!tag.contains(" on"), "{text}: {html}");
            }
        }
    }

    #[test]
    fn links_to_files_of_the_branch() {
        let file = |path: &str| format!("/there?path={path}");
        let links = Links { directory: "docs", file: Some(&file) };
        for (target, expected) in [
            ("a.md", Some("/there?path=docs/a.md")),
            ("./a.md#part", Some("/there?path=docs/a.md")),
            ("../src/x.rs", Some("/there?path=src/x.rs")),
            ("../../etc/passwd", None),
            ("/v1/runs", None),
            ("//evil.example", None),
            ("#part", None),
            ("?x=1", None),
        ] {
            let html = render(&format!("[a]({target})"), &links);
            let href = html.split("href=\"").nth(1).and_then(|rest| rest.split('"').next());
            assert_eq!(href, expected, "{target}: {html}");
        }
    }

    #[test]
    fn what_changed_is_shown_where_it_reads() {
        let changed = |old: &str, new: &str| {
            render_changes(old, new, &Links::NONE, &mut |_, _| None)
                .unwrap_or_default()
                .replace(" data-line=\"1\"", "")
        };
        assert_eq!(
            changed("the cat sat on the mat", "the **dog** sat on the mat"),
            "<p class=\"ch\">the <del>cat</del><ins><strong>dog</strong></ins> sat on the mat</p>"
        );
        let html = changed("# A\n\none\n\ntwo", "# A\n\none\n\nthree words more");
        assert!(html.contains("<p class=\"rm\"><del>two</del></p>"), "{html}");
        assert!(html.contains("<ins>three words more</ins>"), "{html}");
        let html = changed("- a\n- b\n- c", "- a\n- c");
        assert_eq!(html.matches("<ul>").count(), 1, "{html}");
        assert!(html.contains("<li><p class=\"rm\"><del>b</del></p></li>"), "{html}");
        let html = changed("- [ ] a", "- [x] a");
        assert!(html.contains("☑") && html.contains("class=\"ch\""), "{html}");
        let html = changed("```\na\nb\n```", "```\na\nc\n```");
        assert!(html.contains("a\n<del>b</del>\n<ins>c</ins>"), "{html}");
        let html = changed("| a |\n|---|\n| 1 |\n| 2 |", "| a |\n|---|\n| 1 |\n| 3 |");
        assert_eq!(html.matches("<table>").count(), 1, "{html}");
    }

    #[test]
    fn hostile_nesting_comes_to_an_end() {
        for text in ["> ".repeat(20_000), "- ".repeat(20_000), "*a ".repeat(20_000), "[".repeat(20_000)] {
            assert!(!render(&text, &Links::NONE).is_empty());
        }
        assert!(
            render_changes(&"a\n\n".repeat(20_000), &"b\n\n".repeat(20_000), &Links::NONE, &mut |_, _| None)
                .is_none()
        );
    }

    #[test]
    fn something_below_a_line() {
        let html = render_with("# A\n\none\ntwo\n\nthree", &Links::NONE, &mut |from, to| {
            (from..=to).contains(&4).then(|| "<b>here</b>".to_owned())
        });
        assert!(html.contains("one two</p><b>here</b>"), "{html}");
        assert_eq!(html.matches("here").count(), 1);
    }

    #[test]
    fn nothing_is_hidden_by_how_deep_it_is_nested() {
        for text in [
            format!("{} hidden", ">".repeat(60)),
            format!("{}hidden{}", "*a _b ".repeat(60), " b_ a*".repeat(60)),
            format!("{}hidden{}", "![".repeat(60), "](x)".repeat(60)),
        ] {
            assert!(html(&text).contains("hidden"), "{text}: {}", html(&text));
        }
    }
}
