//! Values on their way to a back end and back.

use std::borrow::Cow;
use std::error::Error as StdError;

use bytes::{BufMut, BytesMut};
use tokio_postgres::types::{self, IsNull, Type, to_sql_checked};

use super::Error;
use crate::StoreError;

/// What a column holds. Both back ends know these five alone.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value<'v> {
    Null,
    Int(i64),
    Real(f64),
    Text(Cow<'v, str>),
    Blob(&'v [u8]),
}

/// What can be given to a statement.
pub(crate) trait ToSql {
    fn value(&self) -> Value<'_>;
}

/// What can be read from a column.
pub(crate) trait FromSql: Sized {
    /// Or what is wrong with it.
    fn of(value: Value<'_>) -> Result<Self, String>;
}

/// The values of a statement: `[]`, `[one]`, `[two, alike]` or `params![of, any, kind]`.
pub(crate) trait Params {
    fn with<T>(self, work: impl FnOnce(&[&dyn ToSql]) -> T) -> T;
}

macro_rules! params {
    ($($value:expr),* $(,)?) => {
        &[$(&$value as &dyn $crate::sql::ToSql),*] as &[&dyn $crate::sql::ToSql]
    };
}
pub(crate) use params;

impl Params for &[&dyn ToSql] {
    fn with<T>(self, work: impl FnOnce(&[&dyn ToSql]) -> T) -> T {
        work(self)
    }
}

impl Params for [&dyn ToSql; 0] {
    fn with<T>(self, work: impl FnOnce(&[&dyn ToSql]) -> T) -> T {
        work(&self)
    }
}

macro_rules! arrays {
    ($($length:literal)*) => { $(
        impl<V: ToSql> Params for [V; $length] {
            fn with<T>(self, work: impl FnOnce(&[&dyn ToSql]) -> T) -> T {
                work(&self.each_ref().map(|value| value as &dyn ToSql))
            }
        }
    )* };
}
arrays!(1 2 3 4 5 6);

impl<T: ToSql + ?Sized> ToSql for &T {
    fn value(&self) -> Value<'_> {
        (**self).value()
    }
}

impl<T: ToSql> ToSql for Option<T> {
    fn value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null, ToSql::value)
    }
}

macro_rules! integers {
    ($($integer:ty)*) => { $(
        impl ToSql for $integer {
            fn value(&self) -> Value<'_> {
                Value::Int(i64::from(*self))
            }
        }
        impl FromSql for $integer {
            fn of(value: Value<'_>) -> Result<$integer, String> {
                let Value::Int(found) = value else { return Err(not("a number", &value)) };
                found.try_into().map_err(|_| format!("{found} is out of range"))
            }
        }
    )* };
}
integers!(i64 i32 u32 u16 u8);

impl ToSql for bool {
    fn value(&self) -> Value<'_> {
        Value::Int((*self).into())
    }
}

impl ToSql for f64 {
    fn value(&self) -> Value<'_> {
        Value::Real(*self)
    }
}

impl ToSql for str {
    fn value(&self) -> Value<'_> {
        Value::Text(Cow::Borrowed(self))
    }
}

impl ToSql for String {
    fn value(&self) -> Value<'_> {
        self.as_str().value()
    }
}

impl ToSql for [u8] {
    fn value(&self) -> Value<'_> {
        Value::Blob(self)
    }
}

impl ToSql for Vec<u8> {
    fn value(&self) -> Value<'_> {
        Value::Blob(self)
    }
}

impl<const N: usize> ToSql for [u8; N] {
    fn value(&self) -> Value<'_> {
        Value::Blob(self)
    }
}

impl<T: FromSql> FromSql for Option<T> {
    fn of(value: Value<'_>) -> Result<Option<T>, String> {
        if value == Value::Null { Ok(None) } else { T::of(value).map(Some) }
    }
}

impl FromSql for bool {
    fn of(value: Value<'_>) -> Result<bool, String> {
        i64::of(value).map(|number| number != 0)
    }
}

impl FromSql for f64 {
    fn of(value: Value<'_>) -> Result<f64, String> {
        match value {
            Value::Real(found) => Ok(found),
            Value::Int(found) => Ok(found as f64),
            other => Err(not("a number", &other)),
        }
    }
}

impl FromSql for String {
    fn of(value: Value<'_>) -> Result<String, String> {
        match value {
            Value::Text(text) => Ok(text.into_owned()),
            other => Err(not("text", &other)),
        }
    }
}

impl FromSql for Vec<u8> {
    fn of(value: Value<'_>) -> Result<Vec<u8>, String> {
        match value {
            Value::Blob(bytes) => Ok(bytes.to_owned()),
            other => Err(not("bytes", &other)),
        }
    }
}

impl<const N: usize> FromSql for [u8; N] {
    fn of(value: Value<'_>) -> Result<[u8; N], String> {
        let Value::Blob(bytes) = value else { return Err(not("bytes", &value)) };
        bytes.try_into().map_err(|_| format!("{} bytes instead of {N}", bytes.len()))
    }
}

fn not(wanted: &str, found: &Value<'_>) -> String {
    let found = match found {
        Value::Null => "nothing",
        Value::Int(_) | Value::Real(_) => "a number",
        Value::Text(_) => "text",
        Value::Blob(_) => "bytes",
    };
    format!("it is {found}, not {wanted}")
}

impl<'v> Value<'v> {
    pub(super) fn of_sqlite(value: rusqlite::types::ValueRef<'v>) -> Result<Value<'v>, Error> {
        use rusqlite::types::ValueRef;
        let odd = |error: std::str::Utf8Error| StoreError::Damaged { reason: error.to_string() };
        Ok(match value {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(number) => Value::Int(number),
            ValueRef::Real(number) => Value::Real(number),
            ValueRef::Text(text) => Value::Text(Cow::Borrowed(std::str::from_utf8(text).map_err(odd)?)),
            ValueRef::Blob(bytes) => Value::Blob(bytes),
        })
    }

    pub(super) fn of_postgres(row: &'v tokio_postgres::Row, column: usize) -> Result<Value<'v>, Error> {
        let read: Result<Column<'v>, _> = row.try_get(column);
        let read = read.map_err(|error| StoreError::Damaged { reason: error.to_string() })?;
        Ok(read.0)
    }
}

impl rusqlite::ToSql for dyn ToSql + '_ {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        use rusqlite::types::{ToSqlOutput, Value as Owned, ValueRef};
        Ok(match self.value() {
            Value::Null => ToSqlOutput::Owned(Owned::Null),
            Value::Int(number) => ToSqlOutput::Owned(Owned::Integer(number)),
            Value::Real(number) => ToSqlOutput::Owned(Owned::Real(number)),
            Value::Text(Cow::Borrowed(text)) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Value::Text(Cow::Owned(text)) => ToSqlOutput::Owned(Owned::Text(text)),
            Value::Blob(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
        })
    }
}

/// PostgreSQL's text has no NUL. It is written with a character that is none, and so is that one.
const ESCAPE: char = '\u{10fffe}';

fn escaped(text: &str) -> Cow<'_, str> {
    if text.contains(['\0', ESCAPE]) {
        let text = text.replace(ESCAPE, &format!("{ESCAPE}1"));
        Cow::Owned(text.replace('\0', &format!("{ESCAPE}0")))
    } else {
        Cow::Borrowed(text)
    }
}

fn unescaped(text: &str) -> Cow<'_, str> {
    if text.contains(ESCAPE) {
        let text = text.replace(&format!("{ESCAPE}0"), "\0");
        Cow::Owned(text.replace(&format!("{ESCAPE}1"), &ESCAPE.to_string()))
    } else {
        Cow::Borrowed(text)
    }
}

/// A value as PostgreSQL takes it: as the type the statement wants.
#[derive(Debug)]
pub(crate) struct Given<'v>(pub Value<'v>);

impl types::ToSql for Given<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match (&self.0, kind) {
            (Value::Null, _) => return Ok(IsNull::Yes),
            (Value::Int(number), &Type::INT8) => out.put_i64(*number),
            (Value::Int(number), &Type::INT4) => out.put_i32(i32::try_from(*number)?),
            (Value::Int(number), &Type::BOOL) => out.put_u8((*number != 0).into()),
            (Value::Int(number), &Type::FLOAT8) => out.put_f64(*number as f64),
            (Value::Int(number), &Type::TEXT) => out.put_slice(number.to_string().as_bytes()),
            (Value::Real(number), &Type::FLOAT8) => out.put_f64(*number),
            (Value::Text(text), _) => out.put_slice(escaped(text).as_bytes()),
            (Value::Blob(bytes), &Type::BYTEA) => out.put_slice(bytes),
            (value, kind) => return Err(format!("{value:?} is no {kind}").into()),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

struct Column<'v>(Value<'v>);

impl<'v> types::FromSql<'v> for Column<'v> {
    fn from_sql(kind: &Type, raw: &'v [u8]) -> Result<Column<'v>, Box<dyn StdError + Sync + Send>> {
        let text = |raw| std::str::from_utf8(raw);
        Ok(Column(match *kind {
            Type::INT8 => Value::Int(i64::from_be_bytes(raw.try_into()?)),
            Type::INT4 => Value::Int(i32::from_be_bytes(raw.try_into()?).into()),
            Type::BOOL => Value::Int(raw.first().copied().unwrap_or(0).into()),
            Type::FLOAT8 => Value::Real(f64::from_be_bytes(raw.try_into()?)),
            Type::FLOAT4 => Value::Real(f32::from_be_bytes(raw.try_into()?).into()),
            Type::BYTEA => Value::Blob(raw),
            _ => Value::Text(unescaped(text(raw)?)),
        }))
    }

    fn from_sql_null(_: &Type) -> Result<Column<'v>, Box<dyn StdError + Sync + Send>> {
        Ok(Column(Value::Null))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_postgresql_does_not_take_comes_back_as_it_was() {
        for text in ["", "plain", "a\0b", "\0", "\u{10fffe}", "\u{10fffe}0\0\u{10fffe}1", "é\0"] {
            let kept = escaped(text);
            assert!(!kept.contains('\0'));
            assert_eq!(unescaped(&kept), text, "{text:?}");
        }
        assert!(matches!(escaped("plain"), Cow::Borrowed(_)));
    }
}
