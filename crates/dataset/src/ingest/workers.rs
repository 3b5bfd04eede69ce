//! Worker pool: one thread reads, others parse its items into messages. The order is preserved.
//!
//! Queues are short. A slow consumer stops the reader, so memory is bounded. Panics are caught where their
//! file is known (`tsql_adapters::catch_panic`). Any other panic ends the run with an error.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;
use tsql_error::{Error, Result};

use super::{Event, Progress};

/// An item or a message with its sequence number.
type Sequenced<M> = (u64, M);

/// Messages of the worker threads, in order.
pub(super) struct OrderedMessages<M> {
    messages: mpsc::Receiver<Sequenced<M>>,
    early: BTreeMap<u64, M>,
    next: u64,
    _halt: StopOnDrop,
}

impl<M> OrderedMessages<M> {
    /// Returns the next message, or `None` at the end.
    ///
    /// # Errors
    ///
    /// A message is missing because a thread ended early.
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

/// Stops the reader thread on drop.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Number of parser threads, and queue lengths.
#[derive(Clone, Copy)]
pub(super) struct ParserPool {
    pub(super) threads: usize,
    /// Items that may wait per thread.
    pub(super) waiting: usize,
    /// Messages that may wait per thread.
    pub(super) ready: usize,
}

/// Sender of the reader thread: items for the parsers, and messages of its own. Each gets a sequence
/// number, which determines the output order.
pub(super) struct WorkSender<W, M> {
    work: SyncSender<Sequenced<W>>,
    messages: mpsc::Sender<Sequenced<M>>,
    number: u64,
    progress: Progress,
    stop: Arc<AtomicBool>,
}

impl<W, M> WorkSender<W, M> {
    /// Sends an item to the parsers. Returns `None` if the receiver is gone.
    pub(super) fn send_work(&mut self, work: W) -> Option<()> {
        let number = self.next_number();
        self.work.send((number, work)).ok()
    }

    /// Sends a message. Returns `None` if the receiver is gone.
    pub(super) fn send_message(&mut self, message: M) -> Option<()> {
        let number = self.next_number();
        self.messages.blocking_send((number, message)).ok()
    }

    fn next_number(&mut self) -> u64 {
        let number = self.number;
        self.number += 1;
        number
    }

    /// Reports progress.
    pub(super) fn report_progress(&self, event: Event<'_>) {
        (self.progress)(event);
    }

    /// Returns whether the receiver is gone.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl ParserPool {
    /// Starts the reader thread and the parser threads. They end when everything is read, or when the
    /// messages are dropped.
    pub(super) fn start<W: Send + 'static, M: Send + 'static>(
        self,
        progress: Progress,
        parse: impl Fn(W) -> M + Copy + Send + 'static,
        read: impl FnOnce(&mut WorkSender<W, M>) + Send + 'static,
    ) -> OrderedMessages<M> {
        let (messages, ordered) = mpsc::channel(self.threads * self.ready);
        let (sender, work) = sync_channel::<Sequenced<W>>(self.threads * self.waiting);
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
        let mut desk = WorkSender {
            work: sender,
            messages,
            number: 0,
            progress,
            stop: Arc::clone(&stop),
        };
        std::thread::spawn(move || read(&mut desk));
        OrderedMessages {
            messages: ordered,
            early: BTreeMap::new(),
            next: 0,
            _halt: StopOnDrop(stop),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_missing_message_is_no_end() {
        let pool = ParserPool {
            threads: 2,
            waiting: 2,
            ready: 4,
        };
        let parse = |number: u64| {
            assert!(number != 1, "a reader that fails");
            number
        };
        let read = |desk: &mut WorkSender<u64, u64>| {
            for number in 0..3 {
                let _ = desk.send_work(number);
            }
        };
        let mut messages = pool.start(Arc::new(|_| {}), parse, read);
        assert_eq!(messages.next().await.unwrap(), Some(0));
        let error = messages.next().await.unwrap_err();
        assert!(error.to_string().contains("before its work was done"));
    }
}
