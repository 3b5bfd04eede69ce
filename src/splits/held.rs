//! Units that are held out: what a query names.

use std::collections::{BTreeMap, BTreeSet};

use arrow::array::{AsArray as _, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use datafusion::prelude::SessionContext;
use tsql_codecs::identity::Key;

use super::clusters::Clusters;
use crate::error::{Error, Result};
use crate::query::SplitUnit;
use crate::query::collect;
use crate::query::splits::{Kind, Label, Stored, place};

/// Keys that a message lists.
const LISTED: usize = 8;

/// What there is that can be held out.
pub(super) struct Known<'a> {
    pub(super) unit: SplitUnit,
    /// Keys of graphs, of the units that have such.
    pub(super) labels: &'a BTreeMap<i64, Vec<Label>>,
    pub(super) clusters: Option<&'a Clusters>,
    /// Workload keys of all graphs, and kinds of targets.
    pub(super) workloads: BTreeMap<i64, String>,
    pub(super) kinds: BTreeSet<String>,
    pub(super) platforms: BTreeSet<String>,
}

/// What a query holds out, one part for each key.
///
/// # Errors
/// [`Error::Argument`] for a query that names nothing, or what this unit has not; [`Error::Unknown`] for a key that is none.
pub(super) async fn held(
    context: &SessionContext,
    sql: &str,
    known: &Known<'_>,
) -> Result<Vec<Stored>> {
    let mut parts: BTreeMap<String, String> = BTreeMap::new();
    for batch in collect(context, sql).await? {
        for (named, part) in named(&batch)? {
            let keys = known.keys(context, &named).await?;
            for key in keys {
                let before = parts.insert(key.clone(), part.clone());
                if let Some(before) = before.filter(|before| *before != part) {
                    return Err(wrong(format!("`{key}` is to be in {before} and in {part}")));
                }
            }
        }
    }
    if parts.is_empty() {
        return Err(wrong(format!(
            "the query names no unit of the store: `{sql}`\n\
             hint: try it first: tsql \"{sql}\"; networks come from TenSet's `network_info`"
        )));
    }
    let held = parts.into_iter().map(|(key, part)| Stored {
        kind: Kind::Held,
        key,
        value: Some(part),
    });
    Ok(held.collect())
}

/// What a row of a hold-out names.
enum Named {
    Graph(i64),
    Configuration(i64),
    Key(String),
}

/// What the rows name, and the parts that they are to be in.
fn named(batch: &RecordBatch) -> Result<Vec<(Named, String)>> {
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
    let numbers = |of: fn(i64) -> Named| -> Result<Vec<Option<Named>>> {
        let ids = cast(batch.column(0), &DataType::Int64);
        let ids = ids.map_err(|error| Error::Query(error.into()))?;
        Ok(ids
            .as_primitive::<Int64Type>()
            .iter()
            .map(|id| id.map(of))
            .collect())
    };
    let named = match first.name().as_str() {
        "graph_id" => numbers(Named::Graph)?,
        "config_id" => numbers(Named::Configuration)?,
        _ => texts(0)?
            .into_iter()
            .map(|key| key.map(Named::Key))
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
        if place(&part).is_none() {
            return Err(wrong(format!("`{part}` is no part: train, valid or test")));
        }
        rows.push((named, part));
    }
    Ok(rows)
}

impl Known<'_> {
    /// The keys of what was named. All of a cluster goes together.
    async fn keys(&self, context: &SessionContext, named: &Named) -> Result<Vec<String>> {
        let unit = self.unit.word();
        match (self.unit, named) {
            (SplitUnit::Task, Named::Graph(graph)) => {
                Ok(self.workloads.get(graph).cloned().into_iter().collect())
            }
            (SplitUnit::Dag | SplitUnit::Structure | SplitUnit::Network, Named::Graph(graph)) => {
                let labels = self.labels.get(graph).into_iter().flatten();
                Ok(labels.flat_map(|label| self.together(&label.key)).collect())
            }
            (SplitUnit::Config, Named::Configuration(config)) => {
                let sql =
                    format!("SELECT config_key FROM configurations WHERE config_id = {config}");
                let mut keys = Vec::new();
                for batch in collect(context, &sql).await? {
                    let texts = batch.column(0).as_string_view().iter().flatten();
                    keys.extend(texts.map(str::to_owned));
                }
                Ok(keys)
            }
            (_, Named::Graph(_) | Named::Configuration(_)) => Err(wrong(format!(
                "a split by {unit} is not held out by such numbers\n\
                 hint: a first column with keys: `tsql describe splits`"
            ))),
            (_, Named::Key(key)) => {
                if self.has(key) {
                    return Ok(self.together(key));
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
                    known: self.near(key),
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

    fn together(&self, key: &str) -> Vec<String> {
        let cluster = self.clusters.map(|clusters| clusters.with(key));
        match cluster {
            Some(keys) if !keys.is_empty() => keys.into_iter().cloned().collect(),
            _ => vec![key.to_owned()],
        }
    }

    fn near(&self, key: &str) -> String {
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
        let meant = crate::error::nearest(key, known.iter().copied());
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

fn wrong(reason: String) -> Error {
    Error::Argument {
        name: "hold_out",
        reason,
    }
}
