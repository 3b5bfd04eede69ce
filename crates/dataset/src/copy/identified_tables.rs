//! Copy of rows that are identified by content: graphs, environments, samples and others.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, BinaryViewArray, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Int64Type, Schema};
use arrow::row::{OwnedRow, RowConverter, SortField};
use datafusion::datasource::MemTable;
use datafusion::logical_expr::Expr;
use datafusion::prelude::{col, lit};
use tsql_codecs::graph::{pack_steps, unpack_steps};
use tsql_dialect::collect;
use tsql_error::{Error, Result};
use tsql_schema as schema;
use tsql_schema::column;
use tsql_store::file::{DataFile, Effort};
use tsql_store::{Change, LISTED, Snapshot, file};

use super::job::CopyJob;
use super::plan::Plan;

/// Session table of the copied sources.
const COPIED: &str = "copied_sources";

/// Tables with content identifiers, the identifier column, and queries for the identifiers that copied sources refer
/// to.
const IDENTIFIED: [(&str, &str, &[&str]); 5] = [
    (
        "graphs",
        "graph_id",
        &[
            "SELECT graph_id AS id FROM stored.all_records",
            "SELECT graph_id AS id FROM stored.sources",
            "SELECT graph_id AS id FROM stored.network_tasks",
            "SELECT graph_id AS id FROM stored.workloads",
            "SELECT s.graph_id AS id, f.source_id FROM stored.samples AS s JOIN sources AS f ON f.sample_id = s.sample_id",
        ],
    ),
    ("tasks", "graph_id", &[]),
    (
        "texts",
        "text_id",
        &[
            "SELECT text_id AS id FROM stored.sources",
            "SELECT text_id AS id FROM stored.workloads",
        ],
    ),
    (
        "samples",
        "sample_id",
        &["SELECT sample_id AS id FROM stored.sources"],
    ),
    (
        "environments",
        "environment_id",
        &["SELECT environment_id AS id FROM stored.all_records"],
    ),
];

/// Node type ids in the other store by ids in this store.
type NodeTypes = HashMap<i64, i64>;

impl CopyJob<'_> {
    /// Copies the rows of these tables that the other store does not have. Returns the number of new graphs.
    pub(super) async fn copy_identified_tables(&self, plan: &Plan) -> Result<u64> {
        self.register(plan)?;
        let (mut graphs, mut wanted_graphs) = (0, None);
        for (table, id, from) in IDENTIFIED {
            let wanted = if plan.is_whole {
                None
            } else if table == "tasks" {
                wanted_graphs.clone()
            } else {
                Some(self.referenced_ids(from).await?)
            };
            let new = self.add_identified(table, id, wanted.as_ref()).await?;
            if table == "graphs" {
                (graphs, wanted_graphs) = (new, wanted);
            }
        }
        Ok(graphs)
    }

    /// Registers the copied sources as a session table.
    fn register(&self, plan: &Plan) -> Result<()> {
        let ids: Int64Array = plan.taken.keys().copied().map(Some).collect();
        let field = Field::new("copied_id", DataType::Int64, false);
        let schema = Arc::new(Schema::new(vec![field]));
        let wrong = |error: arrow::error::ArrowError| Error::Internal(error.to_string());
        let batch =
            RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(ids)]).map_err(wrong)?;
        let table = MemTable::try_new(schema, vec![vec![batch]]).map_err(Error::Query)?;
        // An earlier attempt may have registered its own table.
        let _ = self.context.deregister_table(COPIED);
        self.context
            .register_table(COPIED, Arc::new(table))
            .map_err(Error::Query)?;
        Ok(())
    }

    /// Returns the identifiers in the results of these queries.
    async fn referenced_ids(&self, questions: &[&str]) -> Result<HashSet<i64>> {
        let mut wanted = HashSet::new();
        for question in questions {
            let source = if question.contains("f.source_id") {
                ""
            } else {
                ", source_id"
            };
            let question = question.replacen(" AS id", &format!(" AS id{source}"), 1);
            let sql = format!(
                "SELECT DISTINCT id FROM ({question}) AS q \
                 WHERE id IS NOT NULL AND source_id IN (SELECT copied_id FROM {COPIED})"
            );
            for batch in collect(&self.context, &sql).await? {
                wanted.extend(column::numbers::<Int64Type>(&batch, "id")?.values());
            }
        }
        Ok(wanted)
    }

    /// Returns the configurations that copied records refer to.
    pub(super) async fn referenced_configurations(&self) -> Result<HashSet<i64>> {
        self.referenced_ids(&["SELECT config_id AS id FROM stored.all_records"])
            .await
    }

    async fn add_identified(
        &self,
        table: &'static str,
        id: &'static str,
        wanted: Option<&HashSet<i64>>,
    ) -> Result<u64> {
        let Some(from) = self
            .from
            .snapshot(table)
            .await?
            .filter(|from| !from.files().is_empty())
        else {
            return Ok(0);
        };
        if wanted.is_some_and(HashSet::is_empty) {
            return Ok(0);
        }
        let all = self.from.frame(table, &from)?;
        let all = match wanted.filter(|wanted| wanted.len() <= LISTED) {
            Some(few) => all.filter(in_ids(id, few)).map_err(Error::Query)?,
            None => all,
        };
        let names: Vec<Expr> = stored_names(table)?.into_iter().map(col).collect();
        let all = all.select(names).map_err(Error::Query)?;
        let all = all.collect().await.map_err(Error::Query)?;
        let node_types = if table == "graphs" {
            self.map_node_types(&all, wanted).await?
        } else {
            NodeTypes::new()
        };
        let mut added = 0;
        self.to
            .commit(table, "copy", async |snapshot: &Snapshot| {
                let known = self.existing_ids(table, id, snapshot).await?;
                let is_new = |row: i64| {
                    !known.contains(&row) && wanted.is_none_or(|wanted| wanted.contains(&row))
                };
                let mut batches = Vec::new();
                for batch in &all {
                    let ids = column::numbers::<Int64Type>(batch, id)?;
                    let new: Vec<bool> = ids.values().iter().map(|id| is_new(*id)).collect();
                    let kept = filter_marked(table, batch, &new)?;
                    batches.extend(
                        kept.map(|rows| renumber_node_types(&rows, &node_types))
                            .transpose()?,
                    );
                }
                added = batches.iter().map(|batch| batch.num_rows() as u64).sum();
                self.add_rows_change(table, &batches).await
            })
            .await?;
        Ok(added)
    }

    async fn existing_ids(&self, table: &str, id: &str, at: &Snapshot) -> Result<HashSet<i64>> {
        let mut known = HashSet::new();
        if at.files().is_empty() {
            return Ok(known);
        }
        for batch in self.to.read(table, at, &[id], None).await? {
            known.extend(column::numbers::<Int64Type>(&batch, id)?.values());
        }
        Ok(known)
    }

    /// Returns the change that adds rows. `None` without rows.
    pub(super) async fn add_rows_change(
        &self,
        table: &str,
        batches: &[RecordBatch],
    ) -> Result<Option<Change>> {
        if batches.is_empty() {
            return Ok(None);
        }
        let written = self.write_rows(table, &[], batches).await?;
        Ok(Some(Change {
            add: vec![written],
            ..Change::default()
        }))
    }

    /// Writes rows of a table of the other store.
    pub(super) async fn write_rows(
        &self,
        table: &str,
        partition: &[(String, Option<String>)],
        batches: &[RecordBatch],
    ) -> Result<DataFile> {
        let table = schema::table(table)?;
        let batches = batches.iter().map(|rows| file::fit_to_schema(table, rows));
        let batches = batches.collect::<Result<Vec<_>>>()?;
        file::write(
            self.to.location(),
            table,
            partition,
            &batches,
            Effort::Ingest,
        )
        .await
    }

    /// Assigns ids in the other store to node types, and adds missing ones.
    async fn map_node_types(
        &self,
        graphs: &[RecordBatch],
        wanted: Option<&HashSet<i64>>,
    ) -> Result<NodeTypes> {
        const TABLE: &str = "node_types";
        let mut used = HashSet::new();
        for batch in graphs {
            let ids = column::numbers::<Int64Type>(batch, "graph_id")?;
            let types = column::bytes(batch, "types")?;
            for row in 0..batch.num_rows() {
                if wanted.is_none_or(|wanted| wanted.contains(&ids.value(row)))
                    && let Some(packed) = column::bytes_at(types, row)
                {
                    used.extend(unpack_numbers(packed)?);
                }
            }
        }
        let from = self.from.snapshot(TABLE).await?;
        let Some(from) = from.filter(|from| !from.files().is_empty() && !used.is_empty()) else {
            return Ok(NodeTypes::new());
        };
        let names = stored_names(TABLE)?;
        let own = self.from.read(TABLE, &from, &names, None).await?;
        let mut numbers = NodeTypes::new();
        self.to
            .commit(TABLE, "copy", async |snapshot: &Snapshot| {
                numbers.clear();
                let mut keys = RowKeys::default();
                let mut known: HashMap<OwnedRow, i64> = HashMap::new();
                let mut next = 0;
                if !snapshot.files().is_empty() {
                    for batch in self.to.read(TABLE, snapshot, &names, None).await? {
                        let ids = column::numbers::<Int64Type>(&batch, "node_type_id")?;
                        next = ids.values().iter().fold(next, |next, id| next.max(id + 1));
                        let rows = keys.encode(&batch, &["node_type_id"])?;
                        known.extend(rows.into_iter().zip(ids.values().iter().copied()));
                    }
                }
                let mut batches = Vec::new();
                for batch in &own {
                    let ids = column::numbers::<Int64Type>(batch, "node_type_id")?;
                    let mut new = vec![false; batch.num_rows()];
                    let mut given = ids.values().to_vec();
                    for (row, key) in keys
                        .encode(batch, &["node_type_id"])?
                        .into_iter()
                        .enumerate()
                    {
                        let id = ids.value(row);
                        if !used.contains(&id) {
                            continue;
                        }
                        let number = match known.get(&key) {
                            Some(number) => *number,
                            None => {
                                known.insert(key, next);
                                if let (Some(new), Some(given)) =
                                    (new.get_mut(row), given.get_mut(row))
                                {
                                    (*new, *given) = (true, next);
                                }
                                next += 1;
                                next - 1
                            }
                        };
                        numbers.insert(id, number);
                    }
                    let given: ArrayRef = Arc::new(Int64Array::from(given));
                    let batch = replace_column(batch, "node_type_id", given)?;
                    batches.extend(filter_marked(TABLE, &batch, &new)?);
                }
                self.add_rows_change(TABLE, &batches).await
            })
            .await?;
        Ok(numbers)
    }
}

fn in_ids(id: &str, ids: &HashSet<i64>) -> Expr {
    col(id).in_list(ids.iter().map(|id| lit(*id)).collect(), false)
}

/// Returns the file columns of a table.
pub(super) fn stored_names(table: &str) -> Result<Vec<&'static str>> {
    let table = schema::table(table)?;
    let stored = table.stored_columns();
    let stored = stored.filter(|column| !table.partition.contains(&column.name));
    Ok(stored.map(|column| column.name.as_str()).collect())
}

/// Returns the marked rows. `None` if there are none.
pub(super) fn filter_marked(
    table: &str,
    rows: &RecordBatch,
    marked: &[bool],
) -> Result<Option<RecordBatch>> {
    if !marked.contains(&true) {
        return Ok(None);
    }
    let marked = arrow::array::BooleanArray::from(marked.to_vec());
    let rows = arrow::compute::filter_record_batch(rows, &marked);
    rows.map(Some)
        .map_err(|error| Error::damaged(table, error.to_string()))
}

/// Replaces a column.
pub(super) fn replace_column(rows: &RecordBatch, name: &str, new: ArrayRef) -> Result<RecordBatch> {
    let schema = rows.schema();
    let columns = schema.fields().iter().zip(rows.columns());
    let columns = columns.map(|(field, column)| {
        if field.name() == name {
            Arc::clone(&new)
        } else {
            Arc::clone(column)
        }
    });
    let rows = RecordBatch::try_new(Arc::clone(&schema), columns.collect());
    rows.map_err(|error| Error::damaged(name, error.to_string()))
}

/// Replaces the node type ids of graphs by those of the other store.
fn renumber_node_types(graphs: &RecordBatch, numbers: &NodeTypes) -> Result<RecordBatch> {
    if numbers.iter().all(|(own, number)| own == number) {
        return Ok(graphs.clone());
    }
    let types = column::bytes(graphs, "types")?;
    let mut renumbered = Vec::with_capacity(types.len());
    for row in 0..types.len() {
        let packed = column::bytes_at(types, row).map(|packed| {
            let number = |own| numbers.get(&own).copied();
            let new: Option<Vec<i64>> = unpack_numbers(packed)?.into_iter().map(number).collect();
            let new = new.ok_or_else(|| Error::damaged("graphs", "a node type is missing"))?;
            Ok::<_, Error>(pack_steps(&new))
        });
        renumbered.push(packed.transpose()?);
    }
    let renumbered: BinaryViewArray = renumbered.iter().map(Option::as_deref).collect();
    replace_column(graphs, "types", Arc::new(renumbered))
}

fn unpack_numbers(types: &[u8]) -> Result<Vec<i64>> {
    let wrong = || Error::damaged("graphs", "node types that cannot be read");
    unpack_steps(types).ok_or_else(wrong)
}

/// Encoder of rows as comparable keys.
#[derive(Default)]
pub(super) struct RowKeys(Option<RowConverter>);

impl RowKeys {
    /// Encodes each row without these columns.
    pub(super) fn encode(&mut self, rows: &RecordBatch, without: &[&str]) -> Result<Vec<OwnedRow>> {
        let wrong = |error: arrow::error::ArrowError| Error::Internal(error.to_string());
        let schema = rows.schema();
        let columns = schema.fields().iter().zip(rows.columns());
        let columns = columns.filter(|(field, _)| !without.contains(&field.name().as_str()));
        let columns: Vec<ArrayRef> = columns.map(|(_, column)| Arc::clone(column)).collect();
        let fields = columns
            .iter()
            .map(|column| SortField::new(column.data_type().clone()));
        let converter = match &mut self.0 {
            Some(converter) => converter,
            None => self
                .0
                .insert(RowConverter::new(fields.collect()).map_err(wrong)?),
        };
        let rows = converter.convert_columns(&columns).map_err(wrong)?;
        Ok(rows.iter().map(|row| row.owned()).collect())
    }
}
