//! Rows of `records`.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryBuilder, Float64Builder, Int16Array, Int16Builder, Int32Array, Int64Array,
};
use tsql_codecs::number::Decimal;
use tsql_formats::rows::{LogRow, RecordDetails};
use tsql_schema::column::arrays::Columns;

use super::details::DetailRows;

/// Builder for rows of `records`.
pub struct RecordRows {
    sources: Vec<i64>,
    graphs: Vec<i64>,
    configs: Vec<i64>,
    environments: Vec<i64>,
    lines: Vec<i64>,
    runtimes: Float64Builder,
    counts: Vec<i32>,
    repeats: BinaryBuilder,
    errors: Int16Builder,
    all_costs: Vec<Option<Decimal>>,
    times: Vec<Option<i64>>,
    fractions: Vec<Option<i32>>,
    workloads: Vec<Option<i32>>,
    details: DetailRows,
    verbatim: BinaryBuilder,
}

impl RecordRows {
    /// Creates empty columns with room for `count` records.
    pub fn new(count: usize) -> Self {
        Self {
            sources: Vec::with_capacity(count),
            graphs: Vec::with_capacity(count),
            configs: Vec::with_capacity(count),
            environments: Vec::with_capacity(count),
            lines: Vec::with_capacity(count),
            runtimes: Float64Builder::with_capacity(count),
            counts: Vec::with_capacity(count),
            repeats: BinaryBuilder::with_capacity(count, 0),
            errors: Int16Builder::with_capacity(count),
            all_costs: Vec::with_capacity(count),
            times: Vec::with_capacity(count),
            fractions: Vec::with_capacity(count),
            workloads: Vec::with_capacity(count),
            details: DetailRows::default(),
            verbatim: BinaryBuilder::with_capacity(count, 0),
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one for each column that is not in the row"
    )]
    /// Adds a record.
    pub fn push(
        &mut self,
        source_id: i64,
        graph: i64,
        config: i64,
        environment: i64,
        line: u64,
        row: &LogRow,
        repeats: Option<&[u8]>,
        details: Option<&RecordDetails>,
        verbatim: Option<&[u8]>,
    ) {
        self.sources.push(source_id);
        self.graphs.push(graph);
        self.configs.push(config);
        self.environments.push(environment);
        self.lines.push(line.cast_signed());
        self.runtimes.append_option(row.runtime_ns);
        self.counts.push(row.repeat_count);
        self.repeats.append_option(repeats);
        self.errors.append_value(row.error_no);
        self.all_costs.push(row.all_cost.map(Decimal::pad_digits));
        self.times.push(row.measured_at_s);
        self.fractions.push(row.measured_at_fraction);
        self.workloads.push(row.workload_index);
        self.details.push(details);
        self.verbatim.append_option(verbatim);
    }

    /// Returns the columns of `records`.
    pub fn finish(mut self) -> Columns {
        let digits = self
            .all_costs
            .iter()
            .map(|cost| Some(cost.as_ref()?.digits));
        let exponent = |cost: &Option<Decimal>| {
            let exponent = cost.as_ref()?.exponent;
            Some(i16::try_from(exponent).unwrap_or(i16::MAX))
        };
        let exponents = self.all_costs.iter().map(exponent);
        let mut columns = BTreeMap::from([
            (
                "graph_id",
                Arc::new(Int64Array::from(self.graphs)) as ArrayRef,
            ),
            ("config_id", Arc::new(Int64Array::from(self.configs))),
            (
                "environment_id",
                Arc::new(Int64Array::from(self.environments)),
            ),
            ("source_id", Arc::new(Int64Array::from(self.sources))),
            ("line", Arc::new(Int64Array::from(self.lines))),
            ("runtime_ns", Arc::new(self.runtimes.finish())),
            ("repeat_count", Arc::new(Int32Array::from(self.counts))),
            ("repeats", Arc::new(self.repeats.finish())),
            ("error_no", Arc::new(self.errors.finish())),
            ("all_cost_digits", Arc::new(Int64Array::from_iter(digits))),
            (
                "all_cost_exponent",
                Arc::new(Int16Array::from_iter(exponents)),
            ),
            ("measured_at_s", Arc::new(Int64Array::from(self.times))),
            (
                "measured_at_fraction",
                Arc::new(Int32Array::from(self.fractions)),
            ),
            ("workload_index", Arc::new(Int32Array::from(self.workloads))),
            ("verbatim", Arc::new(self.verbatim.finish())),
        ]);
        columns.extend(self.details.finish());
        columns
    }
}
