//! The pool: one thread reads, others turn what it hands on into messages, whose order is kept.
//!
//! Queues are short: a slow consumer stops the reader, so memory is bounded. A panic is caught where it can
//! still be said what it is about ([`caught`]); one that is not ends the run with an error.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;

use super::{Event, Progress};
use crate::error::{Error, Result};

/// Work or a message with its place among all messages.
type Numbered<M> = (u64, M);

/// Calls `read`; the reason where it panics. A file must not end a run, whatever a library makes
/// of it, and never end it in silence.
pub(super) fn caught<T>(read: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(read))
        .map_err(|panic| format!("the reader failed on it: {}", said(panic.as_ref())))
}

/// What a panic says.
fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic")
}

/// The messages of running threads in their order.
pub(super) struct Ordered<M> {
    messages: mpsc::Receiver<Numbered<M>>,
    early: BTreeMap<u64, M>,
    next: u64,
    _halt: Halt,
}

impl<M> Ordered<M> {
    /// The next message, `None` at the end.
    ///
    /// # Errors
    /// A message is missing: a thread ended before its work was done.
    pub(super) async fn next(&mut self) -> Result<Option<M>> {
        loop {
            if let Some(message) = self.early.remove(&self.next) {
                self.next += 1;
                return Ok(Some(message));
            }
            match self.messages.recv().await {
                Some((number, message)) => {
                    self.early.insert(number, message);
                }
                None if self.early.is_empty() => return Ok(None),
                None => {
                    return Err(Error::Source {
                        location: "reading".to_owned(),
                        reason: "a thread ended before its work was done".to_owned(),
                    });
                }
            }
        }
    }
}

/// Ends the thread that reads when nobody takes its messages any more.
struct Halt(Arc<AtomicBool>);

impl Drop for Halt {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Threads that parse, and how much may wait.
#[derive(Clone, Copy)]
pub(super) struct Pool {
    pub(super) threads: usize,
    /// Pieces of work that wait for each thread.
    pub(super) waiting: usize,
    /// Messages of each thread that wait to be taken.
    pub(super) ready: usize,
}

/// What the thread that reads hands on: work for those that parse, and messages of its own. Each has its
/// number, by which all come out in order.
pub(super) struct Desk<W, M> {
    work: SyncSender<Numbered<W>>,
    messages: mpsc::Sender<Numbered<M>>,
    number: u64,
    progress: Progress,
    stop: Arc<AtomicBool>,
}

impl<W, M> Desk<W, M> {
    /// Hands on something to be parsed; `None` where nobody listens any more.
    pub(super) fn work(&mut self, work: W) -> Option<()> {
        let number = self.next();
        self.work.send((number, work)).ok()
    }

    /// Hands on a message; `None` where nobody listens any more.
    pub(super) fn tell(&mut self, message: M) -> Option<()> {
        let number = self.next();
        self.messages.blocking_send((number, message)).ok()
    }

    fn next(&mut self) -> u64 {
        let number = self.number;
        self.number += 1;
        number
    }

    /// Tells people how far it is.
    pub(super) fn show(&self, event: Event<'_>) {
        (self.progress)(event);
    }

    /// Nobody listens any more.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl Pool {
    /// Starts a thread that reads and those that parse. They end when all is read, or the messages
    /// are dropped.
    pub(super) fn start<W: Send + 'static, M: Send + 'static>(
        self,
        progress: Progress,
        parse: impl Fn(W) -> M + Copy + Send + 'static,
        read: impl FnOnce(&mut Desk<W, M>) + Send + 'static,
    ) -> Ordered<M> {
        let (messages, ordered) = mpsc::channel(self.threads * self.ready);
        let (sender, work) = sync_channel::<Numbered<W>>(self.threads * self.waiting);
        let work = Arc::new(Mutex::new(work));
        for _ in 0..self.threads {
            let (work, messages) = (Arc::clone(&work), messages.clone());
            std::thread::spawn(move || {
                loop {
                    let next = work.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok((number, one)) = next else { return };
                    if messages.blocking_send((number, parse(one))).is_err() {
                        return;
                    }
                }
            });
        }
        let stop = Arc::new(AtomicBool::new(false));
        let mut desk = Desk {
            work: sender,
            messages,
            number: 0,
            progress,
            stop: Arc::clone(&stop),
        };
        std::thread::spawn(move || read(&mut desk));
        Ordered {
            messages: ordered,
            early: BTreeMap::new(),
            next: 0,
            _halt: Halt(stop),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_missing_message_is_no_end() {
        let pool = Pool {
            threads: 2,
            waiting: 2,
            ready: 4,
        };
        let parse = |number: u64| {
            assert!(number != 1, "a reader that fails");
            number
        };
        let read = |desk: &mut Desk<u64, u64>| {
            for number in 0..3 {
                let _ = desk.work(number);
            }
        };
        let mut messages = pool.start(Arc::new(|_| {}), parse, read);
        assert_eq!(messages.next().await.unwrap(), Some(0));
        let error = messages.next().await.unwrap_err();
        assert!(error.to_string().contains("before its work was done"));
    }

    #[test]
    fn a_panic_is_a_reason() {
        assert_eq!(caught(|| 7), Ok(7));
        let failed = caught(|| -> u32 { panic!("at {}", 7) });
        assert_eq!(failed, Err("the reader failed on it: at 7".to_owned()));
        assert!(
            caught(|| -> u32 { panic!("plain") })
                .unwrap_err()
                .ends_with("plain")
        );
    }
}
