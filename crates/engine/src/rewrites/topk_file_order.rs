//! Reads the files with potentially best rows first, so that `ORDER BY runtime_ns DESC LIMIT 10` can skip the others.
//!
//! The first file is read in parts of increasing size, because pages are pruned at the start of a part, when the
//! previous parts have already tightened the filter.

use std::sync::Arc;

use arrow::compute::SortOptions;
use datafusion::common::config::ConfigOptions;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::common::{Result, ScalarValue};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::parquet::ParquetRowSelection;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig, FileScanConfigBuilder};
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties as _};
use parquet::arrow::arrow_reader::{RowSelection, RowSelector};

use tsql_schema::column::value_order::value_order;
use tsql_store::scan_of_store;

/// Number of rows of the first part.
const FIRST_PART_ROWS: usize = 1 << 14;

/// Growth factor of the part size.
const PART_GROWTH: usize = 4;

/// The physical optimizer rule.
#[derive(Debug)]
pub(crate) struct TopKFileOrder;

impl PhysicalOptimizerRule for TopKFileOrder {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            let sort = node.downcast_ref::<SortExec>();
            let Some(sort) = sort.filter(|sort| sort.fetch().is_some()) else {
                return Ok(Transformed::no(node));
            };
            let first = sort.expr().first();
            let properties = sort.input().equivalence_properties();
            // A merge of sorted inputs stops as soon as it has enough rows.
            if properties.ordering_satisfy([first.clone()])? {
                return Ok(Transformed::no(node));
            }
            let Some(input) = reorder_files(sort.input(), &first.expr, first.options)? else {
                return Ok(Transformed::no(node));
            };
            replace_children_if_necessary(node, vec![input]).map(Transformed::yes)
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "topk_file_order"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Reorders the files of a scan so that those with potentially best rows come first; `None` without statistics.
fn reorder_files(
    plan: &Arc<dyn ExecutionPlan>,
    by: &Arc<dyn PhysicalExpr>,
    order: SortOptions,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(column) = by.downcast_ref::<Column>() else {
        return Ok(None);
    };
    if let Some(scan) = scan_of_store(plan) {
        return Ok(reorder_scan(scan, column, order));
    }
    let (input, by) = if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        let place = match filter.projection() {
            Some(places) => places.get(column.index()).copied(),
            None => Some(column.index()),
        };
        let by = place.map(|place| Arc::new(Column::new(column.name(), place)) as _);
        (filter.input(), by)
    } else if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let by = projection.expr().get(column.index());
        (projection.input(), by.map(|by| Arc::clone(&by.expr)))
    } else {
        return Ok(None);
    };
    let Some(by) = by else { return Ok(None) };
    let input = reorder_files(input, &by, order)?;
    let plan = input.map(|input| replace_children_if_necessary(Arc::clone(plan), vec![input]));
    plan.transpose()
}

fn reorder_scan(
    scan: &FileScanConfig,
    column: &Column,
    order: SortOptions,
) -> Option<Arc<dyn ExecutionPlan>> {
    let columns = scan.file_source().projection()?;
    let column = columns.as_ref().get(column.index())?;
    let place = column.expr.downcast_ref::<Column>()?.index();
    let groups = scan.file_groups.iter().map(|group| {
        let mut files: Vec<PartitionedFile> = group.iter().cloned().collect();
        files.sort_by(|one, other| {
            let (one, other) = (
                best_value(one, place, order),
                best_value(other, place, order),
            );
            match (one, other) {
                (Some(one), Some(other)) if order.descending => value_order(other, one),
                (Some(one), Some(other)) => value_order(one, other),
                (one, other) => other.is_some().cmp(&one.is_some()),
            }
        });
        let mut files = files.into_iter();
        let first = files.next().map(split_file).unwrap_or_default();
        FileGroup::new(first.into_iter().chain(files).collect())
    });
    let scan = FileScanConfigBuilder::from(scan.clone())
        .with_file_groups(groups.collect())
        .with_output_ordering(Vec::new());
    Some(DataSourceExec::from_data_source(scan.build()))
}

/// The best possible value of a column in a file.
fn best_value(file: &PartitionedFile, place: usize, order: SortOptions) -> Option<&ScalarValue> {
    let column = file.statistics.as_ref()?.column_statistics.get(place)?;
    let best = match order.descending {
        true => &column.max_value,
        false => &column.min_value,
    };
    best.get_value()
}

/// Splits a file into parts, each with more rows than the previous one.
fn split_file(file: PartitionedFile) -> Vec<PartitionedFile> {
    let rows = file.statistics.as_ref().map(|known| known.num_rows);
    let is_divided = file
        .range
        .as_ref()
        .is_some_and(|range| range.start > 0 || range.end.cast_unsigned() < file.object_meta.size);
    let Some(Precision::Exact(rows)) = rows.filter(|_| !is_divided) else {
        return vec![file];
    };
    let (mut parts, mut start, mut length) = (Vec::new(), 0, FIRST_PART_ROWS);
    while start < rows {
        // The last part is not shorter than the others.
        let end = match rows - start < 2 * length {
            true => rows,
            false => start + length,
        };
        let chosen = vec![
            RowSelector::skip(start),
            RowSelector::select(end - start),
            RowSelector::skip(rows - end),
        ];
        let chosen = ParquetRowSelection::new(RowSelection::from(chosen));
        parts.push(file.clone().with_extension(chosen));
        (start, length) = (end, length * PART_GROWTH);
    }
    match parts.len() {
        0 | 1 => vec![file],
        _ => parts,
    }
}
