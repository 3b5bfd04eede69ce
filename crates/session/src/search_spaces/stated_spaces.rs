//! Search spaces that sources state: T1 files with conditions, caches of Kernel Tuner without.

use std::collections::HashMap;

use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use tsql_autotuners::{Condition, Expression, Parameter, Space, Value, parse_json};
use tsql_dialect::collect;
use tsql_error::Result;
use tsql_schema::column;

/// A search space of a source.
#[derive(Debug)]
pub(super) struct StatedSpace {
    pub source_id: i64,
    /// Number of points of the Cartesian product.
    pub cartesian_count: i64,
    /// Number of points that satisfy all conditions, if it is known.
    pub valid_count: Option<i64>,
    pub space: Space,
}

/// Spaces by kernel.
#[derive(Debug, Default)]
pub(super) struct StatedSpaces(HashMap<String, Vec<StatedSpace>>);

impl StatedSpaces {
    /// Reads the spaces of a store.
    pub(super) async fn read(context: &SessionContext) -> Result<Self> {
        let sql = "SELECT source_id, arrow_cast(kernel, 'Utf8View') AS kernel, arrow_cast(kind, 'Utf8View') AS kind, \
                   arrow_cast(name, 'Utf8View') AS name, arrow_cast(allowed_values, 'Utf8View') AS allowed_values, \
                   arrow_cast(expression, 'Utf8View') AS expression, cartesian_count, valid_count \
                   FROM spaces WHERE kernel IS NOT NULL ORDER BY source_id, line";
        let mut spaces = Self::default();
        for batch in collect(context, sql).await? {
            let sources = column::numbers::<Int64Type>(&batch, "source_id")?;
            let products = column::numbers::<Int64Type>(&batch, "cartesian_count")?;
            let valid = column::numbers::<Int64Type>(&batch, "valid_count")?;
            let [kernels, kinds, names, allowed, expressions] =
                ["kernel", "kind", "name", "allowed_values", "expression"]
                    .map(|name| column::text(&batch, name));
            let (kernels, kinds, names) = (kernels?, kinds?, names?);
            let (allowed, expressions) = (allowed?, expressions?);
            for row in 0..batch.num_rows() {
                let source_id = sources.value(row);
                let of_kernel = spaces.0.entry(kernels.value(row).to_owned()).or_default();
                if of_kernel
                    .last()
                    .is_none_or(|space| space.source_id != source_id)
                {
                    of_kernel.push(StatedSpace {
                        source_id,
                        cartesian_count: products.value(row),
                        valid_count: column::value(valid, row),
                        space: Space::default(),
                    });
                }
                let Some(stated) = of_kernel.last_mut() else {
                    continue;
                };
                let expression = column::text_at(expressions, row).unwrap_or_default();
                if kinds.value(row) == "condition" {
                    stated
                        .space
                        .conditions
                        .get_or_insert_default()
                        .push(Condition {
                            text: expression.to_owned(),
                            expression: Expression::parse(expression).ok(),
                        });
                } else if let Some(name) = column::text_at(names, row) {
                    stated.space.parameters.push(Parameter {
                        name: name.to_owned(),
                        type_name: None,
                        values: allowed_values(allowed.value(row)),
                        expression: None,
                        default: None,
                    });
                }
            }
        }
        Ok(spaces)
    }

    /// Returns the spaces of a kernel with these parameters. KTT adds `_kernel` to the name of the function, which is the
    /// name in T1 files.
    pub(super) fn of_kernel(&self, kernel: &str, parameters: &[String]) -> Vec<&StatedSpace> {
        let function = kernel.strip_suffix("_kernel");
        let names = [Some(kernel), function].into_iter().flatten();
        let spaces = names.filter_map(|name| self.0.get(name)).flatten();
        let has_parameters = |space: &&StatedSpace| {
            let own = &space.space.parameters;
            own.len() == parameters.len()
                && own
                    .iter()
                    .all(|parameter| parameters.contains(&parameter.name))
        };
        spaces.filter(has_parameters).collect()
    }
}

/// Allowed values of a parameter; none if the text is not a JSON list.
fn allowed_values(text: &str) -> Vec<Value> {
    match parse_json(text) {
        Some(Value::List(values)) => values,
        _ => Vec::new(),
    }
}
