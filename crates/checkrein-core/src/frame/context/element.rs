//! One frame as an XML element, whole or cut to fit.

use crate::frame::escape;
use crate::frame::tree::Frame;

/// A frame on its way into a context.
pub(super) struct Element<'a> {
    tag: &'static str,
    frame: &'a Frame,
    /// In order of importance, never left out, only cut.
    texts: Vec<(&'static str, &'a str)>,
    /// Shown from the front as far as they fit.
    lists: Vec<List<'a>>,
}

struct List<'a> {
    tag: &'static str,
    item: &'static str,
    texts: &'a [String],
}

/// The least a text may be cut to, unless it is shorter; enough for a few words.
const LEAST_TEXT_BYTES: usize = 24;

impl<'a> Element<'a> {
    /// A frame as seen from inside.
    pub(super) fn in_full(tag: &'static str, frame: &'a Frame) -> Element<'a> {
        let lists =
            [("decisions", "decision", &frame.decisions), ("artifacts", "artifact", &frame.artifacts)];
        let lists = lists.into_iter().filter(|(_, _, texts)| !texts.is_empty());
        Element {
            lists: lists.map(|(tag, item, texts)| List { tag, item, texts }).collect(),
            ..Element::summary(tag, frame)
        }
    }

    /// A frame as seen from outside: what it was for and what came of it.
    pub(super) fn summary(tag: &'static str, frame: &'a Frame) -> Element<'a> {
        let texts = [
            ("goal", Some(&frame.goal)),
            ("summary", frame.summary.as_ref()),
            ("invalidated-because", frame.invalidation_reason.as_ref()),
        ];
        let texts = texts.into_iter().filter_map(|(tag, text)| Some((tag, text?.as_str())));
        Element { tag, frame, texts: texts.collect(), lists: Vec::new() }
    }

    /// A frame beside this one: what came of it, and what it made.
    pub(super) fn with_artifacts(tag: &'static str, frame: &'a Frame) -> Element<'a> {
        let artifacts = List { tag: "artifacts", item: "artifact", texts: &frame.artifacts };
        let lists = Some(artifacts).filter(|list| !list.texts.is_empty());
        Element { lists: lists.into_iter().collect(), ..Element::summary(tag, frame) }
    }

    /// The element with every text whole, if they fit, and as many items of its lists as do.
    pub(super) fn texts_within(&self, room: usize) -> Option<String> {
        // Escaping never shortens, so a text that is too long as it is need not be looked at.
        let texts = self.texts.iter().map(|(_, text)| text.len()).fold(0, usize::saturating_add);
        let close = self.close();
        let room = room.checked_sub(close.len()).filter(|room| texts <= *room)?;
        let mut element = self.open(self.log_attribute().as_str());
        for (tag, text) in &self.texts {
            element.push_str(&line(tag, &escape::xml(text)));
        }
        for list in &self.lists {
            let list = Some(list.within(room.checked_sub(element.len())?));
            element.push_str(&list.filter(|list| !list.is_empty())?);
        }
        (element.len() <= room).then(|| element + &close)
    }

    /// The element, if all of it fits.
    pub(super) fn whole_within(&self, room: usize) -> Option<String> {
        // Escaping never shortens, so a text that is too long as it is need not be looked at.
        if self.raw_len() > room {
            return None;
        }
        let mut whole = self.open(self.log_attribute().as_str());
        for (tag, text) in &self.texts {
            whole.push_str(&line(tag, &escape::xml(text)));
        }
        for list in &self.lists {
            whole.push_str(&list.within(usize::MAX));
        }
        whole.push_str(&self.close());
        (whole.len() <= room).then_some(whole)
    }

    /// The element cut to `room`, which is at least its [`minimum`](Element::minimum).
    ///
    /// The pointer to the full log goes in before longer texts do: it leads to all of them. Every
    /// text and list then gets an equal part of the room that is left, and what one does not need
    /// goes to the next.
    pub(super) fn within(&self, room: usize) -> String {
        if let Some(whole) = self.whole_within(room) {
            return whole;
        }
        let mut spare = room.saturating_sub(self.minimum());
        let log = Some(self.log_attribute()).filter(|log| log.len() <= spare).unwrap_or_default();
        spare -= log.len();

        let mut cut = self.open(&log);
        let mut sharers = self.texts.len() + self.lists.len();
        let mut claim = |spare: usize| {
            let part = spare.checked_div(sharers).unwrap_or(0);
            sharers = sharers.saturating_sub(1);
            part
        };
        for (tag, text) in &self.texts {
            let least = least_len(text);
            let text = escape::xml_within(text, least + claim(spare));
            spare = spare.saturating_sub(text.len().saturating_sub(least));
            cut.push_str(&line(tag, &text));
        }
        for list in &self.lists {
            let list = list.within(claim(spare));
            spare = spare.saturating_sub(list.len());
            cut.push_str(&list);
        }
        cut.push_str(&self.close());
        cut
    }

    /// The fewest bytes the element can be cut to: no log, no lists, the beginning of every text.
    pub(super) fn minimum(&self) -> usize {
        let texts = self.texts.iter().map(|(tag, text)| line(tag, "").len() + least_len(text));
        self.open("").len() + texts.sum::<usize>() + self.close().len()
    }

    /// The length of the whole element, or `most` if it is longer than that.
    pub(super) fn len_up_to(&self, most: usize) -> usize {
        self.whole_within(most).map_or(most, |whole| whole.len())
    }

    fn raw_len(&self) -> usize {
        let texts = self.texts.iter().map(|(_, text)| text.len());
        let lists = self.lists.iter().flat_map(|list| list.texts).map(String::len);
        texts.chain(lists).fold(0, usize::saturating_add)
    }

    fn open(&self, log: &str) -> String {
        format!(
            "<{} id=\"{}\" status=\"{}\"{log}>\n",
            self.tag,
            escape::xml(&self.frame.id),
            self.frame.status
        )
    }

    fn close(&self) -> String {
        format!("</{}>\n", self.tag)
    }

    fn log_attribute(&self) -> String {
        let path = self.frame.log_path.as_ref();
        path.map(|path| format!(" log=\"{}\"", escape::xml(path))).unwrap_or_default()
    }
}

impl List<'_> {
    /// The list with as many items as fit and the others counted, or nothing.
    fn within(&self, room: usize) -> String {
        let List { tag, item, texts } = self;
        let Some(mut left) = room.checked_sub(enclose(tag, "", texts.len()).len()) else {
            return String::new();
        };
        let mut inner = String::new();
        let mut shown = 0;
        for text in *texts {
            if text.len() > left {
                break;
            }
            let line = line(item, &escape::xml(text));
            let Some(rest) = left.checked_sub(line.len()) else { break };
            left = rest;
            inner.push_str(&line);
            shown += 1;
        }
        enclose(tag, &inner, texts.len() - shown)
    }
}

/// A list element that says how many of its items it leaves out. No later count is longer than the
/// first one, so its length with everything left out is the room to set aside.
pub(super) fn enclose(tag: &str, items: &str, omitted: usize) -> String {
    match omitted {
        0 => format!("<{tag}>\n{items}</{tag}>\n"),
        _ => format!("<{tag} omitted=\"{omitted}\">\n{items}</{tag}>\n"),
    }
}

fn line(tag: &str, escaped: &str) -> String {
    format!("<{tag}>{escaped}</{tag}>\n")
}

fn least_len(text: &str) -> usize {
    escape::xml_within(text, LEAST_TEXT_BYTES).len()
}
