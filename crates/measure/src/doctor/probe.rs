//! Checks that need a measurement: counters, priorities, the clock, and interruptions of the core.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::conditions::Conditions;
use crate::cores;
use crate::syscalls::{Counter, open_counter, set_realtime};

/// Duration of the clock check: 20 ticks of the kernel.
const SAMPLE_TIME: Duration = Duration::from_millis(200);

/// Minimum gap between two clock readings that counts as an interruption. A reading takes tens of
/// nanoseconds and a timer interrupt a few microseconds; a context switch and back takes tens of
/// microseconds at least.
const MIN_GAP: Duration = Duration::from_micros(20);

/// Priority of real-time measurements: the middle of 1 to 99.
pub(super) const REALTIME_PRIORITY: i32 = 50;

/// Result of a loop that only reads the clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Clock {
    /// Minimum step between two different readings, in ns.
    pub(crate) step_ns: u64,
    /// Fraction of time in which the loop did not run.
    pub(crate) lost: f64,
    /// Longest interruption of the loop, in µs.
    pub(crate) longest_gap_us: u64,
}

/// Space in the file system of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DiskSpace {
    pub(crate) folder: PathBuf,
    pub(crate) free_bytes: u64,
    pub(crate) total_bytes: u64,
}

/// Reason why an operation is unavailable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AccessError {
    /// The processor or the kernel does not support it.
    Missing,
    /// It is supported, but not permitted for this process.
    Forbidden,
}

/// Results of the measurements.
#[derive(Clone, Debug)]
pub(crate) struct Probe {
    pub(crate) counters: Result<(), AccessError>,
    pub(crate) realtime: Result<(), AccessError>,
    pub(crate) clock: Clock,
    /// `None` if the folder is missing or unreadable.
    pub(crate) scratch: Option<DiskSpace>,
    /// Number of cores that this process may use.
    pub(crate) allowed_cores: usize,
    /// State of the machine after the measurements.
    pub(crate) after: Conditions,
}

impl Probe {
    /// Runs all measurements once, in about 0.25 s. `core` is the core of the earlier readings.
    pub(crate) fn run(scratch: &Path, core: Option<usize>) -> Self {
        let counters = [Counter::Cycles, Counter::Instructions].map(open_counter);
        Self {
            counters: counters
                .into_iter()
                .collect::<io::Result<()>>()
                .map_err(|error| access_error(&error)),
            realtime: set_realtime(REALTIME_PRIORITY).map_err(|error| access_error(&error)),
            clock: sample_clock(SAMPLE_TIME),
            scratch: disk_space(scratch),
            allowed_cores: cores::allowed_cores().len(),
            after: core.map_or_else(Conditions::now, Conditions::for_core),
        }
    }
}

fn access_error(error: &io::Error) -> AccessError {
    match error.kind() {
        io::ErrorKind::PermissionDenied => AccessError::Forbidden,
        _ => AccessError::Missing,
    }
}

/// Reads the clock continuously for `span`.
fn sample_clock(span: Duration) -> Clock {
    let start = Instant::now();
    let (mut last, mut step, mut lost, mut longest) =
        (start, Duration::MAX, Duration::ZERO, Duration::ZERO);
    while last.duration_since(start) < span {
        let now = Instant::now();
        let gap = now.duration_since(last);
        if !gap.is_zero() {
            step = step.min(gap);
        }
        if gap >= MIN_GAP {
            lost += gap;
            longest = longest.max(gap);
        }
        last = now;
    }
    Clock {
        step_ns: u64::try_from(step.as_nanos()).unwrap_or(u64::MAX),
        lost: lost.as_secs_f64() / last.duration_since(start).as_secs_f64(),
        longest_gap_us: u64::try_from(longest.as_micros()).unwrap_or(u64::MAX),
    }
}

fn disk_space(folder: &Path) -> Option<DiskSpace> {
    let facts = nix::sys::statvfs::statvfs(folder).ok()?;
    Some(DiskSpace {
        folder: folder.to_owned(),
        free_bytes: facts
            .blocks_available()
            .saturating_mul(facts.fragment_size()),
        total_bytes: facts.blocks().saturating_mul(facts.fragment_size()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_moves_in_steps_that_are_seen() {
        let clock = sample_clock(Duration::from_millis(20));
        assert!((1..1_000_000).contains(&clock.step_ns), "{clock:?}");
        assert!((0.0..=1.0).contains(&clock.lost), "{clock:?}");
        assert!(
            clock.longest_gap_us == 0 || clock.longest_gap_us >= 20,
            "{clock:?}"
        );
    }

    #[test]
    fn a_missing_folder_has_no_disk_space() {
        let folder = tempfile::tempdir().unwrap();
        let found = disk_space(folder.path()).unwrap();
        assert!(found.total_bytes >= found.free_bytes && found.total_bytes > 0);
        assert_eq!(disk_space(&folder.path().join("none")), None);
    }

    #[test]
    fn forbidden_differs_from_missing() {
        assert_eq!(
            access_error(&io::Error::from_raw_os_error(13)),
            AccessError::Forbidden
        );
        assert_eq!(
            access_error(&io::Error::from_raw_os_error(1)),
            AccessError::Forbidden
        );
        assert_eq!(
            access_error(&io::Error::from_raw_os_error(2)),
            AccessError::Missing
        );
    }
}
