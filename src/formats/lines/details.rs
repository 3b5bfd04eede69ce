//! What only some records have: what was odd about a measurement, and of which kernel it was.

use arrow::array::{BinaryViewArray, ListArray, PrimitiveArray, RecordBatch, StringViewArray};
use arrow::datatypes::Float64Type;
use tsql_codecs::repeats::Packed;
use tsql_formats::measured::disturbed::spell;
use tsql_formats::measured::words;
use tsql_formats::rows::{self, Kernel};

use crate::column::{self, disturbed};
use crate::dedupe::Kernels;
use crate::error::Result;

/// The columns that only lines with details fill.
pub(super) struct Details<'a> {
    kernels: Kernels<'a>,
    messages: &'a StringViewArray,
    baselines: &'a PrimitiveArray<Float64Type>,
    cpu: &'a PrimitiveArray<Float64Type>,
    cpu_repeats: &'a BinaryViewArray,
    disturbed: &'a ListArray,
    /// Lists of something else, and those of older files; so of flags.
    disturbed_texts: &'a StringViewArray,
    flags: &'a ListArray,
    flag_texts: &'a StringViewArray,
}

impl<'a> Details<'a> {
    pub(super) fn of(batch: &'a RecordBatch) -> Result<Self> {
        let text = |name| column::text(batch, name);
        let numbers = |name| column::numbers::<Float64Type>(batch, name);
        Ok(Self {
            kernels: Kernels::of(batch)?,
            messages: text("error_message")?,
            baselines: numbers("baseline_ns")?,
            cpu: numbers("cpu_ns")?,
            cpu_repeats: column::bytes(batch, "cpu_repeats")?,
            disturbed: column::lists(batch, "disturbed_list")?,
            disturbed_texts: text("disturbed_repeats")?,
            flags: column::lists(batch, "flag_list")?,
            flag_texts: text("flags")?,
        })
    }

    /// What a row says of the kernel, and beside its measurement.
    pub(super) fn at(&self, row: usize) -> (Kernel, rows::Details) {
        let text = |column| column::text_at(column, row).map(str::to_owned);
        let cpu = column::value(self.cpu, row).map(|runtime_ns| Packed {
            runtime_ns,
            bytes: column::bytes_at(self.cpu_repeats, row).map(<[u8]>::to_vec),
        });
        let details = rows::Details {
            error_message: text(self.messages),
            baseline_ns: column::value(self.baselines, row),
            cpu,
            disturbed_repeats: disturbed::at(self.disturbed, row)
                .and_then(|repeats| spell(&repeats))
                .or_else(|| text(self.disturbed_texts)),
            flags: column::texts_at(self.flags, row)
                .or_else(|| Some(words(column::text_at(self.flag_texts, row)?))),
        };
        (self.kernels.at(row).unwrap_or_default(), details)
    }
}
