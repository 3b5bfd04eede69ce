//! `tsql measure pair` and `tsql gate`: two builds in one schedule.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use arrow::array::{ArrayRef, Int64Array, StringArray};
use clap::Args;
use tsql_dataset::optional_setting::OptionalSetting as _;
use tsql_dataset::trials::{PairOptions, PairProgram, PairReport, PairRun, measure_pair};
use tsql_metrics::change::MINIMAL_CHANGE;
use tsql_ml::compare::Comparison;
use tsql_store::Store;
use tsql_store::atomic_output::write_output;

use super::exec::LineKind;
use crate::compare::format::CompareOutput;
use crate::label::Label;
use crate::outcome::{DONE, Failure, INTERRUPTED, PARTLY, REGRESSED, UNDECIDED};
use crate::output::{Output, show, write_json, write_text};
use crate::percent::percent;
use crate::printer::Format;
use crate::short_values::{format_number, truncate};
use crate::stderr::{count_noun, print_message};

/// Time of a gate without --budget.
const GATE_BUDGET: Duration = Duration::from_mins(10);

/// Time two builds in turn, and test each program for a change
///
/// BASE and HEAD are command lines for the shell. Each prints records as in `tsql measure exec`, for the programs of its
/// build. The schedule has blocks of four runs, A B B A and B A A B in turn, with a new process for each run, so that
/// slow drift of the machine cancels. The records are stored with the labels `pair`, `side`, `block` and `position`.
///
/// Programs of both sides are equal if graph and steps are. A program is faster or slower if its change is significant
/// (Student's t over blocks; Benjamini-Hochberg over programs, 5 %) and at least --change, and the same if its interval
/// is within --change. With --budget the schedule goes on, at most to 12 blocks, until all programs are decided; the
/// error rate holds over all looks.
///
/// A command finds its side in TSQL_SIDE, and in TSQL_PROGRAMS a file with the programs that are undecided: a JSON object
/// of `workload_key` and `steps` on each line. It may time only these.
#[derive(Args, Debug)]
#[command(after_help = "Exit codes:\n  \
    0  measured\n  \
    1  a command failed, or lines were rejected\n  \
    3  with --fail-on-regression 5%: a program is slower by more than 5 %,\n     \
    or fails in HEAD only\n  \
    4  no program was compared, or with --fail-on-unclear one is undecided\n\n\
    Examples:\n  \
    tsql measure pair --platform a100 './old/bench' './new/bench'\n  \
    tsql measure pair --platform epyc --blocks 6 --change 1% \\\n      \
    'make -sC base run' 'make -sC head run'\n  \
    tsql measure pair --platform a100 --budget 20m --fail-on-regression 2% \\\n      \
    'python3 bench.py' 'TUNED=1 python3 bench.py'")]
pub(super) struct Pair {
    #[command(flatten)]
    pair: PairArgs,
    /// Number of blocks of four runs
    #[arg(long, value_name = "N", default_value_t = 4, conflicts_with = "budget")]
    blocks: usize,
    /// Time for measuring until all programs are decided
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    budget: Option<Duration>,
    /// Exit with code 3 if a program is slower by more than this, or fails in HEAD only
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    fail_on_regression: Option<f64>,
    /// Exit with code 4 if a program is undecided
    #[arg(long)]
    fail_on_unclear: bool,
}

/// Measure two builds until it is decided whether HEAD is slower
///
/// As `tsql measure pair` with a budget. It passes if no program is slower by --change or fails in HEAD only, and if all
/// programs are decided. Nothing compared is never a pass, and neither is a program that one side did not time.
#[derive(Args, Debug)]
#[command(after_help = "Exit codes:\n  \
    0  no regression\n  \
    1  a command failed, or lines were rejected\n  \
    3  a program is slower by more than --change, or fails in HEAD only\n  \
    4  no program was compared, or the budget ended before all were decided\n\n\
    Examples:\n  \
    tsql gate --platform a100 './old/bench' './new/bench' --budget 10m\n  \
    tsql gate --platform a100 --change 5% --allow-unclear \\\n      \
    './old/bench' './new/bench' --format github -o comment.md --junit gate.xml")]
pub(crate) struct Gate {
    #[command(flatten)]
    pair: PairArgs,
    /// Time for measuring until all programs are decided [default: 10m]
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    budget: Option<Duration>,
    /// Pass although programs are undecided
    #[arg(long)]
    allow_unclear: bool,
}

#[derive(Args, Debug)]
struct PairArgs {
    /// Command line of the baseline
    #[arg(value_name = "BASE")]
    base: String,
    /// Command line of the build that is compared with it
    #[arg(value_name = "HEAD")]
    head: String,
    /// Platform of the records
    #[arg(long, value_name = "NAME", add = crate::completion_values::platforms())]
    platform: String,
    /// Name of the runs, which becomes part of the names of the sources [default: pair]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    label: Label,
    /// Format of the records
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LineKind::Measured)]
    input_format: LineKind,
    /// Minimum relevant change [default: 2%]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    change: Option<f64>,
    /// Write a JUnit XML file with a case for each program
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    output: CompareOutput,
}

/// Conditions of a failure.
struct Conditions {
    allowed: Option<f64>,
    fails_on_unclear: bool,
}

pub(super) async fn run(
    store: &Store,
    command: Pair,
    stop: &Arc<AtomicBool>,
) -> Result<u8, Failure> {
    let options = command
        .pair
        .options(stop)
        .blocks(command.blocks)
        .set_if(command.budget, PairOptions::budget);
    let conditions = Conditions {
        allowed: command.fail_on_regression,
        fails_on_unclear: command.fail_on_unclear,
    };
    measure(store, &options, &conditions, &command.pair).await
}

pub(super) async fn run_gate(
    store: &Store,
    command: Gate,
    stop: &Arc<AtomicBool>,
) -> Result<u8, Failure> {
    let budget = command.budget.unwrap_or(GATE_BUDGET);
    let options = command.pair.options(stop).budget(budget);
    let conditions = Conditions {
        allowed: Some(0.0),
        fails_on_unclear: !command.allow_unclear,
    };
    measure(store, &options, &conditions, &command.pair).await
}

impl PairArgs {
    fn options(&self, stop: &Arc<AtomicBool>) -> PairOptions {
        let shell = |line: &str| ["sh".to_owned(), "-c".to_owned(), line.to_owned()];
        PairOptions::new(shell(&self.base), shell(&self.head), &self.platform)
            .format(self.input_format.format())
            .minimum_change(self.change.unwrap_or(MINIMAL_CHANGE))
            .labels(self.label.labels.iter().cloned())
            .stop(Arc::clone(stop))
            .without_interrupt()
            .set_if(self.name.clone(), PairOptions::name)
            .progress(Arc::new(print_progress))
    }
}

fn print_progress(run: &PairRun, runs: usize) {
    let number = (run.block - 1) * 4 + run.position;
    print_message(&format!(
        "run {number} of {runs}, {}: {}",
        run.side,
        count_noun(run.records, "record")
    ));
}

async fn measure(
    store: &Store,
    options: &PairOptions,
    conditions: &Conditions,
    command: &PairArgs,
) -> Result<u8, Failure> {
    let found = measure_pair(store, options).await?;
    let allowed = conditions.allowed.unwrap_or(0.0);
    let comparison = || Comparison::from_pair(&found, &command.platform, allowed);
    if let Some(path) = &command.junit {
        write_output(path, comparison().to_junit())?;
    }
    match command.output.is_github() {
        true => write_text(&comparison().to_github(), &command.output.output())?,
        false => print(&found, &command.output.output()).await?,
    }
    print_summary(&found);
    if options.is_stopped() {
        return Ok(INTERRUPTED);
    }
    if let Some(run) = found.runs.iter().find(|run| run.is_failed) {
        let ended = run
            .exit_code
            .map_or_else(|| "a signal".to_owned(), |code| format!("exit code {code}"));
        print_message(&format!(
            "{} ended with {ended} in block {}; the records so far are stored",
            run.side, run.block
        ));
        return Ok(PARTLY);
    }
    let mut regressions = conditions
        .allowed
        .into_iter()
        .flat_map(|allowed| found.regressions(allowed));
    let compared = ["faster", "slower", "same", "unclear"].map(|word| found.count(word));
    let is_undecided = conditions.fails_on_unclear && found.undecided() > 0;
    Ok(if regressions.next().is_some() {
        REGRESSED
    } else if compared.iter().sum::<usize>() == 0 || is_undecided {
        UNDECIDED
    } else if found.runs.iter().any(|run| run.rejects > 0) {
        PARTLY
    } else {
        DONE
    })
}

async fn print(found: &PairReport, output: &Output) -> Result<(), Failure> {
    let format = output.resolve_format()?;
    if format == Format::Json {
        return write_json(serde_json::to_string_pretty(found), output);
    }
    let for_people = matches!(format, Format::Table | Format::Markdown);
    show(table(found, for_people), output).await?;
    Ok(())
}

/// A row for each program.
fn table(found: &PairReport, for_people: bool) -> Vec<(&'static str, ArrayRef)> {
    let rows = &found.programs;
    let numbers = |get: fn(&PairProgram) -> Option<f64>| -> ArrayRef {
        Arc::new(format_number(rows.iter().map(get), for_people))
    };
    let texts = |get: fn(&PairProgram) -> &str| -> ArrayRef {
        let texts = rows.iter().map(|program| match for_people {
            true => truncate(get(program)),
            false => get(program).to_owned(),
        });
        Arc::new(StringArray::from_iter_values(texts))
    };
    let blocks = rows
        .iter()
        .map(|program| i64::try_from(program.blocks).ok());
    vec![
        ("verdict", texts(|program| program.verdict)),
        ("change", numbers(|program| program.change)),
        ("low", numbers(|program| program.low)),
        ("high", numbers(|program| program.high)),
        ("base_ns", numbers(|program| program.base_ns)),
        ("head_ns", numbers(|program| program.head_ns)),
        ("p_corrected", numbers(|program| Some(program.p_corrected))),
        ("detectable", numbers(|program| program.detectable)),
        ("blocks", Arc::new(blocks.collect::<Int64Array>())),
        ("workload_key", texts(|program| &program.workload_key)),
        ("steps", texts(|program| &program.steps)),
    ]
}

fn print_summary(found: &PairReport) {
    let words = [
        "faster", "slower", "same", "unclear", "failed", "fixed", "failing", "missing",
    ];
    let counts = words.map(|word| (word, found.count(word)));
    let counts = counts.iter().filter(|(_, count)| *count > 0);
    let counts: Vec<String> = counts
        .map(|(word, count)| format!("{count} {word}"))
        .collect();
    let mut text = match counts.as_slice() {
        [] => "no program was timed by both sides".to_owned(),
        counts => counts.join(", "),
    };
    if let (Some(change), Some(low), Some(high)) = (found.change, found.low, found.high) {
        text += &format!(
            "; together {:+.1} % ({:+.1} to {:+.1} with 95 %)",
            100.0 * change,
            100.0 * low,
            100.0 * high
        );
    }
    if found.is_out_of_budget {
        text += "; the budget ended";
    }
    print_message(&text);
}
