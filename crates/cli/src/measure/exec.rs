//! `tsql measure exec`: stores the records of another program.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::{Args, ValueEnum};
use tsql_adapters::formats::StreamFormat;
use tsql_dataset::optional_setting::OptionalSetting as _;
use tsql_dataset::trials::ExecOptions;
use tsql_dataset::trials::{measure_exec, resume_measured};
use tsql_store::Store;

use super::resume::report_resumed;
use crate::label::Label;
use crate::outcome::{DONE, Failure, INTERRUPTED, PARTLY};
use crate::stderr::{count_noun, print_message};

/// Run a program, and store the records that it prints or writes to a log
///
/// Output lines that begin with `{` are records; other lines go to standard error. If the program fails, its earlier
/// records stay.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql measure exec --platform a100 --label night=7 -- python3 time_kernels.py\n  \
    tsql measure exec --platform k80 --input-format tenset --log tuning.json \\\n      \
    -- python3 tune.py")]
pub(super) struct Exec {
    /// Platform of the records
    #[arg(long, value_name = "NAME", add = crate::completion_values::platforms())]
    platform: String,
    /// Name of the run, which becomes part of the name of the source [default: the name of the program]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    label: Label,
    /// Format of the records
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LineKind::Measured)]
    input_format: LineKind,
    /// Read records from this log instead of the output
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Maximum time between commits
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = humantime::parse_duration)]
    commit_every: Duration,
    /// Maximum number of records of a commit
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    commit_records: u64,
    /// Program and its arguments
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineKind {
    /// JSON objects whose keys are columns, as in `tsql append --input-format measured`
    Measured,
    /// auto_scheduler (Ansor) lines
    Tenset,
}

impl LineKind {
    pub(super) fn format(self) -> StreamFormat {
        match self {
            Self::Measured => StreamFormat::MEASURED,
            Self::Tenset => StreamFormat::TENSET,
        }
    }
}

pub(super) async fn run(
    store: &Store,
    command: Exec,
    stop: &Arc<AtomicBool>,
) -> Result<u8, Failure> {
    report_resumed(&resume_measured(store).await?);
    let options = ExecOptions::new(command.command, command.platform)
        .format(command.input_format.format())
        .commit_every(command.commit_every)
        .commit_records(command.commit_records)
        .stop(Arc::clone(stop))
        .without_interrupt()
        .labels(command.label.labels)
        .set_if(command.name, ExecOptions::name)
        .set_if(command.log, ExecOptions::log);
    let executed = measure_exec(store, &options).await?;
    let report = &executed.stored;
    for (path, line, reason) in &report.first_rejects {
        print_message(&format!("{path}:{line}: {reason}"));
    }
    print_message(&format!(
        "{}, {} rejected",
        count_noun(report.records, "record"),
        report.rejects
    ));
    if stop.load(Ordering::Relaxed) {
        return Ok(INTERRUPTED);
    }
    if !executed.status.success() {
        print_message(&format!(
            "the command ended with {}; its records are stored",
            executed.status
        ));
        return Ok(PARTLY);
    }
    Ok(if report.is_clean() { DONE } else { PARTLY })
}
