//! Row counts of a store.

use datafusion::prelude::SessionContext;
use tsql_error::Result;

use super::grids::single_value;

/// Names of the counts, with their queries.
const COUNTS: [(&str, &str); 7] = [
    ("records", "SELECT count(*) FROM records"),
    ("platforms", "SELECT count(DISTINCT platform) FROM records"),
    ("graphs", "SELECT count(*) FROM graphs"),
    ("configurations", "SELECT count(*) FROM configurations"),
    ("sources", "SELECT count(*) FROM sources"),
    ("GraphNet samples", "SELECT count(*) FROM samples"),
    ("networks", "SELECT count(*) FROM networks"),
];

/// Returns counts with their descriptions. Zero counts are omitted, except for records.
pub(super) async fn count_rows(context: &SessionContext) -> Result<Vec<(String, String)>> {
    let mut facts = Vec::new();
    for (name, sql) in COUNTS {
        let count = single_value(context, sql).await?;
        if count != "0" || name == "records" {
            facts.push((group_digits(&count), name.to_owned()));
        }
    }
    Ok(facts)
}

/// Formats digits with spaces between thousands.
fn group_digits(digits: &str) -> String {
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}
