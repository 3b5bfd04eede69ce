//! Groups by what all rows of a file share, a platform or a dataset, need no hash table.
//!
//! DataFusion looks the name of the platform up for each row, which takes a seventh of many questions. Here each batch is looked at once: its rows
//! go to the sums of their group together.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray as _, RecordBatch};
use arrow::compute::partition;
use arrow::datatypes::SchemaRef;
use datafusion::common::cast::as_boolean_array;
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::metrics::BaselineMetrics;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::unnest::UnnestExec;
use futures::StreamExt as _;

use super::in_place::{Made, Operator};
use super::kept::KeptColumnsExec;
use crate::store::scan_of_store;

/// Aggregates whose state does not grow with the rows.
const BOUNDED: [&str; 12] = [
    "avg",
    "bool_and",
    "bool_or",
    "corr",
    "count",
    "max",
    "min",
    "stddev",
    "stddev_pop",
    "sum",
    "var",
    "var_pop",
];

/// Aggregates whose state is the values themselves: these are handed on before they are many.
const GROWING: [&str; 1] = ["percentile_cont"];

/// Rows whose values are handed on at a time; few in tests, so that they are there.
const MANY_ROWS: usize = if cfg!(test) { 3 } else { 1 << 18 };

/// An aggregate and which rows count for it.
#[derive(Clone, Debug)]
struct Part {
    aggregate: Arc<AggregateFunctionExpr>,
    filter: Option<Arc<dyn PhysicalExpr>>,
}

/// The first half of an aggregation: what each thread has of each group.
#[derive(Debug)]
pub(super) struct ByFile {
    /// The groups' columns in the input.
    keys: Arc<[usize]>,
    parts: Vec<Part>,
    /// Does the state of one of them grow with the rows?
    is_growing: bool,
}

impl Operator for ByFile {
    const NAME: &'static str = "ByFileExec";

    /// For groups by columns that are of files.
    fn of(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Self>> {
        let aggregate = node.downcast_ref::<AggregateExec>();
        Ok(aggregate.and_then(Self::of_aggregate))
    }

    fn execute(
        &self,
        rows: SendableRecordBatchStream,
        made: Made,
        _: &Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let metrics = BaselineMetrics::new(&made.metrics, made.part);
        let (keys, parts) = (Arc::clone(&self.keys), self.parts.clone());
        let most_rows = if self.is_growing {
            MANY_ROWS
        } else {
            usize::MAX
        };
        let schema = Arc::clone(&made.schema);
        let states = futures::stream::try_unfold(Some(rows), move |rows| {
            let (metrics, schema) = (metrics.clone(), Arc::clone(&made.schema));
            let groups = Groups::new(Arc::clone(&keys), &parts);
            async move {
                let (Some(mut rows), mut groups) = (rows, groups?) else {
                    return Ok(None);
                };
                let mut gathered_rows = 0;
                let mut batch = rows.next().await;
                while let Some(found) = batch {
                    let timer = metrics.elapsed_compute().timer();
                    let found = found?;
                    gathered_rows += found.num_rows();
                    groups.add(&found)?;
                    timer.done();
                    batch = match gathered_rows < most_rows {
                        true => rows.next().await,
                        false => break,
                    };
                }
                let rows = (gathered_rows >= most_rows).then_some(rows);
                let states = groups.finish(&schema)?;
                metrics.record_output(states.num_rows());
                Ok(Some((states, rows)))
            }
        });
        let states = states.filter(|states| {
            let is_any = states.as_ref().map_or(true, |states| states.num_rows() > 0);
            std::future::ready(is_any)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, states)))
    }
}

impl ByFile {
    fn of_aggregate(aggregate: &AggregateExec) -> Option<Self> {
        let (input, groups) = (aggregate.input(), aggregate.group_expr());
        let is_plain = *aggregate.mode() == AggregateMode::Partial
            && groups.is_single()
            && !groups.expr().is_empty()
            && aggregate.limit_options().is_none();
        let keys = groups.expr().iter().filter(|_| is_plain);
        let keys = keys.map(|(key, _)| column(key).filter(|key| is_of_file(input, *key)));
        let keys: Vec<usize> = keys.collect::<Option<_>>()?;
        let parts = aggregate.aggr_expr().iter().zip(aggregate.filter_expr());
        let parts = parts.map(|(aggregate, filter)| {
            let name = aggregate.fun().name();
            // Those that grow are told apart by the order of their values only.
            let is_known = GROWING.contains(&name)
                || (BOUNDED.contains(&name) && aggregate.order_bys().is_empty());
            let is_known =
                is_known && aggregate.groups_accumulator_supported() && !aggregate.is_distinct();
            is_known.then(|| Part {
                aggregate: Arc::clone(aggregate),
                filter: filter.clone(),
            })
        });
        let parts: Vec<Part> = parts.collect::<Option<_>>()?;
        let is_growing = |part: &Part| GROWING.contains(&part.aggregate.fun().name());
        (!keys.is_empty()).then(|| Self {
            keys: keys.into(),
            is_growing: parts.iter().any(is_growing),
            parts,
        })
    }
}

fn column(expr: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    expr.downcast_ref::<Column>().map(Column::index)
}

/// Do all rows that this plan makes of a file have the same value in a column?
fn is_of_file(plan: &Arc<dyn ExecutionPlan>, place: usize) -> bool {
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        let place = match filter.projection() {
            Some(places) => places.get(place).copied(),
            None => Some(place),
        };
        return place.is_some_and(|place| is_of_file(filter.input(), place));
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let place = projection.expr().get(place);
        let place = place.and_then(|expr| column(&expr.expr));
        return place.is_some_and(|place| is_of_file(projection.input(), place));
    }
    if let Some(unnest) = plan.downcast_ref::<UnnestExec>() {
        let (lists, input) = (unnest.list_column_indices(), unnest.input());
        let keeps_places = unnest.struct_column_indices().is_empty()
            && input.schema().fields().len() == unnest.schema().fields().len()
            && lists.iter().all(|list| list.index_in_input_schema != place);
        return keeps_places && is_of_file(input, place);
    }
    if let Some(kept) = plan.downcast_ref::<KeptColumnsExec>() {
        return is_of_file(kept.plan(), place);
    }
    let Some(scan) = scan_of_store(plan) else {
        return false;
    };
    let source = scan.file_source();
    let place = match source.projection() {
        Some(columns) => columns.as_ref().get(place),
        None => return false,
    };
    let in_files = source.table_schema().file_schema().fields().len();
    let all = in_files + source.table_schema().table_partition_cols().len();
    let place = place.and_then(|expr| column(&expr.expr));
    place.is_some_and(|place| (in_files..all).contains(&place))
}

/// The groups so far, in the order in which they came: few, and most often the last one goes on.
struct Groups {
    keys: Arc<[usize]>,
    known: Vec<Vec<ScalarValue>>,
    last: usize,
    /// The group of each row of a batch.
    of_rows: Vec<usize>,
    /// What there is of each group; DataFusion's own, so that the second half of the aggregation finds what it expects.
    sums: Vec<(Part, Box<dyn GroupsAccumulator>)>,
}

impl Groups {
    fn new(keys: Arc<[usize]>, parts: &[Part]) -> Result<Self> {
        let sums = parts.iter().map(|part| {
            let sums = part.aggregate.create_groups_accumulator()?;
            Ok((part.clone(), sums))
        });
        Ok(Self {
            keys,
            known: Vec::new(),
            last: 0,
            of_rows: Vec::new(),
            sums: sums.collect::<Result<_>>()?,
        })
    }

    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let keys = self.keys.iter();
        let keys: Vec<ArrayRef> = keys
            .filter_map(|key| batch.columns().get(*key).cloned())
            .collect();
        self.of_rows.clear();
        for run in runs(&keys, batch.num_rows())? {
            let key = keys.iter();
            let key = key.map(|key| ScalarValue::try_from_array(key, run.start));
            let group = self.group(key.collect::<Result<_>>()?);
            self.of_rows.resize(run.end, group);
        }
        for (part, sums) in &mut self.sums {
            let values = part.aggregate.expressions().into_iter();
            let values = values.map(|value| value.evaluate(batch)?.into_array(batch.num_rows()));
            let values = values.collect::<Result<Vec<ArrayRef>>>()?;
            let counts = part.filter.as_ref();
            let counts = counts.map(|filter| filter.evaluate(batch)?.into_array(batch.num_rows()));
            let counts = counts.transpose()?;
            let counts = counts.as_ref().map(|counts| as_boolean_array(counts));
            let counts = counts.transpose()?;
            sums.update_batch(&values, &self.of_rows, counts, self.known.len())?;
        }
        Ok(())
    }

    /// The place of a group.
    fn group(&mut self, key: Vec<ScalarValue>) -> usize {
        if self.known.get(self.last) != Some(&key) {
            let known = self.known.iter().position(|known| *known == key);
            self.last = known.unwrap_or(self.known.len());
            if known.is_none() {
                self.known.push(key);
            }
        }
        self.last
    }

    /// A row for each: its key, then what its aggregates have.
    fn finish(self, schema: &SchemaRef) -> Result<RecordBatch> {
        if self.known.is_empty() {
            return Ok(RecordBatch::new_empty(Arc::clone(schema)));
        }
        let mut keys: Vec<Vec<ScalarValue>> = vec![Vec::new(); self.keys.len()];
        for key in self.known {
            for (column, value) in keys.iter_mut().zip(key) {
                column.push(value);
            }
        }
        let columns = keys.into_iter().map(ScalarValue::iter_to_array);
        let mut columns = columns.collect::<Result<Vec<ArrayRef>>>()?;
        for (_, mut sums) in self.sums {
            columns.extend(sums.state(EmitTo::All)?);
        }
        Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
    }
}

/// Rows after each other that have the same keys.
fn runs(keys: &[ArrayRef], rows: usize) -> Result<Vec<Range<usize>>> {
    if rows == 0 {
        return Ok(Vec::new());
    }
    Ok(match keys.iter().all(is_one_value) {
        true => std::iter::once(0..rows).collect(),
        false => partition(keys)?.ranges(),
    })
}

/// Surely one value throughout: texts that lie in the same place.
fn is_one_value(key: &ArrayRef) -> bool {
    let Some(texts) = key.as_string_view_opt().filter(|_| key.null_count() == 0) else {
        return false;
    };
    let mut views = texts.views().iter();
    let first = views.next();
    views.all(|view| Some(view) == first)
}

#[cfg(test)]
mod tests {
    use arrow::util::pretty::pretty_format_batches;
    use datafusion::prelude::SessionContext;

    use crate::Store;

    async fn answer(context: &SessionContext, sql: &str) -> String {
        let batches = context.sql(sql).await.unwrap().collect().await.unwrap();
        pretty_format_batches(&batches).unwrap().to_string()
    }

    async fn is_by_file(context: &SessionContext, sql: &str) -> bool {
        answer(context, &format!("EXPLAIN {sql}"))
            .await
            .contains("ByFileExec")
    }

    /// The sample, asked by two threads.
    async fn context() -> SessionContext {
        let store = Store::demo().await.unwrap();
        let options = crate::query::SessionOptions::default().threads(2);
        store.session_with(&options).await.unwrap()
    }

    #[tokio::test]
    async fn groups_of_files_are_those_of_a_hash_table() {
        let context = context().await;
        for aggregates in [
            "count(line + 1), sum(repeat_count * 2), min(runtime_ns + 1), max(runtime_ns - 1)",
            "count(all_cost_s), count(*) FILTER (WHERE runtime_ns > 1e5), max(error_no) FILTER (WHERE error_no > 99)",
            "round(avg(ln(runtime_ns)), 9), round(stddev(noise), 9), round(corr(runtime_ns, line), 9), round(stddev_pop(noise), 9), round(var(noise), 9), round(var_pop(noise), 9)",
            "min(CASE WHEN line % 3 = 0 THEN 'NaN'::DOUBLE ELSE runtime_ns END), max(CASE WHEN line % 3 = 0 THEN 'NaN'::DOUBLE ELSE runtime_ns END)",
            "avg(CASE WHEN platform = 'epyc-1t' THEN runtime_ns END), sum(CASE WHEN platform = 'epyc-1t' THEN line END)",
            "median(runtime_ns), quantile_cont(noise, 0.9) FILTER (WHERE line > 2), percentile_cont(0.1) WITHIN GROUP (ORDER BY runtime_ns DESC)",
            "bool_and(error_no = 0), bool_or(line > 3), sum(CAST(line AS DECIMAL(9, 2))), avg(CAST(line AS DECIMAL(9, 2))), min(CAST(line AS VARCHAR)), max(measured_at), sum(length(status))",
        ] {
            for (rows, wheres) in [
                ("records", ""),
                ("records", "WHERE error_no = 0 AND runtime_ns > 1e4"),
                ("records", "WHERE runtime_ns * 0 > 1"),
                (
                    "(SELECT *, unnest(repeats_ns) AS t FROM records) AS u",
                    "WHERE t > 0",
                ),
            ] {
                let asked = |key: &str| {
                    format!(
                        "SELECT {key} AS key, {aggregates} FROM {rows} {wheres} GROUP BY {key} ORDER BY key"
                    )
                };
                let (by_file, hashed) = (asked("platform"), asked("concat(platform, '')"));
                assert!(is_by_file(&context, &by_file).await, "{by_file}");
                assert!(!is_by_file(&context, &hashed).await, "{hashed}");
                let found = answer(&context, &by_file).await;
                assert_eq!(found, answer(&context, &hashed).await, "{by_file}");
            }
        }
    }

    #[tokio::test]
    async fn other_groups_are_hashed() {
        let context = context().await;
        for sql in [
            "SELECT error_message AS platform, count(line) FROM records GROUP BY error_message",
            "SELECT platform, graph_id, count(line + 1) FROM records GROUP BY platform, graph_id",
            "SELECT platform, median(DISTINCT line) FROM records GROUP BY platform",
            "SELECT platform, count(DISTINCT line) FROM records GROUP BY platform",
            "SELECT p, sum(line) FROM (SELECT error_message AS platform, platform AS p, line FROM records) AS r GROUP BY platform, p",
        ] {
            assert!(!is_by_file(&context, sql).await, "{sql}");
        }
        let renamed = "SELECT p, sum(line) FROM (SELECT platform AS p, line FROM records WHERE line > 1) AS r GROUP BY p";
        assert!(is_by_file(&context, renamed).await);
    }
}
