//! What a note is about: sources that have certain records, sources by name, or a platform.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

use arrow::datatypes::Int64Type;
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::prelude::{SessionContext, col, lit};

use crate::column;
use crate::error::{Error, Result};
use crate::query::{collect, frame};
use crate::store::Store;

/// Names that a message lists.
const LISTED: usize = 8;

/// What a note is about.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Subject {
    /// The records for which this SQL over `records` holds.
    Where(String),
    /// The sources of this name, or with names that match this pattern (`*` and `?`).
    Source(String),
    /// All of a platform.
    Platform(String),
}

/// Something that a note applies to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Target {
    /// The source; `None` where it is all of the platform.
    pub source_id: Option<i64>,
    /// Name of the source.
    pub source: Option<String>,
    /// The platform, or that of the source.
    pub platform: Option<String>,
    /// Records that were meant when it was noted.
    pub record_count: u64,
}

impl Target {
    /// Has the other one something of this?
    pub(super) fn meets(&self, other: &Self) -> bool {
        match (self.source_id, other.source_id) {
            (Some(own), Some(other)) => own == other,
            _ => self.platform.is_some() && self.platform == other.platform,
        }
    }
}

/// What this is, now; never nothing.
pub(super) async fn targets(store: &Store, about: &Subject) -> Result<Vec<Target>> {
    let context = store.session().await?;
    match about {
        Subject::Where(predicate) => of_records(&context, predicate.trim()).await,
        Subject::Source(pattern) => of_sources(&context, pattern).await,
        Subject::Platform(platform) => of_platform(&context, platform).await,
    }
}

/// The sources of records, and how many of these each has.
async fn of_records(context: &SessionContext, predicate: &str) -> Result<Vec<Target>> {
    let sql = format!("SELECT source_id FROM records WHERE {predicate}");
    let records = frame(context, &sql).await?;
    let counted = vec![count(lit(1)).alias("record_count")];
    let counted = records.aggregate(vec![col("source_id")], counted);
    let batches = counted.map_err(Error::Query)?.collect().await;
    let mut counts: BTreeMap<i64, u64> = BTreeMap::new();
    for batch in batches.map_err(Error::Query)? {
        let number = |name| column::numbers::<Int64Type>(&batch, name);
        let (ids, records) = (number("source_id")?, number("record_count")?);
        let records = records.values().iter().map(|count| count.unsigned_abs());
        counts.extend(ids.values().iter().copied().zip(records));
    }
    if counts.is_empty() {
        return Err(Error::Argument {
            name: "where",
            reason: format!(
                "`{predicate}` holds for no record\nhint: try it first: tsql \"SELECT * FROM records WHERE {predicate}\""
            ),
        });
    }
    let mut found = files(context).await?;
    found.retain_mut(|(target, _)| {
        let own = target.source_id.and_then(|id| counts.get(&id));
        target.record_count = own.copied().unwrap_or(0);
        own.is_some()
    });
    Ok(found.into_iter().map(|(target, _)| target).collect())
}

/// Sources by name. Of names of the same bytes it is the one that has the records.
async fn of_sources(context: &SessionContext, pattern: &str) -> Result<Vec<Target>> {
    let all = files(context).await?;
    let name = |target: &Target| target.source.clone().unwrap_or_default();
    // What looks like a pattern may be a name.
    let is_name = all.iter().any(|(target, _)| name(target) == pattern);
    let escaped = is_name.then(|| glob::Pattern::escape(pattern));
    let matching = glob::Pattern::new(escaped.as_deref().unwrap_or(pattern));
    let matching = matching.map_err(|error| Error::Argument {
        name: "source",
        reason: format!("`{pattern}` is no pattern: {error}"),
    })?;
    let meant = all.iter();
    let meant = meant.filter(|(target, _)| matching.matches(&name(target)));
    let meant: BTreeSet<i64> = meant.map(|(_, rows_of)| *rows_of).collect();
    if meant.is_empty() {
        return Err(Error::Unknown {
            kind: "source",
            name: pattern.to_owned(),
            known: near(pattern, all.iter().map(|(target, _)| name(target))),
        });
    }
    let own = all.into_iter().map(|(target, _)| target);
    Ok(own
        .filter(|target| target.source_id.is_some_and(|id| meant.contains(&id)))
        .collect())
}

/// All sources by name, each with the one that has its records.
async fn files(context: &SessionContext) -> Result<Vec<(Target, i64)>> {
    let sql = "SELECT source_id, record_count, name, platform, coalesce(same_as, source_id) AS rows_of \
        FROM sources ORDER BY name";
    let mut all = Vec::new();
    for batch in collect(context, sql).await? {
        let number = |name| column::numbers::<Int64Type>(&batch, name);
        let text = |name| column::text(&batch, name);
        let (ids, counts, rows_of) = (
            number("source_id")?,
            number("record_count")?,
            number("rows_of")?,
        );
        let (names, platforms) = (text("name")?, text("platform")?);
        for row in 0..batch.num_rows() {
            let target = Target {
                source_id: column::value(ids, row),
                source: column::text_at(names, row).map(str::to_owned),
                platform: column::text_at(platforms, row).map(str::to_owned),
                record_count: counts.value(row).unsigned_abs(),
            };
            all.push((target, rows_of.value(row)));
        }
    }
    Ok(all)
}

async fn of_platform(context: &SessionContext, platform: &str) -> Result<Vec<Target>> {
    let sql = "SELECT platform, CAST(sum(record_count) AS BIGINT) AS record_count FROM sources \
        GROUP BY platform ORDER BY platform";
    let mut known = Vec::new();
    for batch in collect(context, sql).await? {
        let platforms = column::text(&batch, "platform")?;
        let counts = column::numbers::<Int64Type>(&batch, "record_count")?;
        for row in 0..batch.num_rows() {
            if platforms.value(row) == platform {
                return Ok(vec![Target {
                    source_id: None,
                    source: None,
                    platform: Some(platform.to_owned()),
                    record_count: counts.value(row).unsigned_abs(),
                }]);
            }
            known.push(platforms.value(row).to_owned());
        }
    }
    Err(Error::Unknown {
        kind: "platform",
        name: platform.to_owned(),
        known: listed(known),
    })
}

/// The names that have the last part of what was asked for in them, or all where none has.
fn near(asked: &str, names: impl Iterator<Item = String>) -> String {
    let last = asked.rsplit('/').next().unwrap_or(asked);
    let last = last.trim_matches(['*', '?']).to_lowercase();
    let (near, others): (Vec<String>, Vec<String>) =
        names.partition(|name| !last.is_empty() && name.to_lowercase().contains(&last));
    listed(if near.is_empty() { others } else { near })
}

/// The first of these names, and how many more there are.
pub(super) fn listed(names: Vec<String>) -> String {
    let more = names.len().saturating_sub(LISTED);
    let mut first = names;
    first.truncate(LISTED);
    match (first.is_empty(), more) {
        (true, _) => "none yet".to_owned(),
        (false, 0) => first.join(", "),
        (false, more) => format!("{} and {more} more", first.join(", ")),
    }
}
