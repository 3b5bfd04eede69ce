//! Options of a pair.

use std::ffi::OsString;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use derive_setters::Setters;
use tsql_adapters::formats::StreamFormat;
use tsql_metrics::change::MINIMAL_CHANGE;

use super::report::PairRun;
use crate::label_setters::label_setters;

/// Numbers of blocks at which programs are tested, if the schedule goes on until all are decided.
pub const PAIR_LOOKS: [usize; 4] = [4, 6, 9, 12];

/// Callback after each run, with the number of runs until the next look.
pub type PairProgress = Arc<dyn Fn(&PairRun, usize) + Send + Sync>;

/// Options for measuring two builds in one schedule.
#[derive(Clone, Setters)]
#[setters(strip_option)]
#[non_exhaustive]
pub struct PairOptions {
    #[setters(skip)]
    pub(crate) base: Vec<OsString>,
    #[setters(skip)]
    pub(crate) head: Vec<OsString>,
    #[setters(skip)]
    pub(crate) platform: String,
    /// Sets the name of the runs, which becomes part of the names of their sources. Default: `pair`.
    #[setters(into)]
    pub(crate) name: Option<String>,
    #[setters(skip)]
    pub(crate) labels: Vec<(String, String)>,
    /// Sets the format of the records that the commands print.
    pub(crate) format: StreamFormat,
    /// Sets the number of blocks of four runs, at least 4. Default: 4. With a budget, [`PAIR_LOOKS`] counts.
    pub(crate) blocks: usize,
    /// Sets the time for measuring until all programs are decided. The first look is taken in any case.
    pub(crate) budget: Option<Duration>,
    /// Sets the minimum change that is significant, as a fraction. Default: 0.02.
    pub(crate) minimum_change: f64,
    /// Sets a stop flag. Once it is set, the schedule ends after the current run.
    pub(crate) stop: Arc<AtomicBool>,
    #[setters(skip)]
    pub(crate) interrupts_command: bool,
    #[setters(skip)]
    pub(crate) progress: Option<PairProgress>,
}

impl fmt::Debug for PairOptions {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("PairOptions")
            .field("base", &self.base)
            .field("head", &self.head)
            .field("platform", &self.platform)
            .finish_non_exhaustive()
    }
}

impl PairOptions {
    /// `base` and `head` are programs with their arguments, `platform` is that of the records.
    pub fn new(
        base: impl IntoIterator<Item = impl Into<OsString>>,
        head: impl IntoIterator<Item = impl Into<OsString>>,
        platform: impl Into<String>,
    ) -> Self {
        Self {
            base: base.into_iter().map(Into::into).collect(),
            head: head.into_iter().map(Into::into).collect(),
            platform: platform.into(),
            name: None,
            labels: Vec::new(),
            format: StreamFormat::MEASURED,
            blocks: tsql_verdicts::blocks::MIN_BLOCKS,
            budget: None,
            minimum_change: MINIMAL_CHANGE,
            stop: Arc::default(),
            interrupts_command: true,
            progress: None,
        }
    }

    label_setters! {
        /// Adds a label to the sources of the records.
    }

    /// Sends no SIGINT to a command, because it receives it from the terminal.
    #[must_use]
    pub fn without_interrupt(mut self) -> Self {
        self.interrupts_command = false;
        self
    }

    /// Sets a callback after each run.
    #[must_use]
    pub fn progress(mut self, progress: PairProgress) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Returns whether the stop flag is set.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Numbers of blocks at which programs are tested.
    pub(super) fn looks(&self) -> Vec<usize> {
        match self.budget {
            Some(_) => PAIR_LOOKS.to_vec(),
            None => vec![self.blocks],
        }
    }
}
