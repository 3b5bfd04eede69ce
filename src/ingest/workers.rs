//! Threads that turn work into messages, whose order is kept, and what becomes of their panics.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;

use crate::error::{Error, Result};

/// Work or a message with its place among all messages.
pub(super) type Numbered<M> = (u64, M);

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

/// Where work goes, where a reader's own messages go, and all messages in order.
pub(super) type Workers<W, M> = (
    SyncSender<Numbered<W>>,
    mpsc::Sender<Numbered<M>>,
    Ordered<M>,
);

/// Starts `count` threads that turn work into messages. For each of them `waiting` pieces of work
/// and `done` messages may lie there; the threads end when nobody gives or takes any more.
pub(super) fn workers<W: Send + 'static, M: Send + 'static>(
    count: usize,
    waiting: usize,
    done: usize,
    parse: fn(W) -> M,
) -> Workers<W, M> {
    let (results, messages) = mpsc::channel(count * done);
    let (sender, work) = sync_channel::<Numbered<W>>(count * waiting);
    let work = Arc::new(Mutex::new(work));
    for _ in 0..count {
        let (work, results) = (Arc::clone(&work), results.clone());
        std::thread::spawn(move || {
            loop {
                let next = work.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let Ok((number, one)) = next else { return };
                if results.blocking_send((number, parse(one))).is_err() {
                    return;
                }
            }
        });
    }
    let ordered = Ordered {
        messages,
        early: BTreeMap::new(),
        next: 0,
    };
    (sender, results, ordered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_missing_message_is_no_end() {
        let (work, results, mut messages) = workers(2, 2, 4, |number: u64| {
            assert!(number != 1, "a reader that fails");
            number
        });
        drop(results);
        std::thread::spawn(move || {
            for number in 0..3 {
                let _ = work.send((number, number));
            }
        });
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
