//! Threads that run queries; the work is cancelled when its caller is dropped.
//!
//! The library's futures stay on their thread, and planning deep SQL needs much stack. So each query has its own
//! thread, as in the Python package. Spawned tasks run on the threads of the runtime.

use std::thread;

use futures::Stream;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tsql_error::{Error, Result};

/// Stack size of a planning thread, as in the command line. Unused stack takes no memory.
const STACK_BYTES: usize = 64 << 20;

/// Capacity of the channel of lines.
const LINE_BUFFER: usize = 16;

/// Spawner of query threads.
#[derive(Clone, Debug)]
pub struct QueryThreads(Handle);

impl QueryThreads {
    /// Uses the runtime of the caller.
    ///
    /// # Panics
    /// Outside of a runtime.
    #[must_use]
    pub fn current() -> Self {
        Self(Handle::current())
    }

    fn spawn(&self, work: impl FnOnce(&Handle) + Send + 'static) -> Result<()> {
        let runtime = self.0.clone();
        let thread = thread::Builder::new().name("tsql query".to_owned());
        let spawned = thread.stack_size(STACK_BYTES).spawn(move || work(&runtime));
        spawned.map(|_| ()).map_err(Error::io("threads"))
    }

    /// Returns the result of `work`. Dropping this future cancels the work.
    ///
    /// # Errors
    /// The errors of `work`, [`Error::Io`] if no thread can be started, and [`Error::Internal`] if `work` panics.
    pub async fn run<T, F>(&self, work: impl FnOnce() -> F + Send + 'static) -> Result<T>
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
        let gone = |_| Error::Internal("a query ended without a result".to_owned());
        ended.await.map_err(gone)?
    }

    /// Returns the items that `work` sends, as a stream. Dropping the stream cancels the work.
    ///
    /// # Errors
    /// [`Error::Io`] if no thread can be started.
    pub fn lines<T, F>(
        &self,
        work: impl FnOnce(mpsc::Sender<T>) -> F + Send + 'static,
    ) -> Result<impl Stream<Item = T> + Send + 'static>
    where
        T: Send + 'static,
        F: Future<Output = ()>,
    {
        let (sender, mut lines) = mpsc::channel(LINE_BUFFER);
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

    /// Sets a flag when it is dropped.
    struct Mark(Arc<AtomicBool>);

    impl Drop for Mark {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn work_ends_with_whoever_waits_for_it() {
        let computing = QueryThreads::current();
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
