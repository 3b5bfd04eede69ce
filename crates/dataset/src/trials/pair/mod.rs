//! Two builds in one schedule: blocks A B B A and B A A B, a new process for each run.
//!
//! Slow drift of the machine cancels within a block. Each run is a source with the labels `pair`, `side`, `block`,
//! `position` and `run`. With a budget the schedule goes on until all programs are decided; each of the looks has a
//! quarter of the error rate (Bonferroni).

mod levels;
mod options;
mod report;

use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use serde_json::json;
use tsql_error::{Error, Result};
use tsql_store::Store;
use tsql_verdicts::blocks::{BLOCK_RUNS, BlockSide, schedule};

use super::exec::{ExecOptions, measure_exec};
use levels::{ProgramLevels, read_levels};

pub use options::{PAIR_LOOKS, PairOptions, PairProgress};
pub use report::{PairProgram, PairReport, PairRun};

/// Variable with the path of a file that lists the undecided programs: a JSON object of `workload_key` and `steps` on
/// each line. A command may time others, too.
pub const PROGRAMS_VARIABLE: &str = "TSQL_PROGRAMS";

/// Variable with the side of a run: `base` or `head`.
pub const SIDE_VARIABLE: &str = "TSQL_SIDE";

/// Runs two commands in turn, stores their records, and compares the programs that both timed.
///
/// Programs are equal if graph and steps are; `program` and `build` may differ. A run that fails ends the schedule, and
/// the report says so. The records stay in all cases.
///
/// # Errors
/// [`Error::Argument`] for fewer than four blocks, and the errors of [`measure_exec`].
pub async fn measure_pair(store: &Store, options: &PairOptions) -> Result<PairReport> {
    if options.blocks < tsql_verdicts::blocks::MIN_BLOCKS {
        return Err(Error::Argument {
            name: "blocks",
            reason: format!(
                "{} blocks, expected at least {}: fewer do not show the scatter",
                options.blocks,
                tsql_verdicts::blocks::MIN_BLOCKS
            ),
        });
    }
    let begun = Instant::now();
    let id = uuid::Uuid::new_v4().simple().to_string();
    let mut report = PairReport::new(id, options.minimum_change);
    let listed = tempfile::NamedTempFile::new().map_err(Error::io(std::env::temp_dir()))?;
    let looks = options.looks();
    let mut looked = 0;
    for (look, blocks) in looks.iter().enumerate() {
        let is_in_budget = |done: usize| {
            let spent = begun.elapsed();
            let blocks_done = u32::try_from(done).unwrap_or(u32::MAX).max(1);
            let more = u32::try_from(blocks - looked).unwrap_or(u32::MAX);
            options
                .budget
                .is_none_or(|budget| done == 0 || spent + (spent / blocks_done) * more <= budget)
        };
        if !is_in_budget(looked) {
            report.is_out_of_budget = true;
            break;
        }
        let programs = (look > 0).then_some(listed.path());
        let is_complete =
            run_blocks(store, options, &mut report, looked..*blocks, programs).await?;
        looked = *blocks;
        let levels = read_levels(store, &report.pair).await?;
        report.look(&levels, looks.len());
        if !is_complete || report.unclear() == 0 {
            break;
        }
        list_undecided(listed.path(), &report, &levels)?;
    }
    Ok(report)
}

/// Runs some blocks. Returns whether all runs succeeded.
async fn run_blocks(
    store: &Store,
    options: &PairOptions,
    report: &mut PairReport,
    blocks: std::ops::Range<usize>,
    programs: Option<&Path>,
) -> Result<bool> {
    let sides = schedule(blocks.end);
    let first = blocks.start * BLOCK_RUNS;
    for (run, side) in sides.iter().enumerate().skip(first) {
        if options.is_stopped() {
            return Ok(false);
        }
        let done = execute(store, options, &report.pair, run, *side, programs).await?;
        if let Some(progress) = &options.progress {
            progress(&done, sides.len());
        }
        let is_failed = done.is_failed;
        report.runs.push(done);
        if is_failed {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Runs a command of the schedule and stores its records.
async fn execute(
    store: &Store,
    options: &PairOptions,
    pair: &str,
    run: usize,
    side: BlockSide,
    programs: Option<&Path>,
) -> Result<PairRun> {
    let (name, command) = match side {
        BlockSide::A => ("base", &options.base),
        BlockSide::B => ("head", &options.head),
    };
    let (block, position) = (run / BLOCK_RUNS + 1, run % BLOCK_RUNS + 1);
    let source = options.name.as_deref().unwrap_or("pair");
    let mut exec = ExecOptions::new(command.iter(), &options.platform)
        .name(format!("{source}-{name}"))
        .format(options.format)
        .stop(options.stop.clone())
        .environment(SIDE_VARIABLE, name)
        .labels(options.labels.iter().cloned())
        .label("pair", pair)
        .label("side", name)
        .label("block", block.to_string())
        .label("position", position.to_string())
        .label("run", run.to_string());
    if let Some(programs) = programs {
        exec = exec.environment(PROGRAMS_VARIABLE, programs);
    }
    if !options.interrupts_command {
        exec = exec.without_interrupt();
    }
    let executed = measure_exec(store, &exec).await?;
    Ok(PairRun {
        side: name,
        block,
        position,
        stream: executed.stream,
        exit_code: executed.status.code(),
        records: executed.stored.records,
        rejects: executed.stored.rejects,
        is_failed: !executed.status.success(),
    })
}

/// Writes the undecided programs for the commands.
fn list_undecided(path: &Path, report: &PairReport, levels: &[ProgramLevels]) -> Result<()> {
    let mut text = Vec::new();
    for program in levels {
        if !report.is_unclear(program) {
            continue;
        }
        let line = json!({"workload_key": program.workload_key, "steps": program.steps});
        // Writing to memory cannot fail.
        let _ = writeln!(text, "{line}");
    }
    std::fs::write(path, text).map_err(Error::io(path))
}
