//! `DESCRIBE t`: a row for each column of a query, with the first three of DuckDB's columns.

use arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::{EmptyRelation, Expr, LogicalPlan, LogicalPlanBuilder, lit};

/// Columns of the result: the name, the Arrow type, and whether the column is nullable.
const COLUMNS: [&str; 3] = ["column_name", "column_type", "null"];

/// Plans the description of the columns of `of`.
pub(super) fn describe_plan(of: &LogicalPlan) -> Result<LogicalPlan> {
    let columns = of.schema().fields().iter();
    let rows: Vec<_> = columns
        .map(|field| {
            let may_be_null = if field.is_nullable() { "YES" } else { "NO" };
            let of = field.data_type().to_string();
            [field.name().clone(), of, may_be_null.to_owned()]
                .map(|text| lit(ScalarValue::Utf8(Some(text))))
                .to_vec()
        })
        .collect();
    if rows.is_empty() {
        let said = COLUMNS.map(|name| Field::new(name, DataType::Utf8, true));
        let schema = DFSchema::try_from(Schema::new(said.to_vec()))?;
        return Ok(LogicalPlan::EmptyRelation(EmptyRelation {
            produce_one_row: false,
            schema: schema.into(),
        }));
    }
    let values = LogicalPlanBuilder::values(rows)?;
    let columns = values.schema().columns().into_iter().zip(COLUMNS);
    let named = columns.map(|(column, name)| Expr::Column(column).alias(name));
    let named: Vec<Expr> = named.collect();
    values.project(named)?.build()
}
