//! What a form or a query says.

use std::convert::Infallible;

use axum::body::Bytes;
use futures_util::stream;

use crate::error::{Kind, Problem};

/// Names and values, in the order they came.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    values: Vec<(String, String)>,
    files: Vec<(String, Attached)>,
}

/// A file that came with a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    pub name: String,
    pub bytes: Vec<u8>,
}

impl Fields {
    pub fn of_query(query: &str) -> Fields {
        let values = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        Fields { values, files: Vec::new() }
    }

    /// As browsers send a form.
    pub async fn of_body(media_type: Option<&str>, body: Bytes) -> Result<Fields, Problem> {
        let media_type = media_type.unwrap_or_default();
        if let Ok(boundary) = multer::parse_boundary(media_type) {
            return Fields::of_parts(boundary, body).await;
        }
        let essence = media_type.split(';').next().unwrap_or_default().trim();
        if !body.is_empty() && !essence.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return Err(Problem::new(Kind::UnsupportedMediaType, "the body is not a form")
                .hint("programs use the interface that `/v1/openapi.json` describes"));
        }
        let text = std::str::from_utf8(&body).map_err(|_| broken("it is not UTF-8"))?;
        Ok(Fields::of_query(text))
    }

    async fn of_parts(boundary: String, body: Bytes) -> Result<Fields, Problem> {
        let mut fields = Fields::default();
        let whole = stream::once(async move { Ok::<Bytes, Infallible>(body) });
        let mut parts = multer::Multipart::new(whole, boundary);
        while let Some(part) = parts.next_field().await.map_err(broken)? {
            let name = part.name().unwrap_or_default().to_owned();
            let file = part.file_name().map(str::to_owned);
            let bytes = part.bytes().await.map_err(broken)?;
            match file {
                // What was not chosen is sent as a file without a name.
                Some(file) if file.is_empty() && bytes.is_empty() => {}
                Some(file) => fields.files.push((name, Attached { name: file, bytes: bytes.to_vec() })),
                None => {
                    let text = String::from_utf8(bytes.to_vec()).map_err(|_| broken("it is not UTF-8"))?;
                    fields.values.push((name, text));
                }
            }
        }
        Ok(fields)
    }

    /// The first value of a name, as it was sent.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// The same without white space around it, where anything is left.
    pub fn filled(&self, name: &str) -> Option<&str> {
        self.get(name).map(str::trim).filter(|value| !value.is_empty())
    }

    pub fn all<'f>(&'f self, name: &'f str) -> impl Iterator<Item = &'f str> {
        self.values.iter().filter(move |(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    pub fn files<'f>(&'f self, name: &'f str) -> impl Iterator<Item = &'f Attached> {
        self.files.iter().filter(move |(own, _)| own == name).map(|(_, file)| file)
    }
}

fn broken(why: impl std::fmt::Display) -> Problem {
    Problem::new(Kind::Malformed, format!("the form cannot be read: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(media_type: &str, body: &str) -> Result<Fields, Problem> {
        let reading = Fields::of_body(Some(media_type), Bytes::from(body.to_owned()));
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(reading)
    }

    #[test]
    fn a_form_is_read_as_browsers_send_it() {
        let form = read("application/x-www-form-urlencoded", "id=a&id=b&why=too+long%21&empty=+").unwrap();
        assert_eq!(form.all("id").collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((form.get("why"), form.filled("empty")), (Some("too long!"), None));
        let body = "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nü\r\n--x\r\n\
                    Content-Disposition: form-data; name=\"doc\"; filename=\"s.md\"\r\n\
                    Content-Type: text/markdown\r\n\r\n# hi\r\n--x\r\n\
                    Content-Disposition: form-data; name=\"doc\"; filename=\"\"\r\n\
                    Content-Type: application/octet-stream\r\n\r\n\r\n--x--\r\n";
        let form = read("multipart/form-data; boundary=x", body).unwrap();
        assert_eq!(form.get("a"), Some("ü"));
        let files: Vec<_> = form.files("doc").cloned().collect();
        assert_eq!(files, [Attached { name: "s.md".to_owned(), bytes: b"# hi".to_vec() }]);
    }

    #[test]
    fn what_is_no_form_is_refused() {
        assert_eq!(read("application/json", "{}").unwrap_err().kind, Kind::UnsupportedMediaType);
        assert_eq!(read("multipart/form-data; boundary=x", "--y").unwrap_err().kind, Kind::Malformed);
    }
}
