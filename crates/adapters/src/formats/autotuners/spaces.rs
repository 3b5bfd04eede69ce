//! Rows of `spaces`.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray};
use tsql_formats::autotuners::readers::{Document, Space, Value};
use tsql_schema::column::arrays::{Columns, int64_array, text_array};

/// Maximum number of points of a product whose valid points are counted.
const MAX_POINTS: u64 = 1_000_000;

/// A parameter or a condition of a space.
pub(crate) struct SpaceRow {
    kernel: Option<String>,
    name: Option<String>,
    value_type: Option<String>,
    allowed_values: Option<String>,
    value_count: Option<i64>,
    default_value: Option<String>,
    expression: Option<String>,
    cartesian_count: i64,
    valid_count: Option<i64>,
}

/// Rows of the space of a file.
pub(super) fn rows(document: &Document, kernel: Option<&str>) -> Vec<SpaceRow> {
    let Some(space) = document.space.as_ref() else {
        return Vec::new();
    };
    let kernel = kernel
        .map(str::to_owned)
        .or_else(|| stated_kernel(document));
    let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let row = SpaceFacts {
        kernel,
        cartesian_count: count(space.cartesian()),
        valid_count: space.count_valid(MAX_POINTS).map(count),
    };
    row.rows(space)
}

/// Kernel in the header of a file without trials.
fn stated_kernel(document: &Document) -> Option<String> {
    let settings = Value::Object(document.settings.clone());
    let specification = settings.get("KernelSpecification");
    let name = specification.and_then(|value| value.get("KernelName"));
    let name = name.or_else(|| settings.get("kernel_name"));
    name.and_then(Value::as_text).map(str::to_owned)
}

/// Facts of a whole space.
struct SpaceFacts {
    kernel: Option<String>,
    cartesian_count: i64,
    valid_count: Option<i64>,
}

impl SpaceFacts {
    fn rows(&self, space: &Space) -> Vec<SpaceRow> {
        let parameters = space.parameters.iter().map(|parameter| SpaceRow {
            name: Some(parameter.name.clone()),
            value_type: parameter.type_name.clone(),
            allowed_values: Some(Value::List(parameter.values.clone()).to_json()),
            value_count: i64::try_from(parameter.values.len()).ok(),
            default_value: parameter.default.as_ref().map(Value::to_json),
            expression: parameter.expression.clone(),
            ..self.row()
        });
        let conditions = space.conditions.iter().flatten();
        let conditions = conditions.map(|condition| SpaceRow {
            expression: Some(condition.text.clone()),
            ..self.row()
        });
        parameters.chain(conditions).collect()
    }

    fn row(&self) -> SpaceRow {
        SpaceRow {
            kernel: self.kernel.clone(),
            name: None,
            value_type: None,
            allowed_values: None,
            value_count: None,
            default_value: None,
            expression: None,
            cartesian_count: self.cartesian_count,
            valid_count: self.valid_count,
        }
    }
}

/// Columns of `spaces`, each row with its source and its position.
pub(super) fn columns(rows: &[(i64, i64, SpaceRow)]) -> Columns {
    let text = |text: fn(&SpaceRow) -> Option<&String>| -> ArrayRef {
        let texts = rows.iter().map(|(.., row)| text(row));
        Arc::new(texts.collect::<StringArray>())
    };
    let number = |number: fn(&SpaceRow) -> Option<i64>| -> ArrayRef {
        let numbers = rows.iter().map(|(.., row)| number(row));
        Arc::new(numbers.collect::<Int64Array>())
    };
    let kinds = rows.iter().map(|(.., row)| match row.name {
        Some(_) => "parameter",
        None => "condition",
    });
    BTreeMap::from([
        ("source_id", int64_array(rows.iter().map(|row| row.0))),
        ("line", int64_array(rows.iter().map(|row| row.1))),
        ("kernel", text(|row| row.kernel.as_ref())),
        ("kind", text_array(kinds)),
        ("name", text(|row| row.name.as_ref())),
        ("value_type", text(|row| row.value_type.as_ref())),
        ("allowed_values", text(|row| row.allowed_values.as_ref())),
        ("value_count", number(|row| row.value_count)),
        ("default_value", text(|row| row.default_value.as_ref())),
        ("expression", text(|row| row.expression.as_ref())),
        ("cartesian_count", number(|row| Some(row.cartesian_count))),
        ("valid_count", number(|row| row.valid_count)),
    ])
}
