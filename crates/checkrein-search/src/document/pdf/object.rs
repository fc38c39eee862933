//! The objects a PDF is written in.

use std::collections::HashMap;

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Number(f64),
    Name(String),
    Text(Vec<u8>),
    List(Vec<Value>),
    Map(HashMap<String, Value>),
    Reference(u32),
    /// An operator in a content, or any other word.
    Word(String),
}

impl Value {
    pub fn map(&self) -> Option<&HashMap<String, Value>> {
        if let Value::Map(map) = self { Some(map) } else { None }
    }

    pub fn name(&self) -> Option<&str> {
        if let Value::Name(name) = self { Some(name) } else { None }
    }

    pub fn number(&self) -> Option<f64> {
        if let Value::Number(number) = self { Some(*number) } else { None }
    }

    pub fn whole(&self) -> Option<usize> {
        self.number().filter(|number| (0.0..1e9).contains(number)).map(|number| number as usize)
    }
}

/// Lists in lists beyond this are no document's.
const DEPTH_MAX: usize = 24;
/// Entries of one list.
const ENTRIES_MAX: usize = 200_000;

pub struct Reader<'b> {
    pub bytes: &'b [u8],
    pub at: usize,
}

impl<'b> Reader<'b> {
    pub fn new(bytes: &'b [u8], at: usize) -> Reader<'b> {
        Reader { bytes, at }
    }

    pub fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub fn blank(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b'%' => {
                    while self.peek().is_some_and(|byte| !matches!(byte, b'\n' | b'\r')) {
                        self.at += 1
                    }
                }
                _ if is_blank(byte) => self.at += 1,
                _ => break,
            }
        }
    }

    /// None at the end, or at the end of what it stands in.
    pub fn value(&mut self) -> Option<Value> {
        self.value_at(0)
    }

    fn value_at(&mut self, depth: usize) -> Option<Value> {
        self.blank();
        if depth > DEPTH_MAX {
            self.at = self.bytes.len();
            return None;
        }
        let rest = self.bytes.get(self.at..)?;
        match *rest.first()? {
            b'/' => {
                self.at += 1;
                Some(Value::Name(unescaped(self.word())))
            }
            b'(' => Some(Value::Text(self.text())),
            b'<' if rest.get(1) == Some(&b'<') => {
                self.at += 2;
                Some(Value::Map(self.map(depth)))
            }
            b'<' => Some(Value::Text(self.hex())),
            b'[' => {
                self.at += 1;
                let mut list = Vec::new();
                while list.len() < ENTRIES_MAX
                    && let Some(value) = self.value_at(depth + 1)
                {
                    push(&mut list, value);
                }
                self.closed(b"]");
                Some(Value::List(list))
            }
            b']' | b'>' | b')' | b'{' | b'}' if depth > 0 => None,
            b']' | b'>' | b')' | b'{' | b'}' => {
                self.at += 1;
                Some(Value::Null)
            }
            _ => Some(word(self.word())),
        }
    }

    fn map(&mut self, depth: usize) -> HashMap<String, Value> {
        let mut flat = Vec::new();
        while flat.len() < ENTRIES_MAX
            && let Some(value) = self.value_at(depth + 1)
        {
            push(&mut flat, value);
        }
        self.closed(b">>");
        let mut map = HashMap::new();
        let mut flat = flat.into_iter();
        while let Some(key) = flat.next() {
            if let (Value::Name(key), Some(value)) = (key, flat.next()) {
                map.insert(key, value);
            }
        }
        map
    }

    fn closed(&mut self, by: &[u8]) {
        self.blank();
        if self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(by)) {
            self.at += by.len();
        }
    }

    fn word(&mut self) -> &'b [u8] {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let length =
            rest.iter().take_while(|byte| !is_blank(**byte) && !b"()<>[]{}/%".contains(byte)).count();
        // Something is always taken.
        let length = if length == 0 && !rest.is_empty() && !rest.starts_with(b"/") { 1 } else { length };
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    fn text(&mut self) -> Vec<u8> {
        self.at += 1;
        let (mut out, mut open) = (Vec::new(), 1);
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'(' => open += 1,
                b')' => {
                    open -= 1;
                    if open == 0 {
                        break;
                    }
                }
                b'\\' => {
                    self.escape(&mut out);
                    continue;
                }
                _ => {}
            }
            out.push(byte);
        }
        out
    }

    fn escape(&mut self, out: &mut Vec<u8>) {
        let Some(byte) = self.peek() else { return };
        self.at += 1;
        match byte {
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'0'..=b'7' => {
                let mut code = u32::from(byte - b'0');
                for _ in 0..2 {
                    let Some(digit @ b'0'..=b'7') = self.peek() else { break };
                    code = code * 8 + u32::from(digit - b'0');
                    self.at += 1;
                }
                out.push(u8::try_from(code & 0xff).unwrap_or_default());
            }
            b'\n' | b'\r' => {}
            other => out.push(other),
        }
    }

    fn hex(&mut self) -> Vec<u8> {
        self.at += 1;
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let length = rest.iter().position(|byte| *byte == b'>').unwrap_or(rest.len());
        self.at += length + 1;
        let digits: Vec<u8> = rest
            .iter()
            .take(length)
            .filter_map(|digit| char::from(*digit).to_digit(16))
            .filter_map(|digit| u8::try_from(digit).ok())
            .collect();
        digits.chunks(2).map(|pair| pair.first().unwrap_or(&0) << 4 | pair.get(1).unwrap_or(&0)).collect()
    }
}

/// `3 0 R` is one value.
fn push(list: &mut Vec<Value>, value: Value) {
    if value == Value::Word("R".to_owned())
        && let [.., Value::Number(number), Value::Number(_)] = list.as_slice()
    {
        let reference = Value::Reference(*number as u32);
        list.truncate(list.len().saturating_sub(2));
        list.push(reference);
    } else {
        list.push(value);
    }
}

fn word(bytes: &[u8]) -> Value {
    let text = String::from_utf8_lossy(bytes);
    match text.parse::<f64>() {
        Ok(number) if bytes.first().is_some_and(|byte| byte.is_ascii_digit() || b"+-.".contains(byte)) => {
            Value::Number(number)
        }
        _ if text == "null" => Value::Null,
        _ => Value::Word(text.into_owned()),
    }
}

/// `#20` in a name is a byte.
fn unescaped(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    let Some((first, rest)) = name.split_once('#') else { return name.into_owned() };
    let mut out = first.to_owned();
    for part in rest.split('#') {
        match part.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(char::from(byte));
                out.push_str(part.get(2..).unwrap_or_default());
            }
            None => out.push_str(part),
        }
    }
    out
}

pub fn is_blank(byte: u8) -> bool {
    matches!(byte, 0 | b'\t' | b'\n' | 12 | b'\r' | b' ')
}
