//! Checks whether a bucket supports what commits need.
//!
//! Writers synchronize by creating the next file of a log, in which only one of them may succeed. Some S3-compatible
//! servers ignore that condition and overwrite the file. With two writers, rows get lost there.

use std::sync::Arc;

use futures::TryStreamExt as _;
use object_store::path::Path;
use object_store::{
    Error, GetOptions, GetRange, ObjectStore, ObjectStoreExt as _, PutMode, PutPayload, Result,
};
use tsql_error::storage_message;
use uuid::Uuid;

/// Number of writers that race for an object, and number of races.
const RACERS: usize = 8;
const RACES: usize = 4;

/// Result of one check.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProbeResult {
    /// Name of the check.
    pub name: &'static str,
    /// Reason of the failure. `None` for success.
    pub problem: Option<String>,
    /// The check could not run: the network or the server failed.
    pub(super) untried: bool,
    /// The credentials lack a permission.
    pub(super) is_denied: bool,
}

/// Conclusion from all checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProbeVerdict {
    /// Several writers may write at once.
    Supported,
    /// The server answers, but breaks a rule that commits rely on.
    Unsupported,
    /// The credentials lack a permission.
    Denied,
    /// No check could run: the server cannot be reached, or there are no credentials.
    Unreachable,
}

impl ProbeVerdict {
    /// Draws the conclusion.
    #[must_use]
    pub fn from_results(results: &[ProbeResult]) -> Self {
        let mut failed = results.iter().filter(|check| check.problem.is_some());
        match failed.clone().next() {
            None => Self::Supported,
            Some(_) if failed.clone().all(|check| check.untried) => Self::Unreachable,
            Some(_) if failed.any(|check| check.is_denied) => Self::Denied,
            Some(_) => Self::Unsupported,
        }
    }
}

/// Runs all checks under `prefix`, and leaves nothing behind.
pub(super) async fn probe(objects: &Arc<dyn ObjectStore>, prefix: &Path) -> Vec<ProbeResult> {
    let folder = prefix
        .clone()
        .join(format!(".tsql-probe-{}", Uuid::new_v4().simple()));
    let checks = vec![
        probe_result(
            "a new object can be created",
            create(objects, &folder).await,
        ),
        probe_result(
            "creating it again is rejected, and changes nothing",
            create_again(objects, &folder).await,
        ),
        probe_result(
            "only one of eight writers creates the same object",
            race(objects, &folder).await,
        ),
        probe_result(
            "a range of an object is read exactly",
            ranges(objects, &folder).await,
        ),
        probe_result(
            "an object is listed as soon as it exists",
            list(objects, &folder).await,
        ),
        probe_result("a deleted object is gone", delete(objects, &folder).await),
    ];
    // Left over by a failed check.
    if let Ok(left) = objects.list(Some(&folder)).try_collect::<Vec<_>>().await {
        for object in left {
            let _ = objects.delete(&object.location).await;
        }
    }
    checks
}

fn probe_result(name: &'static str, outcome: Outcome) -> ProbeResult {
    let (problem, error) = match outcome {
        Ok(()) => (None, None),
        Err(ProbeFailure::Answer(problem)) => (Some(problem), None),
        Err(ProbeFailure::Failed(error)) => {
            let message = storage_message(&error);
            // One hint for all checks is enough.
            let fact = message.split("\nhint: ").next().unwrap_or(&message);
            let fact = fact.trim_start_matches("storage: ").to_owned();
            (Some(fact), Some(error))
        }
    };
    ProbeResult {
        name,
        problem,
        untried: matches!(error, Some(Error::Generic { .. })),
        is_denied: matches!(
            error,
            Some(Error::PermissionDenied { .. } | Error::Unauthenticated { .. })
        ),
    }
}

/// Reason of a failure.
enum ProbeFailure {
    /// The response was wrong.
    Answer(String),
    /// There was no response.
    Failed(Error),
}

impl From<Error> for ProbeFailure {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<String> for ProbeFailure {
    fn from(answer: String) -> Self {
        Self::Answer(answer)
    }
}

type Outcome = std::result::Result<(), ProbeFailure>;

async fn put_new(objects: &Arc<dyn ObjectStore>, path: &Path, body: &str) -> Result<()> {
    let payload = PutPayload::from(body.to_owned());
    objects
        .put_opts(path, payload, PutMode::Create.into())
        .await?;
    Ok(())
}

async fn body(objects: &Arc<dyn ObjectStore>, path: &Path) -> Result<String> {
    let found = objects.get(path).await?;
    let bytes = found.bytes().await?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

async fn create(objects: &Arc<dyn ObjectStore>, folder: &Path) -> Outcome {
    let path = folder.clone().join("object");
    match put_new(objects, &path, "0123456789").await {
        // The request was sent twice, because the first response was lost. The body shows whose object it is.
        Err(Error::AlreadyExists { .. }) if objects.head(&path).await.is_ok() => {}
        Err(Error::AlreadyExists { path, source }) => {
            let source = format!("{path} was reported to exist: {source}").into();
            return Err(ProbeFailure::Failed(Error::Generic {
                store: "S3",
                source,
            }));
        }
        other => other?,
    }
    match body(objects, &path).await?.as_str() {
        "0123456789" => Ok(()),
        other => Err(format!("it holds `{other}`").into()),
    }
}

async fn create_again(objects: &Arc<dyn ObjectStore>, folder: &Path) -> Outcome {
    let path = folder.clone().join("object");
    match put_new(objects, &path, "another one").await {
        Err(Error::AlreadyExists { .. }) => {}
        Err(error) => return Err(error.into()),
        Ok(()) => return Err("it was overwritten".to_owned().into()),
    }
    match body(objects, &path).await?.as_str() {
        "0123456789" => Ok(()),
        other => Err(format!("it was rejected, but holds `{other}` now").into()),
    }
}

async fn race(objects: &Arc<dyn ObjectStore>, folder: &Path) -> Outcome {
    for round in 0..RACES {
        let path = folder.clone().join(format!("race-{round}"));
        let racers = (0..RACERS).map(|racer| {
            let (objects, path) = (Arc::clone(objects), path.clone());
            async move { put_new(&objects, &path, &racer.to_string()).await.is_ok() }
        });
        let won = futures::future::join_all(racers).await;
        let winners: Vec<String> = won
            .iter()
            .enumerate()
            .filter(|(_, won)| **won)
            .map(|(racer, _)| racer.to_string())
            .collect();
        let held = body(objects, &path).await?;
        // There is no winner if the response was lost and the request sent again.
        if !winners.is_empty() && winners != [held] {
            return Err(format!("{} writers succeeded", winners.len()).into());
        }
    }
    Ok(())
}

async fn ranges(objects: &Arc<dyn ObjectStore>, folder: &Path) -> Outcome {
    let path = folder.clone().join("object");
    for (range, expected) in [
        (GetRange::Bounded(3..5), "34"),
        (GetRange::Suffix(2), "89"),
        (GetRange::Offset(8), "89"),
    ] {
        let options = GetOptions {
            range: Some(range),
            ..GetOptions::default()
        };
        let found = objects.get_opts(&path, options).await?;
        let bytes = found.bytes().await?;
        if bytes != expected.as_bytes() {
            return Err(format!("{} bytes, expected 2", bytes.len()).into());
        }
    }
    Ok(())
}

async fn list(objects: &Arc<dyn ObjectStore>, folder: &Path) -> Outcome {
    let path = folder.clone().join("object");
    let listed: Vec<_> = objects.list(Some(folder)).try_collect().await?;
    match listed.iter().find(|object| object.location == path) {
        Some(object) if object.size == 10 => Ok(()),
        Some(object) => Err(format!("{} bytes, expected 10", object.size).into()),
        None => Err("it is not listed".to_owned().into()),
    }
}

async fn delete(objects: &Arc<dyn ObjectStore>, folder: &Path) -> Outcome {
    let path = folder.clone().join("object");
    objects.delete(&path).await?;
    match objects.head(&path).await {
        Err(Error::NotFound { .. }) => Ok(()),
        Err(error) => Err(error.into()),
        Ok(_) => Err("it is still there".to_owned().into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unreachable_server_proves_nothing_about_writers() {
        let failed = |error: Error| probe_result("a check", Err(ProbeFailure::Failed(error)));
        let unreachable = || {
            failed(Error::Generic {
                store: "S3",
                source: "connection refused".into(),
            })
        };
        let denied = || {
            failed(Error::PermissionDenied {
                path: "a".to_owned(),
                source: "403".into(),
            })
        };
        let passed = || probe_result("a check", Ok(()));
        let wrong = || {
            probe_result(
                "a check",
                Err(ProbeFailure::Answer("overwritten".to_owned())),
            )
        };
        for (results, expected) in [
            (vec![passed(), passed()], ProbeVerdict::Supported),
            (
                vec![unreachable(), unreachable()],
                ProbeVerdict::Unreachable,
            ),
            (vec![passed(), denied()], ProbeVerdict::Denied),
            (vec![passed(), wrong()], ProbeVerdict::Unsupported),
            (vec![unreachable(), wrong()], ProbeVerdict::Unsupported),
        ] {
            assert_eq!(
                ProbeVerdict::from_results(&results),
                expected,
                "{results:?}"
            );
        }
    }
}
