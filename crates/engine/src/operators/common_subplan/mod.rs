//! Computes equal aggregates of a plan once, as those of a common table expression with two readers.
//!
//! ```text
//! Join                            Join
//!   Aggregate a ...        ─▶       TableScan computed_once    ─▶   MaterializeExec ┐
//!   Aggregate                       Aggregate                                       ├ buffered rows of `Aggregate a`
//!     Aggregate a ...                 TableScan computed_once  ─▶   MaterializeExec ┘
//! ```
//!
//! Only aggregates are shared, because they have few rows. The rows are buffered until the query ends: in memory as
//! long as it suffices, then in a temporary file.

mod materialized_rows;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use arrow::datatypes::{Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::tree_node::{Transformed, TreeNode as _, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result, Statistics, internal_err};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, TableSource, TableType};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use datafusion::physical_expr::{PhysicalExpr, expressions as physical};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet, SpillMetrics};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::spill::SpillManager;
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties as _, PlanProperties,
};
use futures::TryStreamExt as _;
use futures::future::{BoxFuture, FutureExt as _, Shared};

use materialized_rows::{MaterializedRows, NAME};

/// Optimizer rule that replaces repeated aggregates by scans of a shared table. Runs after all other rules.
#[derive(Debug)]
pub(crate) struct CommonSubplanElimination;

impl OptimizerRule for CommonSubplanElimination {
    fn name(&self) -> &'static str {
        "common_subplan"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        None
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let twice = repeated_aggregates(&plan)?;
        if twice.is_empty() {
            return Ok(Transformed::no(plan));
        }
        plan.transform_down(
            |node| match twice.iter().find(|(known, _)| *known == node) {
                Some((_, source)) => {
                    let scan = build_scan(&node, source)?;
                    Ok(Transformed::new(scan, true, TreeNodeRecursion::Jump))
                }
                None => Ok(Transformed::no(node)),
            },
        )
    }
}

/// Returns the aggregates that occur more than once, each with a table of its rows.
fn repeated_aggregates(plan: &LogicalPlan) -> Result<Vec<(LogicalPlan, Arc<dyn TableSource>)>> {
    let mut seen: HashMap<&LogicalPlan, usize> = HashMap::new();
    plan.apply(|node| {
        if matches!(node, LogicalPlan::Aggregate(_)) {
            *seen.entry(node).or_default() += 1;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    let again = seen.into_iter().filter(|(_, count)| *count > 1);
    let mut found = Vec::new();
    for (node, _) in again {
        if is_shareable(node)? && reads_same_tables(plan, node)? {
            let source = provider_as_source(Arc::new(SharedAggregate::new(node.clone())));
            found.push((node.clone(), source));
        }
    }
    Ok(found)
}

/// Returns whether an aggregate has the same rows at each evaluation and reads tables.
fn is_shareable(node: &LogicalPlan) -> Result<bool> {
    let (mut is_fixed, mut has_tables) = (true, false);
    node.apply(|node| {
        has_tables |= matches!(node, LogicalPlan::TableScan(_));
        // Cross joins are watched for cancellation by their reader, and buffered rows have no such reader.
        is_fixed &= !matches!(node, LogicalPlan::Join(join) if join.on.is_empty());
        is_fixed &= !node.contains_outer_reference();
        for expression in node.expressions() {
            let is_other = |one: &Expr| Ok(one.is_volatile_node() || is_subquery(one));
            is_fixed &= !expression.exists(is_other)?;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(is_fixed && has_tables)
}

fn is_subquery(expression: &Expr) -> bool {
    matches!(
        expression,
        Expr::Exists(_) | Expr::InSubquery(_) | Expr::ScalarSubquery(_) | Expr::SetComparison(_)
    )
}

/// Returns whether all occurrences of an aggregate read the same tables. One name may stand for two versions of a
/// table.
fn reads_same_tables(plan: &LogicalPlan, groups: &LogicalPlan) -> Result<bool> {
    let mut all = Vec::new();
    plan.apply(|node| {
        if node == groups {
            all.push(table_providers(node)?);
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    let is_same = |a: &Arc<dyn TableProvider>, b: &Arc<dyn TableProvider>| Arc::ptr_eq(a, b);
    Ok(all.windows(2).all(|two| match two {
        [a, b] => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b)),
        _ => true,
    }))
}

fn table_providers(plan: &LogicalPlan) -> Result<Vec<Arc<dyn TableProvider>>> {
    let mut tables = Vec::new();
    plan.apply(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            tables.push(source_as_provider(&scan.source)?);
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(tables)
}

/// Returns a scan of `source` with the column names of the aggregate.
fn build_scan(groups: &LogicalPlan, source: &Arc<dyn TableSource>) -> Result<LogicalPlan> {
    let scan = LogicalPlanBuilder::scan(NAME, Arc::clone(source), None)?;
    let columns = scan.schema().columns();
    let named = groups.schema().iter().zip(columns);
    let named = named.map(|((qualifier, field), column)| {
        Expr::Column(column).alias_qualified(qualifier.cloned(), field.name())
    });
    scan.project(named.collect::<Vec<_>>())?.build()
}

/// An aggregate as a table, planned once.
#[derive(Debug)]
struct SharedAggregate {
    groups: LogicalPlan,
    schema: SchemaRef,
    /// The shared plan of all readers. It is dropped with the last of them.
    kept: tokio::sync::Mutex<Weak<SharedPlan>>,
}

impl SharedAggregate {
    fn new(groups: LogicalPlan) -> Self {
        // Names may occur twice with different qualifiers.
        let fields = groups.schema().fields().iter().enumerate();
        let fields = fields.map(|(place, field)| {
            let field = Field::clone(field);
            field.with_name(format!("c{place}"))
        });
        Self {
            schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
            groups,
            kept: tokio::sync::Mutex::default(),
        }
    }
}

#[async_trait]
impl TableProvider for SharedAggregate {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let mut known = self.kept.lock().await;
        let kept = match known.upgrade() {
            Some(kept) => kept,
            None => {
                let kept = Arc::new(SharedPlan::new(
                    state.create_physical_plan(&self.groups).await?,
                ));
                *known = Arc::downgrade(&kept);
                kept
            }
        };
        let all = 0..self.schema.fields().len();
        let chosen = projection.map_or_else(|| all.collect(), Vec::clone);
        let names = kept.plan.schema();
        let columns = chosen.into_iter().map(|place| {
            let column = physical::Column::new(names.field(place).name(), place);
            ProjectionExpr::new(Arc::new(column), self.schema.field(place).name().clone())
        });
        let columns: Vec<ProjectionExpr> = columns.collect();
        let once = Arc::new(MaterializeExec { kept });
        Ok(Arc::new(ProjectionExec::try_new(columns, once)?))
    }
}

/// Rows of one partition, for which all readers wait.
type SharedRows = Shared<BoxFuture<'static, Result<Arc<MaterializedRows>, Arc<DataFusionError>>>>;

/// A plan, and the rows of its partitions.
#[derive(Debug)]
struct SharedPlan {
    plan: Arc<dyn ExecutionPlan>,
    parts: Vec<Mutex<Option<SharedRows>>>,
    metrics: ExecutionPlanMetricsSet,
}

impl SharedPlan {
    fn new(plan: Arc<dyn ExecutionPlan>) -> Self {
        let parts = 0..plan.output_partitioning().partition_count();
        Self {
            plan,
            parts: parts.map(|_| Mutex::default()).collect(),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    fn rows(&self, part: usize, context: &Arc<TaskContext>) -> Result<SharedRows> {
        let Some(known) = self.parts.get(part) else {
            return internal_err!("no part {part}");
        };
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rows) = known.as_ref() {
            return Ok(rows.clone());
        }
        let rows = self.plan.execute(part, Arc::clone(context))?;
        let memory = MemoryConsumer::new(NAME).with_can_spill(true);
        let memory = memory.register(context.memory_pool());
        let told = SpillMetrics::new(&self.metrics, part);
        let spilling = SpillManager::new(context.runtime_env(), told, self.plan.schema());
        // Runs in its own task: the first reader may stop before the others have read all rows.
        let task = SpawnedTask::spawn(MaterializedRows::collect(rows, memory, spilling));
        let rows = async move {
            let joined = task.join_unwind().await;
            let failed = |error| DataFusionError::External(Box::new(error));
            let held = joined.map_err(failed).flatten();
            held.map(Arc::new).map_err(Arc::new)
        };
        let rows = rows.boxed().shared();
        *known = Some(rows.clone());
        Ok(rows)
    }
}

/// Returns the buffered rows.
#[derive(Debug)]
pub(crate) struct MaterializeExec {
    kept: Arc<SharedPlan>,
}

impl DisplayAs for MaterializeExec {
    fn fmt_as(&self, _: DisplayFormatType, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("MaterializeExec")
    }
}

impl ExecutionPlan for MaterializeExec {
    fn name(&self) -> &'static str {
        "MaterializeExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.kept.plan.properties()
    }

    /// The order is maintained. Returns false because no sort may be pushed below: the plan below is fixed.
    fn maintains_input_order(&self) -> Vec<bool> {
        vec![false]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.kept.plan]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    /// The plan below is already optimized, and a different child would differ from that of the other readers.
    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, part: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let rows = self.kept.rows(part, &context)?;
        let schema = self.schema();
        let rows = async move {
            let held = rows.await.map_err(DataFusionError::Shared)?;
            held.rows(schema)
        };
        let rows = futures::stream::once(rows).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.kept.metrics.clone_inner())
    }

    fn child_stats_requests(&self, part: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(part)]
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        _: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let unknown = || Arc::new(Statistics::new_unknown(&self.schema()));
        Ok(inputs.first().map_or_else(unknown, Arc::clone))
    }
}

#[cfg(test)]
mod tests {
    use arrow::util::pretty::pretty_format_batches;
    use datafusion::common::stats::Precision;
    use datafusion::physical_plan::displayable;
    use datafusion::physical_plan::statistics::StatisticsContext;
    use datafusion::prelude::SessionContext;

    use super::*;
    use crate::context::new_context;
    use crate::test_queries::collect;

    async fn context(limit: Option<usize>) -> SessionContext {
        let context = new_context(limit).unwrap();
        let rows = "SELECT x % 3 AS a, x % 7 AS b, x FROM (SELECT unnest(range(0, 1000)) AS x)";
        let batches = collect(&context, rows).await.unwrap();
        let batch = arrow::compute::concat_batches(&batches[0].schema(), &batches).unwrap();
        context.register_batch("t", batch).unwrap();
        context
    }

    async fn run_query(context: &SessionContext, sql: &str) -> (usize, String) {
        let plan = context
            .sql(sql)
            .await
            .unwrap()
            .create_physical_plan()
            .await
            .unwrap();
        let plan = displayable(plan.as_ref()).indent(false).to_string();
        let batches = collect(context, sql).await.unwrap();
        let rows = pretty_format_batches(&batches).unwrap().to_string();
        (plan.matches("MaterializeExec").count(), rows)
    }

    const SUMS: &str = "WITH s AS (SELECT a, b, sum(x) AS s FROM t GROUP BY a, b)";

    #[tokio::test]
    async fn groups_that_stand_there_twice_are_computed_once() {
        let (usual, within) = (context(None).await, context(Some(1 << 28)).await);
        for (rest, times) in [
            (
                "SELECT s.a, max(s.s), max(t.s) FROM s JOIN (SELECT a, sum(s) AS s FROM s GROUP BY a) AS t ON t.a = s.a GROUP BY s.a ORDER BY 1",
                2,
            ),
            (
                "SELECT * FROM (SELECT * FROM s ORDER BY 1, 2 LIMIT 2) UNION ALL (SELECT a, b, -s FROM s ORDER BY 3 LIMIT 1) ORDER BY 3",
                2,
            ),
            (
                "SELECT count(*) FROM s AS x JOIN s AS y ON x.a = y.b JOIN s AS z ON z.b = y.a",
                3,
            ),
            // Sorts stay above the shared rows.
            (
                "SELECT t.x, s.a, s.s FROM t JOIN s ON t.x = s.b JOIN s AS z ON z.s = s.s ORDER BY s.s, t.x, s.a",
                2,
            ),
            (
                "SELECT * FROM (SELECT * FROM s ORDER BY s.s DESC LIMIT 5) AS x JOIN s ON s.s = x.s ORDER BY s.s",
                2,
            ),
            // An aggregate that occurs once, and two aggregates of different rows.
            ("SELECT sum(s) FROM s", 0),
            (
                "SELECT * FROM (SELECT max(s) FROM s WHERE a = 1) UNION ALL SELECT max(s) FROM s WHERE a = 2 ORDER BY 1",
                0,
            ),
        ] {
            let sql = format!("{SUMS} {rest}");
            let (found, rows) = run_query(&usual, &sql).await;
            assert_eq!(found, times, "{sql}");
            assert_eq!(run_query(&within, &sql).await, (times, rows), "{sql}");
        }
        // Volatile expressions are not shared.
        let random = "WITH r AS (SELECT a, sum(random()) AS s FROM t GROUP BY a) SELECT count(*) FROM r AS x JOIN r AS y ON x.a = y.a AND x.s = y.s";
        assert_eq!(run_query(&usual, random).await.0, 0);
    }

    /// Joins choose their build side by the number of rows.
    #[tokio::test]
    async fn shared_rows_have_the_statistics_of_their_aggregate() {
        let context = context(None).await;
        let sql = format!("{SUMS} SELECT * FROM s UNION ALL SELECT * FROM s");
        let plan = context.sql(&sql).await.unwrap();
        let plan = plan.create_physical_plan().await.unwrap();
        let mut counts = Vec::new();
        plan.apply(|node| {
            if node.downcast_ref::<MaterializeExec>().is_some() {
                let found = StatisticsContext::new().compute(node.as_ref(), &StatisticsArgs::new());
                counts.push(found?.num_rows);
            }
            Ok(TreeNodeRecursion::Continue)
        })
        .unwrap();
        let counts: Vec<_> = counts.iter().map(Precision::get_value).collect();
        assert_eq!(counts, [Some(&1000), Some(&1000)]);
    }

    #[tokio::test]
    async fn rows_of_a_plan_that_runs_twice_are_the_same() {
        let context = context(None).await;
        let sql = format!("{SUMS} SELECT * FROM s UNION ALL SELECT * FROM s");
        let frame = context.sql(&sql).await.unwrap();
        for _ in 0..2 {
            assert_eq!(frame.clone().count().await.unwrap(), 42);
        }
        let plan = frame.create_physical_plan().await.unwrap();
        for _ in 0..2 {
            let rows = datafusion::physical_plan::collect(plan.clone(), context.task_ctx());
            let rows = rows.await.unwrap();
            assert_eq!(rows.iter().map(|batch| batch.num_rows()).sum::<usize>(), 42);
        }
    }
}
