//! Canonical names and units of metrics, so that one query covers several sources.

mod names;
mod units;

pub use names::{METRIC_NAMES, MetricName, canonical_name};
pub use units::{Scale, base_unit};
