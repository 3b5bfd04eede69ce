//! Definition of a split: a row of `splits`.

use arrow::array::{AsArray as _, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use datafusion::prelude::SessionContext;
use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_128;

use super::unit::SplitUnit;
use tsql_error::{Error, Result};
use tsql_schema::column;

/// Kind of a line of `split_units`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoredKind {
    /// A unit with an explicit part.
    Held,
    /// A key of a cluster.
    Member,
    /// A network that existed at creation.
    Known,
    /// Start of a part.
    Cut,
}

/// A stored fact about a split that does not follow from keys.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StoredPart {
    /// Kind of the key.
    pub kind: StoredKind,
    /// The key.
    pub key: String,
    /// The part or label of the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// A version of a split.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SplitDefinition {
    /// Name of the split.
    pub name: String,
    /// Version: 1 for the first definition of this name, then consecutive.
    pub version: i64,
    /// Unit that is never divided between parts.
    pub unit: SplitUnit,
    /// Weights of the parts, as in `80:10:10`.
    pub ratio: String,
    /// Seed of the hash that draws the parts.
    pub seed: i64,
    /// Preset that defines the split.
    pub preset: Option<String>,
    /// Known leak of the definition.
    pub warning: Option<String>,
    /// Query whose rows are split; `None` for all records.
    pub query: Option<String>,
    /// Query whose units were held out.
    pub hold_out: Option<String>,
    /// Number of units at the time of creation.
    pub unit_count: i64,
    /// XXH3-128 of unit, ratio, seed and all stored keys. Equal digests are the same split, in any store.
    pub digest: String,
    /// Time of creation, in microseconds since 1970.
    pub created_at_us: i64,
    /// Keys with an explicit part or label.
    #[serde(skip)]
    pub stored: Vec<StoredPart>,
}

impl SplitDefinition {
    /// Returns `NAME@VERSION`, the argument of `split('NAME@VERSION')`.
    #[must_use]
    pub fn full_name(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }
}

/// Stored lines of a split as JSON, always in the same order.
pub fn stored_lines(stored: &[StoredPart]) -> Result<String> {
    let mut sorted: Vec<&StoredPart> = stored.iter().collect();
    sorted.sort();
    let mut lines = String::new();
    for one in sorted {
        let line = serde_json::to_string(one);
        lines += &line.map_err(|error| Error::Internal(error.to_string()))?;
        lines.push('\n');
    }
    Ok(lines)
}

/// Fingerprint of a split, equal in any store, in hexadecimal digits.
pub fn digest(unit: SplitUnit, ratio: &str, seed: i64, lines: &str) -> String {
    let said = format!("tsql-split-1\n{}\n{ratio}\n{seed}\n{lines}", unit.word());
    format!("{:032x}", XxHash3_128::oneshot(said.as_bytes()))
}

/// All versions of all splits, by name and version.
///
/// # Errors
/// [`Error::Damaged`] for an invalid row, and storage failures.
pub async fn all_definitions(context: &SessionContext) -> Result<Vec<SplitDefinition>> {
    let sql = "SELECT name, version, unit, ratio, seed, preset, warning, query, hold_out, unit_count, digest, \
        CAST(created_at AS BIGINT) AS created_at_us, units FROM stored.splits ORDER BY name, version";
    let frame = context.sql(sql).await.map_err(Error::Query)?;
    let mut all = Vec::new();
    for batch in frame.collect().await.map_err(Error::Query)? {
        definitions_of_batch(&batch, &mut all)?;
    }
    Ok(all)
}

fn definitions_of_batch(batch: &RecordBatch, all: &mut Vec<SplitDefinition>) -> Result<()> {
    let text = |name| column::text(batch, name);
    let number = |name| column::numbers::<Int64Type>(batch, name);
    let (names, units, ratios) = (text("name")?, text("unit")?, text("ratio")?);
    let (presets, warnings) = (text("preset")?, text("warning")?);
    let (queries, holds) = (text("query")?, text("hold_out")?);
    let (digests, lines) = (text("digest")?, text("units")?);
    let (versions, seeds) = (number("version")?, number("seed")?);
    let (counts, times) = (number("unit_count")?, number("created_at_us")?);
    for row in 0..batch.num_rows() {
        let own = |column| column::text_at(column, row).map(str::to_owned);
        let broken = |what: String| Error::damaged("splits", what);
        let lines = lines.value(row).lines();
        let stored = lines.map(serde_json::from_str::<StoredPart>);
        let stored = stored.collect::<std::result::Result<Vec<_>, _>>();
        all.push(SplitDefinition {
            name: names.value(row).to_owned(),
            version: versions.value(row),
            unit: SplitUnit::parse(units.value(row)).map_err(|error| broken(error.to_string()))?,
            ratio: ratios.value(row).to_owned(),
            seed: seeds.value(row),
            preset: own(presets),
            warning: own(warnings),
            query: own(queries),
            hold_out: own(holds),
            unit_count: counts.value(row),
            digest: digests.value(row).to_owned(),
            created_at_us: times.value(row),
            stored: stored.map_err(|error| broken(error.to_string()))?,
        });
    }
    Ok(())
}

/// Finds a split by `NAME@VERSION`, or the newest version by `NAME`.
///
/// # Errors
/// [`Error::Unknown`] if there is none.
pub async fn find_definition(context: &SessionContext, name: &str) -> Result<SplitDefinition> {
    let all = all_definitions(context).await?;
    let (wanted, version) = match name.rsplit_once('@') {
        Some((wanted, version)) => (wanted, Some(version)),
        None => (name, None),
    };
    let is_it = |one: &&SplitDefinition| {
        let is_version = version.is_none_or(|version| one.version.to_string() == version);
        one.name == wanted && is_version
    };
    let found = all.iter().rev().find(is_it);
    found.cloned().ok_or_else(|| {
        let mut known: Vec<String> = Vec::new();
        for one in &all {
            if version.is_some() {
                known.push(one.full_name());
            } else if known.last() != Some(&one.name) {
                known.push(one.name.clone());
            }
        }
        let none = "no splits; `tsql split create NAME --unit task` creates one";
        Error::Unknown {
            kind: "split",
            name: name.to_owned(),
            known: if known.is_empty() {
                none.to_owned()
            } else {
                known.join(", ")
            },
        }
    })
}

/// A column of a batch as text, for any text type.
pub(super) fn text_column(batch: &RecordBatch, place: usize) -> Result<Vec<Option<String>>> {
    let column = cast(batch.column(place), &DataType::Utf8View);
    let column = column.map_err(|error| Error::Query(error.into()))?;
    let texts = column.as_string_view().iter();
    Ok(texts.map(|text| text.map(str::to_owned)).collect())
}

/// A column of a batch as integers.
pub(super) fn number_column(batch: &RecordBatch, place: usize) -> Result<Vec<Option<i64>>> {
    let column = cast(batch.column(place), &DataType::Int64);
    let column = column.map_err(|error| Error::Query(error.into()))?;
    let numbers = column.as_primitive::<Int64Type>();
    Ok((0..numbers.len())
        .map(|row| column::value(numbers, row))
        .collect())
}

/// Collects all rows of an internal query.
pub(super) async fn run_internal(context: &SessionContext, sql: &str) -> Result<Vec<RecordBatch>> {
    let frame = context.sql(sql).await.map_err(Error::Query)?;
    frame.collect().await.map_err(Error::Query)
}
