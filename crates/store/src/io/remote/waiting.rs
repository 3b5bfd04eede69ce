//! A server that does not answer is waited for: as long as it takes to start it again, not longer.
//!
//! Requests are repeated by `object_store`. Here is decided for how long, over all requests to a server:
//! what comes after an outage that took too long fails at once. And here it is told.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use object_store::{BackoffConfig, RetryConfig};

use tsql_error::{Error, Result};

/// How long a server is waited for, in seconds.
static PATIENCE_S: AtomicU64 = AtomicU64::new(120);

/// How long one request may take, the sending of a part of a data file among it, in seconds: that at most.
#[cfg(feature = "s3")]
const REQUEST_S: u64 = 120;

/// Variable with another number of seconds.
const VARIABLE: &str = "TSQL_RETRY_S";

/// Longest pause between two tries.
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// How long waiting goes untold, and how often it is told again.
const SILENT: Duration = Duration::from_secs(1);
const AGAIN: Duration = Duration::from_secs(15);

/// Failures that are farther apart belong to two outages: in between nothing was asked.
const APART: Duration = Duration::from_secs(30);

static TELL: OnceLock<fn(&str)> = OnceLock::new();
static STOPPED: AtomicBool = AtomicBool::new(false);

/// Has waiting for servers told to people by `tell`, of all stores of this process.
pub fn tell_waiting(tell: fn(&str)) {
    // Once is enough.
    let _ = TELL.set(tell);
}

/// Servers of stores that are opened from now on are waited for so long, and so is each request, where nobody says otherwise.
pub fn wait_at_most(seconds: u64) {
    PATIENCE_S.store(seconds, Ordering::Relaxed);
}

/// Ends all waiting for servers, now and from now on.
pub fn stop_waiting() {
    STOPPED.store(true, Ordering::Relaxed);
}

/// Was that done?
pub fn waiting_is_stopped() -> bool {
    STOPPED.load(Ordering::Relaxed)
}

/// How a server answers.
#[derive(Debug)]
pub(super) struct Waiting {
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

impl Waiting {
    /// For so many seconds at most, unless a variable or nobody says how long.
    ///
    /// # Errors
    /// [`Error::Setting`] for a variable that is no number of seconds.
    pub(super) fn new(server: &str, seconds: Option<u64>) -> Result<Self> {
        let variable = std::env::var(VARIABLE).ok().filter(|text| !text.is_empty());
        let variable = variable.map(|text| {
            let wrong = |_| Error::Setting(format!("{VARIABLE}=`{text}` is no number of seconds"));
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

    /// How long one request may take.
    #[cfg(feature = "s3")]
    pub(super) fn request_timeout(&self) -> Duration {
        let usual = Duration::from_secs(PATIENCE_S.load(Ordering::Relaxed));
        self.patience.max(usual).min(Duration::from_secs(REQUEST_S))
    }

    /// How requests are repeated.
    pub(super) fn retries(&self) -> RetryConfig {
        RetryConfig {
            backoff: BackoffConfig {
                max_backoff: MAX_PAUSE,
                ..BackoffConfig::default()
            },
            max_retries: usize::MAX,
            retry_timeout: self.patience,
        }
    }

    /// The server was waited for in vain.
    pub(super) fn is_over(&self) -> bool {
        let outage = *self.outage.lock().unwrap_or_else(PoisonError::into_inner);
        outage.is_some_and(|outage| outage.begun.elapsed() >= self.patience)
    }

    /// Notes that it answered.
    pub(super) fn answered(&self) {
        let mut outage = self.outage.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Outage {
            begun,
            told: Some(_),
            ..
        }) = outage.take()
        {
            let seconds = begun.elapsed().as_secs();
            self.tell(&format!("answers again after {seconds} s"));
        }
    }

    /// Notes that it did not; is it worth to ask again?
    pub(super) fn failed(&self, reason: &dyn fmt::Display) -> bool {
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
        if waiting_is_stopped() || now - outage.begun >= self.patience {
            return false;
        }
        let since = outage.told.unwrap_or(outage.begun);
        let silent = if outage.told.is_some() { AGAIN } else { SILENT };
        if now - since >= silent {
            outage.told = Some(now);
            let seconds = self.patience.as_secs();
            self.tell(&format!(
                "does not answer ({reason}): waiting for it, up to {seconds} s"
            ));
        }
        true
    }

    fn tell(&self, what: &str) {
        if let Some(tell) = TELL.get() {
            tell(&format!("{} {what}", self.server));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_ends_with_an_answer_or_with_patience() {
        let waiting = Waiting::new("here", Some(3600)).unwrap();
        assert!(waiting.failed(&"503") && waiting.failed(&"503"));
        let begun = |waiting: &Waiting| waiting.outage.lock().unwrap().map(|outage| outage.begun);
        let first = begun(&waiting);
        assert!(waiting.failed(&"503"));
        assert_eq!(begun(&waiting), first, "the same outage");
        waiting.answered();
        assert_eq!(begun(&waiting), None);
        let waiting = Waiting::new("here", Some(0)).unwrap();
        assert!(!waiting.failed(&"503") && waiting.is_over());
        waiting.answered();
        assert!(!waiting.is_over());
    }
}
