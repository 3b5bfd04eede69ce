//! Unescapes tab-separated values, in which tabs and line ends are written as `\t` and `\n`.

use std::sync::Arc;

use arrow::array::{AsArray as _, StringArray};
use arrow::datatypes::DataType;
use datafusion::catalog::TableProvider;
use datafusion::common::Column;
use datafusion::datasource::{ViewTable, provider_as_source};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlanBuilder, ScalarUDF, Volatility, create_udf,
};

/// Name of the function in plans.
const NAME: &str = "tsv_text";

/// Wraps `table` so that its text columns are unescaped.
pub(super) fn unescape_table(
    table: Arc<dyn TableProvider>,
) -> Result<Arc<dyn TableProvider>, DataFusionError> {
    let schema = table.schema();
    let mut fields = schema.fields().iter();
    if !fields.any(|field| *field.data_type() == DataType::Utf8) {
        return Ok(table);
    }
    let unescape = unescape_udf();
    let columns = schema.fields().iter().map(|field| {
        let column = Expr::Column(Column::from_name(field.name()));
        if *field.data_type() == DataType::Utf8 {
            unescape.call(vec![column]).alias(field.name())
        } else {
            column
        }
    });
    let plan = LogicalPlanBuilder::scan("tsv", provider_as_source(table), None)?;
    let plan = plan.project(columns.collect::<Vec<_>>())?.build()?;
    Ok(Arc::new(ViewTable::new(plan, None)))
}

fn unescape_udf() -> ScalarUDF {
    let run = |args: &[ColumnarValue]| {
        let arrays = ColumnarValue::values_to_arrays(args)?;
        let texts = arrays.first().map(|array| array.as_string::<i32>().iter());
        let texts = texts.into_iter().flatten();
        let texts: StringArray = texts.map(|text| text.map(unescape_text)).collect();
        Ok(ColumnarValue::Array(Arc::new(texts)))
    };
    let volatility = Volatility::Immutable;
    create_udf(
        NAME,
        vec![DataType::Utf8],
        DataType::Utf8,
        volatility,
        Arc::new(run),
    )
}

fn unescape_text(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            text.push(character);
            continue;
        }
        match characters.next() {
            Some('t') => text.push('\t'),
            Some('n') => text.push('\n'),
            Some('r') => text.push('\r'),
            Some('\\') | None => text.push('\\'),
            // A backslash from a writer that does not escape tabs.
            Some(other) => text.extend(['\\', other]),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone() {
        assert_eq!(unescape_text(r"a\tb\\n\n\r\x\"), "a\tb\\n\n\r\\x\\");
        assert_eq!(unescape_text("größe"), "größe");
    }
}
