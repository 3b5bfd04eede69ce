//! Columns that are asked for again stay in memory as they were decoded.
//!
//! A column of 50 million runtimes takes half a second to decode and a tenth to look through. Who asks one question has mostly more
//! of them: from the second time on that all of a column is wanted, its pieces stay, until others need the room.
//!
//! ```text
//! KeptColumnsExec          first: the scan as it is          then: its columns in whole, and the filter here
//!   DataSourceExec
//! ```
//!
//! What filters choose pages by (identifiers, times, the best so far) reads few of them, and keeps none; what is kept anyway answers it as
//! well: each piece has its bounds. Left to the scan: texts and lists, which are large; sessions within a limit of memory.

mod columns;
mod reading;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

use arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{
    Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion,
};
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::datasource::physical_plan::{FileScanConfig, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::DynamicFilterPhysicalExpr;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};

use crate::store::is_store_url;
use columns::{Columns, FileKey};
use reading::Reading;

/// The rule that puts such operators above scans, after filters were handed down.
#[derive(Debug)]
pub(super) struct KeepColumns;

impl PhysicalOptimizerRule for KeepColumns {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(
            |node| match KeptColumnsExec::above(&node, Columns::of_process()) {
                Some(kept) => Ok(Transformed::yes(Arc::new(kept) as _)),
                None => Ok(Transformed::no(node)),
            },
        )
        .data()
    }

    fn name(&self) -> &'static str {
        "keep_columns"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The rows of a scan, from columns that are kept once they are asked for again.
#[derive(Debug)]
pub(super) struct KeptColumnsExec {
    scan: Arc<dyn ExecutionPlan>,
    columns: &'static Columns,
    /// The columns of files that rows are made of, in the order of the table.
    names: Arc<[Arc<str>]>,
    /// Is all of them read, so that they are worth keeping?
    whole: bool,
    /// The number of the question, if its columns are kept or are to be: the same for all threads.
    asked: OnceLock<Option<u64>>,
    metrics: ExecutionPlanMetricsSet,
}

impl KeptColumnsExec {
    /// The operator above a scan; `None` for scans of which it knows no more than they.
    fn above(node: &Arc<dyn ExecutionPlan>, columns: &'static Columns) -> Option<Self> {
        let config = parquet_scan(node)?;
        let table = source_schema(config);
        let in_files = config.file_schema().fields().len();
        let projected = config.file_source().projection()?.column_indices();
        let mut wanted: BTreeSet<usize> = projected.into_iter().collect();
        let mut whole = true;
        if let Some(filter) = &config.file_source().filter() {
            let filtered = collect_columns(filter);
            let places = filtered.iter().map(|column| column.index());
            let mut stored = places.clone().filter(|place| *place < in_files);
            whole =
                stored.all(|place| is_measure(table.field(place).data_type())) && !grows(filter);
            wanted.extend(places);
        }
        let wanted = wanted.range(..in_files);
        let wanted: Vec<&Field> = wanted.map(|place| table.field(*place)).collect();
        if wanted.is_empty() || !wanted.iter().all(|field| field.data_type().is_primitive()) {
            return None;
        }
        Some(Self {
            scan: Arc::clone(node),
            columns,
            names: wanted
                .iter()
                .map(|field| field.name().as_str().into())
                .collect(),
            whole,
            asked: OnceLock::new(),
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }

    /// What the rows come from.
    pub(super) fn scan(&self) -> &Arc<dyn ExecutionPlan> {
        &self.scan
    }

    /// The number of the question, if its columns are kept or are to be.
    fn asked(&self, config: &FileScanConfig, piece_rows: usize) -> Option<u64> {
        let ask = || {
            let files = config.file_groups.iter().flat_map(|group| group.iter());
            let files = files.map(|file| FileKey::new(&config.object_store_url, file, piece_rows));
            self.columns.ask(files, self.names.iter(), self.whole)
        };
        *self.asked.get_or_init(ask)
    }
}

/// Is this measured, or one of a few values? Pages have all sorts of either.
fn is_measure(kind: &DataType) -> bool {
    use DataType::{Float32, Float64, Int8, Int16, Int32};
    matches!(kind, Float32 | Float64 | Int8 | Int16 | Int32)
}

/// Does a filter say more as rows come?
fn grows(filter: &Arc<dyn PhysicalExpr>) -> bool {
    let grows = filter.exists(|part| Ok(part.is::<DynamicFilterPhysicalExpr>()));
    grows.unwrap_or(true)
}

/// A scan of Parquet files of a store.
fn parquet_scan(node: &Arc<dyn ExecutionPlan>) -> Option<&FileScanConfig> {
    let scan = node.downcast_ref::<DataSourceExec>()?;
    let scan = scan.data_source().downcast_ref::<FileScanConfig>()?;
    let is_parquet = scan.file_source().is::<ParquetSource>();
    (is_parquet && is_store_url(&scan.object_store_url)).then_some(scan)
}

fn source_schema(config: &FileScanConfig) -> &Schema {
    config.file_source().table_schema().table_schema()
}

impl DisplayAs for KeptColumnsExec {
    fn fmt_as(&self, _: DisplayFormatType, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "KeptColumnsExec: columns=[{}]", self.names.join(", "))
    }
}

impl ExecutionPlan for KeptColumnsExec {
    fn name(&self) -> &'static str {
        "KeptColumnsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.scan.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.scan]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let [scan] = <[_; 1]>::try_from(children).or_else(|children| {
            internal_err!("columns of one scan are kept, not of {}", children.len())
        })?;
        Ok(match Self::above(&scan, self.columns) {
            Some(kept) => Arc::new(kept),
            None => scan,
        })
    }

    fn execute(&self, part: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let piece_rows = context.session_config().batch_size();
        let scan = parquet_scan(&self.scan);
        let asked = scan.and_then(|config| Some((config, self.asked(config, piece_rows)?)));
        let Some((config, question)) = asked else {
            return self.scan.execute(part, context);
        };
        let reading = Reading {
            config: config.clone(),
            columns: self.columns,
            names: Arc::clone(&self.names),
            question,
            piece_rows,
            schema: self.schema(),
        };
        reading.rows(part, context, &self.metrics)
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
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

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }
}
