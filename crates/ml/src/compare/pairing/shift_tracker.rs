//! Changes of all pairs of each platform, in bounded memory.

use std::collections::BTreeMap;

use tsql_verdicts::common_shift::{CommonShift, common_shift};

/// Maximum number of changes of a platform in memory. Above it every second one is dropped.
const MAX_CHANGES: usize = 1 << 20;

/// Collector of changes by platform.
#[derive(Default)]
pub(in crate::compare) struct ShiftTracker(BTreeMap<Option<String>, SampledChanges>);

#[derive(Default)]
struct SampledChanges {
    changes: Vec<f64>,
    count: usize,
    /// Each `stride`-th change is collected; 0 means each.
    stride: usize,
}

impl ShiftTracker {
    /// Adds a change as a logarithm.
    pub(in crate::compare) fn add(&mut self, platform: Option<&String>, change: f64) {
        let key = platform.cloned();
        let of_platform = self.0.entry(key).or_default();
        if of_platform.count.is_multiple_of(of_platform.stride.max(1)) {
            of_platform.changes.push(change);
        }
        of_platform.count += 1;
        if of_platform.changes.len() >= MAX_CHANGES {
            let mut keep = false;
            of_platform.changes.retain(|_| {
                keep = !keep;
                keep
            });
            of_platform.stride = 2 * of_platform.stride.max(1);
        }
    }

    /// Returns the shifts of all platforms.
    pub(in crate::compare) fn shifts(self, minimum_change: f64) -> Vec<CommonShift> {
        let shifts = self.0.into_iter().filter_map(|(platform, found)| {
            let shift = common_shift(platform.as_deref(), &found.changes, minimum_change)?;
            Some(CommonShift {
                pairs: found.count,
                ..shift
            })
        });
        shifts.collect()
    }
}
