//! Metrics of a trial as columns.

use std::fmt::Write as _;

use tsql_codecs::number::{Decimal, Spelling};
use tsql_formats::autotuners::readers::{Format, Metric, MetricKind, Trial, Value, canonical_name};
use tsql_formats::rows::PackedMetrics;

/// Attribute of tokamax: bytes of a megabyte in its memory sizes.
const MEGABYTE: &str = "mb_bytes";

/// Maximum integer up to which all are exact as doubles.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// Packs the metrics of a trial. `None` if it has none.
pub(super) fn pack(format: Format, trial: &Trial) -> Option<PackedMetrics> {
    if trial.metrics.is_empty() {
        return None;
    }
    let mut packed = PackedMetrics::default();
    let mut texts = String::new();
    for (index, metric) in trial.metrics.iter().enumerate() {
        let plain = |text: &str| text.replace(['\t', '\n', '\r'], " ");
        let raw_name = plain(&metric.name);
        let name = canonical_name(format, &metric.name);
        let name = name.map_or(raw_name.as_str(), |metric| metric.name);
        let kind = match metric.kind {
            MetricKind::Integer => 'i',
            MetricKind::Float => 'f',
            MetricKind::NonFinite => 'n',
        };
        let line = if index == 0 { "" } else { "\n" };
        let unit = plain(unit_of(metric, trial));
        // Writing to a string cannot fail.
        let _ = write!(packed.layout, "{line}{name}\t{raw_name}\t{unit}\t{kind}");
        packed.values.push(metric.value);
        if spelled(metric).as_deref() != Some(metric.text.as_str()) {
            let line = if texts.is_empty() { "" } else { "\n" };
            let _ = write!(texts, "{line}{index}\t{}", plain(&metric.text));
        }
    }
    packed.texts = (!texts.is_empty()).then_some(texts);
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

/// Text of a number as Python writes it.
fn spelled(metric: &Metric) -> Option<String> {
    match metric.kind {
        // Larger integers are not exact.
        MetricKind::Integer if metric.value.abs() > MAX_EXACT => None,
        MetricKind::Integer => {
            #[expect(clippy::cast_possible_truncation, reason = "compared with the text")]
            let whole = metric.value as i64;
            Some(whole.to_string())
        }
        MetricKind::Float => {
            let mut text = Vec::new();
            let decimal = Decimal::from_f64(metric.value)?;
            let is_written = decimal.write(Spelling::Shortest, &mut text);
            String::from_utf8(text).ok().filter(|_| is_written)
        }
        MetricKind::NonFinite => Some(metric.value.to_string()),
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
