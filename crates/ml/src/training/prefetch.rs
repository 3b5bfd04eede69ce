//! Prefetches steps with threads, in order.
//!
//! Thread `i mod n` computes step `i`, and waits while its results are not consumed. So at most `ahead` steps,
//! plus one for each thread, are in memory.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use tsql_error::{Error, Result};

/// Computes a step.
type Make<T> = Arc<dyn Fn(u64) -> Result<T> + Send + Sync>;

/// Number of prefetched steps, and of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PrefetchOptions {
    /// Steps; with 0 each is computed on request, without a thread.
    pub(crate) steps: usize,
    /// At least one.
    pub(crate) threads: usize,
}

/// Iterator of steps, in order.
///
/// * Threads start with the first call of `next`, and have ended when this is dropped.
/// * An error or a panic of a step is that step's item; the following steps are still computed.
pub(crate) struct Prefetch<T> {
    make: Make<T>,
    next: u64,
    end: u64,
    ahead: PrefetchOptions,
    threads: Vec<Thread<T>>,
    /// Index of the thread that computes the next step.
    turn: usize,
    /// The next step, if `wait` has received it.
    waited: Option<Result<T>>,
}

struct Thread<T> {
    /// `None` once the thread must end.
    made: Option<Receiver<Result<T>>>,
    handle: Option<JoinHandle<()>>,
}

impl<T: Send + 'static> Prefetch<T> {
    /// Creates an iterator of these steps.
    pub(crate) fn new(
        steps: std::ops::Range<u64>,
        ahead: PrefetchOptions,
        make: impl Fn(u64) -> Result<T> + Send + Sync + 'static,
    ) -> Self {
        Self {
            make: Arc::new(make),
            next: steps.start,
            end: steps.end.max(steps.start),
            ahead,
            threads: Vec::new(),
            turn: 0,
            waited: None,
        }
    }

    /// Waits for the next step, with a timeout. Returns true if `next` would not block: the step is ready,
    /// there is none, or it is computed on request.
    pub(crate) fn wait(&mut self, at_most: Duration) -> bool {
        if self.waited.is_some() || self.next >= self.end || self.ahead.steps == 0 {
            return true;
        }
        if self.threads.is_empty()
            && let Err(error) = self.begin()
        {
            self.waited = Some(Err(error));
            return true;
        }
        let made = self.threads.get(self.turn).and_then(|of| of.made.as_ref());
        self.waited = match made.map(|made| made.recv_timeout(at_most)) {
            Some(Ok(made)) => Some(made),
            Some(Err(RecvTimeoutError::Timeout)) => return false,
            Some(Err(RecvTimeoutError::Disconnected)) | None => Some(Err(thread_ended())),
        };
        true
    }

    /// Returns the number of the step that `next` will return; the end if there is none.
    pub(crate) fn position(&self) -> u64 {
        self.next
    }

    fn begin(&mut self) -> Result<()> {
        let begun = self.spawn();
        if begun.is_err() {
            // The steps are interleaved over threads: without one of them some would be missing.
            self.stop();
        }
        begun
    }

    fn spawn(&mut self) -> Result<()> {
        let left = usize::try_from(self.end - self.next).unwrap_or(usize::MAX);
        let threads = self
            .ahead
            .threads
            .clamp(1, self.ahead.steps.min(left).max(1));
        for first in (self.next..).take(threads) {
            // The step that a thread is sending counts as prefetched.
            let (send, made) = sync_channel(self.ahead.steps.div_ceil(threads) - 1);
            let (make, end) = (Arc::clone(&self.make), self.end);
            let work = move || produce_steps(&make, (first..end).step_by(threads), &send);
            let thread = std::thread::Builder::new().name("tsql-training".to_owned());
            let handle = thread.spawn(work).map_err(Error::io("a thread"))?;
            self.threads.push(Thread {
                made: Some(made),
                handle: Some(handle),
            });
        }
        Ok(())
    }

    fn take_next(&mut self) -> Result<T> {
        if self.ahead.steps == 0 {
            return make_catching_panics(&self.make, self.next);
        }
        if self.waited.is_none() && self.threads.is_empty() {
            self.begin()?;
        }
        let thread = self.threads.get(self.turn);
        self.turn = (self.turn + 1) % self.threads.len().max(1);
        if let Some(waited) = self.waited.take() {
            return waited;
        }
        let made = thread.and_then(|thread| thread.made.as_ref()?.recv().ok());
        made.unwrap_or_else(|| Err(thread_ended()))
    }
}

impl<T: Send + 'static> Iterator for Prefetch<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        if self.next >= self.end {
            return None;
        }
        let made = self.take_next();
        self.next += 1;
        Some(made)
    }
}

impl<T> Prefetch<T> {
    fn stop(&mut self) {
        // All threads are stopped before the first is joined.
        for thread in &mut self.threads {
            thread.made = None;
        }
        for thread in &mut self.threads {
            // Panics of the thread were caught.
            let _ = thread.handle.take().map(JoinHandle::join);
        }
        self.threads.clear();
    }
}

impl<T> Drop for Prefetch<T> {
    fn drop(&mut self) {
        self.stop();
    }
}

impl<T> fmt::Debug for Prefetch<T> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Prefetch")
            .field("next", &self.next)
            .field("end", &self.end)
            .field("ahead", &self.ahead)
            .finish_non_exhaustive()
    }
}

fn thread_ended() -> Error {
    Error::Internal("a prefetch thread ended unexpectedly".to_owned())
}

/// Computes steps until the receiver is dropped.
fn produce_steps<T>(
    make: &Make<T>,
    steps: impl Iterator<Item = u64>,
    send: &SyncSender<Result<T>>,
) {
    for step in steps {
        if send.send(make_catching_panics(make, step)).is_err() {
            return;
        }
    }
}

fn make_catching_panics<T>(make: &Make<T>, step: u64) -> Result<T> {
    // No partially updated state is used after a panic: steps share only complete values.
    let made = catch_unwind(AssertUnwindSafe(|| make(step)));
    made.unwrap_or_else(|panic| {
        let what = panic_text(panic.as_ref());
        Err(Error::Internal(format!("batch {step} panicked: {what}")))
    })
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("unknown reason")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    use super::*;

    const AHEAD: [(usize, usize); 5] = [(0, 1), (1, 1), (4, 2), (3, 4), (16, 3)];

    #[test]
    fn steps_come_in_their_order_whoever_makes_them() {
        for (steps, threads) in AHEAD {
            let make = |step: u64| {
                std::thread::sleep(Duration::from_micros(step * 7 % 5 * 100));
                Ok(step)
            };
            let mut prefetch = Prefetch::new(5..40, PrefetchOptions { steps, threads }, make);
            assert_eq!(prefetch.position(), 5);
            let all: Vec<u64> = prefetch.by_ref().map(Result::unwrap).collect();
            assert!(all.into_iter().eq(5..40), "{steps} {threads}");
            assert_eq!(prefetch.position(), 40);
            assert!(prefetch.next().is_none());
        }
    }

    #[test]
    fn waiting_ends_and_takes_nothing_away() {
        for (steps, threads) in AHEAD {
            let make = |step| {
                std::thread::sleep(Duration::from_millis(if step == 0 { 300 } else { 0 }));
                Ok(step)
            };
            let mut prefetch = Prefetch::new(0..9, PrefetchOptions { steps, threads }, make);
            assert_eq!(prefetch.wait(Duration::from_millis(5)), steps == 0);
            let mut given = Vec::new();
            while prefetch.wait(Duration::from_secs(60)) {
                assert!(prefetch.wait(Duration::ZERO), "it is still there");
                assert_eq!(prefetch.position(), given.len() as u64);
                match prefetch.next() {
                    Some(step) => given.push(step.unwrap()),
                    None => break,
                }
            }
            assert!(given.into_iter().eq(0..9), "{steps} {threads}");
        }
    }

    #[test]
    fn prefetch_stays_within_its_depth() {
        for (steps, threads) in AHEAD {
            let made = Arc::new(AtomicU64::new(0));
            let counted = Arc::clone(&made);
            let make = move |step| {
                counted.fetch_add(1, Ordering::SeqCst);
                Ok(step)
            };
            let mut prefetch = Prefetch::new(0..1000, PrefetchOptions { steps, threads }, make);
            assert_eq!(made.load(Ordering::SeqCst), 0, "it begins when it is asked");
            assert_eq!(prefetch.next().unwrap().unwrap(), 0);
            std::thread::sleep(Duration::from_millis(50));
            let most = 1 + steps + threads;
            assert!(made.load(Ordering::SeqCst) <= most as u64);
            drop(prefetch);
            let then = made.load(Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(20));
            assert_eq!(made.load(Ordering::SeqCst), then, "its threads have ended");
        }
    }

    #[test]
    fn panics_and_errors_are_items() {
        for (steps, threads) in AHEAD {
            let make = |step| match step {
                2 => panic!("two"),
                3 => Err(Error::Closed),
                other => Ok(other),
            };
            let all: Vec<_> =
                Prefetch::new(0..6, PrefetchOptions { steps, threads }, make).collect();
            assert_eq!(all.len(), 6);
            let told = all[2].as_ref().unwrap_err().to_string();
            assert!(told.contains("batch 2 panicked: two"), "{told}");
            assert!(matches!(all[3], Err(Error::Closed)));
            assert!([0, 1, 4, 5].iter().all(|&at| all[at].is_ok()));
        }
    }
}
