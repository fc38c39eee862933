//! All objects of a PDF, found by looking for them rather than by its table, which may be damaged.

use std::collections::{HashMap, HashSet};
use std::io::Read;

use flate2::read::ZlibDecoder;

use super::super::{TEXT_BYTES_MAX, Unreadable};
use super::PAGES_MAX;
use super::object::{Reader, Value, is_blank};

/// More objects are no document's.
const OBJECTS_MAX: usize = 500_000;
const TREE_DEPTH_MAX: usize = 32;

pub struct File<'b> {
    objects: HashMap<u32, Object<'b>>,
    /// What may still be unpacked.
    room: usize,
}

struct Object<'b> {
    value: Value,
    stream: Option<&'b [u8]>,
}

/// What a page shows, and what it needs for that.
pub struct Page {
    pub contents: Vec<u32>,
    pub resources: Value,
}

impl<'b> File<'b> {
    pub fn read(bytes: &'b [u8]) -> Result<File<'b>, Unreadable> {
        let mut file = File { objects: HashMap::new(), room: TEXT_BYTES_MAX };
        let mut from = 0;
        let mut streams_of_objects = Vec::new();
        while let Some(found) = find(bytes, from, b"obj") {
            from = found + 3;
            let Some(number) = number_before(bytes, found) else { continue };
            let mut reader = Reader::new(bytes, from);
            let Some(value) = reader.value() else { continue };
            let stream = stream(bytes, &mut reader, &value);
            from = reader.at.max(from);
            if value.map().and_then(|map| map.get("Type")?.name()) == Some("ObjStm") {
                streams_of_objects.push(number);
            }
            file.objects.insert(number, Object { value, stream });
            if file.objects.len() > OBJECTS_MAX {
                break;
            }
        }
        if is_encrypted(bytes, &file) {
            return Err(Unreadable::Encrypted);
        }
        for number in streams_of_objects {
            file.unpack_objects(number);
        }
        Ok(file)
    }

    /// Objects that are packed in a stream. One that was found by itself is newer.
    fn unpack_objects(&mut self, number: u32) {
        let Some(data) = self.data(number) else { return };
        let Some(map) = self.objects.get(&number).and_then(|object| object.value.map()) else { return };
        let whole = |name: &str| map.get(name).and_then(Value::whole);
        let (Some(count), Some(first)) = (whole("N"), whole("First")) else { return };
        let mut head = Reader::new(&data, 0);
        for _ in 0..count.min(OBJECTS_MAX) {
            let (Some(id), Some(at)) = (next_whole(&mut head), next_whole(&mut head)) else { return };
            let Some(value) = Reader::new(&data, first.saturating_add(at)).value() else { continue };
            let Ok(id) = u32::try_from(id) else { continue };
            if self.objects.len() < OBJECTS_MAX {
                self.objects.entry(id).or_insert(Object { value, stream: None });
            }
        }
    }

    /// What a value stands for.
    pub fn resolve<'v>(&'v self, value: &'v Value) -> &'v Value {
        let mut value = value;
        for _ in 0..8 {
            match value {
                Value::Reference(number) => match self.objects.get(number) {
                    Some(object) => value = &object.value,
                    None => return &Value::Null,
                },
                _ => break,
            }
        }
        value
    }

    pub fn get<'v>(&'v self, map: &'v Value, name: &str) -> &'v Value {
        let found = self.resolve(map).map().and_then(|map| map.get(name));
        found.map_or(&Value::Null, |value| self.resolve(value))
    }

    /// The same, before it is looked up.
    pub fn raw<'v>(&'v self, map: &'v Value, name: &str) -> Option<&'v Value> {
        self.resolve(map).map().and_then(|map| map.get(name))
    }

    /// The bytes of a stream, unpacked; none where they are packed in a way that texts are not.
    pub fn data(&mut self, number: u32) -> Option<Vec<u8>> {
        let object = self.objects.get(&number)?;
        let bytes = object.stream?;
        let filters = match self.get(&object.value, "Filter") {
            Value::Null => Vec::new(),
            Value::List(list) => list.iter().map(|one| self.resolve(one).clone()).collect(),
            one => vec![one.clone()],
        };
        let mut data = bytes.to_vec();
        for filter in filters {
            data =
                match filter.name()? {
                    "FlateDecode" | "Fl" => inflated(&data, self.room)?,
                    "ASCIIHexDecode" | "AHx" => Reader::new(&[b"<", data.as_slice(), b">"].concat(), 0)
                        .value()
                        .and_then(|value| if let Value::Text(text) = value { Some(text) } else { None })?,
                    _ => return None,
                };
        }
        self.room = self.room.saturating_sub(data.len());
        Some(data)
    }

    /// In the order they are read in.
    pub fn pages(&self) -> Vec<Page> {
        let of_type = |wanted: &'static str| {
            let mut found: Vec<(&u32, &Object<'_>)> = self
                .objects
                .iter()
                .filter(|(_, object)| self.get(&object.value, "Type").name() == Some(wanted))
                .collect();
            found.sort_by_key(|(number, _)| **number);
            found
        };
        let mut pages = Vec::new();
        let mut seen = HashSet::new();
        for (_, catalog) in of_type("Catalog") {
            if let Some(root) = self.raw(&catalog.value, "Pages") {
                self.walk(root, &Value::Null, 0, &mut seen, &mut pages);
            }
        }
        if pages.is_empty() {
            for (_, page) in of_type("Page").into_iter().take(PAGES_MAX) {
                pages.push(self.page(&page.value, &Value::Null));
            }
        }
        pages
    }

    fn walk(
        &self,
        node: &Value,
        inherited: &Value,
        depth: usize,
        seen: &mut HashSet<u32>,
        pages: &mut Vec<Page>,
    ) {
        let new = if let Value::Reference(number) = node { seen.insert(*number) } else { true };
        if !new || depth > TREE_DEPTH_MAX || pages.len() >= PAGES_MAX {
            return;
        }
        let own = match self.get(node, "Resources") {
            Value::Null => inherited,
            own => own,
        };
        match self.get(node, "Kids") {
            Value::List(kids) => kids.iter().for_each(|kid| self.walk(kid, own, depth + 1, seen, pages)),
            _ if self.get(node, "Type").name() == Some("Page") => pages.push(self.page(node, own)),
            _ => {}
        }
    }

    fn page(&self, page: &Value, inherited: &Value) -> Page {
        let resources = match self.get(page, "Resources") {
            Value::Null => inherited.clone(),
            own => own.clone(),
        };
        let mut contents = Vec::new();
        match self.raw(page, "Contents") {
            Some(Value::List(parts)) => contents.extend(parts.iter().filter_map(reference)),
            Some(Value::Reference(number)) => match self.objects.get(number).map(|object| &object.value) {
                Some(Value::List(parts)) => contents.extend(parts.iter().filter_map(reference)),
                _ => contents.push(*number),
            },
            _ => {}
        }
        Page { contents, resources }
    }
}

pub fn reference(value: &Value) -> Option<u32> {
    if let Value::Reference(number) = value { Some(*number) } else { None }
}

fn next_whole(reader: &mut Reader<'_>) -> Option<usize> {
    reader.value()?.whole()
}

fn inflated(data: &[u8], room: usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let most = u64::try_from(room).unwrap_or(u64::MAX);
    // What is there before it breaks off is text as well.
    let read = ZlibDecoder::new(data).take(most).read_to_end(&mut out);
    (read.is_ok() || !out.is_empty()).then_some(out)
}

/// `12 0 ` before `obj`.
fn number_before(bytes: &[u8], at: usize) -> Option<u32> {
    let before = bytes.get(at.saturating_sub(24)..at)?;
    let mut words = before.rsplit(|byte| is_blank(*byte)).filter(|word| !word.is_empty());
    // With no space behind the generation, it is no object: `endobj`.
    if !before.last().is_some_and(|byte| is_blank(*byte)) {
        return None;
    }
    let generation = words.next()?;
    let number = words.next()?;
    generation.iter().all(u8::is_ascii_digit).then_some(())?;
    // What stands right before the number may be anything.
    let digits: Vec<u8> = number.iter().rev().take_while(|byte| byte.is_ascii_digit()).copied().collect();
    let digits: Vec<u8> = digits.into_iter().rev().collect();
    std::str::from_utf8(&digits).ok()?.parse().ok()
}

fn stream<'b>(bytes: &'b [u8], reader: &mut Reader<'b>, value: &Value) -> Option<&'b [u8]> {
    let map = value.map()?;
    reader.blank();
    let rest = bytes.get(reader.at..)?.strip_prefix(b"stream")?;
    let rest =
        rest.strip_prefix(b"\r\n").or(rest.strip_prefix(b"\n")).or(rest.strip_prefix(b"\r")).unwrap_or(rest);
    let begin = bytes.len() - rest.len();
    let told = map.get("Length").and_then(Value::whole).filter(|length| {
        let behind = rest.get(*length..).unwrap_or_default();
        let behind = behind.iter().position(|byte| !is_blank(*byte)).and_then(|at| behind.get(at..));
        behind.is_some_and(|behind| behind.starts_with(b"endstream"))
    });
    let length =
        told.or_else(|| find(bytes, begin, b"endstream").map(|end| end - begin)).unwrap_or(rest.len());
    reader.at = begin + length;
    rest.get(..length)
}

fn is_encrypted(bytes: &[u8], file: &File<'_>) -> bool {
    let mut from = 0;
    while let Some(found) = find(bytes, from, b"trailer") {
        from = found + 7;
        let trailer = Reader::new(bytes, from).value();
        if trailer.as_ref().and_then(|trailer| trailer.map()).is_some_and(|map| map.contains_key("Encrypt")) {
            return true;
        }
    }
    let tables = file.objects.values().filter_map(|object| object.value.map());
    tables
        .into_iter()
        .any(|map| map.get("Type").and_then(Value::name) == Some("XRef") && map.contains_key("Encrypt"))
}

fn find(bytes: &[u8], from: usize, wanted: &[u8]) -> Option<usize> {
    let rest = bytes.get(from..)?;
    let first = wanted.first()?;
    let mut at = 0;
    loop {
        at += rest.get(at..)?.iter().position(|byte| byte == first)?;
        if rest.get(at..)?.starts_with(wanted) {
            return Some(from + at);
        }
        at += 1;
    }
}
