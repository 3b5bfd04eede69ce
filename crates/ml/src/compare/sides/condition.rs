//! Translation of a term of a side to SQL over the columns of `records`.

use tsql_error::{Error, Result};
use tsql_store::At;

use super::side::TermKind;

/// Returns the SQL condition of a term.
pub(in crate::compare) fn condition(kind: TermKind, value: &str) -> Result<String> {
    Ok(match kind {
        TermKind::Platform => format!("platform = {}", quote_literal(value)),
        TermKind::Source => source_files_condition(&source_name_condition(value)),
        TermKind::Label => {
            let (key, value) = value.split_once('=').unwrap_or((value, ""));
            let labelled = format!(
                "SELECT source_id FROM labels WHERE key = {} AND value = {}",
                quote_literal(key),
                quote_literal(value)
            );
            source_files_condition(&format!("source_id IN ({labelled})"))
        }
        TermKind::Time => time_range(value).ok_or_else(|| Error::Argument {
            name: "side",
            reason: format!(
                "`{value}` is not a time range\n\
                 hint: use 2026-11-01..2026-11-08 (without the end), 2026-11-01T08:00:00Z.. or \
                 ..2026-11-08"
            ),
        })?,
        TermKind::Where => value.to_owned(),
        TermKind::Tag => "true".to_owned(),
    })
}

/// Condition for records of these files. A file with the same content as another one shares its records.
fn source_files_condition(condition: &str) -> String {
    format!("source_id IN (SELECT coalesce(same_as, source_id) FROM sources WHERE {condition})")
}

/// Quotes a text as a SQL literal.
fn quote_literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Sources by name, with the wildcards `*` (any characters) and `?` (one character), or by the name of their stream.
pub(in crate::compare) fn source_name_condition(name: &str) -> String {
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
    format!("regexp_like(name, {})", quote_literal(&all))
}

/// Condition for a time range, excluding its end. A single day means the whole day.
pub(in crate::compare) fn time_range(text: &str) -> Option<String> {
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
            conditions.push(format!("measured_at {comparison} {}", quote_literal(&at)));
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
            time_range("2026-11-01..2026-11-08T12:30:00Z").unwrap(),
            "measured_at >= '2026-11-01T00:00:00.000Z' AND measured_at < '2026-11-08T12:30:00.000Z'"
        );
        assert_eq!(
            time_range("..2026-11-08").unwrap(),
            "measured_at < '2026-11-08T00:00:00.000Z'"
        );
        assert_eq!(
            time_range("2026-11-30").unwrap(),
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
            assert_eq!(time_range(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn names_are_patterns_of_nothing_else() {
        assert_eq!(
            source_name_condition("a+'b*.json"),
            r"regexp_like(name, '^(a\+\''b.*\.json|streams/[^/]+/a\+\''b.*\.json[.][a-z]+)$')"
        );
    }
}
