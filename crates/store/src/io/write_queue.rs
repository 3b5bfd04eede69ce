//! Writers of a table on a local disk queue up, so that they need not collide.
//!
//! Only that: what keeps them from losing anything is that a commit is one exclusive step. So nobody
//! waits for ever for a writer that was stopped, and where there are no locks nobody waits at all.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tsql_folders::{check_below, check_own, open_regular, read_regular};

/// Folder of the files that writers queue up at.
const FOLDER: &str = ".queues";

/// How long a writer waits before it says so, and before it goes on beside the one it waits for.
const PATIENCE: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(10));

/// Where waiting is told.
type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// The queues of a store's writers, as one of them sees them.
#[derive(Clone, Default)]
pub(crate) struct Queues {
    /// Told when a writer waits for another process.
    tell: Option<Tell>,
    /// Who was waited for in vain, by queue.
    passed: Arc<Mutex<HashMap<PathBuf, Vec<u8>>>>,
}

/// A turn, which lasts as long as this does.
pub(crate) struct Turn {
    _locked: File,
}

impl Queues {
    /// The same, telling.
    pub(crate) fn telling(self, tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        let tell: Option<Tell> = Some(Arc::new(tell));
        Self { tell, ..self }
    }

    /// Tells a person, if there is one.
    pub(crate) fn tell(&self, text: &str) {
        if let Some(tell) = &self.tell {
            tell(text);
        }
    }

    /// Waits for its turn among the writers of a table of the store in `directory`; goes on without one when
    /// that takes too long.
    pub(crate) async fn turn(&self, directory: &Path, table: &str) -> Option<Turn> {
        self.turn_within(directory, table, PATIENCE).await
    }

    async fn turn_within(
        &self,
        directory: &Path,
        table: &str,
        (silent, patience): (Duration, Duration),
    ) -> Option<Turn> {
        let folder = directory.join(FOLDER);
        let queue = folder.join(table);
        let file = match opened(directory, &queue) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                self.tell(&format!(
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
            self.tell(&format!("{}: {error}: it stays as it is", queue.display()));
        }
        if file.try_lock().is_ok() {
            return Some(Turn::begun(file));
        }
        if self.has_passed(&queue) {
            return None;
        }
        // Not a thread of the runtime, which would wait for it when it ends.
        let (sender, mut locked) = oneshot::channel();
        std::thread::spawn(move || {
            // Whoever has waited long enough has gone on, and the lock goes with the file.
            let _ = sender.send(file.lock().map(|()| file));
        });
        let begun = |file: Result<io::Result<File>, _>| Some(Turn::begun(file.ok()?.ok()?));
        if let Ok(file) = tokio::time::timeout(silent, &mut locked).await {
            return begun(file);
        }
        let holder = holder(&queue);
        self.tell(&format!("waiting for {holder}, which writes to {table}"));
        if let Ok(file) = tokio::time::timeout(patience.saturating_sub(silent), &mut locked).await {
            return begun(file);
        }
        self.tell(&format!(
            "{holder} has not made way for {} s (is it stopped?): going on beside it",
            patience.as_secs()
        ));
        self.pass(&queue);
        None
    }

    /// Was this holder of the queue waited for already, in vain?
    fn has_passed(&self, queue: &Path) -> bool {
        let passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        read_regular(queue).is_ok_and(|holder| passed.get(queue) == Some(&holder))
    }

    fn pass(&self, queue: &Path) {
        let mut passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(holder) = read_regular(queue) {
            passed.insert(queue.to_owned(), holder);
        }
    }
}

/// Opens the file of a queue, which is made where it is missing, and nothing that a link leads to.
fn opened(directory: &Path, queue: &Path) -> io::Result<File> {
    check_below(directory, queue)?;
    if let Some(folder) = queue.parent() {
        std::fs::create_dir_all(folder)?;
    }
    open_regular(queue, File::options().create(true).append(true))
}

impl Turn {
    /// Says who has the lock: the process, and since when, so that another turn is told from this one.
    fn begun(mut file: File) -> Self {
        let now_ms = chrono::Utc::now().timestamp_millis();
        // Whoever cannot write it is simply not named; a file of somebody else, or one that has other names, is only locked.
        let _ = check_own(&file)
            .and_then(|()| file.set_len(0))
            .and_then(|()| writeln!(file, "{} {now_ms}", std::process::id()));
        Self { _locked: file }
    }
}

/// Who has the lock, for people.
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
            let queues =
                Queues::default().telling(move |text| tell.lock().unwrap().push(text.to_owned()));
            let turn = queues.turn(&at(name), "records").await;
            assert_eq!(turn.is_some(), locks, "{name}");
            assert_eq!(precious(), "precious", "{name}");
            let waiting = queues.turn(&at(name), "new").await;
            assert_eq!(waiting.is_some(), name != "folder");
        }
        assert!(!at("precious/new").exists());
        let told = told.lock().unwrap();
        for part in ["symbolic link", "has 2 names"] {
            assert!(told.iter().any(|line| line.contains(part)), "{told:?}");
        }
    }

    #[tokio::test]
    async fn nobody_waits_for_ever_and_whom_for_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path();
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let tell = Arc::clone(&told);
        let queues =
            Queues::default().telling(move |text| tell.lock().unwrap().push(text.to_owned()));
        let brief = (Duration::from_millis(50), Duration::from_millis(200));
        let first = queues.turn(directory, "records").await.unwrap();
        let begun = Instant::now();
        assert!(
            queues
                .turn_within(directory, "records", brief)
                .await
                .is_none()
        );
        assert!(begun.elapsed() >= brief.1);
        let me = format!("process {}", std::process::id());
        let lines = std::mem::take(&mut *told.lock().unwrap());
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines.iter().all(|line| line.contains(&me)), "{lines:?}");
        // The same holder is not waited for again, another queue is free.
        let begun = Instant::now();
        assert!(
            queues
                .turn_within(directory, "records", PATIENCE)
                .await
                .is_none()
        );
        assert!(
            queues
                .turn_within(directory, "graphs", brief)
                .await
                .is_some()
        );
        assert!(begun.elapsed() < PATIENCE.0);
        drop(first);
        // Whoever comes next waits for its turn again.
        let next = loop {
            if let Some(turn) = queues.turn_within(directory, "records", brief).await {
                break turn;
            }
        };
        let waiting = queues.turn_within(directory, "records", PATIENCE);
        let ended = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            drop(next);
        };
        let (turn, ()) = tokio::join!(waiting, ended);
        assert!(turn.is_some());
        assert!(told.lock().unwrap().is_empty());
    }
}
