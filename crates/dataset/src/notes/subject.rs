//! Subjects of notes: sources with certain records, sources by name, or a platform.

use std::collections::{BTreeMap, BTreeSet};

use arrow::datatypes::Int64Type;
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::prelude::{SessionContext, col, lit};
use serde::Serialize;
use tsql_dialect::{collect, plan_query};
use tsql_error::{Error, Result};
use tsql_schema::column;
use tsql_session::open_session;
use tsql_store::Store;

/// Maximum number of names in a message.
const LISTED: usize = 8;

/// Subject of a note.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Subject {
    /// Records that match this SQL over `records`.
    Where(String),
    /// Sources of this name, or with names that match this pattern (`*` and `?`).
    Source(String),
    /// A whole platform.
    Platform(String),
}

/// A resolved target of a note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct NoteTarget {
    /// Source. `None` for a whole platform.
    pub source_id: Option<i64>,
    /// Name of the source.
    pub source: Option<String>,
    /// Platform, or that of the source.
    pub platform: Option<String>,
    /// Number of records at the time of creation.
    pub record_count: u64,
}

impl NoteTarget {
    /// Returns whether both have common sources.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        match (self.source_id, other.source_id) {
            (Some(own), Some(other)) => own == other,
            _ => self.platform.is_some() && self.platform == other.platform,
        }
    }
}

/// Resolves the current targets. Never empty.
pub(super) async fn targets(store: &Store, about: &Subject) -> Result<Vec<NoteTarget>> {
    let context = open_session(store).await?;
    match about {
        Subject::Where(predicate) => record_targets(&context, predicate.trim()).await,
        Subject::Source(pattern) => source_targets(&context, pattern).await,
        Subject::Platform(platform) => platform_targets(&context, platform).await,
    }
}

/// Returns the sources of records, with the number of these records in each.
async fn record_targets(context: &SessionContext, predicate: &str) -> Result<Vec<NoteTarget>> {
    let sql = format!("SELECT source_id FROM records WHERE {predicate}");
    let records = plan_query(context, &sql).await?;
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
                "no record matches `{predicate}`\n\
                 hint: test the condition: tsql \"SELECT * FROM records WHERE {predicate}\""
            ),
        });
    }
    let mut found = named_sources(context).await?;
    found.retain_mut(|(target, _)| {
        let own = target.source_id.and_then(|id| counts.get(&id));
        target.record_count = own.copied().unwrap_or(0);
        own.is_some()
    });
    Ok(found.into_iter().map(|(target, _)| target).collect())
}

/// Returns sources by name. For aliases, the source that has the records.
async fn source_targets(context: &SessionContext, pattern: &str) -> Result<Vec<NoteTarget>> {
    let all = named_sources(context).await?;
    let name = |target: &NoteTarget| target.source.clone().unwrap_or_default();
    // A name may look like a pattern.
    let is_name = all.iter().any(|(target, _)| name(target) == pattern);
    let escaped = is_name.then(|| glob::Pattern::escape(pattern));
    let matching = glob::Pattern::new(escaped.as_deref().unwrap_or(pattern));
    let matching = matching.map_err(|error| Error::Argument {
        name: "source",
        reason: format!("`{pattern}` is not a valid pattern: {error}"),
    })?;
    let meant = all.iter();
    let meant = meant.filter(|(target, _)| matching.matches(&name(target)));
    let meant: BTreeSet<i64> = meant.map(|(_, rows_of)| *rows_of).collect();
    if meant.is_empty() {
        return Err(Error::Unknown {
            kind: "source",
            name: pattern.to_owned(),
            known: suggest_names(pattern, all.iter().map(|(target, _)| name(target))),
        });
    }
    let own = all.into_iter().map(|(target, _)| target);
    Ok(own
        .filter(|target| target.source_id.is_some_and(|id| meant.contains(&id)))
        .collect())
}

/// Returns all sources by name, each with the one that has its records.
async fn named_sources(context: &SessionContext) -> Result<Vec<(NoteTarget, i64)>> {
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
            let target = NoteTarget {
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

async fn platform_targets(context: &SessionContext, platform: &str) -> Result<Vec<NoteTarget>> {
    let sql = "SELECT platform, CAST(sum(record_count) AS BIGINT) AS record_count FROM sources \
        GROUP BY platform ORDER BY platform";
    let mut known = Vec::new();
    for batch in collect(context, sql).await? {
        let platforms = column::text(&batch, "platform")?;
        let counts = column::numbers::<Int64Type>(&batch, "record_count")?;
        for row in 0..batch.num_rows() {
            if platforms.value(row) == platform {
                return Ok(vec![NoteTarget {
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
        known: join_names(known),
    })
}

/// Returns the names that contain the last path component of `asked`, or all names if there are none.
fn suggest_names(asked: &str, names: impl Iterator<Item = String>) -> String {
    let last = asked.rsplit('/').next().unwrap_or(asked);
    let last = last.trim_matches(['*', '?']).to_lowercase();
    let (near, others): (Vec<String>, Vec<String>) =
        names.partition(|name| !last.is_empty() && name.to_lowercase().contains(&last));
    join_names(if near.is_empty() { others } else { near })
}

/// Joins the first names, with the number of the others.
pub(super) fn join_names(names: Vec<String>) -> String {
    let more = names.len().saturating_sub(LISTED);
    let mut first = names;
    first.truncate(LISTED);
    match (first.is_empty(), more) {
        (true, _) => "none yet".to_owned(),
        (false, 0) => first.join(", "),
        (false, more) => format!("{} and {more} more", first.join(", ")),
    }
}
