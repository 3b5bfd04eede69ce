//! Columns of `records` that few sources fill.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryBuilder, Float64Builder, ListBuilder, StringBuilder};
use tsql_formats::measured::disturbed_repeats::parse;
use tsql_formats::rows::RecordDetails;
use tsql_schema::column::disturbed;

#[derive(Default)]
pub(super) struct DetailRows {
    error_messages: StringBuilder,
    baselines: Float64Builder,
    cpu: Float64Builder,
    cpu_repeats: BinaryBuilder,
    disturbed: disturbed::DisturbedBuilder,
    /// Unparsable lists, as text.
    disturbed_texts: StringBuilder,
    flags: ListBuilder<StringBuilder>,
    metric_layouts: StringBuilder,
    metric_values: ListBuilder<Float64Builder>,
    metric_texts: StringBuilder,
    attributes: StringBuilder,
}

impl DetailRows {
    pub(super) fn push(&mut self, details: Option<&RecordDetails>) {
        let cpu = details.and_then(|details| details.cpu.as_ref());
        self.error_messages
            .append_option(details.and_then(|details| details.error_message.as_ref()));
        self.baselines
            .append_option(details.and_then(|details| details.baseline_ns));
        self.cpu.append_option(cpu.map(|cpu| cpu.runtime_ns));
        self.cpu_repeats
            .append_option(cpu.and_then(|cpu| cpu.bytes.as_deref()));
        let text = details.and_then(|details| details.disturbed_repeats.as_deref());
        let repeats = text.and_then(parse);
        self.disturbed_texts
            .append_option(text.filter(|_| repeats.is_none()));
        self.disturbed.push(repeats.as_deref());
        let flags = details.and_then(|details| details.flags.as_ref());
        self.flags
            .append_option(flags.map(|flags| flags.iter().map(Some)));
        let metrics = details.and_then(|details| details.metrics.as_ref());
        self.metric_layouts
            .append_option(metrics.map(|metrics| &metrics.layout));
        self.metric_values
            .append_option(metrics.map(|metrics| metrics.values.iter().copied().map(Some)));
        self.metric_texts
            .append_option(metrics.and_then(|metrics| metrics.texts.as_ref()));
        self.attributes
            .append_option(details.and_then(|details| details.attributes.as_ref()));
    }

    pub(super) fn finish(mut self) -> [(&'static str, ArrayRef); 11] {
        [
            ("error_message", Arc::new(self.error_messages.finish())),
            ("baseline_ns", Arc::new(self.baselines.finish())),
            ("cpu_ns", Arc::new(self.cpu.finish())),
            ("cpu_repeats", Arc::new(self.cpu_repeats.finish())),
            ("disturbed_list", Arc::new(self.disturbed.finish())),
            ("disturbed_repeats", Arc::new(self.disturbed_texts.finish())),
            ("flag_list", Arc::new(self.flags.finish())),
            ("metric_layout", Arc::new(self.metric_layouts.finish())),
            ("metric_values", Arc::new(self.metric_values.finish())),
            ("metric_texts", Arc::new(self.metric_texts.finish())),
            ("attributes", Arc::new(self.attributes.finish())),
        ]
    }
}
