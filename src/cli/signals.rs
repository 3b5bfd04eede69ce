//! What happens at Ctrl-C and when the process is asked to end: temporary files go first.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tokio::sync::Notify;

use super::outcome::INTERRUPTED;
#[cfg(unix)]
use super::pager;

/// Signals after which a command ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stops {
    /// None.
    Never,
    /// Ctrl-C.
    AtInterrupt,
    /// Ctrl-C, and a terminal has to be put in order before the process ends at another one.
    AtPrompt,
    /// Ctrl-C, SIGTERM and SIGHUP.
    #[cfg(any(feature = "cluster", feature = "ui"))]
    AtAny,
}

/// Time in which a terminal is put in order.
const IN_ORDER: Duration = Duration::from_millis(400);

/// Is the process about to end?
static ENDING: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Set when the process is about to end, for whoever has changed how the terminal works.
pub(super) fn ending() -> Arc<AtomicBool> {
    Arc::clone(&ENDING)
}

/// Told at each Ctrl-C.
static INTERRUPTS: Notify = Notify::const_new();

/// Hears Ctrl-C from now on, for [`interrupted`], and the process goes on.
///
/// A thread of its own, as in [`tidy_up`]: who hears signals in the runtime may be busy with a query.
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

/// Ready at the next Ctrl-C.
pub(super) async fn wait_for_interrupt() {
    INTERRUPTS.notified().await;
}

/// Ends the process at SIGTERM, SIGHUP and SIGINT, but for those after which the command itself stops, without
/// leaving temporary folders. The exit code is the shell's for the signal: 130 for Ctrl-C.
///
/// A thread of its own: those of the runtime may all be busy with a query.
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
        // Who types at a prompt is gone with the terminal, whoever ignores that.
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
                std::thread::sleep(IN_ORDER);
            }
            end(128 + number);
        }
    });
}

#[cfg(not(unix))]
pub(super) fn tidy_up(_: Stops) {}

/// Ready when the process is asked to end: SIGTERM, SIGHUP or Ctrl-C, which ends it at once the second time.
#[cfg(all(any(feature = "cluster", feature = "ui"), unix))]
pub(super) fn asked_to_end() -> crate::Result<impl Future<Output = ()> + Send + 'static> {
    use tokio::signal::unix::{SignalKind, signal};
    let failed = |source| crate::Error::Io {
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
pub(super) fn asked_to_end() -> crate::Result<impl Future<Output = ()> + Send + 'static> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}

/// SIGXFSZ of Linux, macOS and the BSDs: a file would be larger than `ulimit -f`.
#[cfg(unix)]
const TOO_LARGE: i32 = 25;

/// Makes a file that would be too large an error of its write, not the end of the process, as Rust's library does for
/// pipes that nobody reads. Programs that are started are killed as ever.
#[cfg(unix)]
pub(super) fn report_too_large_files() {
    use tokio::signal::unix::{SignalKind, signal};
    // The handler stays.
    let _ = signal(SignalKind::from_raw(TOO_LARGE));
}

#[cfg(not(unix))]
pub(super) fn report_too_large_files() {}

/// The first Ctrl-C ends the run cleanly, the second at once.
pub(super) fn stop_on_ctrl_c() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&stop);
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() {
            if set.swap(true, Ordering::Relaxed) {
                end(i32::from(INTERRUPTED));
            }
            crate::store::stop_retries();
        }
    });
    stop
}

/// Ends the process at once, without temporary folders.
pub(super) fn end(code: i32) -> ! {
    tsql_folders::remove_all();
    std::process::exit(code)
}

/// Waits for any of the signals; its number.
#[cfg(unix)]
async fn first_of(kinds: &[tokio::signal::unix::SignalKind]) -> Option<i32> {
    let mut waiting = Vec::new();
    for kind in kinds {
        let mut signal = tokio::signal::unix::signal(*kind).ok()?;
        waiting.push(Box::pin(async move {
            // Ctrl-C is the pager's while one has the terminal.
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

/// Did whoever started this process want the signal to be ignored (`nohup`, a script's `&`)?
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else {
        // Where nobody says, a terminal that closes is left to the system.
        return signal == tokio::signal::unix::SignalKind::hangup().as_raw_value();
    };
    let ignored = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
    ignored.is_some_and(|set| set >> (signal - 1) & 1 == 1)
}
