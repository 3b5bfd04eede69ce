//! Creates splits: everything that does not follow from keys is computed and stored.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray as _, TimestampMicrosecondArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use datafusion::prelude::SessionContext;
use serde::Serialize;
use tsql_adapters::dedupe::write_single_file;
use tsql_dialect::splits::{
    Label, SplitDefinition, StoredKind, StoredPart, digest, labels_of_graphs, stored_lines,
};
use tsql_error::{Error, Result};
use tsql_functions::part_of_split::Ratios;
use tsql_schema::column;
use tsql_schema::column::arrays::{Columns, int64_array as numbers, repeat_text};
use tsql_session::SplitUnit;
use tsql_store::{Snapshot, Store};

use super::catalog::{SPLITS, highest_version, load_with_parts, version_counter};
use super::clusters::Clusters;
use super::cuts::{integers, line_cuts, time_cuts};
use super::hold_out::{HoldOutCandidates, resolve_hold_out};
use super::options::SplitOptions;
use super::part_count::PartCount;
use super::scope::Scope;
use super::session::split_session;

/// Maximum length of a split name, in bytes.
const LONGEST_NAME: usize = 100;

/// A created split, and its parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CreatedSplit {
    /// The split.
    pub split: SplitDefinition,
    /// False if its newest version was equal, and nothing was written.
    pub is_new: bool,
    /// Its parts, over the rows of the split.
    pub parts: Vec<PartCount>,
}

/// Creates the next version of the split `name`; if its newest version has the same digest, returns that
/// version.
///
/// # Errors
/// [`Error::Argument`] for an invalid name, ratio or query; [`Error::Empty`] if there is nothing to split;
/// [`Error::Unknown`] if a hold-out names an unknown unit; [`Error::ReadOnly`] for a store at an old
/// version, and failures of the storage. On errors nothing is written.
pub async fn create_split(
    store: &Store,
    name: &str,
    options: &SplitOptions,
) -> Result<CreatedSplit> {
    store.check_writable()?;
    if let Some(reason) = invalid_name_reason(name) {
        return Err(argument_error("name", reason));
    }
    let ratios = Ratios::parse(&options.ratio);
    let ratios = ratios.map_err(|error| argument_error("ratio", error.strip_backtrace()))?;
    let made = plan_units(store, options, ratios).await?;
    let lines = stored_lines(&made.stored)?;
    let digest = digest(options.unit, &options.ratio, options.seed, &lines);
    let (mut version, mut is_new) = (0, false);
    let detail = format!("split {name}");
    store
        .commit(SPLITS, &detail, async |snapshot: &Snapshot| {
            let last = latest_version(store, snapshot, name).await?;
            is_new = last.as_ref().is_none_or(|(_, known)| *known != digest);
            version = last.map_or(0, |(version, _)| version);
            if !is_new {
                return Ok(None);
            }
            version = version.max(highest_version(snapshot, name).await?) + 1;
            let row = SplitRow {
                name,
                version,
                units: &lines,
                digest: &digest,
                unit_count: made.unit_count,
            };
            let mut change = write_single_file(store, SPLITS, split_columns(&row, options)).await?;
            change.transactions = vec![(version_counter(name), version)];
            Ok(Some(change))
        })
        .await?;
    let full_name = format!("{name}@{version}");
    let (split, parts) = load_with_parts(store, &full_name).await?;
    Ok(CreatedSplit {
        split,
        is_new,
        parts,
    })
}

/// Stored entries of a split, and its number of units.
struct PlannedUnits {
    stored: Vec<StoredPart>,
    unit_count: usize,
}

async fn plan_units(store: &Store, options: &SplitOptions, ratios: Ratios) -> Result<PlannedUnits> {
    let query = options.query.as_deref();
    let context = split_session(store, &[query, options.hold_out.as_deref()]).await?;
    let scope = Scope::try_new(&context, query, options.unit.columns()).await?;
    let unit = options.unit;
    let mut stored = Vec::new();
    let mut labels = BTreeMap::new();
    let mut clusters = None;
    let unit_count = if unit.is_of_graphs() {
        labels = in_scope(&scope, labels_of_graphs(&context, unit).await?).await?;
        let own = build_clusters(unit, &labels);
        stored.extend(stored_members(unit, &own));
        let count = own.count();
        clusters = Some(own);
        count
    } else {
        match unit {
            SplitUnit::Time => stored.extend(time_cuts(&scope, ratios).await?),
            SplitUnit::Line => stored.extend(line_cuts(&scope, ratios).await?),
            _ => {}
        }
        count_units(&scope, unit).await?
    };
    if unit_count == 0 {
        let rows = query.map_or("the store", |_| "the query");
        return Err(Error::Empty(format!(
            "the split has no units: {rows} has no record with a {}{}",
            unit.word(),
            match unit {
                SplitUnit::Network => "\nhint: networks come from TenSet's `network_info`",
                _ => "",
            }
        )));
    }
    if let Some(sql) = &options.hold_out {
        if !unit.is_hashed() {
            let reason = format!("a split by {} does not support held-out units", unit.word());
            return Err(argument_error("hold_out", reason));
        }
        let known = load_candidates(&context, unit, &labels, clusters.as_ref()).await?;
        let held = resolve_hold_out(&context, sql, &known).await?;
        let keys: BTreeSet<&String> = held.iter().map(|one| &one.key).collect();
        stored.retain(|one| one.kind != StoredKind::Member || !keys.contains(&one.key));
        stored.extend(held);
    }
    Ok(PlannedUnits { stored, unit_count })
}

/// Filters the keys by graphs that have rows in the scope.
async fn in_scope(
    scope: &Scope<'_>,
    mut labels: BTreeMap<i64, Vec<Label>>,
) -> Result<BTreeMap<i64, Vec<Label>>> {
    let mut graphs = BTreeSet::new();
    for batch in scope.collect("SELECT DISTINCT graph_id FROM $rows").await? {
        graphs.extend(integers(&batch, 0)?);
    }
    labels.retain(|graph, _| graphs.contains(graph));
    Ok(labels)
}

/// Builds clusters of keys. Tasks connect nearly all networks, which would be one cluster, so each network is a
/// cluster by itself.
fn build_clusters(unit: SplitUnit, labels: &BTreeMap<i64, Vec<Label>>) -> Clusters {
    if unit != SplitUnit::Network {
        return Clusters::from_graphs(labels.values());
    }
    let single: Vec<Vec<Label>> = labels
        .values()
        .flatten()
        .map(|label| vec![label.clone()])
        .collect();
    Clusters::from_graphs(&single)
}

fn stored_members(unit: SplitUnit, clusters: &Clusters) -> Vec<StoredPart> {
    if unit == SplitUnit::Network {
        let known = clusters.keys().map(|key| StoredPart {
            kind: StoredKind::Known,
            key: key.clone(),
            value: None,
        });
        return known.collect();
    }
    let members = clusters.members().map(|(key, first)| StoredPart {
        kind: StoredKind::Member,
        key: key.clone(),
        value: Some(first.clone()),
    });
    members.collect()
}

/// Counts the units in the scope, for units that are not keys of graphs.
async fn count_units(scope: &Scope<'_>, unit: SplitUnit) -> Result<usize> {
    let sql = match unit {
        SplitUnit::Task => {
            "SELECT count(*) FROM (SELECT DISTINCT r.graph_id, e.target_kind FROM $rows AS r \
             JOIN environments AS e ON e.environment_id = r.environment_id)"
        }
        SplitUnit::Config => "SELECT count(DISTINCT config_id) FROM $rows",
        SplitUnit::Platform => "SELECT count(DISTINCT platform) FROM $rows",
        SplitUnit::Time => "SELECT count(measured_at) FROM $rows",
        SplitUnit::Line => "SELECT count(DISTINCT source_id) FROM $rows",
        _ => "SELECT count(DISTINCT graph_id) FROM $rows WHERE split IS NOT NULL",
    };
    let mut count = 0;
    for batch in scope.collect(sql).await? {
        count += integers(&batch, 0)?.into_iter().sum::<i64>();
    }
    Ok(usize::try_from(count).unwrap_or_default())
}

/// Loads the units that can be held out.
async fn load_candidates<'a>(
    context: &SessionContext,
    unit: SplitUnit,
    labels: &'a BTreeMap<i64, Vec<Label>>,
    clusters: Option<&'a Clusters>,
) -> Result<HoldOutCandidates<'a>> {
    let texts = async |sql: &str| -> Result<BTreeSet<String>> {
        let mut texts = BTreeSet::new();
        for batch in tsql_dialect::collect(context, sql).await? {
            let column = cast(batch.column(0), &DataType::Utf8View);
            let column = column.map_err(|error| Error::Query(error.into()))?;
            texts.extend(column.as_string_view().iter().flatten().map(str::to_owned));
        }
        Ok(texts)
    };
    let (mut workloads, mut kinds, mut platforms) =
        (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
    match unit {
        SplitUnit::Task => {
            kinds = texts("SELECT DISTINCT target_kind FROM environments").await?;
            let sql = "SELECT graph_id, workload_key FROM stored.graphs";
            for batch in tsql_dialect::collect(context, sql).await? {
                let ids = column::numbers::<Int64Type>(&batch, "graph_id")?;
                let keys = column::text(&batch, "workload_key")?;
                let pairs = ids.values().iter().zip(keys.iter());
                workloads.extend(pairs.filter_map(|(id, key)| Some((*id, key?.to_owned()))));
            }
        }
        SplitUnit::Platform => platforms = texts("SELECT DISTINCT platform FROM records").await?,
        _ => {}
    }
    Ok(HoldOutCandidates {
        unit,
        labels,
        clusters,
        workloads,
        kinds,
        platforms,
    })
}

/// Returns the latest version of a split in a snapshot, and its digest.
async fn latest_version(
    store: &Store,
    snapshot: &Snapshot,
    name: &str,
) -> Result<Option<(i64, String)>> {
    let mut last: Option<(i64, String)> = None;
    if snapshot.files().is_empty() {
        return Ok(last);
    }
    let columns = ["name", "version", "digest"];
    for batch in store.read(SPLITS, snapshot, &columns, None).await? {
        let (names, digests) = (
            column::text(&batch, "name")?,
            column::text(&batch, "digest")?,
        );
        let versions = column::numbers::<Int64Type>(&batch, "version")?;
        for row in (0..batch.num_rows()).filter(|&row| names.value(row) == name) {
            let version = versions.value(row);
            if last.as_ref().is_none_or(|(known, _)| *known < version) {
                last = Some((version, digests.value(row).to_owned()));
            }
        }
    }
    Ok(last)
}

/// Values of the row of a split besides its options.
struct SplitRow<'a> {
    name: &'a str,
    version: i64,
    units: &'a str,
    digest: &'a str,
    unit_count: usize,
}

fn split_columns(row: &SplitRow, options: &SplitOptions) -> Columns {
    let text = |text: &str| repeat_text(text, 1);
    let maybe =
        |text: Option<&str>| -> ArrayRef { Arc::new(arrow::array::StringArray::from(vec![text])) };
    let now = vec![chrono::Utc::now().timestamp_micros()];
    let now: ArrayRef = Arc::new(TimestampMicrosecondArray::from(now).with_timezone("UTC"));
    let count = i64::try_from(row.unit_count).unwrap_or(i64::MAX);
    Columns::from([
        ("name", text(row.name)),
        ("version", numbers([row.version])),
        ("unit", text(options.unit.word())),
        ("ratio", text(&options.ratio)),
        ("seed", numbers([options.seed])),
        ("preset", maybe(options.preset)),
        ("warning", maybe(options.warning)),
        ("query", maybe(options.query.as_deref())),
        ("hold_out", maybe(options.hold_out.as_deref())),
        ("unit_count", numbers([count])),
        ("digest", text(row.digest)),
        ("created_at", now),
        ("tsql_version", text(env!("CARGO_PKG_VERSION"))),
        ("units", text(row.units)),
    ])
}

/// Returns why a text is not a valid split name.
fn invalid_name_reason(name: &str) -> Option<String> {
    let is_plain = |one: char| one.is_ascii_alphanumeric() || "._-+/".contains(one);
    let is_name = !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(is_plain);
    let reason = || {
        format!(
            "`{name}` is not a valid split name, expected at most {LONGEST_NAME} characters a-z, \
             A-Z, 0-9 and . - _ + /; tsql assigns the version"
        )
    };
    (!is_name).then(reason)
}

pub(super) fn argument_error(name: &'static str, reason: impl Into<String>) -> Error {
    Error::Argument {
        name,
        reason: reason.into(),
    }
}
