//! A term of a side as SQL over the columns of `records`.

use super::side::Kind;
use crate::error::{Error, Result};
use crate::store::At;

/// A term as SQL.
pub(super) fn condition(kind: Kind, value: &str) -> Result<String> {
    Ok(match kind {
        Kind::Platform => format!("platform = {}", quoted(value)),
        Kind::Source => of_files(&of_sources(value)),
        Kind::Label => {
            let (key, value) = value.split_once('=').unwrap_or((value, ""));
            let labelled = format!(
                "SELECT source_id FROM labels WHERE key = {} AND value = {}",
                quoted(key),
                quoted(value)
            );
            of_files(&format!("source_id IN ({labelled})"))
        }
        Kind::Time => times(value).ok_or_else(|| Error::Argument {
            name: "side",
            reason: format!(
                "`{value}` is no range of time\nhint: like 2026-11-01..2026-11-08 (the end is not in it), 2026-11-01T08:00:00Z.. or ..2026-11-08"
            ),
        })?,
        Kind::Where => value.to_owned(),
        Kind::Tag => "true".to_owned(),
    })
}

/// Records of these files; a file with the bytes of another one has its records.
fn of_files(condition: &str) -> String {
    format!("source_id IN (SELECT coalesce(same_as, source_id) FROM sources WHERE {condition})")
}

/// A text as SQL writes it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Sources of a name, in which `*` stands for any letters and `?` for one, or of a stream of that name.
pub(super) fn of_sources(name: &str) -> String {
    let mut pattern = String::new();
    for letter in name.chars() {
        match letter {
            '*' => pattern.push_str(".*"),
            '?' => pattern.push('.'),
            letter if letter.is_ascii_punctuation() => pattern.extend(['\\', letter]),
            letter => pattern.push(letter),
        }
    }
    let all = format!("^({pattern}|streams/[^/]+/{pattern}[.][a-z]+)$");
    format!("regexp_like(name, {})", quoted(&all))
}

/// A range of time as SQL: from its beginning on, and before its end. A day by itself is all of it.
pub(super) fn times(text: &str) -> Option<String> {
    let time = |text: &str| match text.trim().parse() {
        Ok(At::Time(ms)) => chrono::DateTime::from_timestamp_millis(ms),
        _ => None,
    };
    let (from, to) = match text.split_once("..") {
        Some((from, to)) => (from.trim(), to.trim().to_owned()),
        None => {
            let day: chrono::NaiveDate = text.trim().parse().ok()?;
            (text.trim(), day.succ_opt()?.to_string())
        }
    };
    let mut conditions = Vec::new();
    for (end, comparison) in [(from, ">="), (to.as_str(), "<")] {
        if !end.is_empty() {
            let at = time(end)?.to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
            conditions.push(format!("measured_at {comparison} {}", quoted(&at)));
        }
    }
    (!conditions.is_empty()).then(|| conditions.join(" AND "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_half_open() {
        assert_eq!(
            times("2026-11-01..2026-11-08T12:30:00Z").unwrap(),
            "measured_at >= '2026-11-01T00:00:00.000Z' AND measured_at < '2026-11-08T12:30:00.000Z'"
        );
        assert_eq!(
            times("..2026-11-08").unwrap(),
            "measured_at < '2026-11-08T00:00:00.000Z'"
        );
        assert_eq!(
            times("2026-11-30").unwrap(),
            "measured_at >= '2026-11-30T00:00:00.000Z' AND measured_at < '2026-12-01T00:00:00.000Z'"
        );
        for wrong in [
            "..",
            "k80",
            "a..b",
            "2026-13-01..",
            "v1..v2",
            "2026-11-30T00:00:00Z",
        ] {
            assert_eq!(times(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn names_are_patterns_of_nothing_else() {
        assert_eq!(
            of_sources("a+'b*.json"),
            r"regexp_like(name, '^(a\+\''b.*\.json|streams/[^/]+/a\+\''b.*\.json[.][a-z]+)$')"
        );
    }
}
