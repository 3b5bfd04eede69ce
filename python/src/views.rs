//! Converts results for Arrow readers that do not support view types.

use std::sync::Arc;

use tsql::arrow::datatypes::{DataType, Field, FieldRef};
use tsql::datafusion::common::Column;
use tsql::datafusion::dataframe::DataFrame;
use tsql::datafusion::error::Result;
use tsql::datafusion::logical_expr::{Expr, cast};

/// Casts texts and bytes to the types without views, also within lists.
pub(crate) fn without_views(frame: DataFrame) -> Result<DataFrame> {
    let columns = frame.schema().iter().map(|(relation, field)| {
        let column = Expr::Column(Column::new(relation.cloned(), field.name()));
        let plain = plain_type(field.data_type());
        if plain == *field.data_type() {
            return column;
        }
        cast(column, plain).alias_qualified(relation.cloned(), field.name())
    });
    let columns: Vec<Expr> = columns.collect();
    frame.select(columns)
}

fn plain_type(kind: &DataType) -> DataType {
    let of = |field: &FieldRef| -> FieldRef {
        let inner = Field::clone(field).with_data_type(plain_type(field.data_type()));
        Arc::new(inner)
    };
    match kind {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::List(field) | DataType::ListView(field) => DataType::List(of(field)),
        DataType::LargeList(field) => DataType::LargeList(of(field)),
        DataType::FixedSizeList(field, size) => DataType::FixedSizeList(of(field), *size),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(of).collect()),
        DataType::Map(field, sorted) => DataType::Map(of(field), *sorted),
        other => other.clone(),
    }
}
