//! What a filter that grows while a question is answered says of each of its columns: pages are chosen by filters of one column only.
//!
//! `ORDER BY runtime_ns, line LIMIT 10` filters by what its ten best rows are so far, which is
//! `runtime_ns < 3 OR runtime_ns = 3 AND line < 7`. Of that follows `runtime_ns < 3 OR runtime_ns = 3`, which no page of slower
//! programs fulfils. So it is with the bounds that a join by several columns has of each.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Schema};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{
    Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion,
};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::datasource::physical_plan::{FileScanConfig, FileScanConfigBuilder, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::logical_expr::{ColumnarValue, Operator};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, DynamicFilterPhysicalExpr, lit};
use datafusion::physical_expr::utils::{collect_columns, conjunction, split_conjunction};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;

/// The rule that puts what follows beside such filters of scans, after they were handed down.
#[derive(Debug)]
pub(super) struct BoundsOfColumns;

impl PhysicalOptimizerRule for BoundsOfColumns {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| match bounded(&node) {
            Some(scan) => Ok(Transformed::yes(scan)),
            None => Ok(Transformed::no(node)),
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "bounds_of_columns"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The same scan with what follows; `None` where nothing does.
fn bounded(node: &Arc<dyn ExecutionPlan>) -> Option<Arc<dyn ExecutionPlan>> {
    let scan = node.downcast_ref::<DataSourceExec>()?;
    let scan = scan.data_source().downcast_ref::<FileScanConfig>()?;
    let source = scan.file_source().downcast_ref::<ParquetSource>()?;
    let filter = scan.file_source().filter()?;
    let filters = split_conjunction(&filter);
    let bounds: Vec<Arc<dyn PhysicalExpr>> = filters.iter().flat_map(|filter| of(filter)).collect();
    if bounds.is_empty() {
        return None;
    }
    let filters = filters.into_iter().map(Arc::clone).chain(bounds);
    let source = source.with_predicate(conjunction(filters));
    let scan = FileScanConfigBuilder::from(scan.clone()).with_source(Arc::new(source));
    Some(DataSourceExec::from_data_source(scan.build()))
}

/// A bound for each column of a filter that grows, where it has several.
fn of(filter: &Arc<dyn PhysicalExpr>) -> Vec<Arc<dyn PhysicalExpr>> {
    if !filter.is::<DynamicFilterPhysicalExpr>() {
        return Vec::new();
    }
    let mut columns: Vec<Column> = collect_columns(filter).into_iter().collect();
    if columns.len() < 2 {
        return Vec::new();
    }
    columns.sort_unstable_by_key(Column::index);
    let bounds = columns.into_iter().map(|column| {
        let column = Arc::new(column) as Arc<dyn PhysicalExpr>;
        let filter = Arc::clone(filter);
        Arc::new(Bound { filter, column }) as Arc<dyn PhysicalExpr>
    });
    bounds.collect()
}

/// What a filter says of one column, whenever it is looked at. It is true of every row: that the filter itself is asked, too.
#[derive(Clone, Debug, Eq, Hash)]
struct Bound {
    filter: Arc<dyn PhysicalExpr>,
    column: Arc<dyn PhysicalExpr>,
}

impl PartialEq for Bound {
    fn eq(&self, other: &Self) -> bool {
        self.filter.eq(&other.filter) && self.column.eq(&other.column)
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "bounds of {}", self.column)
    }
}

impl PhysicalExpr for Bound {
    fn data_type(&self, _: &Schema) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn nullable(&self, _: &Schema) -> Result<bool> {
        Ok(false)
    }

    fn evaluate(&self, _: &RecordBatch) -> Result<ColumnarValue> {
        Ok(ColumnarValue::Scalar(ScalarValue::Boolean(Some(true))))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.filter, &self.column]
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let [filter, column] = <[_; 2]>::try_from(children).or_else(|children| {
            internal_err!("bounds of a column have two parts, not {}", children.len())
        })?;
        Ok(Arc::new(Self { filter, column }))
    }

    fn fmt_sql(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{self}")
    }

    /// Children come first: the filter is what it is at this moment.
    fn snapshot(&self) -> Result<Option<Arc<dyn PhysicalExpr>>> {
        let column = self.column.downcast_ref::<Column>();
        let follows = column.and_then(|column| follows(&self.filter, column));
        Ok(Some(follows.unwrap_or_else(|| lit(true))))
    }
}

/// What follows for rows that fulfil a filter, in words of one column; `None` where nothing does.
fn follows(filter: &Arc<dyn PhysicalExpr>, column: &Column) -> Option<Arc<dyn PhysicalExpr>> {
    let both = filter.downcast_ref::<BinaryExpr>();
    let parts = both.map(|both| (follows(both.left(), column), follows(both.right(), column)));
    match (both.map(BinaryExpr::op), parts) {
        (Some(Operator::And), Some((Some(left), Some(right)))) => {
            Some(Arc::new(BinaryExpr::new(left, Operator::And, right)))
        }
        (Some(Operator::And), Some((one, other))) => one.or(other),
        (Some(Operator::Or), Some((Some(left), Some(right)))) => {
            Some(Arc::new(BinaryExpr::new(left, Operator::Or, right)))
        }
        (Some(Operator::Or), _) => None,
        _ => is_of(filter, column).then(|| Arc::clone(filter)),
    }
}

/// Does an expression look at this column, and at no other one?
fn is_of(expr: &Arc<dyn PhysicalExpr>, column: &Column) -> bool {
    let (mut any, mut only) = (false, true);
    let looked = expr.apply(|part| {
        if let Some(found) = part.downcast_ref::<Column>() {
            any = true;
            only &= found == column;
        }
        Ok(TreeNodeRecursion::Continue)
    });
    looked.is_ok() && any && only
}

#[cfg(test)]
mod tests {
    use datafusion::physical_expr::expressions::{col, is_null};

    use super::*;
    use crate::query::engine::engine;
    use crate::query::limits::Limits;

    fn schema() -> Schema {
        let field = |name| arrow::datatypes::Field::new(name, DataType::Int64, true);
        Schema::new(vec![field("a"), field("b")])
    }

    fn compared(name: &str, op: Operator, value: i64) -> Arc<dyn PhysicalExpr> {
        let column = col(name, &schema()).unwrap();
        Arc::new(BinaryExpr::new(column, op, lit(value)))
    }

    fn both(
        one: Arc<dyn PhysicalExpr>,
        op: Operator,
        other: Arc<dyn PhysicalExpr>,
    ) -> Arc<dyn PhysicalExpr> {
        Arc::new(BinaryExpr::new(one, op, other))
    }

    #[test]
    fn what_follows_is_said_of_one_column() {
        use Operator::{And, Eq, Gt, Lt, Or};
        let told = |filter: &Arc<dyn PhysicalExpr>, name: &str| {
            let column = Column::new_with_schema(name, &schema()).unwrap();
            follows(filter, &column).map(|found| found.to_string())
        };
        let tied = both(compared("a", Eq, 3), And, compared("b", Lt, 7));
        let best = both(compared("a", Lt, 3), Or, Arc::clone(&tied));
        assert_eq!(told(&best, "a").unwrap(), "a@0 < 3 OR a@0 = 3");
        assert_eq!(told(&best, "b"), None);
        assert_eq!(told(&tied, "b").unwrap(), "b@1 < 7");
        let unknown = is_null(col("a", &schema()).unwrap()).unwrap();
        let first = both(unknown, Or, best);
        assert_eq!(
            told(&first, "a").unwrap(),
            "a@0 IS NULL OR a@0 < 3 OR a@0 = 3"
        );
        let columns = both(
            col("a", &schema()).unwrap(),
            Gt,
            col("b", &schema()).unwrap(),
        );
        assert_eq!(told(&columns, "a"), None);
        assert_eq!(told(&lit(true), "a"), None);
    }

    #[test]
    fn a_bound_is_what_its_filter_says_when_it_is_looked_at() {
        use datafusion::physical_expr_common::physical_expr::snapshot_physical_expr;
        let columns = vec![col("a", &schema()).unwrap(), col("b", &schema()).unwrap()];
        let filter = Arc::new(DynamicFilterPhysicalExpr::new(columns, lit(true)));
        let bounds = of(&(Arc::clone(&filter) as Arc<dyn PhysicalExpr>));
        let mut told: Vec<String> = bounds.iter().map(ToString::to_string).collect();
        told.sort();
        assert_eq!(told, ["bounds of a@0", "bounds of b@1"]);
        let said = || {
            let said = bounds.iter().map(|bound| {
                let now = snapshot_physical_expr(Arc::clone(bound)).unwrap();
                now.to_string()
            });
            let mut said: Vec<String> = said.collect();
            said.sort();
            said
        };
        assert_eq!(said(), ["true", "true"]);
        let tied = both(
            compared("a", Operator::Eq, 3),
            Operator::And,
            compared("b", Operator::Lt, 7),
        );
        filter
            .update(both(compared("a", Operator::Lt, 3), Operator::Or, tied))
            .unwrap();
        assert_eq!(said(), ["a@0 < 3 OR a@0 = 3", "true"]);
    }

    /// Two files of 20,000 rows in pages of 1,000: after the first one, one page of the second is read.
    #[tokio::test]
    async fn pages_are_left_out_by_the_first_of_several_keys() {
        let folder = tempfile::tempdir().unwrap();
        let limits = Limits {
            threads: Some(1),
            ..Limits::default()
        };
        let context = engine(limits).unwrap();
        for (name, x) in [
            ("1", "n"),
            ("2", "CASE WHEN n = 19500 THEN 5 ELSE n + 50000 END"),
        ] {
            let file = folder.path().join(format!("{name}.parquet"));
            let sql = format!(
                "COPY (SELECT {x} AS x, -n AS y FROM (SELECT value AS n FROM generate_series(0, 19999)) AS s) TO '{}' \
                 OPTIONS ('format.data_page_row_count_limit' '1000', 'format.write_batch_size' '1000')",
                file.display()
            );
            context.sql(&sql).await.unwrap().collect().await.unwrap();
        }
        let sql = format!(
            "SELECT x, y FROM '{}' ORDER BY x, y LIMIT 8",
            folder.path().join("*.parquet").display()
        );
        let rows = context.sql(&sql).await.unwrap().collect().await.unwrap();
        let rows = arrow::util::pretty::pretty_format_batches(&rows)
            .unwrap()
            .to_string();
        assert!(rows.contains("| 5 | -19500 |"), "{rows}");
        let explained = context
            .sql(&format!("EXPLAIN ANALYZE {sql}"))
            .await
            .unwrap();
        let explained = explained.collect().await.unwrap();
        let explained = arrow::util::pretty::pretty_format_batches(&explained)
            .unwrap()
            .to_string();
        assert!(explained.contains("bounds of x"), "{explained}");
        assert!(
            explained.contains("page_index_pages_pruned=20 total → 1 matched"),
            "{explained}"
        );
    }
}
