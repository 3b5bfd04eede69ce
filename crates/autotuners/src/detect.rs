//! Detection of formats by content.

mod benchmarks;
mod probe;
mod table;
mod text;

use crate::format::{Detected, Format};
use probe::Probe;

/// Detects the format by the first bytes of a decompressed file. 64 KiB suffice for most files; more (up to 4 MiB) help
/// where a header is long.
#[must_use]
pub fn detect(beginning: &[u8]) -> Detected {
    let first = beginning.iter().find(|byte| !byte.is_ascii_whitespace());
    if first == Some(&b'{') {
        let probe = Probe::new(beginning);
        let found = probe.detect();
        if found != Detected::Unknown {
            return found;
        }
        if let Some(found) = benchmarks::object(&probe) {
            return found;
        }
    }
    if first == Some(&b'[')
        && let Some(found) = benchmarks::list(beginning)
    {
        return found;
    }
    if benchmarks::is_history_script(beginning) {
        return Detected::Format(Format::GithubAction);
    }
    table::detect(beginning)
        .or_else(|| text::detect(beginning))
        .or_else(|| {
            let is_report = benchmarks::is_perf_report(beginning);
            is_report.then_some(Detected::Format(Format::PerfReport))
        })
        .unwrap_or(Detected::Unknown)
}
