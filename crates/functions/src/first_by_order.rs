//! `first_value(x ORDER BY ...)` and `last_value` by group, with sort keys stored and compared as bytes.
//!
//! DataFusion's accumulators store each sort key as a list of scalars, and scan all groups once per batch. All other
//! parts are DataFusion's: ungrouped aggregates, windows, types, and the state that threads exchange.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, BooleanArray, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::{DataType, FieldRef};
use arrow::row::{Row, RowConverter, SortField};
use datafusion::common::{Result, ScalarValue, exec_datafusion_err};
use datafusion::functions_aggregate::first_last::{first_value_udaf, last_value_udaf};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, EmitTo, GroupsAccumulator,
    ReversedUDAF, Signature,
};
use delegate::delegate;

use super::sort_keys::LongKey;

/// `first_value`.
pub(super) fn first_value() -> AggregateUDF {
    AggregateUDF::from(FirstByOrder {
        theirs: first_value_udaf(),
        is_last: false,
    })
}

/// `last_value`.
pub(super) fn last_value() -> AggregateUDF {
    AggregateUDF::from(FirstByOrder {
        theirs: last_value_udaf(),
        is_last: true,
    })
}

/// DataFusion's function with another accumulator for groups.
#[derive(Debug, PartialEq, Eq, Hash)]
struct FirstByOrder {
    theirs: Arc<AggregateUDF>,
    is_last: bool,
}

impl FirstByOrder {
    fn original(&self) -> &dyn AggregateUDFImpl {
        self.theirs.inner().as_ref()
    }
}

impl AggregateUDFImpl for FirstByOrder {
    delegate! {
        to self.theirs {
            fn name(&self) -> &str;
            fn aliases(&self) -> &[String];
            fn signature(&self) -> &Signature;
            fn documentation(&self) -> Option<&Documentation>;
        }
        to self.original() {
            fn return_type(&self, types: &[DataType]) -> Result<DataType>;
            fn return_field(&self, fields: &[FieldRef]) -> Result<FieldRef>;
            fn is_nullable(&self) -> bool;
            fn default_value(&self, data_type: &DataType) -> Result<ScalarValue>;
            fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>>;
            fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>>;
            fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>>;
            fn order_sensitivity(&self) -> AggregateOrderSensitivity;
            fn reverse_expr(&self) -> ReversedUDAF;
            fn supports_null_handling_clause(&self) -> bool;
        }
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        row_fields(&args).is_some() || self.original().groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let Some((order, value)) = row_fields(&args) else {
            return self.original().create_groups_accumulator(args);
        };
        Ok(Box::new(DistinctOnRewrite {
            order: RowConverter::new(order)?,
            value: RowConverter::new(vec![value])?,
            ignores_nulls: args.ignore_nulls,
            is_last: self.is_last,
            best: Vec::new(),
            heap_bytes: 0,
        }))
    }

    fn with_beneficial_ordering(
        self: Arc<Self>,
        is_ordered: bool,
    ) -> Result<Option<Arc<dyn AggregateUDFImpl>>> {
        if is_ordered {
            let theirs = Arc::clone(self.theirs.inner());
            theirs.with_beneficial_ordering(is_ordered)
        } else {
            Ok(Some(self))
        }
    }
}

/// Row formats of the sort keys and of the value. `None` without an order, and for types that do not survive the round
/// trip.
fn row_fields(args: &AccumulatorArgs) -> Option<(Vec<SortField>, SortField)> {
    let comes_back = |data_type: &DataType| {
        data_type.is_primitive()
            || data_type.is_string()
            || data_type.is_binary()
            || *data_type == DataType::Boolean
    };
    let value = args.return_field.data_type().clone();
    let mut order = Vec::with_capacity(args.order_bys.len());
    let mut all_come_back = comes_back(&value) && !args.order_bys.is_empty();
    for key in args.order_bys {
        let data_type = key.expr.data_type(args.schema).ok()?;
        all_come_back &= comes_back(&data_type);
        order.push(SortField::new_with_options(data_type, key.options));
    }
    all_come_back.then(|| (order, SortField::new(value)))
}

/// The first row of each group so far.
struct DistinctOnRewrite {
    order: RowConverter,
    value: RowConverter,
    ignores_nulls: bool,
    is_last: bool,
    best: Vec<Option<FirstRow>>,
    heap_bytes: usize,
}

/// The first row of a group.
struct FirstRow {
    key: LongKey,
    value: Box<[u8]>,
    /// Position in the current batch while the value has not been copied.
    row: Option<u32>,
}

impl DistinctOnRewrite {
    /// Processes the rows of a batch for which `counts` is true: a value and its sort keys each.
    fn update_rows(
        &mut self,
        columns: &[ArrayRef],
        groups: &[usize],
        count: usize,
        counts: impl Fn(usize) -> bool,
    ) -> Result<()> {
        self.best.resize_with(count.max(self.best.len()), || None);
        let Some((value, order)) = columns.split_first() else {
            return Err(exec_datafusion_err!(
                "first_value: expected a column of values"
            ));
        };
        let keys = self.order.convert_columns(order)?;
        let nulls = if self.ignores_nulls {
            value.logical_nulls()
        } else {
            None
        };
        let mut changed = Vec::new();
        for (row, &group) in groups.iter().enumerate() {
            if !counts(row) || nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                continue;
            }
            let key = keys.row(row).data();
            let Some(best) = self.best.get_mut(group) else {
                return Err(exec_datafusion_err!("first_value: unknown group"));
            };
            if let Some(best) = best {
                let is_better = match best.key.compare_bytes(key) {
                    Ordering::Greater => !self.is_last,
                    Ordering::Equal | Ordering::Less => self.is_last,
                };
                if !is_better {
                    continue;
                }
                self.heap_bytes = self.heap_bytes.saturating_sub(best.heap_bytes());
            }
            if best.as_ref().is_none_or(|best| best.row.is_none()) {
                changed.push(group);
            }
            let first = FirstRow {
                key: key.into(),
                value: Box::default(),
                row: Some(
                    u32::try_from(row)
                        .map_err(|_| exec_datafusion_err!("too many rows in a batch"))?,
                ),
            };
            self.heap_bytes += first.heap_bytes();
            *best = Some(first);
        }
        self.take_values(value, &changed)
    }

    /// Copies the values of those groups whose first row is in this batch.
    fn take_values(&mut self, value: &ArrayRef, groups: &[usize]) -> Result<()> {
        let best = groups
            .iter()
            .map(|group| self.best.get(*group)?.as_ref()?.row);
        let rows: UInt32Array = best.collect();
        let values = self.value.convert_columns(&[take(value, &rows, None)?])?;
        for (group, value) in groups.iter().zip(&values) {
            if let Some(Some(best)) = self.best.get_mut(*group) {
                best.value = value.data().into();
                best.row = None;
                self.heap_bytes += best.value.len();
            }
        }
        Ok(())
    }

    /// Removes and returns the first rows of the emitted groups.
    fn emit(&mut self, groups: EmitTo) -> Vec<Option<FirstRow>> {
        let emitted = groups.take_needed(&mut self.best);
        let bytes = emitted.iter().flatten().map(FirstRow::heap_bytes);
        self.heap_bytes = self.heap_bytes.saturating_sub(bytes.sum());
        emitted
    }
}

impl FirstRow {
    fn heap_bytes(&self) -> usize {
        self.key.bytes().len() + self.value.len()
    }
}

/// Decodes these rows to columns; NULL for groups without a row.
fn decode_columns<'a>(
    converter: &'a RowConverter,
    rows: &'a [Option<FirstRow>],
    bytes: impl Fn(&'a FirstRow) -> &'a [u8],
) -> Result<Vec<ArrayRef>> {
    let parser = converter.parser();
    let known = rows.iter().flatten().map(|best| parser.parse(bytes(best)));
    let known: Vec<Row<'_>> = known.collect();
    let columns = converter.convert_rows(known)?;
    let mut next = 0;
    let places = rows.iter().map(|row| {
        row.as_ref().map(|_| {
            next += 1;
            next - 1
        })
    });
    let places: UInt32Array = places.collect();
    let columns = columns.iter();
    columns
        .map(|column| Ok(take(column, &places, None)?))
        .collect()
}

impl GroupsAccumulator for DistinctOnRewrite {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        count: usize,
    ) -> Result<()> {
        self.update_rows(values, groups, count, |row| {
            filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row))
        })
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], count: usize) -> Result<()> {
        let Some((is_set, values)) = values.split_last() else {
            return Err(exec_datafusion_err!(
                "first_value: expected a column of values"
            ));
        };
        let is_set = is_set.as_boolean();
        self.update_rows(values, groups, count, |row| {
            is_set.is_valid(row) && is_set.value(row)
        })
    }

    fn evaluate(&mut self, groups: EmitTo) -> Result<ArrayRef> {
        let rows = self.emit(groups);
        let value = decode_columns(&self.value, &rows, |best| &best.value)?.pop();
        value.ok_or_else(|| exec_datafusion_err!("first_value: expected a column of values"))
    }

    fn state(&mut self, groups: EmitTo) -> Result<Vec<ArrayRef>> {
        let rows = self.emit(groups);
        let mut state = decode_columns(&self.value, &rows, |best| &best.value)?;
        state.extend(decode_columns(&self.order, &rows, |best| best.key.bytes())?);
        let is_set = rows.iter().map(|row| Some(row.is_some()));
        state.push(Arc::new(is_set.collect::<BooleanArray>()));
        Ok(state)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let rows = values.first().map_or(0, |value| value.len());
        let nulls = values.first().filter(|_| self.ignores_nulls);
        let nulls = nulls.and_then(|value| value.logical_nulls());
        let is_set = (0..rows).map(|row| {
            let is_chosen = filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
            Some(is_chosen && nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)))
        });
        let is_set: BooleanArray = is_set.collect();
        let mut state = values.to_vec();
        state.push(Arc::new(is_set));
        Ok(state)
    }

    fn size(&self) -> usize {
        self.best.capacity() * size_of::<Option<FirstRow>>()
            + self.heap_bytes
            + self.order.size()
            + self.value.size()
    }
}
