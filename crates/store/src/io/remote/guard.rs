//! Write protection for buckets without conditional writes.

use std::io::Write as _;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use object_store::path::Path;
use object_store::{Error, ObjectStore, Result};
use tokio::sync::OnceCell;

use super::cache;
use super::probe::{ProbeResult, ProbeVerdict, probe};
use super::retry::ServerRetries;

/// Cache folder of check results.
const FOLDER: &str = "probes";

/// Time for which a successful check stays valid.
const BELIEVED: Duration = Duration::from_secs(7 * 24 * 3600);

/// Pauses between attempts if the check failed for another reason, such as the network.
const PAUSES: [Duration; 6] = [
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
];

/// Returns whether all failures mean that the check could not run.
fn is_inconclusive(checks: &[ProbeResult]) -> bool {
    ProbeVerdict::from_results(checks) == ProbeVerdict::Unreachable
}

/// Decides whether this process may write to a bucket.
#[derive(Debug)]
pub(super) struct WriteGuard {
    /// Server and bucket.
    name: String,
    prefix: Path,
    pub(super) single_writer: bool,
    safe: OnceCell<()>,
    waiting: Arc<ServerRetries>,
}

impl WriteGuard {
    pub(super) fn new(
        name: &str,
        prefix: Path,
        single_writer: bool,
        waiting: Arc<ServerRetries>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            prefix,
            single_writer,
            safe: OnceCell::new(),
            waiting,
        }
    }

    /// Checks the bucket unless a recent check succeeded.
    ///
    /// # Errors
    /// The failed checks, with a hint.
    pub(super) async fn allow(&self, objects: &Arc<dyn ObjectStore>) -> Result<()> {
        if self.single_writer {
            return Ok(());
        }
        let found_out = self.safe.get_or_try_init(async || {
            if self.is_recently_verified() {
                return Ok(());
            }
            self.check(objects).await
        });
        found_out.await.copied()
    }

    /// Checks the bucket, and stores a successful result.
    async fn check(&self, objects: &Arc<dyn ObjectStore>) -> Result<()> {
        let mut checks = probe(objects, &self.prefix).await;
        for pause in PAUSES {
            if !is_inconclusive(&checks) || self.waiting.has_given_up() {
                break;
            }
            tokio::time::sleep(pause).await;
            checks = probe(objects, &self.prefix).await;
        }
        let wrong: Vec<String> = checks
            .iter()
            .filter_map(|check| {
                let problem = check.problem.as_ref()?;
                Some(format!("{}: {problem}", check.name))
            })
            .collect();
        if is_inconclusive(&checks) {
            let reason = format!(
                "{} could not be checked\n  {}",
                self.name,
                wrong.join("\n  ")
            );
            return Err(Error::Generic {
                store: "S3",
                source: reason.into(),
            });
        }
        if let Some(denied) = checks.iter().find(|check| check.is_denied) {
            let reason = format!(
                "{} denies required permissions, so nothing is written\n  {}\n\
                 hint: a writer needs permission to get, put, list and delete objects (s3:GetObject, s3:PutObject, s3:ListBucket, \
                 s3:DeleteObject)",
                self.name,
                wrong.join("\n  ")
            );
            return Err(Error::PermissionDenied {
                path: denied.name.to_owned(),
                source: reason.into(),
            });
        }
        if !wrong.is_empty() {
            let reason = format!(
                "{} does not support concurrent writers, so nothing is written\n  {}\n\
                 hint: if no other process writes to this store, set `single_writer = true` for the bucket in \
                 tsql.toml, or TSQL_SINGLE_WRITER=1",
                self.name,
                wrong.join("\n  ")
            );
            return Err(Error::NotSupported {
                source: reason.into(),
            });
        }
        if let Some(file) = self.file()
            && let Some(folder) = file.parent()
        {
            // A failure to store the result only means another check later.
            let _ = replace_file(folder, &file, &self.name);
        }
        Ok(())
    }

    fn file(&self) -> Option<PathBuf> {
        Some(cache::cache_folder(FOLDER)?.join(cache::hashed_name(&self.name)))
    }

    fn is_recently_verified(&self) -> bool {
        let written = self
            .file()
            .and_then(|file| file.metadata().ok()?.modified().ok());
        written.is_some_and(|written| written.elapsed().is_ok_and(|age| age < BELIEVED))
    }
}

/// Replaces a file of the cache, whatever exists at its path.
fn replace_file(folder: &FilePath, file: &FilePath, name: &str) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(name.as_bytes())?;
    new.persist(file)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use object_store::memory::InMemory;

    use super::*;
    use crate::io::failing_store::FailingStore;

    #[tokio::test]
    async fn a_missing_permission_is_no_missing_isolation() {
        let objects: Arc<dyn ObjectStore> = Arc::new(FailingStore {
            inner: Arc::new(InMemory::new()),
            hook: Box::new(|path| {
                let path = path.to_string();
                Box::pin(async {
                    let source = "AccessDenied".into();
                    Err(Error::PermissionDenied { path, source })
                })
            }),
        });
        let waiting = Arc::new(ServerRetries::new("bucket", Some(1)).unwrap());
        let guard = WriteGuard::new("bucket", Path::from("store"), false, waiting);
        let denied = guard.check(&objects).await.unwrap_err().to_string();
        assert!(denied.contains("s3:DeleteObject"), "{denied}");
        assert!(!denied.contains("single_writer"), "{denied}");
    }
}
