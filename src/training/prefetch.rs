//! Steps that are made ahead of who takes them, by threads, in their order.
//!
//! Step `i` is made by thread `i mod n`, which waits when what it made is not taken; so at most `ahead` steps, and one
//! more for each thread, are in memory.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::error::{Error, Result};

/// Makes a step.
type Make<T> = Arc<dyn Fn(u64) -> Result<T> + Send + Sync>;

/// How far ahead steps are made, and by how many threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ahead {
    /// Steps; with 0 each is made when it is asked for, without a thread.
    pub(crate) steps: usize,
    /// At least one.
    pub(crate) threads: usize,
}

/// Steps in their order.
///
/// * Threads begin with the first call of `next`, and have ended when this is dropped.
/// * An error or a panic of a step is that step's item; those after it come nevertheless.
pub(crate) struct Prefetch<T> {
    make: Make<T>,
    next: u64,
    end: u64,
    ahead: Ahead,
    threads: Vec<Thread<T>>,
    /// Its place is that of the thread that makes the next step.
    turn: usize,
    /// The next step, where somebody has waited for it.
    waited: Option<Result<T>>,
}

struct Thread<T> {
    /// `None` once the thread is to end.
    made: Option<Receiver<Result<T>>>,
    handle: Option<JoinHandle<()>>,
}

impl<T: Send + 'static> Prefetch<T> {
    /// The steps of `steps`.
    pub(crate) fn new(
        steps: std::ops::Range<u64>,
        ahead: Ahead,
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

    /// Waits for the next step, at most so long. True where `next` would not wait: the step is there, there is none, or
    /// it is made when it is asked for.
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
            Some(Err(RecvTimeoutError::Disconnected)) | None => Some(Err(ended())),
        };
        true
    }

    /// The step that `next` will give; the end of the steps where there is none.
    pub(crate) fn position(&self) -> u64 {
        self.next
    }

    fn begin(&mut self) -> Result<()> {
        let begun = self.spawn();
        if begun.is_err() {
            // Each makes the steps between those of the others: some of them are none.
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
            // What a thread holds in its hand is ahead, too.
            let (send, made) = sync_channel(self.ahead.steps.div_ceil(threads) - 1);
            let (make, end) = (Arc::clone(&self.make), self.end);
            let work = move || each(&make, (first..end).step_by(threads), &send);
            let thread = std::thread::Builder::new().name("tsql-training".to_owned());
            let handle = thread.spawn(work).map_err(Error::io("a thread"))?;
            self.threads.push(Thread {
                made: Some(made),
                handle: Some(handle),
            });
        }
        Ok(())
    }

    fn made(&mut self) -> Result<T> {
        if self.ahead.steps == 0 {
            return caught(&self.make, self.next);
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
        made.unwrap_or_else(|| Err(ended()))
    }
}

impl<T: Send + 'static> Iterator for Prefetch<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        if self.next >= self.end {
            return None;
        }
        let made = self.made();
        self.next += 1;
        Some(made)
    }
}

impl<T> Prefetch<T> {
    fn stop(&mut self) {
        // All are told before the first is waited for.
        for thread in &mut self.threads {
            thread.made = None;
        }
        for thread in &mut self.threads {
            // Its panics were caught.
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

fn ended() -> Error {
    Error::Internal("a thread of training ended".to_owned())
}

/// Makes steps until nobody takes them any more.
fn each<T>(make: &Make<T>, steps: impl Iterator<Item = u64>, send: &SyncSender<Result<T>>) {
    for step in steps {
        if send.send(caught(make, step)).is_err() {
            return;
        }
    }
}

fn caught<T>(make: &Make<T>, step: u64) -> Result<T> {
    // Nothing that was broken off in the middle is looked at again: a step shares only what is complete.
    let made = catch_unwind(AssertUnwindSafe(|| make(step)));
    made.unwrap_or_else(|panic| {
        let what = told(panic.as_ref());
        Err(Error::Internal(format!("step {step} panicked: {what}")))
    })
}

fn told(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no reason was given")
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
            let mut prefetch = Prefetch::new(5..40, Ahead { steps, threads }, make);
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
            let mut prefetch = Prefetch::new(0..9, Ahead { steps, threads }, make);
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
    fn no_more_is_made_than_was_asked_for() {
        for (steps, threads) in AHEAD {
            let made = Arc::new(AtomicU64::new(0));
            let counted = Arc::clone(&made);
            let make = move |step| {
                counted.fetch_add(1, Ordering::SeqCst);
                Ok(step)
            };
            let mut prefetch = Prefetch::new(0..1000, Ahead { steps, threads }, make);
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
            let all: Vec<_> = Prefetch::new(0..6, Ahead { steps, threads }, make).collect();
            assert_eq!(all.len(), 6);
            let told = all[2].as_ref().unwrap_err().to_string();
            assert!(told.contains("step 2 panicked: two"), "{told}");
            assert!(matches!(all[3], Err(Error::Closed)));
            assert!([0, 1, 4, 5].iter().all(|&at| all[at].is_ok()));
        }
    }
}
