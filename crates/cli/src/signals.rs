//! Handling of Ctrl-C and of signals that end the process: temporary files are removed first.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tokio::sync::Notify;

use super::outcome::INTERRUPTED;

#[cfg(unix)]
use super::pager;

/// Signals that a command handles itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stops {
    /// None.
    Never,
    /// Ctrl-C.
    AtInterrupt,
    /// Ctrl-C; and the terminal has to be restored before another signal ends the process.
    AtPrompt,
    /// Ctrl-C, SIGTERM and SIGHUP.
    #[cfg(any(feature = "cluster", feature = "ui"))]
    AtAny,
}

/// Time in which the terminal is restored.
const RESTORE_TIME: Duration = Duration::from_millis(400);

/// Set when the process is about to end.
static ENDING: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Returns a flag that is set when the process is about to end, for code that has changed the mode of the terminal.
pub(super) fn ending() -> Arc<AtomicBool> {
    Arc::clone(&ENDING)
}

/// Notified at each Ctrl-C.
static INTERRUPTS: Notify = Notify::const_new();

/// Notifies [`wait_for_interrupt`] at each Ctrl-C, which then does not end the process.
///
/// As in [`tidy_up`], a separate thread waits, because the threads of the runtime may be busy with a query.
pub(super) fn hear_interrupts() {
    std::thread::spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build();
        let Ok(runtime) = runtime else { return };
        runtime.block_on(async {
            while tokio::signal::ctrl_c().await.is_ok() {
                INTERRUPTS.notify_waiters();
            }
        });
    });
}

/// Waits for the next Ctrl-C.
pub(super) async fn wait_for_interrupt() {
    INTERRUPTS.notified().await;
}

/// Ends the process at SIGTERM, SIGHUP and SIGINT, except for signals that the command handles itself. Removes
/// temporary folders. The exit code is the shell's for the signal: 130 for Ctrl-C.
///
/// A separate thread waits, because all threads of the runtime may be busy with a query.
#[cfg(unix)]
pub(super) fn tidy_up(stops: Stops) {
    use tokio::signal::unix::SignalKind;
    let kinds = match stops {
        Stops::Never => vec![
            SignalKind::terminate(),
            SignalKind::hangup(),
            SignalKind::interrupt(),
        ],
        Stops::AtInterrupt | Stops::AtPrompt => {
            vec![SignalKind::terminate(), SignalKind::hangup()]
        }
        #[cfg(any(feature = "cluster", feature = "ui"))]
        Stops::AtAny => Vec::new(),
    };
    let kinds: Vec<SignalKind> = kinds
        .into_iter()
        // A shell without its terminal has no user, so it ends even if its parent ignored the signal.
        .filter(|kind| stops == Stops::AtPrompt || !is_ignored(kind.as_raw_value()))
        .collect();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build();
        let Ok(runtime) = runtime else { return };
        if let Some(number) = runtime.block_on(first_of(&kinds)) {
            if stops == Stops::AtPrompt {
                ENDING.store(true, Ordering::Relaxed);
                std::thread::sleep(RESTORE_TIME);
            }
            end(128 + number);
        }
    });
}

#[cfg(not(unix))]
pub(super) fn tidy_up(_: Stops) {}

/// Returns a future that waits for SIGTERM, SIGHUP or Ctrl-C. After that, another Ctrl-C ends the process at once.
#[cfg(all(any(feature = "cluster", feature = "ui"), unix))]
pub(super) fn termination() -> tsql_error::Result<impl Future<Output = ()> + Send + 'static> {
    use tokio::signal::unix::{SignalKind, signal};
    let failed = |source| tsql_error::Error::Io {
        path: "signals".into(),
        source,
    };
    let wanted = |kind: &SignalKind| !is_ignored(kind.as_raw_value());
    let kinds = [
        SignalKind::terminate(),
        SignalKind::hangup(),
        SignalKind::interrupt(),
    ];
    let mut waiting = Vec::new();
    for kind in kinds.into_iter().filter(wanted) {
        let mut signal = signal(kind).map_err(failed)?;
        waiting.push(Box::pin(async move { signal.recv().await }));
    }
    Ok(async move {
        if waiting.is_empty() {
            return futures::future::pending().await;
        }
        futures::future::select_all(waiting).await;
        tokio::spawn(async {
            if tokio::signal::ctrl_c().await.is_ok() {
                end(i32::from(INTERRUPTED));
            }
        });
    })
}

#[cfg(all(any(feature = "cluster", feature = "ui"), not(unix)))]
pub(super) fn termination() -> tsql_error::Result<impl Future<Output = ()> + Send + 'static> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}

/// Number of SIGXFSZ on Linux, macOS and the BSDs: a file would be larger than `ulimit -f`.
#[cfg(unix)]
const TOO_LARGE: i32 = 25;

/// Handles SIGXFSZ, so that a write beyond the limit is an error and does not end the process. Rust's library does the
/// same for closed pipes. For child processes, the signal has its default action.
#[cfg(unix)]
pub(super) fn report_too_large_files() {
    use tokio::signal::unix::{SignalKind, signal};
    // The handler stays installed.
    let _ = signal(SignalKind::from_raw(TOO_LARGE));
}

#[cfg(not(unix))]
pub(super) fn report_too_large_files() {}

/// Returns a flag that the first Ctrl-C sets, so that a run ends cleanly. The second Ctrl-C ends the process at once.
pub(super) fn stop_on_ctrl_c() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&stop);
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() {
            if set.swap(true, Ordering::Relaxed) {
                end(i32::from(INTERRUPTED));
            }
            tsql_store::stop_retries();
        }
    });
    stop
}

/// Removes temporary folders, and ends the process at once.
pub(super) fn end(code: i32) -> ! {
    tsql_folders::remove_all();
    std::process::exit(code)
}

/// Waits for any of the signals; returns its number.
#[cfg(unix)]
async fn first_of(kinds: &[tokio::signal::unix::SignalKind]) -> Option<i32> {
    let mut waiting = Vec::new();
    for kind in kinds {
        let mut signal = tokio::signal::unix::signal(*kind).ok()?;
        waiting.push(Box::pin(async move {
            // A pager that controls the terminal gets Ctrl-C.
            let interrupt = *kind == tokio::signal::unix::SignalKind::interrupt();
            while signal.recv().await.is_some() && interrupt && pager::is_open() {}
            kind.as_raw_value()
        }));
    }
    if waiting.is_empty() {
        return None;
    }
    Some(futures::future::select_all(waiting).await.0)
}

/// Returns whether the parent of this process set the signal to be ignored (`nohup`, `&` in a script).
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else {
        // Without this information, the signal of a closed terminal is left to the system.
        return signal == tokio::signal::unix::SignalKind::hangup().as_raw_value();
    };
    let ignored = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
    ignored.is_some_and(|set| set >> (signal - 1) & 1 == 1)
}
