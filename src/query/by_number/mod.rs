//! Groups by one whole number, such as `config_id`, of which there are millions: numbers that were given out one after another are looked
//! up by their places, and not in a hash table, most of which is waited for.
//!
//! It is the second half of an aggregation, which adds up what threads have. Where memory does not suffice, DataFusion's operator goes on with what there
//! is of each group, and writes it to files.

mod handed;
mod numbers;

use std::sync::Arc;
use std::task::Poll;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::{DataFusionError, Result, internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode, aggregate_expressions};
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, InputOrderMode};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use super::in_place::{Made, Operator};
use handed::handed;
pub(super) use numbers::Numbers;

/// Such groups, added up.
#[derive(Debug)]
pub(super) struct ByNumber {
    /// DataFusion's operator.
    theirs: Arc<dyn ExecutionPlan>,
}

impl Operator for ByNumber {
    const NAME: &'static str = "ByNumberExec";

    fn of(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Self>> {
        let Some(aggregate) = node.downcast_ref::<AggregateExec>() else {
            return Ok(None);
        };
        let groups = aggregate.group_expr();
        let [(key, _)] = groups.expr() else {
            return Ok(None);
        };
        let mut aggregates = aggregate.aggr_expr().iter();
        let is_ours = *aggregate.mode() == AggregateMode::FinalPartitioned
            && groups.is_single()
            && aggregate.limit_options().is_none()
            && *aggregate.input_order_mode() == InputOrderMode::Linear
            && key.data_type(&aggregate.input().schema())? == DataType::Int64
            && aggregates.all(|aggregate| aggregate.groups_accumulator_supported());
        Ok(is_ours.then(|| Self {
            theirs: Arc::clone(node),
        }))
    }

    fn execute(
        &self,
        rows: SendableRecordBatchStream,
        made: Made,
        context: &Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let Some(aggregate) = self.theirs.downcast_ref::<AggregateExec>() else {
            return internal_err!("ByNumberExec is in the place of an aggregation");
        };
        let adding = Adding {
            groups: Groups::of(aggregate)?,
            memory: MemoryConsumer::new(Self::NAME)
                .with_can_spill(true)
                .register(context.memory_pool()),
            metrics: BaselineMetrics::new(&made.metrics, made.part),
            all_metrics: made.metrics,
            theirs: Arc::clone(&self.theirs),
            schema: Arc::clone(&made.schema),
            context: Arc::clone(context),
        };
        let made_rows = stream::once(adding.rows(rows)).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            made.schema,
            made_rows,
        )))
    }
}

/// What is known of each group.
struct Groups {
    key: Arc<dyn PhysicalExpr>,
    known: Numbers,
    sums: Vec<Sum>,
    of_rows: Vec<usize>,
}

/// An aggregate of each group.
struct Sum {
    /// What threads have of it.
    states: Vec<Arc<dyn PhysicalExpr>>,
    so_far: Box<dyn GroupsAccumulator>,
}

impl Groups {
    fn of(aggregate: &AggregateExec) -> Result<Self> {
        let [(key, _)] = aggregate.group_expr().expr() else {
            return internal_err!("ByNumberExec has one key");
        };
        let aggregates = aggregate.aggr_expr();
        let states = aggregate_expressions(aggregates, aggregate.mode(), 1)?;
        let sums = states.into_iter().zip(aggregates);
        let sums = sums.map(|(states, aggregate)| {
            let so_far = aggregate.create_groups_accumulator()?;
            Ok(Sum { states, so_far })
        });
        Ok(Self {
            key: Arc::clone(key),
            known: Numbers::default(),
            sums: sums.collect::<Result<_>>()?,
            of_rows: Vec::new(),
        })
    }

    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let rows = batch.num_rows();
        let numbers = self.key.evaluate(batch)?.into_array(rows)?;
        self.known.find(&numbers, &mut self.of_rows)?;
        for sum in &mut self.sums {
            let states = sum.states.iter();
            let states = states.map(|state| state.evaluate(batch)?.into_array(rows));
            let states = states.collect::<Result<Vec<ArrayRef>>>()?;
            let groups = self.known.len();
            sum.so_far.merge_batch(&states, &self.of_rows, groups)?;
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        let sums = self.sums.iter().map(|sum| sum.so_far.size());
        self.known.bytes() + sums.sum::<usize>()
    }

    /// A row for each group, with what its aggregates are.
    fn finish(self, schema: SchemaRef) -> Result<RecordBatch> {
        let mut columns = vec![self.known.into_array()?];
        for mut sum in self.sums {
            columns.push(sum.so_far.evaluate(EmitTo::All)?);
        }
        Ok(RecordBatch::try_new(schema, columns)?)
    }

    /// The same, to be added up by another.
    fn states(self, schema: SchemaRef) -> Result<RecordBatch> {
        let mut columns = vec![self.known.into_array()?];
        for mut sum in self.sums {
            columns.extend(sum.so_far.state(EmitTo::All)?);
        }
        Ok(RecordBatch::try_new(schema, columns)?)
    }
}

/// A thread's part.
struct Adding {
    groups: Groups,
    memory: MemoryReservation,
    metrics: BaselineMetrics,
    /// Those of the operator.
    all_metrics: ExecutionPlanMetricsSet,
    theirs: Arc<dyn ExecutionPlan>,
    schema: SchemaRef,
    context: Arc<TaskContext>,
}

impl Adding {
    async fn rows(
        mut self,
        mut rows: SendableRecordBatchStream,
    ) -> Result<SendableRecordBatchStream> {
        while let Some(batch) = rows.try_next().await? {
            if !self.add(&batch)? {
                return self.hand_over(rows);
            }
        }
        let made = {
            let _timer = self.metrics.elapsed_compute().timer();
            self.groups.finish(Arc::clone(&self.schema))?
        };
        let batch_rows = self.context.session_config().batch_size();
        let (memory, metrics) = (self.memory, self.metrics);
        let parts = slices(made, batch_rows).map(move |part| {
            // Taken until the last of them is handed on.
            let _taken = &memory;
            metrics.record_output(part.num_rows());
            Ok(part)
        });
        let parts = stream::iter(parts);
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema, parts)))
    }

    /// Adds rows; is there memory for what is known then?
    fn add(&mut self, batch: &RecordBatch) -> Result<bool> {
        let _timer = self.metrics.elapsed_compute().timer();
        self.groups.add(batch)?;
        match self.memory.try_resize(self.groups.bytes()) {
            Ok(()) => Ok(true),
            Err(error) if matches!(error.find_root(), DataFusionError::ResourcesExhausted(_)) => {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// DataFusion's operator goes on.
    fn hand_over(self, rows: SendableRecordBatchStream) -> Result<SendableRecordBatchStream> {
        let batch_rows = self.context.session_config().batch_size();
        let schema = rows.schema();
        let states = self.groups.states(Arc::clone(&schema))?;
        drop(self.memory);
        let states = stream::iter(slices(states, batch_rows).map(Ok));
        let all = RecordBatchStreamAdapter::new(schema, states.chain(rows));
        let theirs = replace_children_if_necessary(self.theirs, vec![handed(Box::pin(all))?])?;
        let rows = theirs.execute(0, self.context)?;
        let end = stream::poll_fn(move |_| {
            let counted = theirs.metrics();
            for metric in counted.iter().flat_map(MetricsSet::iter) {
                self.all_metrics.register(Arc::clone(metric));
            }
            Poll::Ready(None)
        });
        let rows = RecordBatchStreamAdapter::new(self.schema, rows.chain(end));
        Ok(Box::pin(rows))
    }
}

/// The rows, some at a time.
fn slices(batch: RecordBatch, batch_rows: usize) -> impl Iterator<Item = RecordBatch> {
    let starts = (0..batch.num_rows()).step_by(batch_rows.max(1));
    starts.map(move |start| {
        let rows = batch_rows.min(batch.num_rows() - start);
        batch.slice(start, rows)
    })
}

#[cfg(test)]
mod tests {
    use arrow::util::pretty::pretty_format_batches;
    use datafusion::prelude::SessionContext;

    use crate::query::{SessionOptions, rounded};
    use crate::store::Store;

    async fn answer(context: &SessionContext, sql: &str) -> Vec<String> {
        let batches = context.sql(sql).await.unwrap().collect().await.unwrap();
        let text = pretty_format_batches(&batches).unwrap().to_string();
        text.lines().map(rounded).collect()
    }

    /// Two threads, which meet in the second half of an aggregation.
    async fn two(store: &Store, options: SessionOptions) -> SessionContext {
        store.session_with(&options.threads(2)).await.unwrap()
    }

    async fn is_by_number(context: &SessionContext, sql: &str) -> bool {
        let plan = answer(context, &format!("EXPLAIN {sql}")).await;
        plan.iter().any(|line| line.contains("ByNumberExec"))
    }

    #[tokio::test]
    async fn groups_of_numbers_are_those_of_a_hash_table() {
        let store = Store::demo().await.unwrap();
        let context = two(&store, SessionOptions::default()).await;
        for aggregates in [
            "count(*) AS n, avg(runtime_ns) AS a, min(error_message) AS e, max(noise) AS x, stddev(runtime_ns) AS s",
            "median(runtime_ns) AS m, sum(line) FILTER (WHERE error_no = 0) AS f",
            "first_value(line ORDER BY runtime_ns, line) AS a, last_value(noise ORDER BY line) AS b",
            "bool_or(error_no > 0) AS o",
        ] {
            for key in [
                "config_id",
                "line - 7",
                "line * 1000000007",
                "nullif(line, 3)",
            ] {
                let asked = |key: &str| {
                    format!("SELECT {key} AS k, {aggregates} FROM records GROUP BY 1 ORDER BY 1")
                };
                let (ours, theirs) = (asked(key), asked(&format!("CAST({key} AS DECIMAL(20, 0))")));
                assert!(is_by_number(&context, &ours).await, "{ours}");
                assert!(!is_by_number(&context, &theirs).await, "{theirs}");
                assert_eq!(
                    answer(&context, &ours).await,
                    answer(&context, &theirs).await,
                    "{ours}"
                );
            }
        }
        let distinct = "SELECT DISTINCT config_id FROM records ORDER BY 1";
        assert!(is_by_number(&context, distinct).await);
        assert_eq!(
            answer(&context, distinct).await,
            answer(&context, "SELECT config_id FROM configurations WHERE config_id IN (SELECT config_id FROM records) ORDER BY 1").await
        );
        let none =
            "SELECT config_id, sum(line) FROM records WHERE runtime_ns * 0 > 1 GROUP BY config_id";
        assert!(is_by_number(&context, none).await);
        assert_eq!(answer(&context, none).await.len(), 2);
    }

    /// Numbers of which half a million are more than a small memory has room for.
    #[tokio::test]
    async fn without_memory_theirs_goes_on() {
        let store = Store::demo().await.unwrap();
        let sql = "SELECT count(*), sum(n), sum(k), min(t), max(t) FROM (SELECT a.value * 1000 + b.value AS k, count(*) AS n, \
            max(CAST(a.value % 7 AS VARCHAR) || 'x') AS t FROM generate_series(1, 500) AS a CROSS JOIN generate_series(1, 1000) AS b GROUP BY 1)";
        let context = two(&store, SessionOptions::default()).await;
        let wanted = answer(&context, sql).await;
        let options = SessionOptions::default().memory_limit_bytes(24 << 20);
        let small = two(&store, options).await;
        assert!(is_by_number(&small, sql).await);
        assert_eq!(answer(&small, sql).await, wanted);
        let all = "SET datafusion.explain.analyze_level = 'dev'";
        answer(&small, all).await;
        let said = answer(&small, &format!("EXPLAIN ANALYZE {sql}")).await;
        let ours = said.iter().find(|line| line.contains("ByNumberExec"));
        let spilled = ours
            .is_some_and(|line| line.contains("spill_count=") && !line.contains("spill_count=0"));
        assert!(spilled, "{said:?}");
    }
}
