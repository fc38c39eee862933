//! What a page shows, as lines of text: by where its texts stand, not by how it looks.

use std::collections::HashMap;

use super::file::{File, Page, reference};
use super::font::Font;
use super::object::{Reader, Value};

/// Contents in contents.
const DEPTH_MAX: usize = 5;
/// Texts farther apart than this part of their size have a space between them.
const GAP: f64 = 200.0;
const OPERANDS_MAX: usize = 64;

pub fn text(file: &mut File<'_>, page: &Page) -> String {
    let mut bytes = Vec::new();
    for number in &page.contents {
        bytes.extend(file.data(*number).unwrap_or_default());
        bytes.push(b'\n');
    }
    let mut writing = Writing::default();
    writing.read(file, &bytes, &page.resources, 0);
    writing.out
}

#[derive(Default)]
struct Writing {
    out: String,
    /// Where the last text stood from below.
    height: f64,
}

impl Writing {
    fn read(&mut self, file: &mut File<'_>, bytes: &[u8], resources: &Value, depth: usize) {
        let mut fonts: HashMap<String, Font> = HashMap::new();
        let mut font: Option<String> = None;
        let mut operands: Vec<Value> = Vec::new();
        let mut reader = Reader::new(bytes, 0);
        while let Some(value) = reader.value() {
            let Value::Word(operator) = value else {
                if operands.len() < OPERANDS_MAX {
                    operands.push(value);
                }
                continue;
            };
            let known = font.as_ref().and_then(|name| fonts.get(name));
            match operator.as_str() {
                "Tf" => {
                    if let Some(Value::Name(name)) = operands.first() {
                        if !fonts.contains_key(name) {
                            let found = file.get(file.get(resources, "Font"), name).clone();
                            let read = Font::of(file, &found);
                            fonts.insert(name.clone(), read);
                        }
                        font = Some(name.clone());
                    }
                }
                "Tj" => self.show(known, operands.last()),
                "'" | "\"" => {
                    self.line();
                    self.show(known, operands.last());
                }
                "TJ" => {
                    if let Some(Value::List(parts)) = operands.last() {
                        for part in parts {
                            match part {
                                Value::Number(back) if *back < -GAP => self.space(),
                                Value::Number(_) => {}
                                part => self.show(known, Some(part)),
                            }
                        }
                    }
                }
                "Td" | "TD" => {
                    let down = operands.get(1).and_then(Value::number).unwrap_or(0.0);
                    if down.abs() > 0.5 { self.line() } else { self.space() }
                }
                "Tm" => {
                    let height = operands.get(5).and_then(Value::number).unwrap_or(0.0);
                    if (height - self.height).abs() > 0.5 {
                        self.line()
                    } else {
                        self.space()
                    }
                    self.height = height;
                }
                "T*" | "ET" => self.line(),
                "ID" => skip_image(&mut reader),
                "Do" if depth < DEPTH_MAX => {
                    if let Some(Value::Name(name)) = operands.first() {
                        self.form(file, resources, name, depth);
                    }
                }
                _ => {}
            }
            operands.clear();
        }
    }

    /// A content that is used in another one.
    fn form(&mut self, file: &mut File<'_>, resources: &Value, name: &str, depth: usize) {
        let objects = file.get(resources, "XObject");
        let Some(number) = file.raw(objects, name).and_then(reference) else { return };
        let form = file.get(objects, name).clone();
        if file.get(&form, "Subtype").name() != Some("Form") {
            return;
        }
        let own = match file.get(&form, "Resources") {
            Value::Null => resources.clone(),
            own => own.clone(),
        };
        if let Some(bytes) = file.data(number) {
            self.read(file, &bytes, &own, depth + 1);
        }
    }

    fn show(&mut self, font: Option<&Font>, text: Option<&Value>) {
        if let (Some(font), Some(Value::Text(bytes))) = (font, text) {
            self.out.push_str(&font.text(bytes));
        }
    }

    fn line(&mut self) {
        if !self.out.ends_with('\n') {
            self.out.push('\n');
        }
    }

    fn space(&mut self) {
        if !self.out.ends_with([' ', '\n']) {
            self.out.push(' ');
        }
    }
}

/// A picture among the operators ends with `EI`.
fn skip_image(reader: &mut Reader<'_>) {
    let rest = reader.bytes.get(reader.at..).unwrap_or_default();
    let end = rest.windows(4).position(|four| four.starts_with(b" EI") || four.starts_with(b"\nEI"));
    reader.at += end.map_or(rest.len(), |end| end + 3);
}
