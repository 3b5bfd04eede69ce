//! Metrics of a trial as columns.

use tsql_formats::autotuners::readers::{Format, Metric, MetricKind, Trial, Value, canonical_name};
use tsql_formats::packed_metrics::{NamedNumber, NumberKind, PackedMetrics};

/// Attribute of tokamax: bytes of a megabyte in its memory sizes.
const MEGABYTE: &str = "mb_bytes";

/// Packs the metrics of a trial. `None` if it has none.
pub(super) fn pack(format: Format, trial: &Trial) -> Option<PackedMetrics> {
    if trial.metrics.is_empty() {
        return None;
    }
    let mut packed = PackedMetrics::default();
    for metric in &trial.metrics {
        let name = canonical_name(format, &metric.name);
        packed.push(&NamedNumber {
            name: name.map_or(&metric.name, |metric| metric.name),
            raw_name: &metric.name,
            unit: unit_of(metric, trial),
            kind: match metric.kind {
                MetricKind::Integer => NumberKind::Integer,
                MetricKind::Float => NumberKind::Float,
                MetricKind::NonFinite => NumberKind::NonFinite,
            },
            value: metric.value,
            text: &metric.text,
        });
    }
    Some(packed)
}

/// Unit of a metric. Megabytes of 2^20 bytes are named as such.
fn unit_of<'a>(metric: &'a Metric, trial: &Trial) -> &'a str {
    let is_binary = || {
        let bytes = trial.attributes.iter().find(|(name, _)| name == MEGABYTE);
        let bytes = bytes.and_then(|(_, value)| value.as_number());
        bytes.is_some_and(|bytes| bytes.text() == "1048576")
    };
    match metric.unit.as_ref() {
        "MB" if is_binary() => "MiB",
        unit => unit,
    }
}

/// Value of a metric by its name in the source.
pub(super) fn value_of<'a>(trial: &'a Trial, name: &str) -> Option<&'a Metric> {
    trial.metrics.iter().find(|metric| metric.name == name)
}

/// Attributes as a JSON object. `None` if there are none.
pub(super) fn attributes(fields: Vec<(String, Value)>) -> Option<String> {
    (!fields.is_empty()).then(|| Value::Object(fields).to_json())
}
