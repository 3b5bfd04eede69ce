//! Columns that only some records fill: irregularities of a measurement, and its kernel.

use arrow::array::{
    Array as _, AsArray as _, BinaryViewArray, ListArray, PrimitiveArray, RecordBatch,
    StringViewArray,
};
use arrow::datatypes::Float64Type;
use tsql_codecs::repeats::PackedRepeats;
use tsql_error::Result;
use tsql_formats::measured::disturbed_repeats::format_list;
use tsql_formats::measured::split_flags;
use tsql_formats::packed_metrics::PackedMetrics;
use tsql_formats::rows::{self, Kernel};
use tsql_schema::column;
use tsql_schema::column::disturbed;

use crate::dedupe::Kernels;

/// Columns that only lines with details fill.
pub(super) struct DetailColumns<'a> {
    kernels: Kernels<'a>,
    messages: &'a StringViewArray,
    baselines: &'a PrimitiveArray<Float64Type>,
    cpu: &'a PrimitiveArray<Float64Type>,
    cpu_repeats: &'a BinaryViewArray,
    disturbed: &'a ListArray,
    /// Unparsable lists, and lists of older files, as text. The same holds for `flag_texts`.
    disturbed_texts: &'a StringViewArray,
    flags: &'a ListArray,
    flag_texts: &'a StringViewArray,
    metric_layouts: &'a StringViewArray,
    metric_values: &'a ListArray,
    metric_texts: &'a StringViewArray,
}

impl<'a> DetailColumns<'a> {
    pub(super) fn try_new(batch: &'a RecordBatch) -> Result<Self> {
        let text = |name| column::text(batch, name);
        let numbers = |name| column::numbers::<Float64Type>(batch, name);
        Ok(Self {
            kernels: Kernels::from_batch(batch)?,
            messages: text("error_message")?,
            baselines: numbers("baseline_ns")?,
            cpu: numbers("cpu_ns")?,
            cpu_repeats: column::bytes(batch, "cpu_repeats")?,
            disturbed: column::lists(batch, "disturbed_list")?,
            disturbed_texts: text("disturbed_repeats")?,
            flags: column::lists(batch, "flag_list")?,
            flag_texts: text("flags")?,
            metric_layouts: text("metric_layout")?,
            metric_values: column::lists(batch, "metric_values")?,
            metric_texts: text("metric_texts")?,
        })
    }

    /// Kernel of a row, and the details of its measurement.
    pub(super) fn at(&self, row: usize) -> (Kernel, rows::RecordDetails) {
        let text = |column| column::text_at(column, row).map(str::to_owned);
        let cpu = column::value(self.cpu, row).map(|runtime_ns| PackedRepeats {
            runtime_ns,
            bytes: column::bytes_at(self.cpu_repeats, row).map(<[u8]>::to_vec),
        });
        let details = rows::RecordDetails {
            error_message: text(self.messages),
            baseline_ns: column::value(self.baselines, row),
            cpu,
            disturbed_repeats: disturbed::disturbed_at(self.disturbed, row)
                .and_then(|repeats| format_list(&repeats))
                .or_else(|| text(self.disturbed_texts)),
            flags: column::texts_at(self.flags, row)
                .or_else(|| Some(split_flags(column::text_at(self.flag_texts, row)?))),
            metrics: self.metrics_at(row),
            ..rows::RecordDetails::default()
        };
        (self.kernels.at(row).unwrap_or_default(), details)
    }

    fn metrics_at(&self, row: usize) -> Option<PackedMetrics> {
        let layout = column::text_at(self.metric_layouts, row)?;
        let values = self
            .metric_values
            .is_valid(row)
            .then(|| self.metric_values.value(row));
        let values = values
            .as_ref()
            .map(|list| list.as_primitive::<Float64Type>());
        Some(PackedMetrics {
            layout: layout.to_owned(),
            values: values.map_or_else(Vec::new, |values| values.values().to_vec()),
            texts: column::text_at(self.metric_texts, row).map(str::to_owned),
        })
    }
}
