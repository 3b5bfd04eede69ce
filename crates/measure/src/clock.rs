//! Clocks of this machine, and the cache flush between cold calls.

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sched::sched_getcpu;
use nix::sys::resource::{UsageWho, getrusage};
use nix::time::{ClockId, clock_gettime};

use super::guarded_buffer::Buffer;
use super::timing::{Caller, ClockReading};

/// Maximum bytes read to flush the caches, and the default if the system does not report cache sizes.
const MAX_FLUSH_BYTES: usize = 256 << 20;
const DEFAULT_FLUSH_BYTES: usize = 64 << 20;
/// Reading one byte per cache line loads the whole line.
const LINE_BYTES: usize = 64;
/// Sleep before a repeat that leaves a busy core to other processes. After a sleep, the scheduler grants a
/// full time slice. On two oversubscribed cores 78 % of repeats were clean with it, 70 % with a yield, 46 %
/// with neither.
const YIELD_SLEEP: Duration = Duration::from_micros(50);

/// Repeatedly calls a function and reads this machine's clocks.
pub(super) struct ClockedCaller<C> {
    call: C,
    base: Instant,
    clock: ClockId,
    who: UsageWho,
    flushed: Option<Buffer>,
}

impl<C: FnMut(u32)> ClockedCaller<C> {
    /// `call(n)` makes `n` calls. With more than one thread, processor time and context switches are those
    /// of the whole process.
    pub(super) fn new(call: C, threads: u32, flushed: Option<Buffer>) -> Self {
        let (clock, who) = if threads <= 1 {
            (ClockId::CLOCK_THREAD_CPUTIME_ID, UsageWho::RUSAGE_THREAD)
        } else {
            (ClockId::CLOCK_PROCESS_CPUTIME_ID, UsageWho::RUSAGE_SELF)
        };
        Self {
            call,
            base: Instant::now(),
            clock,
            who,
            flushed,
        }
    }

    fn cpu_time(&self) -> Duration {
        clock_gettime(self.clock).map_or(Duration::ZERO, Duration::from)
    }

    fn involuntary_switches(&self) -> u64 {
        let usage = getrusage(self.who).ok();
        let count = usage.map_or(0, |usage| usage.involuntary_context_switches());
        u64::try_from(count).unwrap_or(0)
    }
}

impl<C: FnMut(u32)> Caller for ClockedCaller<C> {
    fn start(&mut self) -> ClockReading {
        let involuntary_switches = self.involuntary_switches();
        let core = sched_getcpu().unwrap_or(0);
        let cpu = self.cpu_time();
        ClockReading {
            wall: self.base.elapsed(),
            cpu,
            involuntary_switches,
            core,
        }
    }

    fn stop(&mut self) -> ClockReading {
        let wall = self.base.elapsed();
        let cpu = self.cpu_time();
        ClockReading {
            wall,
            cpu,
            core: sched_getcpu().unwrap_or(0),
            involuntary_switches: self.involuntary_switches(),
        }
    }

    fn call(&mut self, number: u32) {
        (self.call)(number);
    }

    fn flush(&mut self) {
        let bytes = self.flushed.as_mut().map(Buffer::bytes_mut);
        for line in bytes.unwrap_or_default().iter_mut().step_by(LINE_BYTES) {
            *line = line.wrapping_add(1);
        }
        black_box(&self.flushed);
    }

    fn yield_core(&mut self) {
        thread::sleep(YIELD_SLEEP);
    }
}

/// Allocates memory for cache flushes: twice the second and third level caches, so that nothing else
/// remains cached.
pub(super) fn flush_buffer() -> Result<Buffer, Errno> {
    let core = sched_getcpu().unwrap_or(0);
    let caches = Path::new("/sys/devices/system/cpu").join(format!("cpu{core}/cache"));
    let bytes = match cache_bytes(&caches) {
        0 => DEFAULT_FLUSH_BYTES,
        bytes => bytes.saturating_mul(2),
    };
    let mut buffer = Buffer::new(bytes.min(MAX_FLUSH_BYTES))?;
    buffer.bytes_mut().fill(1);
    Ok(buffer)
}

/// Sum of the second and third level caches in a `/sys` folder; 0 if unknown.
fn cache_bytes(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.filter_map(|entry| {
        let level = fs::read_to_string(entry.path().join("level")).ok()?;
        if !matches!(level.trim(), "2" | "3") {
            return None;
        }
        parse_size(fs::read_to_string(entry.path().join("size")).ok()?.trim())
    });
    sizes.fold(0, usize::saturating_add)
}

/// Parses a size such as `32768K` or `1M`.
fn parse_size(text: &str) -> Option<usize> {
    let (digits, unit) = match text.strip_suffix('K') {
        Some(digits) => (digits, 1 << 10),
        None => match text.strip_suffix('M') {
            Some(digits) => (digits, 1 << 20),
            None => (text, 1),
        },
    };
    digits.parse::<usize>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_and_third_level_are_summed() {
        let folder = tempfile::tempdir().unwrap();
        for (index, level, size) in [(0, 1, "32K"), (1, 2, "1024K"), (2, 3, "32M")] {
            let index_folder = folder.path().join(format!("index{index}"));
            fs::create_dir(&index_folder).unwrap();
            fs::write(index_folder.join("level"), format!("{level}\n")).unwrap();
            fs::write(index_folder.join("size"), format!("{size}\n")).unwrap();
        }
        assert_eq!(cache_bytes(folder.path()), 33 << 20);
        assert_eq!(cache_bytes(Path::new("/nonexistent")), 0);
    }
}
