//! `change_points(runtime_ns ORDER BY measured_at)`, `list_change_points(list)`: places where the level of a series
//! changed.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, Float64Array, Int64Array, ListArray};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Float64Type};
use datafusion::common::cast::{as_float64_array, as_list_array};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, ReversedUDAF, Signature,
};
use delegate::delegate;
use tsql_verdicts::change_points::{ChangePoint, ChangePointOptions, change_points};

use super::array_agg;
use super::function_docs::FunctionDocs;
use super::lists::{ListLengths, list_type, nullable_fields};
use super::scalar::{Scalar, argument, number_list};

const SOURCE: &str = "Matteson and James, Journal of the American Statistical Association 109, 2014; Fleming and \
                      others, Hunter, ICPE 2023";

/// The function over lists.
pub(super) fn of_list() -> Scalar {
    let about = FunctionDocs::new(
        "list_change_points",
        "Places where the level of a series changed: position of the first value after the change (from 1), mean before \
         and after, change as a fraction, p-value. At least three values on both sides. NULL, NaN and infinite values are \
         skipped",
        "SELECT list_change_points([5.0, 5.1, 4.9, 5.0, 6.0, 6.1, 6.0, 5.9])",
    )
    .argument("list", number_list(), "numbers, oldest first")
    .argument("minimum_change", DataType::Float64, "minimum change as a fraction (default 0.02)")
    .optional()
    .source(SOURCE);
    Scalar::new(&about, list_type(point_fields()), |args| {
        let lists = as_list_array(argument(args, 0)?)?;
        let minimum = args.get(1).map(|given| as_float64_array(given));
        let minimum = minimum.transpose()?;
        let options = |row: usize| match minimum {
            Some(minimum) if minimum.is_null(row) => Ok(None),
            Some(minimum) => options(Some(minimum.value(row))).map(Some),
            None => options(None).map(Some),
        };
        search(lists, options)
    })
    .coerce_numbers()
}

/// The aggregate function.
pub(super) fn aggregate() -> AggregateUDF {
    let about = FunctionDocs::new(
        "change_points",
        "Places where the level of a series changed, as `list_change_points` of its values in the order of ORDER BY",
        "SELECT change_points(runtime_ns ORDER BY source_id, line) FROM records",
    )
    .argument("value", DataType::Float64, "number")
    .source(SOURCE);
    AggregateUDF::from(ChangePoints {
        values: array_agg::udaf(),
        signature: about.signature(),
        documentation: about.documentation(),
    })
}

fn options(minimum_change: Option<f64>) -> Result<ChangePointOptions> {
    let defaults = ChangePointOptions::default();
    let minimum_change = minimum_change.unwrap_or(defaults.minimum_change);
    if !(0.0..).contains(&minimum_change) {
        return exec_err!(
            "a minimum change of {minimum_change}, expected a fraction of at least 0\n\
             hint: 0.02 is 2 %"
        );
    }
    Ok(ChangePointOptions {
        minimum_change,
        ..defaults
    })
}

/// Fields of a point.
fn point_fields() -> Fields {
    nullable_fields([
        ("position", DataType::Int64),
        ("before", DataType::Float64),
        ("after", DataType::Float64),
        ("change", DataType::Float64),
        ("p", DataType::Float64),
    ])
}

/// Change points of a series. Positions count all values, also those that are skipped.
fn points_of(values: &Float64Array, options: &ChangePointOptions) -> Vec<ChangePoint> {
    let finite = values.iter().enumerate();
    let finite =
        finite.filter_map(|(place, value)| Some((place, value.filter(|it| it.is_finite())?)));
    let (places, finite): (Vec<usize>, Vec<f64>) = finite.unzip();
    let mut points = change_points(&finite, options);
    for point in &mut points {
        point.index = places.get(point.index).copied().unwrap_or(point.index);
    }
    points
}

/// Searches the list of each row with its options. The result is NULL for NULL and for a row without options.
fn search(
    lists: &ListArray,
    options: impl Fn(usize) -> Result<Option<ChangePointOptions>>,
) -> Result<ArrayRef> {
    let found = (0..lists.len()).map(|row| {
        let options = options(row)?.filter(|_| lists.is_valid(row));
        Ok(options.map(|options| {
            let values = lists.value(row);
            points_of(values.as_primitive::<Float64Type>(), &options)
        }))
    });
    to_lists(found.collect::<Result<Vec<_>>>()?)
}

/// One list for each row; `None` is NULL.
fn to_lists(rows: Vec<Option<Vec<ChangePoint>>>) -> Result<ArrayRef> {
    let mut lengths = ListLengths::default();
    for row in &rows {
        lengths.push(row.as_ref().map(Vec::len));
    }
    let points: Vec<ChangePoint> = rows.into_iter().flatten().flatten().collect();
    let numbers = |number: fn(&ChangePoint) -> f64| -> ArrayRef {
        Arc::new(Float64Array::from_iter_values(points.iter().map(number)))
    };
    let positions = points
        .iter()
        .map(|point| i64::try_from(point.index + 1).ok());
    let columns: Vec<ArrayRef> = vec![
        Arc::new(positions.collect::<Int64Array>()),
        numbers(|point| point.before),
        numbers(|point| point.after),
        numbers(|point| point.change),
        numbers(|point| point.p),
    ];
    lengths.into_struct_lists(point_fields(), columns)
}

/// Collects the values with `array_agg`, which sorts them, and searches the list.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ChangePoints {
    values: AggregateUDF,
    signature: Signature,
    documentation: Documentation,
}

impl AggregateUDFImpl for ChangePoints {
    fn name(&self) -> &'static str {
        "change_points"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn documentation(&self) -> Option<&Documentation> {
        Some(&self.documentation)
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(list_type(point_fields()))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.values.state_fields(StateFieldsArgs {
            return_field: values_field(),
            ..args
        })
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if args.is_distinct {
            return exec_err!("change_points does not support DISTINCT");
        }
        let values = self.values.accumulator(AccumulatorArgs {
            return_field: values_field(),
            ..args
        })?;
        Ok(Box::new(Series { values }))
    }

    /// `array_agg` sorts the rows itself.
    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Beneficial
    }

    fn with_beneficial_ordering(
        self: Arc<Self>,
        _: bool,
    ) -> Result<Option<Arc<dyn AggregateUDFImpl>>> {
        Ok(Some(self))
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::NotSupported
    }
}

/// Field of the collected values.
fn values_field() -> FieldRef {
    Arc::new(Field::new("values", number_list(), true))
}

/// Values of one group.
#[derive(Debug)]
struct Series {
    values: Box<dyn Accumulator>,
}

impl Accumulator for Series {
    delegate! {
        to self.values {
            fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()>;
            fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()>;
            fn state(&mut self) -> Result<Vec<ScalarValue>>;
            fn size(&self) -> usize;
        }
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let collected = self.values.evaluate()?.to_array()?;
        let lists = as_list_array(&collected)?;
        let points = search(lists, |_| options(None).map(Some))?;
        ScalarValue::try_from_array(&points, 0)
    }
}
