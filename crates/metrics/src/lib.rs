#![doc = include_str!("../README.md")]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice,
        reason = "a test fails by panicking"
    )
)]

pub mod change;
pub mod geometric_mean;
pub mod median;
mod metric;
pub mod random_search;
pub mod ranking;
pub mod speedup;
pub mod stats;
pub mod student;
mod summary;
pub mod throughput;

pub use metric::{Argument, Evaluation, Metric, OptionalNumbers, RowGroup, ValueKind};

/// All metrics by module, in the order in which they are listed.
pub const METRICS: &[&[Metric]] = &[
    ranking::METRICS,
    throughput::METRICS,
    speedup::METRICS,
    summary::METRICS,
    random_search::METRICS,
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_metric_is_documented() {
        let mut names = BTreeSet::new();
        for metric in METRICS.iter().copied().flatten() {
            let name = metric.name;
            assert!(names.insert(name), "{name} is listed twice");
            for text in [metric.description, metric.source] {
                assert!(!text.is_empty(), "{name}");
            }
            assert!(metric.example.contains(&format!("{name}(")), "{name}");
            let optional = metric.arguments.iter().map(|argument| argument.optional);
            assert!(optional.is_sorted(), "{name}: optional arguments come last");
            assert!(!metric.arguments.is_empty(), "{name}");
        }
        assert!(names.len() >= 9, "{names:?}");
    }

    #[test]
    fn no_rows_have_no_metric() {
        for metric in METRICS.iter().copied().flatten() {
            let nothing = RowGroup::new(metric.arguments);
            let is_none = match metric.gives {
                Evaluation::Number(function) => function(&nothing).unwrap().is_none(),
                Evaluation::Numbers(_, function) => function(&nothing).unwrap().is_none(),
            };
            assert!(is_none, "{}", metric.name);
        }
    }
}
