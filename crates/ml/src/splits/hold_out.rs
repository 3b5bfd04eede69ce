//! Hold-outs: units that a query selects.

use std::collections::{BTreeMap, BTreeSet};

use arrow::array::{AsArray as _, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use datafusion::prelude::SessionContext;
use tsql_codecs::identity::Key;
use tsql_dialect::collect;
use tsql_dialect::splits::{Label, StoredKind, StoredPart, part_index};
use tsql_error::{Error, Result};
use tsql_session::SplitUnit;

use super::clusters::Clusters;

/// Maximum number of keys in a message.
const LISTED: usize = 8;

/// Units that can be held out.
pub(super) struct HoldOutCandidates<'a> {
    pub(super) unit: SplitUnit,
    /// Keys of graphs, for units that have them.
    pub(super) labels: &'a BTreeMap<i64, Vec<Label>>,
    pub(super) clusters: Option<&'a Clusters>,
    /// Workload keys of all graphs.
    pub(super) workloads: BTreeMap<i64, String>,
    pub(super) kinds: BTreeSet<String>,
    pub(super) platforms: BTreeSet<String>,
}

/// Returns the units that a query holds out, and their parts.
///
/// # Errors
/// [`Error::Argument`] for a query without rows, or with identifiers that the unit does not support;
/// [`Error::Unknown`] for an unknown key.
pub(super) async fn resolve_hold_out(
    context: &SessionContext,
    sql: &str,
    known: &HoldOutCandidates<'_>,
) -> Result<Vec<StoredPart>> {
    let mut parts: BTreeMap<String, String> = BTreeMap::new();
    for batch in collect(context, sql).await? {
        for (named, part) in parse_named_units(&batch)? {
            let keys = known.keys(context, &named).await?;
            for key in keys {
                let before = parts.insert(key.clone(), part.clone());
                if let Some(before) = before.filter(|before| *before != part) {
                    return Err(hold_out_error(format!(
                        "`{key}` is assigned both to {before} and to {part}"
                    )));
                }
            }
        }
    }
    if parts.is_empty() {
        return Err(hold_out_error(format!(
            "the query returns no unit of the store: `{sql}`\n\
             hint: test the query: tsql \"{sql}\"; networks come from TenSet's `network_info`"
        )));
    }
    let held = parts.into_iter().map(|(key, part)| StoredPart {
        kind: StoredKind::Held,
        key,
        value: Some(part),
    });
    Ok(held.collect())
}

/// The unit in a row of a hold-out.
enum NamedUnit {
    Graph(i64),
    Configuration(i64),
    Key(String),
}

/// Parses the units of the rows, and their parts.
fn parse_named_units(batch: &RecordBatch) -> Result<Vec<(NamedUnit, String)>> {
    let schema = batch.schema();
    let Some(first) = schema.fields().first() else {
        return Ok(Vec::new());
    };
    let texts = |place: usize| -> Result<Vec<Option<String>>> {
        let texts = cast(batch.column(place), &DataType::Utf8View);
        let texts = texts.map_err(|error| Error::Query(error.into()))?;
        let texts = texts.as_string_view().iter();
        Ok(texts.map(|text| text.map(str::to_owned)).collect())
    };
    let numbers = |of: fn(i64) -> NamedUnit| -> Result<Vec<Option<NamedUnit>>> {
        let ids = cast(batch.column(0), &DataType::Int64);
        let ids = ids.map_err(|error| Error::Query(error.into()))?;
        Ok(ids
            .as_primitive::<Int64Type>()
            .iter()
            .map(|id| id.map(of))
            .collect())
    };
    let named = match first.name().as_str() {
        "graph_id" => numbers(NamedUnit::Graph)?,
        "config_id" => numbers(NamedUnit::Configuration)?,
        _ => texts(0)?
            .into_iter()
            .map(|key| key.map(NamedUnit::Key))
            .collect(),
    };
    let parts = match schema.index_of("part") {
        Ok(place) if place > 0 => texts(place)?,
        _ => vec![Some("test".to_owned()); batch.num_rows()],
    };
    let mut rows = Vec::with_capacity(batch.num_rows());
    for (named, part) in named.into_iter().zip(parts) {
        let Some((named, part)) = named.zip(part) else {
            continue;
        };
        if part_index(&part).is_none() {
            return Err(hold_out_error(format!(
                "`{part}` is not a part, expected train, valid or test"
            )));
        }
        rows.push((named, part));
    }
    Ok(rows)
}

impl HoldOutCandidates<'_> {
    /// Returns the keys of a unit. Keys of one cluster stay together.
    async fn keys(&self, context: &SessionContext, named: &NamedUnit) -> Result<Vec<String>> {
        let unit = self.unit.word();
        match (self.unit, named) {
            (SplitUnit::Task, NamedUnit::Graph(graph)) => {
                Ok(self.workloads.get(graph).cloned().into_iter().collect())
            }
            (
                SplitUnit::Dag | SplitUnit::Structure | SplitUnit::Network,
                NamedUnit::Graph(graph),
            ) => {
                let labels = self.labels.get(graph).into_iter().flatten();
                Ok(labels
                    .flat_map(|label| self.cluster_keys(&label.key))
                    .collect())
            }
            (SplitUnit::Config, NamedUnit::Configuration(config)) => {
                let sql =
                    format!("SELECT config_key FROM configurations WHERE config_id = {config}");
                let mut keys = Vec::new();
                for batch in collect(context, &sql).await? {
                    let texts = batch.column(0).as_string_view().iter().flatten();
                    keys.extend(texts.map(str::to_owned));
                }
                Ok(keys)
            }
            (_, NamedUnit::Graph(_) | NamedUnit::Configuration(_)) => Err(hold_out_error(format!(
                "a split by {unit} does not support numbers for held-out units\n\
                 hint: return keys in the first column: `tsql describe splits`"
            ))),
            (_, NamedUnit::Key(key)) => {
                if self.has(key) {
                    return Ok(self.cluster_keys(key));
                }
                Err(Error::Unknown {
                    kind: match self.unit {
                        SplitUnit::Config => "configuration (by config_key)",
                        SplitUnit::Task => {
                            "task (by workload_key, or with a space and target_kind)"
                        }
                        SplitUnit::Network => "network",
                        SplitUnit::Platform => "platform",
                        _ => "DAG or structure",
                    },
                    name: key.clone(),
                    known: self.suggestions(key),
                })
            }
        }
    }

    fn has(&self, key: &str) -> bool {
        match self.unit {
            SplitUnit::Config => Key::parse(key).is_some(),
            SplitUnit::Platform => self.platforms.contains(key),
            SplitUnit::Task => {
                let bare = key
                    .rsplit_once(' ')
                    .filter(|(_, kind)| self.kinds.contains(*kind));
                let mut workloads = self.workloads.values();
                workloads.any(|own| own == key || bare.is_some_and(|(bare, _)| own == bare))
            }
            _ => self.labels.values().flatten().any(|label| label.key == key),
        }
    }

    fn cluster_keys(&self, key: &str) -> Vec<String> {
        let cluster = self.clusters.map(|clusters| clusters.keys_with(key));
        match cluster {
            Some(keys) if !keys.is_empty() => keys.into_iter().cloned().collect(),
            _ => vec![key.to_owned()],
        }
    }

    fn suggestions(&self, key: &str) -> String {
        let known: BTreeSet<&str> = match self.unit {
            SplitUnit::Platform => self.platforms.iter().map(String::as_str).collect(),
            SplitUnit::Task => self.workloads.values().map(String::as_str).collect(),
            SplitUnit::Config => BTreeSet::new(),
            _ => {
                let labels = self.labels.values().flatten();
                labels.map(|label| label.key.as_str()).collect()
            }
        };
        if known.is_empty() {
            return "none of this kind".to_owned();
        }
        let meant = tsql_error::nearest(key, known.iter().copied());
        let others = known.iter().copied().filter(|other| Some(*other) != meant);
        let mut listed: Vec<&str> = meant.into_iter().chain(others).collect();
        let more = listed.len().saturating_sub(LISTED);
        listed.truncate(LISTED);
        match more {
            0 => listed.join(", "),
            more => format!("{} and {more} more", listed.join(", ")),
        }
    }
}

fn hold_out_error(reason: String) -> Error {
    Error::Argument {
        name: "hold_out",
        reason,
    }
}
