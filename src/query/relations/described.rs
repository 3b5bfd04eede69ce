//! `DESCRIBE t`: a row for each column of a query, with the first three of DuckDB's columns.

use arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::{EmptyRelation, Expr, LogicalPlan, LogicalPlanBuilder, lit};

/// What is said of a column: its name, its type in Arrow's words, and whether it may be NULL.
const SAID: [&str; 3] = ["column_name", "column_type", "null"];

/// The columns of what `of` gives.
pub(super) fn plan(of: &LogicalPlan) -> Result<LogicalPlan> {
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
        let said = SAID.map(|name| Field::new(name, DataType::Utf8, true));
        let schema = DFSchema::try_from(Schema::new(said.to_vec()))?;
        return Ok(LogicalPlan::EmptyRelation(EmptyRelation {
            produce_one_row: false,
            schema: schema.into(),
        }));
    }
    let values = LogicalPlanBuilder::values(rows)?;
    let columns = values.schema().columns().into_iter().zip(SAID);
    let named = columns.map(|(column, name)| Expr::Column(column).alias(name));
    let named: Vec<Expr> = named.collect();
    values.project(named)?.build()
}
