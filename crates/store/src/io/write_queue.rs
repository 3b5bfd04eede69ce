//! Queue of the writers of a table on a local disk, which avoids conflicts.
//!
//! The queue is an optimization. Correctness comes from atomic commits. So a writer does not wait forever for one that
//! was stopped, and without file locks it does not wait at all.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tsql_folders::{check_below, check_own, open_regular, read_regular};

/// Folder of the queue files.
pub(crate) const QUEUE_FOLDER: &str = ".queues";

/// Time before a waiting writer reports, and time before it goes on without the lock.
const PATIENCE: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(10));

/// Callback for reports.
type Reporter = Arc<dyn Fn(&str) + Send + Sync>;

/// Write queues of a store.
#[derive(Clone, Default)]
pub(crate) struct WriteQueues {
    /// Called when a writer waits for another process.
    tell: Option<Reporter>,
    /// Messages that are reported only once.
    reported: Arc<Mutex<HashSet<String>>>,
    /// Lock holders that were waited for in vain, by queue.
    passed: Arc<Mutex<HashMap<PathBuf, Vec<u8>>>>,
}

/// Position at the head of a queue, until it is dropped.
pub(crate) struct WriteTurn {
    _locked: File,
}

impl WriteQueues {
    /// Sets the callback for reports.
    pub(crate) fn with_reporter(self, tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        let tell: Option<Reporter> = Some(Arc::new(tell));
        Self { tell, ..self }
    }

    /// Reports a message, if there is a callback.
    pub(crate) fn report(&self, text: &str) {
        if let Some(tell) = &self.tell {
            tell(text);
        }
    }

    /// Reports a message, unless it was reported before.
    pub(crate) fn report_once(&self, text: &str) {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if reported.insert(text.to_owned()) {
            self.report(text);
        }
    }

    /// Waits for the turn of this writer among the writers of a table of the store in `directory`. Gives up after a
    /// timeout.
    pub(crate) async fn wait_for_turn(&self, directory: &Path, table: &str) -> Option<WriteTurn> {
        self.wait_within(directory, table, PATIENCE).await
    }

    async fn wait_within(
        &self,
        directory: &Path,
        table: &str,
        (silent, patience): (Duration, Duration),
    ) -> Option<WriteTurn> {
        let folder = directory.join(QUEUE_FOLDER);
        let queue = folder.join(table);
        let file = match open_queue_file(directory, &queue) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                self.report(&format!(
                    "{}: {error}: writers of {table} do not wait for each other",
                    queue.display()
                ));
                return None;
            }
            Err(_) => return None,
        };
        if let Err(error) = check_own(&file)
            && error.kind() == io::ErrorKind::InvalidInput
        {
            self.report(&format!(
                "{}: {error}: the file is not changed",
                queue.display()
            ));
        }
        if file.try_lock().is_ok() {
            return Some(WriteTurn::from_locked_file(file));
        }
        if self.is_skipped(&queue) {
            return None;
        }
        // Not a thread of the runtime, because shutdown of the runtime would wait for it.
        let (sender, mut locked) = oneshot::channel();
        std::thread::spawn(move || {
            // If the receiver has given up, the lock is released with the file.
            let _ = sender.send(file.lock().map(|()| file));
        });
        let begun =
            |file: Result<io::Result<File>, _>| Some(WriteTurn::from_locked_file(file.ok()?.ok()?));
        if let Ok(file) = tokio::time::timeout(silent, &mut locked).await {
            return begun(file);
        }
        let holder = holder(&queue);
        self.report(&format!("waiting for {holder}, which writes to {table}"));
        if let Ok(file) = tokio::time::timeout(patience.saturating_sub(silent), &mut locked).await {
            return begun(file);
        }
        self.report(&format!(
            "{holder} has not finished for {} s (is it stopped?): writing without waiting for it",
            patience.as_secs()
        ));
        self.skip_holder(&queue);
        None
    }

    /// Returns whether this holder of the queue was waited for in vain.
    fn is_skipped(&self, queue: &Path) -> bool {
        let passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        read_regular(queue).is_ok_and(|holder| passed.get(queue) == Some(&holder))
    }

    fn skip_holder(&self, queue: &Path) {
        let mut passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(holder) = read_regular(queue) {
            passed.insert(queue.to_owned(), holder);
        }
    }
}

/// Opens the file of a queue, or creates it. Does not follow links.
fn open_queue_file(directory: &Path, queue: &Path) -> io::Result<File> {
    check_below(directory, queue)?;
    if let Some(folder) = queue.parent() {
        std::fs::create_dir_all(folder)?;
    }
    open_regular(queue, File::options().create(true).append(true))
}

impl WriteTurn {
    /// Writes the process id and the time into the lock file, which identifies this holder.
    fn from_locked_file(mut file: File) -> Self {
        let now_ms = chrono::Utc::now().timestamp_millis();
        // Without write access there is no name of the holder. A file of another user, or one with several names, is
        // only locked.
        let _ = check_own(&file)
            .and_then(|()| file.set_len(0))
            .and_then(|()| writeln!(file, "{} {now_ms}", std::process::id()));
        Self { _locked: file }
    }
}

/// Describes the holder of the lock.
fn holder(queue: &Path) -> String {
    let own = |file: &File| check_own(file).is_ok();
    let file = open_regular(queue, File::options().read(true)).ok();
    let file = file.filter(own);
    let text = file.and_then(|file| io::read_to_string(file).ok());
    let text = text.unwrap_or_default();
    match text
        .split(' ')
        .next()
        .and_then(|pid| pid.parse::<u32>().ok())
    {
        Some(pid) => format!("process {pid}"),
        None => "another process".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[cfg(unix)]
    #[tokio::test]
    async fn nothing_outside_a_store_is_touched_by_who_queues_up() {
        use std::os::unix::fs::symlink;
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let precious = || std::fs::read_to_string(at("precious/records")).unwrap();
        std::fs::create_dir(at("precious")).unwrap();
        std::fs::write(at("precious/records"), "precious").unwrap();
        for name in ["file", "hard", "folder"] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        std::fs::create_dir(at("file/.queues")).unwrap();
        symlink(at("precious/records"), at("file/.queues/records")).unwrap();
        symlink(at("precious"), at("folder/.queues")).unwrap();
        std::fs::create_dir(at("hard/.queues")).unwrap();
        std::fs::hard_link(at("precious/records"), at("hard/.queues/records")).unwrap();
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        for (name, locks) in [("file", false), ("folder", false), ("hard", true)] {
            let tell = Arc::clone(&told);
            let queues = WriteQueues::default()
                .with_reporter(move |text| tell.lock().unwrap().push(text.to_owned()));
            let turn = queues.wait_for_turn(&at(name), "records").await;
            assert_eq!(turn.is_some(), locks, "{name}");
            assert_eq!(precious(), "precious", "{name}");
            let waiting = queues.wait_for_turn(&at(name), "new").await;
            assert_eq!(waiting.is_some(), name != "folder");
        }
        assert!(!at("precious/new").exists());
        let told = told.lock().unwrap();
        for part in ["symbolic link", "has 2 names"] {
            assert!(told.iter().any(|line| line.contains(part)), "{told:?}");
        }
    }

    #[tokio::test]
    async fn waits_are_bounded_and_name_the_writer() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path();
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let tell = Arc::clone(&told);
        let queues = WriteQueues::default()
            .with_reporter(move |text| tell.lock().unwrap().push(text.to_owned()));
        let brief = (Duration::from_millis(50), Duration::from_millis(200));
        let first = queues.wait_for_turn(directory, "records").await.unwrap();
        let begun = Instant::now();
        assert!(
            queues
                .wait_within(directory, "records", brief)
                .await
                .is_none()
        );
        assert!(begun.elapsed() >= brief.1);
        let me = format!("process {}", std::process::id());
        let lines = std::mem::take(&mut *told.lock().unwrap());
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines.iter().all(|line| line.contains(&me)), "{lines:?}");
        // The same holder is not waited for again; another queue is free.
        let begun = Instant::now();
        assert!(
            queues
                .wait_within(directory, "records", PATIENCE)
                .await
                .is_none()
        );
        assert!(
            queues
                .wait_within(directory, "graphs", brief)
                .await
                .is_some()
        );
        assert!(begun.elapsed() < PATIENCE.0);
        drop(first);
        // The next holder is waited for again.
        let next = loop {
            if let Some(turn) = queues.wait_within(directory, "records", brief).await {
                break turn;
            }
        };
        let waiting = queues.wait_within(directory, "records", PATIENCE);
        let ended = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            drop(next);
        };
        let (turn, ()) = tokio::join!(waiting, ended);
        assert!(turn.is_some());
        assert!(told.lock().unwrap().is_empty());
    }
}
