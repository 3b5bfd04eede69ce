//! Retries during server outages: long enough for a restart of the server, not longer.
//!
//! `object_store` repeats requests. This module decides for how long, over all requests to a server: after an outage
//! that took too long, requests fail at once. It also reports outages.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use object_store::{BackoffConfig, RetryConfig};

use tsql_error::{Error, Result};

/// Retry timeout of a server in seconds.
static PATIENCE_S: AtomicU64 = AtomicU64::new(120);

/// Maximum duration of a request in seconds, including the upload of a part of a data file.
#[cfg(feature = "s3")]
const REQUEST_S: u64 = 120;

/// Environment variable that sets the timeout in seconds.
const VARIABLE: &str = "TSQL_RETRY_S";

/// Longest pause between two attempts.
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// Duration of an outage before the first report, and interval between reports.
const SILENT: Duration = Duration::from_secs(1);
const AGAIN: Duration = Duration::from_secs(15);

/// Failures that are farther apart belong to two outages, because there were no requests in between.
const APART: Duration = Duration::from_secs(30);

static TELL: OnceLock<fn(&str)> = OnceLock::new();
static STOPPED: AtomicBool = AtomicBool::new(false);

/// Sets the function that reports outages of all stores of this process.
pub fn set_retry_reporter(tell: fn(&str)) {
    // Only the first call counts.
    let _ = TELL.set(tell);
}

/// Sets the default retry timeout, and the request timeout, of stores that are opened from now on.
pub fn set_retry_timeout(seconds: u64) {
    PATIENCE_S.store(seconds, Ordering::Relaxed);
}

/// Stops all retries, from now on.
pub fn stop_retries() {
    STOPPED.store(true, Ordering::Relaxed);
}

/// Returns whether [`stop_retries`] was called.
pub fn are_retries_stopped() -> bool {
    STOPPED.load(Ordering::Relaxed)
}

/// Outage state of a server.
#[derive(Debug)]
pub(super) struct ServerRetries {
    server: String,
    patience: Duration,
    outage: Mutex<Option<Outage>>,
}

#[derive(Clone, Copy, Debug)]
struct Outage {
    begun: Instant,
    last: Instant,
    told: Option<Instant>,
}

impl ServerRetries {
    /// Creates the state of a server. A given timeout takes precedence over the environment variable, and that over the
    /// default.
    ///
    /// # Errors
    /// [`Error::Setting`] for a variable that is not a number of seconds.
    pub(super) fn new(server: &str, seconds: Option<u64>) -> Result<Self> {
        let variable = std::env::var(VARIABLE).ok().filter(|text| !text.is_empty());
        let variable = variable.map(|text| {
            let wrong =
                |_| Error::Setting(format!("{VARIABLE}=`{text}` is not a number of seconds"));
            text.parse::<u64>().map_err(wrong)
        });
        let seconds = seconds.or(variable.transpose()?);
        let seconds = seconds.unwrap_or_else(|| PATIENCE_S.load(Ordering::Relaxed));
        Ok(Self {
            server: server.to_owned(),
            patience: Duration::from_secs(seconds),
            outage: Mutex::default(),
        })
    }

    /// Returns the timeout of a request.
    #[cfg(feature = "s3")]
    pub(super) fn request_timeout(&self) -> Duration {
        let usual = Duration::from_secs(PATIENCE_S.load(Ordering::Relaxed));
        self.patience.max(usual).min(Duration::from_secs(REQUEST_S))
    }

    /// Returns the retry settings.
    pub(super) fn retry_config(&self) -> RetryConfig {
        RetryConfig {
            backoff: BackoffConfig {
                max_backoff: MAX_PAUSE,
                ..BackoffConfig::default()
            },
            max_retries: usize::MAX,
            retry_timeout: self.patience,
        }
    }

    /// Returns whether the retry timeout of the current outage has passed.
    pub(super) fn has_given_up(&self) -> bool {
        let outage = *self.outage.lock().unwrap_or_else(PoisonError::into_inner);
        outage.is_some_and(|outage| outage.begun.elapsed() >= self.patience)
    }

    /// Records a response.
    pub(super) fn record_success(&self) {
        let mut outage = self.outage.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Outage {
            begun,
            told: Some(_),
            ..
        }) = outage.take()
        {
            let seconds = begun.elapsed().as_secs();
            self.report(&format!("responds again after {seconds} s"));
        }
    }

    /// Records a failure. Returns whether to retry.
    pub(super) fn record_failure(&self, reason: &dyn fmt::Display) -> bool {
        let now = Instant::now();
        let mut outage = self.outage.lock().unwrap_or_else(PoisonError::into_inner);
        let outage = match &mut *outage {
            Some(outage) if now - outage.last < APART.max(self.patience) => outage,
            new => new.insert(Outage {
                begun: now,
                last: now,
                told: None,
            }),
        };
        outage.last = now;
        if are_retries_stopped() || now - outage.begun >= self.patience {
            return false;
        }
        let since = outage.told.unwrap_or(outage.begun);
        let silent = if outage.told.is_some() { AGAIN } else { SILENT };
        if now - since >= silent {
            outage.told = Some(now);
            let seconds = self.patience.as_secs();
            self.report(&format!(
                "does not respond ({reason}): waiting up to {seconds} s"
            ));
        }
        true
    }

    fn report(&self, what: &str) {
        if let Some(tell) = TELL.get() {
            tell(&format!("{} {what}", self.server));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_ends_with_a_response_or_a_timeout() {
        let waiting = ServerRetries::new("here", Some(3600)).unwrap();
        assert!(waiting.record_failure(&"503") && waiting.record_failure(&"503"));
        let begun =
            |waiting: &ServerRetries| waiting.outage.lock().unwrap().map(|outage| outage.begun);
        let first = begun(&waiting);
        assert!(waiting.record_failure(&"503"));
        assert_eq!(begun(&waiting), first, "the same outage");
        waiting.record_success();
        assert_eq!(begun(&waiting), None);
        let waiting = ServerRetries::new("here", Some(0)).unwrap();
        assert!(!waiting.record_failure(&"503") && waiting.has_given_up());
        waiting.record_success();
        assert!(!waiting.has_given_up());
    }
}
