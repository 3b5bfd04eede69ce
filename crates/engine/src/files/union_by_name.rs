//! Union of files with different columns. Columns are matched by name, regardless of their position.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Fields, Schema};
use datafusion::catalog::TableProvider;
use datafusion::common::{Column, ScalarValue};
use datafusion::datasource::{ViewTable, provider_as_source};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::type_coercion::binary::type_union_coercion;
use datafusion::logical_expr::{Expr, LogicalPlanBuilder, cast, lit};

use super::file_listing::invalid_path;

/// Returns a table of all rows of `tables`, which have one schema each. Missing columns are NULL.
pub(super) fn union_by_name(
    path: &str,
    tables: Vec<Arc<dyn TableProvider>>,
) -> Result<Arc<dyn TableProvider>, DataFusionError> {
    let schemas: Vec<_> = tables.iter().map(|table| table.schema()).collect();
    let columns = merge_columns(path, schemas.iter().map(|schema| schema.as_ref()))?;
    let mut all: Option<LogicalPlanBuilder> = None;
    for (number, (table, schema)) in tables.into_iter().zip(&schemas).enumerate() {
        let name = format!("files_{number}");
        let plan = LogicalPlanBuilder::scan(name, provider_as_source(table), None)?;
        let own = columns.iter().map(|column| column_expr(schema, column));
        let plan = plan.project(own.collect::<Result<Vec<_>, _>>()?)?;
        all = Some(match all {
            None => plan,
            Some(all) => all.union(plan.build()?)?,
        });
    }
    let all = all.ok_or_else(|| invalid_path(path, "there are no files"))?;
    Ok(Arc::new(ViewTable::new(all.build()?, None)))
}

/// A column of one file, cast to the common type.
fn column_expr(schema: &Schema, column: &Field) -> Result<Expr, DataFusionError> {
    let data_type = column.data_type();
    let own = match schema.column_with_name(column.name()) {
        None => lit(ScalarValue::try_from(data_type)?),
        Some((_, own)) => {
            let value = Expr::Column(Column::from_name(column.name()));
            if own.data_type() == data_type {
                value
            } else {
                cast(value, data_type.clone())
            }
        }
    };
    Ok(own.alias(column.name()))
}

/// The union of all columns, in the order of first occurrence.
fn merge_columns<'a>(
    path: &str,
    schemas: impl Iterator<Item = &'a Schema>,
) -> Result<Fields, DataFusionError> {
    let mut columns: Vec<Field> = Vec::new();
    for field in schemas.flat_map(Schema::fields) {
        match columns
            .iter_mut()
            .find(|known| known.name() == field.name())
        {
            None => columns.push(field.as_ref().clone().with_nullable(true)),
            Some(known) => {
                let (one, other) = (known.data_type(), field.data_type());
                let both = common_type(one, other).ok_or_else(|| {
                    let name = field.name();
                    invalid_path(
                        path,
                        format!("column `{name}` is {one} in one file and {other} in another"),
                    )
                })?;
                known.set_data_type(both);
            }
        }
    }
    Ok(columns.into())
}

/// Common type of both columns.
fn common_type(one: &DataType, other: &DataType) -> Option<DataType> {
    if one == other {
        return Some(one.clone());
    }
    match type_union_coercion(one, other) {
        None if !one.is_nested() && !other.is_nested() => Some(DataType::Utf8),
        both => both,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_put_together_by_name() {
        let schema = |fields: &[(&str, DataType)]| {
            let fields = fields.iter();
            let fields = fields.map(|(name, kind)| Field::new(*name, kind.clone(), false));
            Schema::new(fields.collect::<Vec<_>>())
        };
        let list = DataType::new_list(DataType::Int64, true);
        let all = [
            schema(&[("a", DataType::Int64), ("b", DataType::Int64)]),
            schema(&[("b", DataType::Float64), ("c", DataType::Utf8)]),
            schema(&[("a", DataType::Utf8)]),
        ];
        let found = merge_columns("x", all.iter()).unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|field| (field.name().as_str(), field.data_type()))
            .collect();
        let wanted = [
            ("a", &DataType::Utf8),
            ("b", &DataType::Float64),
            ("c", &DataType::Utf8),
        ];
        assert_eq!(found, wanted);
        let odd = [schema(&[("a", list)]), schema(&[("a", DataType::Int64)])];
        let error = merge_columns("x", odd.iter()).unwrap_err().to_string();
        assert!(error.contains("column `a` is "), "{error}");
    }
}
