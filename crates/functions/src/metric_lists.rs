//! `unpack_metrics`: the named numbers of a record as a list, which the view `metrics` unnests. `metric`: one of them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    Array as _, ArrayRef, AsArray as _, Float64Array, Float64Builder, Int64Array, StringViewArray,
};
use arrow::datatypes::{DataType, Fields, Float64Type};
use datafusion::common::Result;
use datafusion::common::cast::{as_list_array, as_string_view_array};
use tsql_formats::autotuners::readers::{Scale, base_unit};

use super::function_docs::FunctionDocs;
use super::lists::{ListLengths, list_type, nullable_fields};
use super::scalar::{Scalar, argument};

fn metric_fields() -> Fields {
    use DataType::{Float64, Int64, Utf8View};
    nullable_fields([
        ("name", Utf8View),
        ("unit", Utf8View),
        ("index", Int64),
        ("value", Float64),
        ("raw_name", Utf8View),
        ("raw_unit", Utf8View),
        ("raw_value", Float64),
        ("raw_text", Utf8View),
    ])
}

/// `unpack_metrics`: the metrics of a record.
pub(super) fn unpack_metrics_udf() -> Scalar {
    let about = FunctionDocs::new(
        "unpack_metrics",
        "Named numbers of a record: canonical name, unit, index and value, and the same in the source",
        "SELECT unpack_metrics(metric_layout, metric_values, metric_texts) FROM stored.records LIMIT 1",
    )
    .argument(
        "layout",
        DataType::Utf8View,
        "a line for each: name, name and unit in the source, kind",
    )
    .argument(
        "values",
        DataType::new_list(DataType::Float64, true),
        "values in the units of the source",
    )
    .argument(
        "texts",
        DataType::Utf8View,
        "index and text of each number whose text does not follow from its value",
    )
    .source("tsql: `records` in `schemas/records.toml`");
    Scalar::new(&about, list_type(metric_fields()), lists)
}

/// `metric`: the first number of a name.
pub(super) fn metric_udf() -> Scalar {
    let about = FunctionDocs::new(
        "metric",
        "Number of this name in its canonical unit. NULL if the record has none; the first of several",
        "SELECT metric(metrics, 'energy') FROM records LIMIT 1",
    )
    .argument(
        "metrics",
        list_type(metric_fields()),
        "metrics, as in `records.metrics`",
    )
    .argument(
        "name",
        DataType::Utf8View,
        "canonical name (`metric_names`), or a name of the source",
    )
    .source("tsql: `metric_names` in `schemas/metric_names.toml`");
    Scalar::new(&about, DataType::Float64, first_of_name)
}

/// An entry of a layout.
struct Entry<'a> {
    name: &'a str,
    unit: &'a str,
    scale: Scale,
    raw_name: &'a str,
    raw_unit: &'a str,
    /// Position among the entries of this name.
    index: i64,
}

fn parse_layout(layout: &str) -> Vec<Entry<'_>> {
    let mut entries: Vec<Entry<'_>> = Vec::new();
    for line in layout.lines() {
        let mut cells = line.split('\t');
        let name = cells.next().unwrap_or_default();
        let raw_name = cells.next().unwrap_or_default();
        let raw_unit = cells.next().unwrap_or_default();
        let (unit, scale) = base_unit(raw_unit);
        let earlier = entries.iter().rev().find(|entry| entry.name == name);
        let index = earlier.map_or(0, |entry| entry.index + 1);
        entries.push(Entry {
            name,
            unit,
            scale,
            raw_name,
            raw_unit,
            index,
        });
    }
    entries
}

/// Texts of the numbers that have one, by index.
fn parse_texts(texts: &str) -> HashMap<usize, &str> {
    let lines = texts.lines().filter_map(|line| line.split_once('\t'));
    let lines = lines.filter_map(|(index, text)| Some((index.parse().ok()?, text)));
    lines.collect()
}

#[derive(Default)]
struct MetricColumns<'a> {
    names: Vec<&'a str>,
    units: Vec<&'a str>,
    indexes: Vec<i64>,
    values: Vec<f64>,
    raw_names: Vec<&'a str>,
    raw_units: Vec<&'a str>,
    raw_values: Vec<f64>,
    raw_texts: Vec<Option<&'a str>>,
}

fn lists(args: &[ArrayRef]) -> Result<ArrayRef> {
    let layouts = as_string_view_array(argument(args, 0)?)?;
    let values = as_list_array(argument(args, 1)?)?;
    let texts = as_string_view_array(argument(args, 2)?)?;
    let mut parsed: HashMap<&str, Vec<Entry<'_>>> = HashMap::new();
    let mut lengths = ListLengths::default();
    let mut columns = MetricColumns::default();
    for row in 0..layouts.len() {
        if layouts.is_null(row) || values.is_null(row) {
            lengths.push(None);
            continue;
        }
        let layout = layouts.value(row);
        let entries = parsed.entry(layout).or_insert_with(|| parse_layout(layout));
        let numbers = values.value(row);
        let numbers = numbers.as_primitive_opt::<Float64Type>();
        let numbers = numbers.map_or(&[][..], |numbers| numbers.values());
        let own_texts = texts.is_valid(row).then(|| parse_texts(texts.value(row)));
        for (at, (entry, &raw)) in entries.iter().zip(numbers).enumerate() {
            columns.names.push(entry.name);
            columns.units.push(entry.unit);
            columns.indexes.push(entry.index);
            columns.values.push(entry.scale.apply(raw));
            columns.raw_names.push(entry.raw_name);
            columns.raw_units.push(entry.raw_unit);
            columns.raw_values.push(raw);
            let text = own_texts.as_ref().and_then(|texts| texts.get(&at).copied());
            columns.raw_texts.push(text);
        }
        lengths.push(Some(entries.len().min(numbers.len())));
    }
    let text = |texts: Vec<&str>| Arc::new(StringViewArray::from(texts)) as ArrayRef;
    lengths.into_struct_lists(
        metric_fields(),
        vec![
            text(columns.names),
            text(columns.units),
            Arc::new(Int64Array::from(columns.indexes)),
            Arc::new(Float64Array::from(columns.values)),
            text(columns.raw_names),
            text(columns.raw_units),
            Arc::new(Float64Array::from(columns.raw_values)),
            Arc::new(StringViewArray::from(columns.raw_texts)),
        ],
    )
}

fn first_of_name(args: &[ArrayRef]) -> Result<ArrayRef> {
    let metrics = as_list_array(argument(args, 0)?)?;
    let wanted = as_string_view_array(argument(args, 1)?)?;
    let structs = metrics.values().as_struct();
    let column = |name| {
        let column = structs.column_by_name(name);
        as_string_view_array(column.unwrap_or_else(|| metrics.values()))
    };
    let (names, raw_names) = (column("name")?, column("raw_name")?);
    let values = structs
        .column_by_name("value")
        .unwrap_or_else(|| metrics.values());
    let values = datafusion::common::cast::as_float64_array(values)?;
    let mut found = Float64Builder::with_capacity(metrics.len());
    let offsets = metrics.value_offsets();
    for (row, bounds) in offsets.windows(2).enumerate() {
        let bounds = bounds
            .iter()
            .map(|offset| usize::try_from(*offset).unwrap_or(0));
        let bounds: Vec<usize> = bounds.collect();
        let (start, end) = (bounds.first().copied(), bounds.last().copied());
        let range = start.unwrap_or(0)..end.unwrap_or(0);
        if metrics.is_null(row) || wanted.is_null(row) {
            found.append_null();
            continue;
        }
        let name = wanted.value(row);
        let named = |column: &StringViewArray| range.clone().find(|&at| column.value(at) == name);
        let at = named(names).or_else(|| named(raw_names));
        found.append_option(at.map(|at| values.value(at)));
    }
    Ok(Arc::new(found.finish()))
}

#[cfg(test)]
mod tests {
    use arrow::array::ListBuilder;

    use super::*;

    fn unpacked() -> ArrayRef {
        let layout = "energy\tps_energy\tmJ\tf\nenergy\tenergy\tJ\tf\nx\tx\t\ti";
        let layouts = StringViewArray::from(vec![Some(layout), None]);
        let mut values = ListBuilder::new(Float64Builder::new());
        values.append_value([Some(1500.0), Some(2.5), Some(7.0)]);
        values.append_null();
        let texts = StringViewArray::from(vec![Some("1\t2.50"), None]);
        let args: Vec<ArrayRef> = vec![
            Arc::new(layouts),
            Arc::new(values.finish()),
            Arc::new(texts),
        ];
        lists(&args).unwrap()
    }

    #[test]
    fn metrics_are_unpacked_with_canonical_units() {
        let lists = unpacked();
        let lists = lists.as_list::<i32>();
        assert!(lists.is_null(1));
        let first = lists.value(0);
        let structs = first.as_struct();
        let values = structs.column_by_name("value").unwrap();
        assert_eq!(
            values.as_primitive::<Float64Type>().values(),
            &[1.5, 2.5, 7.0]
        );
        let units = structs.column_by_name("unit").unwrap();
        assert_eq!(units.as_string_view().value(2), "1");
        let texts = structs.column_by_name("raw_text").unwrap();
        assert_eq!(texts.as_string_view().value(1), "2.50");
    }

    #[test]
    fn a_metric_is_found_by_either_name() {
        for (name, expected) in [("energy", Some(1.5)), ("ps_energy", Some(1.5)), ("y", None)] {
            let names = StringViewArray::from(vec![name, name]);
            let args: Vec<ArrayRef> = vec![unpacked(), Arc::new(names)];
            let found = first_of_name(&args).unwrap();
            let found = found.as_primitive::<Float64Type>();
            assert_eq!(found.iter().collect::<Vec<_>>(), [expected, None]);
        }
    }
}
