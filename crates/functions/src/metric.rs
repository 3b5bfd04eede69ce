//! Aggregate functions for all metrics of `tsql_metrics`, with the same names.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, Float64Array, StringArray, StructArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Float64Type};
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::Accumulator;
use datafusion::logical_expr::function::AccumulatorArgs;
use tsql_metrics::{Evaluation, METRICS, Metric, RowGroup, ValueKind};

use super::aggregate::{Aggregate, AggregateDefinition};
use super::function_docs::FunctionDocs;

/// All metrics as aggregates.
pub(super) fn all() -> impl Iterator<Item = Aggregate> {
    METRICS.iter().copied().flatten().map(metric_aggregate)
}

fn metric_aggregate(metric: &'static Metric) -> Aggregate {
    let mut about =
        FunctionDocs::new(metric.name, metric.description, metric.example).source(metric.source);
    for argument in metric.arguments {
        about = about.argument(argument.name, result_type(argument.kind), argument.meaning);
        if argument.optional {
            about = about.optional();
        }
    }
    Aggregate::new(&about, MetricAggregate(metric))
}

fn result_type(kind: ValueKind) -> DataType {
    match kind {
        ValueKind::Number => DataType::Float64,
        ValueKind::Whole => DataType::Int64,
        ValueKind::Bits => DataType::Int32,
        ValueKind::Text => DataType::Utf8View,
    }
}

/// State type for values of this kind.
fn state_type(kind: ValueKind) -> DataType {
    match kind {
        ValueKind::Number | ValueKind::Whole | ValueKind::Bits => DataType::Float64,
        ValueKind::Text => DataType::Utf8,
    }
}

#[derive(Debug)]
struct MetricAggregate(&'static Metric);

impl AggregateDefinition for MetricAggregate {
    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match self.0.gives {
            Evaluation::Number(_) => DataType::Float64,
            Evaluation::Numbers(names, _) => DataType::Struct(fields(names)),
        })
    }

    fn accumulator(&self, args: &AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let given = args.exprs.len();
        let arguments = self.0.arguments.get(..given).unwrap_or(self.0.arguments);
        Ok(Box::new(MetricAccumulator {
            gives: self.0.gives,
            group: RowGroup::new(arguments),
        }))
    }

    fn state(&self, given: &[FieldRef]) -> Vec<(&'static str, DataType)> {
        let arguments = self.0.arguments.iter().take(given.len());
        let part = |argument: &tsql_metrics::Argument| {
            let list = DataType::new_list(state_type(argument.kind), true);
            (argument.name, list)
        };
        arguments.map(part).collect()
    }

    fn rejects_distinct(&self) -> bool {
        true
    }
}

fn fields(names: &[(&'static str, ValueKind)]) -> Fields {
    let field = |(name, kind): &(&str, ValueKind)| Field::new(*name, result_type(*kind), true);
    names.iter().map(field).collect()
}

/// Rows of a group. The state has one list per argument.
#[derive(Debug)]
struct MetricAccumulator {
    gives: Evaluation,
    group: RowGroup,
}

impl MetricAccumulator {
    fn push_column(&mut self, place: usize, values: &ArrayRef) -> Result<()> {
        if values.data_type().is_string() {
            let texts = cast(values, &DataType::Utf8)?;
            let texts = texts.as_string::<i32>().iter();
            self.group
                .add_texts(place, texts.map(|text| text.map(str::to_owned)));
        } else {
            let numbers = cast(values, &DataType::Float64)?;
            let numbers = numbers.as_primitive::<Float64Type>().iter();
            self.group.add_numbers(place, numbers);
        }
        Ok(())
    }
}

impl Accumulator for MetricAccumulator {
    fn update_batch(&mut self, columns: &[ArrayRef]) -> Result<()> {
        let mut columns = columns.iter().enumerate();
        columns.try_for_each(|(place, values)| self.push_column(place, values))
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for (place, lists) in states.iter().enumerate() {
            for values in lists.as_list::<i32>().iter().flatten() {
                self.push_column(place, &values)?;
            }
        }
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let list = |argument: &tsql_metrics::Argument| {
            let values: ArrayRef = match argument.kind {
                ValueKind::Text => {
                    let texts = self.group.texts(argument.name).iter();
                    Arc::new(texts.map(Option::as_deref).collect::<StringArray>())
                }
                ValueKind::Number | ValueKind::Whole | ValueKind::Bits => {
                    let numbers = self.group.numbers(argument.name).iter();
                    Arc::new(numbers.collect::<Float64Array>())
                }
            };
            SingleRowListArrayBuilder::new(values).build_list_scalar()
        };
        Ok(self.group.arguments().map(list).collect())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        match self.gives {
            Evaluation::Number(of) => {
                let number = of(&self.group).map_err(DataFusionError::Execution)?;
                Ok(ScalarValue::Float64(number))
            }
            Evaluation::Numbers(names, of) => {
                let numbers = of(&self.group).map_err(DataFusionError::Execution)?;
                struct_scalar(names, numbers.as_deref())
            }
        }
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.group.size_bytes()
    }
}

/// A struct of these numbers, or of NULLs.
fn struct_scalar(
    names: &[(&'static str, ValueKind)],
    numbers: Option<&[Option<f64>]>,
) -> Result<ScalarValue> {
    let mut columns = Vec::with_capacity(names.len());
    for (place, (_, kind)) in names.iter().enumerate() {
        let number = numbers.and_then(|numbers| numbers.get(place).copied().flatten());
        columns.push(cast(
            &Float64Array::from(vec![number]),
            &result_type(*kind),
        )?);
    }
    let structs = StructArray::try_new(fields(names), columns, None)?;
    Ok(ScalarValue::Struct(Arc::new(structs)))
}
