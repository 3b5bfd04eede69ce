//! What can only be found by trying: counters, priorities, the clock, and how often the core is lost.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::attempts::{Counter, become_realtime, open_counter};
use crate::conditions::Conditions;
use crate::cores;

/// How long the clock is read: 20 of the kernel's ticks.
const WATCH: Duration = Duration::from_millis(200);

/// Gaps between two readings of the clock from which on the core was doing something else. A
/// reading takes tens of nanoseconds and a timer interrupt a few microseconds, while a change of
/// processes and back takes tens of microseconds at least.
const GAP: Duration = Duration::from_micros(20);

/// The priority at which measurements run where that is asked for and allowed: the middle of 1 to 99.
pub(super) const REALTIME_PRIORITY: i32 = 50;

/// What a loop that only reads the clock saw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Clock {
    /// Smallest step between two readings that differ.
    pub(crate) step_ns: u64,
    /// Share of the time in which the loop did not run.
    pub(crate) lost: f64,
    /// Longest time for which it did not.
    pub(crate) longest_gap_us: u64,
}

/// Room in the file system of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Space {
    pub(crate) folder: PathBuf,
    pub(crate) free_bytes: u64,
    pub(crate) total_bytes: u64,
}

/// Why something is not allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The processor or the kernel does not have it.
    Missing,
    /// It is there, but not for this process.
    Forbidden,
}

/// What was tried.
#[derive(Clone, Debug)]
pub(crate) struct Probe {
    pub(crate) counters: Result<(), Refusal>,
    pub(crate) realtime: Result<(), Refusal>,
    pub(crate) clock: Clock,
    /// `None` where the folder is not there or cannot be asked.
    pub(crate) scratch: Option<Space>,
    /// How many cores this process may use.
    pub(crate) allowed_cores: usize,
    /// How the machine was after all this.
    pub(crate) after: Conditions,
}

impl Probe {
    /// Tries everything once; takes a quarter of a second. `core` is that of the readings before.
    pub(crate) fn take(scratch: &Path, core: Option<usize>) -> Self {
        let both = [Counter::Cycles, Counter::Instructions].map(open_counter);
        Self {
            counters: both
                .into_iter()
                .collect::<io::Result<()>>()
                .map_err(|error| refusal(&error)),
            realtime: become_realtime(REALTIME_PRIORITY).map_err(|error| refusal(&error)),
            clock: watch_clock(WATCH),
            scratch: space(scratch),
            allowed_cores: cores::allowed().len(),
            after: core.map_or_else(Conditions::now, Conditions::of_core),
        }
    }
}

fn refusal(error: &io::Error) -> Refusal {
    match error.kind() {
        io::ErrorKind::PermissionDenied => Refusal::Forbidden,
        _ => Refusal::Missing,
    }
}

/// Reads the clock as fast as it can for that long.
fn watch_clock(span: Duration) -> Clock {
    let start = Instant::now();
    let (mut last, mut step, mut lost, mut longest) =
        (start, Duration::MAX, Duration::ZERO, Duration::ZERO);
    while last.duration_since(start) < span {
        let now = Instant::now();
        let gap = now.duration_since(last);
        if !gap.is_zero() {
            step = step.min(gap);
        }
        if gap >= GAP {
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

fn space(folder: &Path) -> Option<Space> {
    let facts = nix::sys::statvfs::statvfs(folder).ok()?;
    Some(Space {
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
        let clock = watch_clock(Duration::from_millis(20));
        assert!((1..1_000_000).contains(&clock.step_ns), "{clock:?}");
        assert!((0.0..=1.0).contains(&clock.lost), "{clock:?}");
        assert!(
            clock.longest_gap_us == 0 || clock.longest_gap_us >= 20,
            "{clock:?}"
        );
    }

    #[test]
    fn a_folder_that_is_not_there_has_no_room() {
        let folder = tempfile::tempdir().unwrap();
        let found = space(folder.path()).unwrap();
        assert!(found.total_bytes >= found.free_bytes && found.total_bytes > 0);
        assert_eq!(space(&folder.path().join("none")), None);
    }

    #[test]
    fn forbidden_is_told_from_missing() {
        assert_eq!(
            refusal(&io::Error::from_raw_os_error(13)),
            Refusal::Forbidden
        );
        assert_eq!(
            refusal(&io::Error::from_raw_os_error(1)),
            Refusal::Forbidden
        );
        assert_eq!(refusal(&io::Error::from_raw_os_error(2)), Refusal::Missing);
    }
}
