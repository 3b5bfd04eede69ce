//! Facts about platforms, such as their cores and peak performance, stored as rows with their sources.
//!
//! Setting a fact adds a row, and the newest row of a platform and a fact is valid. The views `platform_values` and
//! `platforms` also show facts that environments of records state, unless people have set them.

mod fact;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, StringArray, TimestampMicrosecondArray};
use arrow::datatypes::{Float64Type, TimestampMicrosecondType};
use arrow::record_batch::RecordBatch;
use datafusion::prelude::{col, lit};
use serde::Serialize;
use tsql_adapters::dedupe::write_single_file;
use tsql_dialect::collect;
use tsql_error::{Error, Result};
use tsql_schema::column;
use tsql_schema::column::arrays::{Columns, repeat_text, text_array};
use tsql_session::{SessionOptions, open_session_with};
use tsql_store::{Snapshot, Store};

use fact::checked_text;

pub use fact::{FACTS, Fact, FactValue};

/// Table of the facts that people set.
const PLATFORM_FACTS: &str = "platform_facts";

/// A fact of a platform with its source.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PlatformFact {
    /// Platform.
    pub platform: String,
    /// Name of the fact: that of its column in the view `platforms`.
    pub fact: String,
    /// Value.
    pub value: FactValue,
    /// Source of the fact.
    pub source: String,
    /// Time at which it was set, in microseconds since 1970. `None` for a fact of an environment.
    pub set_at_us: Option<i64>,
    /// Author.
    pub author: Option<String>,
}

/// Result of [`set_facts`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SetFacts {
    /// Platform.
    pub platform: String,
    /// New facts.
    pub written: Vec<PlatformFact>,
    /// Number of facts that had this value and source already.
    pub unchanged: usize,
    /// Whether the store has records of the platform.
    pub has_records: bool,
}

/// Sets facts of a platform: pairs of a name of [`FACTS`] and a value as in [`Fact::parse_value`]. All facts are stored
/// together. Facts that have the value and source already are not stored again.
///
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// use tsql_dataset::platforms::{platform_facts, set_facts};
///
/// let store = tsql_dataset::demo::create_demo().await?;
/// let peak = [("peak_flop_per_s".to_owned(), "1.5TFLOP/s".to_owned())];
/// set_facts(&store, "epyc-1t", &peak, "data sheet", None).await?;
/// assert_eq!(platform_facts(&store, "epyc-1t").await?.len(), 2);
/// # Ok::<(), tsql_error::Error>(()) }).unwrap();
/// ```
///
/// # Errors
/// [`Error::Argument`] for an invalid value, an empty source or no fact, [`Error::Unknown`] for an unknown fact,
/// [`Error::ReadOnly`] for a store at a point in history, and failures of the storage.
pub async fn set_facts(
    store: &Store,
    platform: &str,
    values: &[(String, String)],
    source: &str,
    author: Option<&str>,
) -> Result<SetFacts> {
    store.check_writable()?;
    let platform = checked_text("platform", platform)?;
    let source = checked_text("source", source)?;
    let author = author.map(str::trim).filter(|author| !author.is_empty());
    let mut new: BTreeMap<&'static str, FactValue> = BTreeMap::new();
    for (name, value) in values {
        let fact = Fact::from_name(name)?;
        new.insert(fact.name, fact.parse_value(value)?);
    }
    if new.is_empty() {
        return Err(Error::Argument {
            name: "fact",
            reason: format!(
                "no fact to set, expected one of {}",
                FACTS.map(|fact| fact.name).join(", ")
            ),
        });
    }
    let mut written = Vec::new();
    let detail = format!("set facts of {platform}");
    store
        .commit(PLATFORM_FACTS, &detail, async |snapshot: &Snapshot| {
            let known = newest_facts(store, snapshot, &platform).await?;
            let last = known.values().filter_map(|fact| fact.set_at_us).max();
            // The clock of another machine may be ahead.
            let now = chrono::Utc::now().timestamp_micros();
            let set_at = last.map_or(now, |last| now.max(last.saturating_add(1)));
            let is_new = |name: &str, value: &FactValue| {
                let known = known.get(name);
                known.is_none_or(|known| known.value != *value || known.source != source)
            };
            let changed = new.iter().filter(|(name, value)| is_new(name, value));
            written = changed
                .map(|(name, value)| PlatformFact {
                    platform: platform.clone(),
                    fact: (*name).to_owned(),
                    value: value.clone(),
                    source: source.clone(),
                    set_at_us: Some(set_at),
                    author: author.map(str::to_owned),
                })
                .collect();
            if written.is_empty() {
                return Ok(None);
            }
            write_single_file(store, PLATFORM_FACTS, columns(&written))
                .await
                .map(Some)
        })
        .await?;
    let platforms = tsql_session::platforms(store).await?;
    Ok(SetFacts {
        has_records: platforms.contains(&platform),
        unchanged: new.len() - written.len(),
        platform,
        written,
    })
}

/// Returns the known facts of a platform with their sources, including those of environments.
///
/// # Errors
/// [`Error::Unknown`] if the store has neither records nor facts of the platform, and failures of the storage.
pub async fn platform_facts(store: &Store, platform: &str) -> Result<Vec<PlatformFact>> {
    let sql = format!(
        "SELECT platform, fact, value_text, value_number, source, set_at, author FROM platform_values \
         WHERE platform = '{}' ORDER BY fact",
        platform.replace('\'', "''")
    );
    let mut facts = Vec::new();
    for batch in query(store, &sql).await? {
        facts.extend(read_facts(&batch)?);
    }
    let place = |fact: &PlatformFact| FACTS.iter().position(|one| one.name == fact.fact);
    facts.sort_by_key(place);
    if !facts.is_empty() {
        return Ok(facts);
    }
    let mut known = BTreeSet::new();
    for batch in query(store, "SELECT platform FROM platforms").await? {
        let names = column::text(&batch, "platform")?;
        known.extend(names.iter().flatten().map(str::to_owned));
    }
    if known.contains(platform) {
        return Ok(facts);
    }
    Err(Error::Unknown {
        kind: "platform",
        name: platform.to_owned(),
        known: match known.is_empty() {
            true => "none yet".to_owned(),
            false => known.into_iter().collect::<Vec<_>>().join(", "),
        },
    })
}

/// Deletes a fact that was set, with all its earlier values. A fact of an environment is then valid again.
///
/// # Errors
/// [`Error::Unknown`] for an unknown fact, [`Error::Argument`] if it was not set, and failures of the storage.
pub async fn unset_fact(store: &Store, platform: &str, fact: &str) -> Result<()> {
    store.check_writable()?;
    let (platform, fact) = (platform.trim(), Fact::from_name(fact)?.name);
    let own = col("platform").eq(lit(platform));
    let own = own.and(col("fact").eq(lit(fact)));
    let detail = format!("unset {fact} of {platform}");
    let deleted = store.delete_rows(PLATFORM_FACTS, &detail, async |_| Ok(Some(own.clone())));
    if deleted.await? > 0 {
        return Ok(());
    }
    Err(Error::Argument {
        name: "fact",
        reason: format!(
            "{fact} of platform `{platform}` was not set\n\
             hint: `tsql platform show {platform}` lists its facts; those of environments are replaced by `tsql platform set`"
        ),
    })
}

/// Returns the valid facts of a platform that people set, by name.
async fn newest_facts(
    store: &Store,
    snapshot: &Snapshot,
    platform: &str,
) -> Result<BTreeMap<String, PlatformFact>> {
    let mut newest: BTreeMap<String, PlatformFact> = BTreeMap::new();
    if snapshot.files().is_empty() {
        return Ok(newest);
    }
    let names = [
        "platform",
        "fact",
        "value_text",
        "value_number",
        "source",
        "set_at",
        "author",
    ];
    let own = col("platform").eq(lit(platform));
    let batches = store.read(PLATFORM_FACTS, snapshot, &names, Some(own));
    for batch in batches.await? {
        for fact in read_facts(&batch)? {
            let known = newest.get(&fact.fact);
            if known.is_none_or(|known| known.set_at_us < fact.set_at_us) {
                newest.insert(fact.fact.clone(), fact);
            }
        }
    }
    Ok(newest)
}

async fn query(store: &Store, sql: &str) -> Result<Vec<RecordBatch>> {
    let options = SessionOptions::default().sql(sql);
    collect(&open_session_with(store, &options).await?, sql).await
}

/// Returns the facts of rows of `platform_facts` or `platform_values`.
fn read_facts(batch: &RecordBatch) -> Result<Vec<PlatformFact>> {
    let text = |name| column::text(batch, name);
    let (platforms, facts, texts) = (text("platform")?, text("fact")?, text("value_text")?);
    let (sources, authors) = (text("source")?, text("author")?);
    let numbers = column::numbers::<Float64Type>(batch, "value_number")?;
    let times = column::numbers::<TimestampMicrosecondType>(batch, "set_at")?;
    let rows = (0..batch.num_rows()).map(|row| {
        let value =
            match column::text_at(texts, row) {
                Some(text) => FactValue::Text(text.to_owned()),
                None => FactValue::Number(column::value(numbers, row).ok_or_else(|| {
                    Error::damaged(PLATFORM_FACTS, "a fact has no value".to_owned())
                })?),
            };
        Ok(PlatformFact {
            platform: platforms.value(row).to_owned(),
            fact: facts.value(row).to_owned(),
            value,
            source: sources.value(row).to_owned(),
            set_at_us: column::value(times, row),
            author: column::text_at(authors, row).map(str::to_owned),
        })
    });
    rows.collect()
}

/// Returns the rows of facts.
fn columns(facts: &[PlatformFact]) -> Columns {
    let texts = facts.iter().map(|fact| match &fact.value {
        FactValue::Text(text) => Some(text.as_str()),
        FactValue::Number(_) => None,
    });
    let numbers = facts.iter().map(|fact| match fact.value {
        FactValue::Text(_) => None,
        FactValue::Number(number) => Some(number),
    });
    let times = facts.iter().map(|fact| fact.set_at_us);
    let times = TimestampMicrosecondArray::from_iter(times).with_timezone("UTC");
    let authors = facts.iter().map(|fact| fact.author.as_deref());
    let version = repeat_text(env!("CARGO_PKG_VERSION"), facts.len());
    Columns::from([
        (
            "platform",
            text_array(facts.iter().map(|fact| &fact.platform)),
        ),
        ("fact", text_array(facts.iter().map(|fact| &fact.fact))),
        (
            "value_text",
            Arc::new(StringArray::from_iter(texts)) as ArrayRef,
        ),
        ("value_number", Arc::new(Float64Array::from_iter(numbers))),
        ("source", text_array(facts.iter().map(|fact| &fact.source))),
        ("set_at", Arc::new(times)),
        ("author", Arc::new(StringArray::from_iter(authors))),
        ("tsql_version", version),
    ])
}

#[cfg(test)]
mod tests;
