//! Commits that neither lose nor double anything, however many writers there are.
//!
//! Every attempt is one exclusive step in the log. After a conflict the new version is read, the
//! caller looks at it again (what was new may be known by now), and after a random pause the next
//! attempt follows. Every attempt carries a name of its own: whether one that seemed to fail is in the
//! log is settled by reading the version that it was meant for.

use std::fs::File;
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::Store;
use super::log::{Attempt, Change, Log, Snapshot};
use crate::error::{Error, Result};
use crate::schema;

/// How long a writer keeps trying against others.
const DEADLINE: Duration = Duration::from_secs(300);

/// Longest pause between two attempts.
const MAX_PAUSE: Duration = Duration::from_millis(500);

/// Folder of the files that writers of a local disk queue up at.
const QUEUES: &str = ".queues";

impl Store {
    /// Makes a change to a table. `plan` sees the newest version and says what to add; it is asked
    /// again after every conflict, and `None` ends it: nothing is left to do.
    pub(crate) async fn commit<F>(&self, table: &str, detail: &str, mut plan: F) -> Result<()>
    where
        F: AsyncFnMut(&Snapshot) -> Result<Option<Change>>,
    {
        self.changeable()?;
        let log = Log::new(self.location(), schema::table(table)?)?;
        let _turn = self.turn(table).await;
        let started = Instant::now();
        let mut pause = Duration::from_millis(5);
        let mut snapshot = match self.known(table) {
            Some(known) => known.newest().await?,
            None => log.snapshot_or_create().await?,
        };
        loop {
            let Some(change) = plan(&snapshot).await? else {
                return Ok(());
            };
            let name = Uuid::new_v4().simple().to_string();
            let failure = match snapshot.commit(&change, detail, &name).await {
                Attempt::Committed(new) => {
                    self.learn(table, &new);
                    return Ok(());
                }
                Attempt::Conflict => None,
                Attempt::Unclear(error) => Some(error),
            };
            if log.has(snapshot.version() + 1, &name).await? {
                return Ok(());
            }
            let late = started.elapsed() > DEADLINE;
            match failure {
                Some(error) if late || !error.is_passing() => return Err(error),
                None if late => {
                    let seconds = DEADLINE.as_secs();
                    return Err(Error::Contended {
                        table: table.to_owned(),
                        seconds,
                    });
                }
                _ => {}
            }
            tokio::time::sleep(jittered(pause)).await;
            pause = (pause * 2).min(MAX_PAUSE);
            snapshot = snapshot.newest().await?;
            self.learn(table, &snapshot);
        }
    }
}

impl Store {
    /// Waits for its turn among the writers of a table on a local disk, which lasts as long as the
    /// result does. It only saves them from colliding: that nothing is lost does not depend on it,
    /// so where there are no locks nobody waits.
    async fn turn(&self, table: &str) -> Option<File> {
        let queues = self.location().local_directory()?.join(QUEUES);
        let queue = queues.join(table);
        let locked = tokio::task::spawn_blocking(move || {
            std::fs::create_dir_all(&queues)?;
            let file = File::options().create(true).append(true).open(queue)?;
            file.lock()?;
            Ok::<_, std::io::Error>(file)
        });
        locked.await.ok()?.ok()
    }
}

/// Between half of the pause and all of it, at random: writers that collided part ways.
fn jittered(pause: Duration) -> Duration {
    let random = u32::from(Uuid::new_v4().into_bytes().first().copied().unwrap_or(0));
    pause / 2 + pause * random / 512
}
