//! How much there is.

use datafusion::prelude::SessionContext;

use super::grids::first;
use crate::error::Result;

/// What is counted, and how.
const COUNTED: [(&str, &str); 7] = [
    ("records", "SELECT count(*) FROM records"),
    ("platforms", "SELECT count(DISTINCT platform) FROM records"),
    ("graphs", "SELECT count(*) FROM graphs"),
    ("configurations", "SELECT count(*) FROM configurations"),
    ("sources", "SELECT count(*) FROM sources"),
    ("samples of GraphNet", "SELECT count(*) FROM samples"),
    ("networks", "SELECT count(*) FROM networks"),
];

/// Counts with what they are; none of what the store has none of, but records.
pub(super) async fn facts(context: &SessionContext) -> Result<Vec<(String, String)>> {
    let mut facts = Vec::new();
    for (what, sql) in COUNTED {
        let count = first(context, sql).await?;
        if count != "0" || what == "records" {
            facts.push((grouped(&count), what.to_owned()));
        }
    }
    Ok(facts)
}

/// Digits with spaces between thousands.
fn grouped(digits: &str) -> String {
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}
