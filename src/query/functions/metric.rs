//! Every metric of `tsql_metrics` as an aggregate of its name.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, Float64Array, StringArray, StructArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Float64Type};
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::Accumulator;
use datafusion::logical_expr::function::AccumulatorArgs;
use tsql_metrics::{Gives, Group, Kind, METRICS, Metric};

use super::about::About;
use super::aggregate::{Aggregate, Gathering};

/// All of them.
pub(super) fn all() -> impl Iterator<Item = Aggregate> {
    METRICS.iter().copied().flatten().map(aggregate)
}

fn aggregate(metric: &'static Metric) -> Aggregate {
    let mut about = About::new(metric.name, metric.description, metric.example).by(metric.source);
    for argument in metric.arguments {
        about = about.takes(argument.name, type_of(argument.kind), argument.meaning);
        if argument.optional {
            about = about.optionally();
        }
    }
    Aggregate::new(&about, Measure(metric))
}

fn type_of(kind: Kind) -> DataType {
    match kind {
        Kind::Number => DataType::Float64,
        Kind::Whole => DataType::Int64,
        Kind::Bits => DataType::Int32,
        Kind::Text => DataType::Utf8View,
    }
}

/// How values of this kind are gathered.
fn gathered_as(kind: Kind) -> DataType {
    match kind {
        Kind::Number | Kind::Whole | Kind::Bits => DataType::Float64,
        Kind::Text => DataType::Utf8,
    }
}

#[derive(Debug)]
struct Measure(&'static Metric);

impl Gathering for Measure {
    fn gives(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match self.0.gives {
            Gives::Number(_) => DataType::Float64,
            Gives::Numbers(names, _) => DataType::Struct(fields(names)),
        })
    }

    fn gatherer(&self, args: &AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let given = args.exprs.len();
        let arguments = self.0.arguments.get(..given).unwrap_or(self.0.arguments);
        Ok(Box::new(Rows {
            gives: self.0.gives,
            group: Group::new(arguments),
        }))
    }

    fn state(&self, given: &[FieldRef]) -> Vec<(&'static str, DataType)> {
        let arguments = self.0.arguments.iter().take(given.len());
        let part = |argument: &tsql_metrics::Argument| {
            let list = DataType::new_list(gathered_as(argument.kind), true);
            (argument.name, list)
        };
        arguments.map(part).collect()
    }

    fn refuses_distinct(&self) -> bool {
        true
    }
}

fn fields(names: &[(&'static str, Kind)]) -> Fields {
    let field = |(name, kind): &(&str, Kind)| Field::new(*name, type_of(*kind), true);
    names.iter().map(field).collect()
}

/// The rows of a group. A state has a list for each argument.
#[derive(Debug)]
struct Rows {
    gives: Gives,
    group: Group,
}

impl Rows {
    fn add(&mut self, place: usize, values: &ArrayRef) -> Result<()> {
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

impl Accumulator for Rows {
    fn update_batch(&mut self, columns: &[ArrayRef]) -> Result<()> {
        let mut columns = columns.iter().enumerate();
        columns.try_for_each(|(place, values)| self.add(place, values))
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for (place, lists) in states.iter().enumerate() {
            for values in lists.as_list::<i32>().iter().flatten() {
                self.add(place, &values)?;
            }
        }
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let list = |argument: &tsql_metrics::Argument| {
            let values: ArrayRef = match argument.kind {
                Kind::Text => {
                    let texts = self.group.texts(argument.name).iter();
                    Arc::new(texts.map(Option::as_deref).collect::<StringArray>())
                }
                Kind::Number | Kind::Whole | Kind::Bits => {
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
            Gives::Number(of) => {
                let number = of(&self.group).map_err(DataFusionError::Execution)?;
                Ok(ScalarValue::Float64(number))
            }
            Gives::Numbers(names, of) => {
                let numbers = of(&self.group).map_err(DataFusionError::Execution)?;
                structure(names, numbers.as_deref())
            }
        }
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.group.size_bytes()
    }
}

/// A structure of these numbers, or of as many NULLs.
fn structure(
    names: &[(&'static str, Kind)],
    numbers: Option<&[Option<f64>]>,
) -> Result<ScalarValue> {
    let mut columns = Vec::with_capacity(names.len());
    for (place, (_, kind)) in names.iter().enumerate() {
        let number = numbers.and_then(|numbers| numbers.get(place).copied().flatten());
        columns.push(cast(&Float64Array::from(vec![number]), &type_of(*kind))?);
    }
    let structs = StructArray::try_new(fields(names), columns, None)?;
    Ok(ScalarValue::Struct(Arc::new(structs)))
}
