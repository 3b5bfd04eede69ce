//! Threads on which the library is asked, and which end with whoever waits for them.
//!
//! Its futures stay on the thread that they began on, and planning deep SQL takes stack: so each question has a thread of its
//! own, as in the Python package. What it awaits runs on the threads of the runtime.

use std::thread;

use futures::Stream;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use crate::error::{Error, Result};

/// Stack of a thread that plans, as the command has it. What is not used of it takes no memory.
const STACK_BYTES: usize = 64 << 20;

/// Lines that wait to be sent.
const WAITING: usize = 16;

/// Where questions are computed.
#[derive(Clone, Debug)]
pub(super) struct Computing(Handle);

impl Computing {
    /// The threads of whoever calls this.
    pub(super) fn here() -> Self {
        Self(Handle::current())
    }

    fn spawn(&self, work: impl FnOnce(&Handle) + Send + 'static) -> Result<()> {
        let runtime = self.0.clone();
        let thread = thread::Builder::new().name("tsql question".to_owned());
        let spawned = thread.stack_size(STACK_BYTES).spawn(move || work(&runtime));
        spawned.map(|_| ()).map_err(Error::io("threads"))
    }

    /// What `work` gives. Whoever drops this future ends the work.
    pub(super) async fn run<T, F>(&self, work: impl FnOnce() -> F + Send + 'static) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>>,
    {
        let (mut end, ended) = oneshot::channel();
        self.spawn(move |runtime| {
            let given = runtime.block_on(async {
                tokio::select! {
                    given = work() => Some(given),
                    () = end.closed() => None,
                }
            });
            if let Some(given) = given {
                let _ = end.send(given);
            }
        })?;
        let gone = |_| Error::Internal("a question ended without an answer".to_owned());
        ended.await.map_err(gone)?
    }

    /// What `work` says, as it says it. Whoever drops this stream ends the work.
    pub(super) fn lines<T, F>(
        &self,
        work: impl FnOnce(mpsc::Sender<T>) -> F + Send + 'static,
    ) -> Result<impl Stream<Item = T> + Send + 'static>
    where
        T: Send + 'static,
        F: Future<Output = ()>,
    {
        let (sender, mut lines) = mpsc::channel(WAITING);
        self.spawn(move |runtime| {
            let closed = sender.clone();
            runtime.block_on(async {
                tokio::select! {
                    () = work(sender) => {}
                    () = closed.closed() => {}
                }
            });
        })?;
        Ok(futures::stream::poll_fn(move |context| {
            lines.poll_recv(context)
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use super::*;

    /// Sets a mark when it goes.
    struct Mark(Arc<AtomicBool>);

    impl Drop for Mark {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn work_ends_with_whoever_waits_for_it() {
        let computing = Computing::here();
        assert_eq!(computing.run(async || Ok(7)).await.unwrap(), 7);
        let ended = Arc::new(AtomicBool::new(false));
        let mark = Mark(Arc::clone(&ended));
        let work = computing.run(async move || {
            let _mark = mark;
            std::future::pending::<Result<()>>().await
        });
        assert!(
            tokio::time::timeout(Duration::from_millis(50), work)
                .await
                .is_err()
        );
        let looks = async {
            while !ended.load(Ordering::SeqCst) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), looks)
            .await
            .unwrap();
    }
}
