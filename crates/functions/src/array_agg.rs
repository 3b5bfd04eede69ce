//! `array_agg(x ORDER BY y)`: the values of a group as a list, in the requested order.
//!
//! DataFusion sorts all rows first and then compares each of them with the rows of other threads. This accumulator
//! stores rows in batches as they arrive, and sorts them once by group and keys at the end. DataFusion's implementation
//! handles lists without an order or with DISTINCT.

use std::sync::Arc;

use arrow::array::{
    Array as _, ArrayRef, AsArray as _, BooleanArray, ListArray, RecordBatch, StructArray,
    UInt32Array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::{
    SortColumn, SortOptions, and, concat_batches, filter_record_batch, is_not_null, not, take,
};
use arrow::datatypes::{
    ArrowNativeType as _, DataType, Field, FieldRef, Fields, Schema, SchemaRef, UInt32Type,
};
use datafusion::common::utils::take_function_args;
use datafusion::common::{Result, ScalarValue, exec_datafusion_err, exec_err};
use datafusion::functions_aggregate::array_agg::ArrayAgg;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, EmitTo, GroupsAccumulator,
    ReversedUDAF, Signature,
};
use delegate::delegate;

use super::function_docs::FunctionDocs;
use super::sort_indices::sort_indices;

/// Column positions of the stored rows; the sort keys are the last columns.
const GROUP: usize = 0;
const VALUE: usize = 1;
const KEYS: usize = 2;

pub(super) fn udaf() -> AggregateUDF {
    let about = FunctionDocs::new(
        "array_agg",
        "List of the values of the group, in the order of ORDER BY",
        "SELECT array_agg(runtime_ns ORDER BY runtime_ns) FROM records",
    )
    .argument("value", None, "value of any type")
    .source("SQL:2003");
    AggregateUDF::from(OrderedArrayAgg {
        theirs: ArrayAgg::default(),
        documentation: about.documentation(),
    })
}

/// DataFusion's function with another accumulator for ordered lists, and with tsql's documentation.
#[derive(Debug, PartialEq, Eq, Hash)]
struct OrderedArrayAgg {
    theirs: ArrayAgg,
    documentation: Documentation,
}

impl AggregateUDFImpl for OrderedArrayAgg {
    delegate! {
        to self.theirs {
            fn name(&self) -> &str;
            fn signature(&self) -> &Signature;
            fn return_type(&self, types: &[DataType]) -> Result<DataType>;
            fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>>;
            fn supports_null_handling_clause(&self) -> bool;
        }
    }

    fn documentation(&self) -> Option<&Documentation> {
        Some(&self.documentation)
    }

    /// The accumulator sorts the rows itself, so the input order does not matter.
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

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if args.is_distinct || args.order_bys.is_empty() {
            return self.theirs.accumulator(args);
        }
        Ok(Box::new(SingleGroup(GroupRows::new(&args)?)))
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        !args.is_distinct
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        if args.order_bys.is_empty() {
            return self.theirs.create_groups_accumulator(args);
        }
        Ok(Box::new(GroupRows::new(&args)?))
    }
}

/// Rows of many groups.
#[derive(Clone, Debug)]
struct GroupRows {
    /// Columns of [`GroupRows::batches`]: the group, the value, then the sort keys.
    schema: SchemaRef,
    order: Vec<SortOptions>,
    ignores_nulls: bool,
    batches: Vec<RecordBatch>,
    /// Size of the batches in bytes.
    bytes: usize,
    /// Number of groups.
    count: usize,
}

impl GroupRows {
    fn new(args: &AccumulatorArgs) -> Result<Self> {
        let Some(value) = args.expr_fields.first() else {
            return exec_err!("array_agg expects a value");
        };
        let mut fields = vec![
            Field::new("group", DataType::UInt32, false),
            Field::new_list_field(value.data_type().clone(), true),
        ];
        for by in args.order_bys {
            // The names that DataFusion uses in its state.
            let of = by.expr.data_type(args.schema)?;
            fields.push(Field::new(by.expr.to_string(), of, true));
        }
        Ok(Self {
            schema: Arc::new(Schema::new(fields)),
            order: args.order_bys.iter().map(|by| by.options).collect(),
            ignores_nulls: args.ignore_nulls && value.is_nullable(),
            batches: Vec::new(),
            bytes: 0,
            count: 0,
        })
    }

    /// Stores the values and keys of those rows of a batch that count.
    fn append(
        &mut self,
        columns: &[ArrayRef],
        groups: UInt32Array,
        counts: Option<BooleanArray>,
    ) -> Result<()> {
        let mut all: Vec<ArrayRef> = vec![Arc::new(groups)];
        all.extend(columns.iter().cloned());
        let mut rows = RecordBatch::try_new(Arc::clone(&self.schema), all)?;
        let valid = self.ignores_nulls.then(|| is_not_null(rows.column(VALUE)));
        let counts = match (counts, valid.transpose()?) {
            (Some(counts), Some(valid)) => Some(and(&counts, &valid)?),
            (counts, valid) => counts.or(valid),
        };
        if let Some(counts) = counts {
            rows = filter_record_batch(&rows, &counts)?;
        }
        if rows.num_rows() > 0 {
            let columns = rows.columns().iter().map(|column| column.to_data());
            let bytes = columns.map(|data| data.get_slice_memory_size().unwrap_or_default());
            self.bytes += bytes.sum::<usize>();
            self.batches.push(rows);
        }
        Ok(())
    }

    /// Removes and returns the rows of the emitted groups. The other groups stay and are renumbered from 0.
    fn take_groups(&mut self, emit_to: EmitTo) -> Result<(RecordBatch, usize)> {
        self.bytes = 0;
        let rows = concat_batches(&self.schema, &std::mem::take(&mut self.batches))?;
        let EmitTo::First(wanted) = emit_to else {
            return Ok((rows, std::mem::take(&mut self.count)));
        };
        let first = group_index(wanted)?;
        let groups = rows.column(GROUP).as_primitive::<UInt32Type>();
        let is_wanted = BooleanArray::from_unary(groups, |group| group < first);
        let kept = filter_record_batch(&rows, &not(&is_wanted)?)?;
        let groups = kept.column(GROUP).as_primitive::<UInt32Type>();
        let groups = groups.unary(|group| group - first);
        self.count = self.count.saturating_sub(wanted);
        self.append(
            kept.columns().get(VALUE..).unwrap_or_default(),
            groups,
            None,
        )?;
        Ok((filter_record_batch(&rows, &is_wanted)?, wanted))
    }

    /// Columns of these rows as lists, one per group; NULL for groups without rows.
    fn lists(&self, rows: &RecordBatch, count: usize, by: &[SortOptions]) -> Result<ListOffsets> {
        let groups = rows.column(GROUP).as_primitive::<UInt32Type>();
        let mut lengths = vec![0_usize; count];
        for group in groups.values() {
            if let Some(length) = lengths.get_mut(*group as usize) {
                *length += 1;
            }
        }
        let keys = rows.columns().iter().skip(KEYS).zip(by);
        let keys = keys.map(|(key, options)| SortColumn {
            values: Arc::clone(key),
            options: Some(*options),
        });
        let of_groups = SortColumn {
            values: Arc::clone(rows.column(GROUP)),
            options: None,
        };
        let columns: Vec<SortColumn> = std::iter::once(of_groups).chain(keys).collect();
        let places = sort_indices(&columns, rows.num_rows())?;
        if i32::try_from(rows.num_rows()).is_err() {
            return exec_err!("array_agg: too many values at once, expected at most 2,147,483,647");
        }
        Ok(ListOffsets {
            nulls: lengths.iter().map(|length| *length > 0).collect(),
            offsets: OffsetBuffer::from_lengths(lengths),
            places,
        })
    }

    /// The values as sorted lists.
    fn sorted_lists(&self, rows: &RecordBatch, count: usize) -> Result<ArrayRef> {
        let lists = self.lists(rows, count, &self.order)?;
        let item = Arc::new(self.schema.field(VALUE).clone());
        lists.list_array(item, rows.column(VALUE), true)
    }

    fn key_fields(&self) -> Fields {
        self.schema.fields().iter().skip(KEYS).cloned().collect()
    }
}

/// Row offsets of each group.
struct ListOffsets {
    places: UInt32Array,
    offsets: OffsetBuffer<i32>,
    nulls: NullBuffer,
}

impl ListOffsets {
    fn list_array(&self, item: FieldRef, column: &ArrayRef, nullable: bool) -> Result<ArrayRef> {
        let nulls = nullable.then(|| self.nulls.clone());
        let values = take(column, &self.places, None)?;
        let lists = ListArray::try_new(item, self.offsets.clone(), values, nulls)?;
        Ok(Arc::new(lists))
    }
}

fn group_index(group: usize) -> Result<u32> {
    u32::try_from(group)
        .map_err(|_| exec_datafusion_err!("array_agg: too many groups at once: {group}"))
}

impl GroupsAccumulator for GroupRows {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        group_count: usize,
    ) -> Result<()> {
        self.count = group_count;
        let groups = group_indices.iter().map(|group| group_index(*group));
        let groups = groups.collect::<Result<Vec<u32>>>()?;
        self.append(values, groups.into(), filter.cloned())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let (rows, count) = self.take_groups(emit_to)?;
        self.sorted_lists(&rows, count)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let (rows, count) = self.take_groups(emit_to)?;
        // The rows are sorted after the last merge.
        let lists = self.lists(&rows, count, &[])?;
        let value = Arc::new(self.schema.field(VALUE).clone());
        let fields = self.key_fields();
        let keys = rows.columns().get(KEYS..).unwrap_or_default().to_vec();
        let keys: ArrayRef = Arc::new(StructArray::try_new(fields.clone(), keys, None)?);
        let key = Arc::new(Field::new_list_field(DataType::Struct(fields), true));
        Ok(vec![
            lists.list_array(value, rows.column(VALUE), true)?,
            lists.list_array(key, &keys, false)?,
        ])
    }

    fn merge_batch(
        &mut self,
        states: &[ArrayRef],
        group_indices: &[usize],
        group_count: usize,
    ) -> Result<()> {
        self.count = group_count;
        let [values, keys] = take_function_args("array_agg", states)?;
        let (values, keys) = (values.as_list::<i32>(), keys.as_list::<i32>());
        let lengths = group_indices.iter().zip(values.offsets().lengths());
        let groups =
            lengths.map(|(group, length)| Ok(std::iter::repeat_n(group_index(*group)?, length)));
        let groups = groups.collect::<Result<Vec<_>>>()?;
        let groups: Vec<u32> = groups.into_iter().flatten().collect();
        let mut columns = vec![flatten_lists(values)];
        columns.extend_from_slice(flatten_lists(keys).as_struct().columns());
        self.append(&columns, groups.into(), None)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let rows = values.first().map_or(0, |values| values.len());
        let mut each = Self {
            batches: Vec::new(),
            bytes: 0,
            ..self.clone()
        };
        each.update_batch(values, &(0..rows).collect::<Vec<_>>(), filter, rows)?;
        each.state(EmitTo::All)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.bytes
    }
}

/// Concatenated values of all lists.
fn flatten_lists(lists: &ListArray) -> ArrayRef {
    let bounds = lists.offsets().first().zip(lists.offsets().last());
    let (start, end) = bounds.map_or((0, 0), |(start, end)| (start.as_usize(), end.as_usize()));
    lists.values().slice(start, end - start)
}

/// Rows of a single group.
#[derive(Debug)]
struct SingleGroup(GroupRows);

impl SingleGroup {
    /// Applies `of` to all rows, which stay, and returns the first element of the result.
    fn map_first<T>(&self, of: impl FnOnce(&mut GroupRows) -> Result<T>) -> Result<T> {
        let mut groups = self.0.clone();
        groups.count = 1;
        of(&mut groups)
    }
}

impl Accumulator for SingleGroup {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let rows = values.first().map_or(0, |values| values.len());
        self.0.update_batch(values, &vec![0; rows], None, 1)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let list = self.map_first(|groups| groups.evaluate(EmitTo::All))?;
        ScalarValue::try_from_array(&list, 0)
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let lists = self.map_first(|groups| groups.state(EmitTo::All))?;
        let states = lists
            .iter()
            .map(|list| ScalarValue::try_from_array(list, 0));
        states.collect()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let rows = states.first().map_or(0, |states| states.len());
        self.0.merge_batch(states, &vec![0; rows], 1)
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Float64Array, Int64Array, StringViewArray};
    use arrow::util::pretty::pretty_format_batches;
    use datafusion::datasource::MemTable;
    use datafusion::prelude::{SessionConfig, SessionContext};

    use super::*;

    /// Rows in several partitions, so that states are merged; `n` is unique.
    fn rows() -> MemTable {
        let schema = Arc::new(Schema::new(vec![
            Field::new("g", DataType::Int64, true),
            Field::new("n", DataType::Int64, false),
            Field::new("x", DataType::Float64, true),
            Field::new("t", DataType::Utf8View, true),
        ]));
        let small = |n: i64| i8::try_from(n).unwrap();
        let batch = |from: i64| {
            let n = || (from..from + 50).map(|n| n * 7_919 % 100_003);
            let g = Int64Array::from_iter(n().map(|n| (n % 11 != 0).then_some(n % 5)));
            let x = Float64Array::from_iter(
                n().map(|n| (n % 3 != 0).then_some(f64::from(small(n % 7)) / 2.0)),
            );
            let t = n().map(|n| (n % 4 != 0).then(|| format!("text {} that is long", n % 13)));
            let n = Int64Array::from_iter_values(n());
            let columns: [ArrayRef; 4] = [
                Arc::new(g),
                Arc::new(n),
                Arc::new(x),
                Arc::new(t.collect::<StringViewArray>()),
            ];
            RecordBatch::try_new(Arc::clone(&schema), columns.to_vec()).unwrap()
        };
        let parts = (0..3).map(|part| (0..4).map(|of| batch(part * 200 + of * 50)).collect());
        let parts = parts.collect();
        MemTable::try_new(Arc::clone(&schema), parts).unwrap()
    }

    fn session(is_ours: bool) -> SessionContext {
        let config = SessionConfig::new()
            .with_target_partitions(3)
            .with_batch_size(16);
        let context = SessionContext::new_with_config(config);
        context.register_table("rows", Arc::new(rows())).unwrap();
        if is_ours {
            context.register_udaf(udaf());
        }
        context
    }

    #[tokio::test]
    async fn lists_are_as_those_of_datafusion() {
        for sql in [
            "SELECT g, array_agg(x ORDER BY n) FROM rows GROUP BY g ORDER BY g",
            "SELECT g, array_agg(t ORDER BY n DESC), array_agg(n ORDER BY x, n) FROM rows GROUP BY g ORDER BY g",
            "SELECT g, t, array_agg(x ORDER BY x DESC NULLS LAST, n) FROM rows GROUP BY g, t ORDER BY g, t",
            "SELECT g, array_agg(x ORDER BY t NULLS FIRST, n) FILTER (WHERE n % 2 = 0) FROM rows GROUP BY g ORDER BY g",
            "SELECT g, array_agg(x ORDER BY n) FILTER (WHERE x > 1e9) FROM rows GROUP BY g ORDER BY g",
            "SELECT g, array_agg(x ORDER BY n) IGNORE NULLS FROM rows GROUP BY g ORDER BY g",
            "SELECT array_agg(x ORDER BY n), array_agg(x ORDER BY n) FILTER (WHERE g = 1) FROM rows",
            "SELECT array_agg(x ORDER BY n) FROM rows WHERE n < 0",
            "SELECT g, array_agg(DISTINCT t ORDER BY t), count(*) FROM rows GROUP BY g ORDER BY g",
            "SELECT g, array_agg([x, n] ORDER BY n) FROM rows GROUP BY g ORDER BY g",
            "SELECT g, array_agg(n ORDER BY [n], x) FROM rows GROUP BY g ORDER BY g",
            "SELECT g, array_agg(x ORDER BY n) FROM (SELECT * FROM rows ORDER BY g LIMIT 1000) AS r GROUP BY g ORDER BY g",
            "SELECT g, t, array_agg(n ORDER BY n) FROM (SELECT * FROM rows ORDER BY g, t LIMIT 1000) AS r GROUP BY g, t ORDER BY g, t",
        ] {
            let answer = async |is_ours: bool| {
                let rows = session(is_ours).sql(sql).await.unwrap().collect().await;
                pretty_format_batches(&rows.unwrap()).unwrap().to_string()
            };
            assert_eq!(answer(true).await, answer(false).await, "{sql}");
        }
    }

    #[tokio::test]
    async fn an_order_needs_no_sort_of_all_rows() {
        let sql = "EXPLAIN SELECT g, array_agg(x ORDER BY n) FROM rows GROUP BY g";
        let plan = session(true).sql(sql).await.unwrap().collect().await;
        let plan = pretty_format_batches(&plan.unwrap()).unwrap().to_string();
        assert!(
            plan.contains("AggregateExec") && !plan.contains("SortExec"),
            "{plan}"
        );
    }
}
