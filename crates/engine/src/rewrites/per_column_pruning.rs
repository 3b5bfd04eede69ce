//! Derives filters of single columns, which prune pages, from filters of several columns and from long lists.
//!
//! Pages can be pruned only by comparisons of one column and by short lists. `ORDER BY runtime_ns, line LIMIT 10`
//! filters by the ten best rows so far: `runtime_ns < 3 OR runtime_ns = 3 AND line < 7`. That implies `runtime_ns < 3
//! OR runtime_ns = 3`, which excludes all pages of slower programs. The bounds of a join by several columns work in the
//! same way. `graph_id IN (1, 2, ..., 30)` is too long a list for DataFusion, but implies that the value is in one of a
//! few ranges.

use std::fmt;
use std::hash::{Hash, Hasher};
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
use datafusion::physical_expr::expressions::{
    BinaryExpr, Column, DynamicFilterPhysicalExpr, InListExpr, Literal, lit,
};
use datafusion::physical_expr::utils::{collect_columns, conjunction, split_conjunction};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;

use tsql_schema::column::value_order::value_order;

/// Maximum length of a list by which DataFusion prunes pages.
const MAX_PRUNED_LIST: usize = 20;

/// Maximum number of ranges for a longer list. Each is compared with each page.
const MAX_RANGES: usize = 64;

/// The physical optimizer rule. It adds the derived filters to scans, after filter pushdown.
#[derive(Debug)]
pub(crate) struct PerColumnPruning;

impl PhysicalOptimizerRule for PerColumnPruning {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| match add_column_bounds(&node) {
            Some(scan) => Ok(Transformed::yes(scan)),
            None => Ok(Transformed::no(node)),
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "per_column_pruning"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Adds derived filters to a scan; `None` if there are none.
fn add_column_bounds(node: &Arc<dyn ExecutionPlan>) -> Option<Arc<dyn ExecutionPlan>> {
    let scan = node.downcast_ref::<DataSourceExec>()?;
    let scan = scan.data_source().downcast_ref::<FileScanConfig>()?;
    let source = scan.file_source().downcast_ref::<ParquetSource>()?;
    let filter = scan.file_source().filter()?;
    let filters = split_conjunction(&filter);
    let bounds: Vec<Arc<dyn PhysicalExpr>> = filters
        .iter()
        .flat_map(|filter| column_bounds(filter))
        .collect();
    if bounds.is_empty() {
        return None;
    }
    let filters = filters.into_iter().map(Arc::clone).chain(bounds);
    let source = source.with_predicate(conjunction(filters));
    let scan = FileScanConfigBuilder::from(scan.clone()).with_source(Arc::new(source));
    Some(DataSourceExec::from_data_source(scan.build()))
}

/// Derives a bound for each column of a dynamic filter, and for each column with a long list.
fn column_bounds(filter: &Arc<dyn PhysicalExpr>) -> Vec<Arc<dyn PhysicalExpr>> {
    let mut columns: Vec<Column> = if filter.is::<DynamicFilterPhysicalExpr>() {
        // An expression of several columns implies nothing about one of them.
        let of_one = filter.children().into_iter().map(collect_columns);
        of_one.filter(|of| of.len() == 1).flatten().collect()
    } else {
        long_list_columns(filter)
    };
    columns.sort_unstable_by_key(Column::index);
    columns.dedup();
    let bounds = columns.into_iter().map(|column| {
        let column = Arc::new(column) as Arc<dyn PhysicalExpr>;
        let filter = Arc::clone(filter);
        Arc::new(ColumnBound { filter, column }) as Arc<dyn PhysicalExpr>
    });
    bounds.collect()
}

/// Columns whose values must be in long lists.
fn long_list_columns(filter: &Arc<dyn PhysicalExpr>) -> Vec<Column> {
    let mut columns = Vec::new();
    let looked = filter.apply(|part| {
        let list = part.downcast_ref::<InListExpr>();
        let list = list.filter(|list| !list.negated() && list.list().len() > MAX_PRUNED_LIST);
        columns.extend(
            list.and_then(|list| list.expr().downcast_ref::<Column>())
                .cloned(),
        );
        Ok(TreeNodeRecursion::Continue)
    });
    match looked {
        Ok(_) => columns,
        Err(_) => Vec::new(),
    }
}

/// Condition that a filter implies for one column, evaluated when it is used. It evaluates to true for every row,
/// because the
/// filter itself is applied as well.
#[derive(Clone, Debug, Eq)]
struct ColumnBound {
    filter: Arc<dyn PhysicalExpr>,
    column: Arc<dyn PhysicalExpr>,
}

impl PartialEq for ColumnBound {
    fn eq(&self, other: &Self) -> bool {
        self.filter.eq(&other.filter) && self.column.eq(&other.column)
    }
}

impl Hash for ColumnBound {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.filter.hash(state);
        self.column.hash(state);
    }
}

impl fmt::Display for ColumnBound {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "bounds of {}", self.column)
    }
}

impl PhysicalExpr for ColumnBound {
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

    /// Children are rebuilt first, so the filter is in its current state.
    fn snapshot(&self) -> Result<Option<Arc<dyn PhysicalExpr>>> {
        let column = self.column.downcast_ref::<Column>();
        let follows = column.and_then(|column| implied_by(&self.filter, column));
        Ok(Some(follows.unwrap_or_else(|| lit(true))))
    }
}

/// The condition on one column that a filter implies; `None` if there is none.
fn implied_by(filter: &Arc<dyn PhysicalExpr>, column: &Column) -> Option<Arc<dyn PhysicalExpr>> {
    let both = filter.downcast_ref::<BinaryExpr>();
    let parts = both.map(|both| {
        (
            implied_by(both.left(), column),
            implied_by(both.right(), column),
        )
    });
    match (both.map(BinaryExpr::op), parts) {
        (Some(Operator::And), Some((Some(left), Some(right)))) => {
            Some(Arc::new(BinaryExpr::new(left, Operator::And, right)))
        }
        (Some(Operator::And), Some((one, other))) => one.or(other),
        (Some(Operator::Or), Some((Some(left), Some(right)))) => {
            Some(Arc::new(BinaryExpr::new(left, Operator::Or, right)))
        }
        (Some(Operator::Or), _) => None,
        _ => reads_only(filter, column)
            .then(|| ranges_of_list(filter).unwrap_or_else(|| Arc::clone(filter))),
    }
}

/// A few ranges that contain all values of a long list; `None` for other filters.
fn ranges_of_list(filter: &Arc<dyn PhysicalExpr>) -> Option<Arc<dyn PhysicalExpr>> {
    let list = filter.downcast_ref::<InListExpr>()?;
    if list.negated() || list.list().len() <= MAX_PRUNED_LIST {
        return None;
    }
    let values = list.list().iter().map(|value| {
        let value = value.downcast_ref::<Literal>()?;
        Some(value.value().clone())
    });
    let mut values = values.collect::<Option<Vec<ScalarValue>>>()?;
    values.retain(|value| !value.is_null());
    let of_type = values.first()?.data_type();
    // Pages have bounds of plain columns only, and these bounds exclude NaN.
    let has_bounds = |value: &ScalarValue| value.data_type() == of_type && !is_nan(value);
    if of_type.is_nested() || !values.iter().all(has_bounds) {
        return None;
    }
    values.sort_by(value_order);
    let ranges = values.chunks(values.len().div_ceil(MAX_RANGES));
    let ranges = ranges.filter_map(|range| {
        let compared = |op, value: &ScalarValue| {
            let value = Arc::new(Literal::new(value.clone()));
            let of = Arc::clone(list.expr());
            Arc::new(BinaryExpr::new(of, op, value)) as Arc<dyn PhysicalExpr>
        };
        let least = compared(Operator::GtEq, range.first()?);
        let most = compared(Operator::LtEq, range.last()?);
        Some(Arc::new(BinaryExpr::new(least, Operator::And, most)) as Arc<dyn PhysicalExpr>)
    });
    ranges.reduce(|one, other| Arc::new(BinaryExpr::new(one, Operator::Or, other)))
}

fn is_nan(value: &ScalarValue) -> bool {
    match value {
        ScalarValue::Float16(Some(value)) => value.is_nan(),
        ScalarValue::Float32(Some(value)) => value.is_nan(),
        ScalarValue::Float64(Some(value)) => value.is_nan(),
        _ => false,
    }
}

/// Returns whether an expression reads this column and no other.
fn reads_only(expr: &Arc<dyn PhysicalExpr>, column: &Column) -> bool {
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
    use arrow::util::pretty::pretty_format_batches;
    use datafusion::physical_expr::expressions::{col, is_null};

    use super::*;
    use crate::context::new_context;
    use crate::limits::Limits;

    fn schema() -> Schema {
        let field = |name| arrow::datatypes::Field::new(name, DataType::Int64, true);
        Schema::new(vec![field("a"), field("b")])
    }

    fn comparison(name: &str, op: Operator, value: i64) -> Arc<dyn PhysicalExpr> {
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
    fn derived_bounds_name_one_column() {
        use Operator::{And, Eq, Gt, Lt, Or};
        let told = |filter: &Arc<dyn PhysicalExpr>, name: &str| {
            let column = Column::new_with_schema(name, &schema()).unwrap();
            implied_by(filter, &column).map(|found| found.to_string())
        };
        let tied = both(comparison("a", Eq, 3), And, comparison("b", Lt, 7));
        let best = both(comparison("a", Lt, 3), Or, Arc::clone(&tied));
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
    fn a_bound_follows_its_dynamic_filter() {
        use datafusion::physical_expr_common::physical_expr::snapshot_physical_expr;
        let columns = vec![col("a", &schema()).unwrap(), col("b", &schema()).unwrap()];
        let filter = Arc::new(DynamicFilterPhysicalExpr::new(columns, lit(true)));
        let bounds = column_bounds(&(Arc::clone(&filter) as Arc<dyn PhysicalExpr>));
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
            comparison("a", Operator::Eq, 3),
            Operator::And,
            comparison("b", Operator::Lt, 7),
        );
        filter
            .update(both(comparison("a", Operator::Lt, 3), Operator::Or, tied))
            .unwrap();
        assert_eq!(said(), ["a@0 < 3 OR a@0 = 3", "true"]);
    }

    #[test]
    fn a_long_list_is_a_few_ranges() {
        use datafusion::physical_expr::expressions::in_list;
        let listed = |values: &[i64], negated: &bool| {
            let list = values.iter().map(|value| lit(*value)).collect();
            in_list(col("a", &schema()).unwrap(), list, negated, &schema()).unwrap()
        };
        let column = Column::new_with_schema("a", &schema()).unwrap();
        let told =
            |filter: &Arc<dyn PhysicalExpr>| implied_by(filter, &column).unwrap().to_string();
        let few: Vec<i64> = (0..20).rev().collect();
        assert!(told(&listed(&few, &false)).contains("IN"));
        let more: Vec<i64> = (0..21).rev().collect();
        let ranges = told(&listed(&more, &false));
        assert!(
            ranges.starts_with("a@0 >= 0 AND a@0 <= 0 OR a@0 >= 1"),
            "{ranges}"
        );
        let many: Vec<i64> = (0..6_400).rev().collect();
        let ranges = told(&listed(&many, &false));
        assert!(
            ranges.starts_with("a@0 >= 0 AND a@0 <= 99 OR a@0 >= 100"),
            "{ranges}"
        );
        assert_eq!(ranges.matches(" OR ").count(), MAX_RANGES - 1);
        for (values, negated, wanted) in [(&few, false, 0), (&more, false, 1), (&more, true, 0)] {
            assert_eq!(column_bounds(&listed(values, &negated)).len(), wanted);
        }
    }

    /// Two files of 20,000 rows in pages of 1,000. The last page of the second file spans nearly all values.
    #[tokio::test]
    async fn pages_are_left_out_by_what_follows() {
        let folder = tempfile::tempdir().unwrap();
        let limits = Limits {
            threads: Some(1),
            ..Limits::default()
        };
        let context = new_context(limits).unwrap();
        let answer = async |sql: &str| {
            let rows = context.sql(sql).await.unwrap().collect().await.unwrap();
            pretty_format_batches(&rows).unwrap().to_string()
        };
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
            answer(&sql).await;
        }
        let list: Vec<String> = (0..40).map(|n| (n * 3 + 50_500).to_string()).collect();
        let list = list.join(", ");
        for (asked, row, pages) in [
            (
                "SELECT x, y FROM t ORDER BY x, y LIMIT 8",
                "| 5 | -19500 |",
                "20 total → 1 matched",
            ),
            (
                "SELECT concat(count(*), ' ', min(y)) AS told FROM t WHERE x IN (LIST)",
                "| 40 -617 |",
                "20 total → 2 matched",
            ),
            (
                "SELECT concat(count(*), ' ', min(y)) AS told FROM t WHERE x IN (LIST) OR x = 5",
                "| 42 -19500 |",
                "40 total → 3 matched",
            ),
            (
                "SELECT concat(count(*), ' ', min(y)) AS told FROM t WHERE x NOT IN (LIST)",
                "| 39960 -19999 |",
                "0 total → 0 matched",
            ),
        ] {
            let files = format!("'{}'", folder.path().join("*.parquet").display());
            let sql = asked
                .replace("FROM t", &format!("FROM {files}"))
                .replace("LIST", &list);
            let rows = answer(&sql).await;
            assert!(rows.contains(row), "{asked}: {rows}");
            let explained = answer(&format!("EXPLAIN ANALYZE {sql}")).await;
            let read = explained.split("page_index_pages_pruned=").nth(1).unwrap();
            let read = read.split(',').next().unwrap();
            assert_eq!(read, pages, "{asked}");
        }
    }

    #[test]
    fn lists_of_structs_with_null_are_no_ranges() {
        use arrow::array::{ArrayRef, Int64Array, StructArray};
        use arrow::datatypes::Field;
        use datafusion::physical_expr::expressions::in_list;
        let pair = |a: Option<i64>, b: Option<i64>| {
            let column = |value| Arc::new(Int64Array::from(vec![value])) as ArrayRef;
            let field = |name| Arc::new(Field::new(name, DataType::Int64, true));
            let columns = vec![(field("a"), column(a)), (field("b"), column(b))];
            ScalarValue::Struct(Arc::new(StructArray::from(columns)))
        };
        // Enough values, in an order in which a sort with an inconsistent comparison panics.
        let values = (0..400).map(|row| {
            let (a, b) = (row * 7 % 40, row * 13 % 30);
            pair((a % 5 != 0).then_some(a), (b % 3 != 0).then_some(b))
        });
        let values: Vec<ScalarValue> = values.collect();
        let of = Field::new("p", values[0].data_type(), true);
        let schema = Schema::new(vec![of]);
        let list = values.into_iter().map(lit).collect();
        let filter = in_list(col("p", &schema).unwrap(), list, &false, &schema).unwrap();
        assert!(ranges_of_list(&filter).is_none());
    }
}
