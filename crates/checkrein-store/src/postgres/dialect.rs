//! Statements as PostgreSQL writes them.

/// `?1` is `$1` there, outside of texts. A value gets its type from the first place it is used at, and `IS NULL`
/// gives it none: so `(?1 IS NULL OR name = ?1)` is said the other way round.
pub(super) fn translated(sql: &str) -> String {
    numbered(&turned(sql))
}

fn numbered(sql: &str) -> String {
    let mut quoted = false;
    let translated = sql.chars().map(|character| {
        quoted ^= character == '\'';
        if character == '?' && !quoted { '$' } else { character }
    });
    translated.collect()
}

fn turned(sql: &str) -> String {
    let mut done = String::with_capacity(sql.len());
    let mut rest = sql;
    while let Some((before, after)) = rest.split_once("(?") {
        done.push_str(before);
        match turned_group(after) {
            Some((group, after)) => {
                done.push_str(&group);
                rest = after;
            }
            None => {
                done.push_str("(?");
                rest = after;
            }
        }
    }
    done.push_str(rest);
    done
}

/// `1 IS NULL OR name = ?1) …` as `(name = ?1 OR ?1 IS NULL)`, and what comes after it.
fn turned_group(after: &str) -> Option<(String, &str)> {
    let (number, rest) = after.split_once(" IS NULL OR ")?;
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut depth = 1_u32;
    let mut quoted = false;
    for (place, character) in rest.char_indices() {
        match character {
            '\'' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let (inner, end) = rest.split_at_checked(place)?;
            return Some((format!("({} OR ?{number} IS NULL)", turned(inner)), end.strip_prefix(')')?));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_said_as_postgresql_says_them() {
        for (ours, theirs) in [
            ("a = ?1 AND b = '?2' AND c = ?10", "a = $1 AND b = '?2' AND c = $10"),
            ("(?2 IS NULL OR s = ?2) LIMIT ?3", "(s = $2 OR $2 IS NULL) LIMIT $3"),
            (
                "(?6 IS NULL OR o = ?6 OR r IN (SELECT ')' FROM t WHERE (?7 IS NULL OR x = ?7))) AND (?1, ?2)",
                "(o = $6 OR r IN (SELECT ')' FROM t WHERE (x = $7 OR $7 IS NULL)) OR $6 IS NULL) AND ($1, $2)",
            ),
            ("VALUES (?1, ?2)", "VALUES ($1, $2)"),
            ("(?1 IS NULL OR broken", "($1 IS NULL OR broken"),
        ] {
            assert_eq!(translated(ours), theirs);
        }
    }
}
