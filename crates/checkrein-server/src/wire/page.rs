use checkrein_store::Page as Stored;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Part of a list, and where the next part begins.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// Ask for the next part with it; null when this was the last one
    pub next: Option<i64>,
}

impl<T> Page<T> {
    pub fn of<R>(stored: Stored<R>, shape: impl Fn(R) -> T) -> Page<T> {
        Page { items: stored.items.into_iter().map(shape).collect(), next: stored.next }
    }
}

/// Which part of a list that is short enough to be read as a whole.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageWanted {
    /// How many at most
    #[serde(default)]
    pub limit: Limit,
    /// Go on after this cursor, as an answer names it in `next`
    #[serde(default)]
    pub after: i64,
}

impl<T> Page<T> {
    /// A part of a list whose cursor is how many came before.
    pub fn cut(items: Vec<T>, wanted: &PageWanted) -> Page<T> {
        let before = usize::try_from(wanted.after).unwrap_or_default();
        let end = before.saturating_add(wanted.limit.get());
        let next = (items.len() > end).then(|| i64::try_from(end).unwrap_or(i64::MAX));
        Page { items: items.into_iter().skip(before).take(wanted.limit.get()).collect(), next }
    }
}

/// How many items an answer has at most.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "i64")]
pub struct Limit(u16);

/// More are asked for page by page.
const LIMIT_MAX: i64 = 1000;

impl Limit {
    pub fn get(self) -> usize {
        usize::from(self.0)
    }
}

impl JsonSchema for Limit {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Limit".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "integer", "minimum": 1, "maximum": LIMIT_MAX})
    }
}

impl Default for Limit {
    fn default() -> Limit {
        Limit(100)
    }
}

impl TryFrom<i64> for Limit {
    type Error = String;

    fn try_from(number: i64) -> Result<Limit, String> {
        let fits = (1..=LIMIT_MAX).contains(&number);
        let limit = u16::try_from(number).ok().filter(|_| fits);
        limit.map(Limit).ok_or_else(|| format!("expected a whole number from 1 to {LIMIT_MAX}"))
    }
}
