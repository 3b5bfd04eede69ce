//! `tsql compare`: faster and slower configurations of two sides.

mod comparison_tables;
pub(crate) mod format;
mod outcome_message;
mod self_check;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tsql_error::Error;
use tsql_metrics::change::MINIMAL_CHANGE;
use tsql_ml::compare::compare;
use tsql_ml::compare::{CompareOptions, Comparison, RecordChoice, Rule, Side};
use tsql_store::atomic_output::write_output;

use super::outcome::{DONE, Failure, REGRESSED, UNDECIDED};
use super::output::{show, write_json, write_text};
use super::percent::percent;
use super::printer::Format;
use super::stderr::print_message;
use super::store_options::StoreOptions;

use format::CompareOutput;

/// Width of a PNG file in pixels.
const PNG_WIDTH: u32 = 1600;

/// Maximum number of pairs in JSON, JUnit XML and Markdown.
const MAX_LISTED_PAIRS: usize = 100_000;

/// Compare two sides: speedups of B over A, with verdicts that include the noise between runs
///
/// A and B are platforms (`k80`), tags (`v1.0`: all records of that version), labels (`night=7`), sources or streams by
/// name (`night-7`, `logs/*.json`), or times (`2026-11-01..2026-11-08` without its end, `2026-11-01..`, or a day). A
/// prefix resolves ambiguous names: `platform:k80`, `tag:v1.0`, `label:night=7`, `source:night-7`, `time:2026-11-01..`.
/// `where:SQL` is a condition over `records`, and ` AND ` joins several: `tag:v1.0 AND platform:k80`.
///
/// A pair is a configuration that both sides measured, on the same platform unless each side has only one. A speedup is
/// the time in A divided by the time in B: above 1 is faster. The table shows geometric means with 95 % intervals, in
/// total, by operator and by network. The intervals include the noise that all pairs share.
///
/// Each record is one run. The noise between runs and days comes from repeated records of the store. A pair is faster or
/// slower if its change is significant (Benjamini-Hochberg, 5 %) and at least --change, and the same if its interval is
/// within --change. All other pairs are unclear, with a reason. Guarantee: of the pairs called faster or slower, at most
/// 5 % are expected to be unchanged.
#[derive(Args, Debug)]
#[command(after_help = "Exit codes:\n  \
    0  compared, and B is not slower than allowed\n  \
    3  with --fail-on-regression 5%: a pair is significantly slower by more than 5 %,\n     \
       all pairs together are, or a configuration fails that worked before\n  \
    4  nothing could be compared, or with --fail-on-unclear a pair is undecided\n\n\
    Reasons of unclear pairs:\n  \
    no_floor          one run on a side, and no repeated records on the platform\n  \
    few_runs          too few runs\n  \
    other_day         the sides ran on other days, and the noise between days is unknown\n  \
    spoiled           the runs were disturbed\n  \
    anchor_moved      a control program (--anchor) changed\n  \
    below_detectable  the change, if any, is smaller than the runs can show\n\n\
    Examples:\n  \
    tsql compare k80 t4\n  \
    tsql compare v1.0 v1.1 --fail-on-regression 5% --fail-on-unclear\n  \
    tsql compare main pull-17 --format github -o comment.md --junit compared.xml\n  \
    tsql compare label:night=7 label:night=8 --anchor copy --plot nights.svg\n  \
    tsql compare 2026-11-01..2026-11-08 2026-11-08.. --where \"platform = 'k80'\" \\\n      \
    --format json\n  \
    tsql compare 'main-*' 'tag:v1.0 AND source:pull-17' --pairs --top 100 \\\n      \
    -o changes.csv\n  \
    tsql compare --self --inject 3%,5%\n  \
    tsql compare --self k80")]
pub(super) struct Compare {
    /// Baseline
    #[arg(value_name = "A", required_unless_present = "self_check")]
    a: Option<Side>,
    /// Side that is compared with the baseline
    #[arg(
        value_name = "B",
        required_unless_present = "self_check",
        conflicts_with = "self_check"
    )]
    b: Option<Side>,
    /// SQL condition over `records`, for both sides
    #[arg(
        long = "where",
        value_name = "SQL",
        default_value = "true",
        hide_default_value = true
    )]
    predicate: String,
    /// Rule of the verdicts
    #[arg(long, value_enum, default_value_t = RuleName::Runs)]
    rule: RuleName,
    /// Records of a configuration that count, if a side has several [default: newest-day; newest with --rule ranks]
    #[arg(long, value_enum)]
    of: Option<Counting>,
    /// Minimum relevant change [default: 2%]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    change: Option<f64>,
    /// Control program: if it changed, the machine did, and all verdicts of the platform are unclear
    ///
    /// An operator, a workload name or a workload key that both sides measured.
    #[arg(long, value_name = "PROGRAM")]
    anchor: Vec<String>,
    /// Maximum number of configurations of each list
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Show only the worst regressions, the best improvements, unclear pairs, and new failures and fixes
    #[arg(long)]
    pairs: bool,
    /// Plot the distribution of speedups and their means to FILE.svg or FILE.png
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Write a JUnit XML file with a case for each pair
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Exit with code 3 if B is slower by more than this, or fails
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    fail_on_regression: Option<f64>,
    /// Exit with code 4 if an unclear pair cannot show the allowed regression, by default the minimum change
    #[arg(long)]
    fail_on_unclear: bool,
    /// Check the rule on this store: false alarms on repeated records, in which nothing changed
    ///
    /// A restricts the records.
    #[arg(
        long = "self",
        conflicts_with_all = ["rule", "of", "anchor", "pairs", "plot", "junit", "fail_on_regression", "fail_on_unclear"]
    )]
    self_check: bool,
    /// Changes that --self injects, to show which it would find
    #[arg(
        long,
        value_name = "PERCENT",
        value_parser = percent,
        value_delimiter = ','
    )]
    inject: Vec<f64>,
    #[command(flatten)]
    output: CompareOutput,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Counting {
    /// The newest; records without a time count together
    Newest,
    /// All of the newest day
    NewestDay,
    /// All that did not fail
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RuleName {
    /// Records are runs; noise comes from repeated records of the store
    Runs,
    /// Mann-Whitney test of the repeats of both records, which ignores noise between runs
    Ranks,
}

pub(super) async fn run(place: &StoreOptions, command: Compare) -> Result<u8, Failure> {
    if !command.inject.is_empty() && !command.self_check {
        return Err(Failure::Usage("`--inject` needs `--self`".to_owned()));
    }
    let store = place.open().await?;
    let options = options(place, &command);
    if command.self_check {
        let (side, changes) = (command.a.as_ref(), command.inject.as_slice());
        return self_check::run(&store, side, changes, &options, &command.output).await;
    }
    let (Some(a), Some(b)) = (&command.a, &command.b) else {
        return Err(Failure::Usage("two sides are required".to_owned()));
    };
    let found = match compare(&store, a, b, &options).await {
        Ok(found) => found,
        // Nothing compared is never a pass, and no failure of the command either.
        Err(Error::Empty(reason)) => {
            print_message(&format!("nothing was compared: {reason}"));
            return Ok(UNDECIDED);
        }
        Err(error) => return Err(error.into()),
    };
    if let Some(path) = &command.plot {
        found.draw(path, PNG_WIDTH)?;
    }
    if let Some(path) = &command.junit {
        write_output(path, found.to_junit())?;
    }
    print(&found, &command).await?;
    outcome_message::print_outcome(&found);
    Ok(exit_code(&found, command.fail_on_unclear))
}

fn options(place: &StoreOptions, command: &Compare) -> CompareOptions {
    let mut options = CompareOptions::default()
        .predicate(command.predicate.clone())
        .rule(match command.rule {
            RuleName::Runs => Rule::Runs,
            RuleName::Ranks => Rule::Ranks,
        })
        .anchors(command.anchor.clone())
        .minimum_change(command.change.unwrap_or(MINIMAL_CHANGE))
        .top(command.top);
    if command.lists_pairs() {
        options = options.max_pairs(MAX_LISTED_PAIRS);
    }
    if let Some(of) = command.of {
        options = options.record_choice(match of {
            Counting::Newest => RecordChoice::Newest,
            Counting::NewestDay => RecordChoice::NewestDay,
            Counting::All => RecordChoice::All,
        });
    }
    if let Some(fraction) = command.fail_on_regression {
        options = options.allowed_regression(fraction);
    }
    if let Some(bytes) = place.memory_limit_bytes() {
        options = options.memory_limit_bytes(bytes);
    }
    options
}

impl Compare {
    /// Returns whether an output has a row for each pair.
    fn lists_pairs(&self) -> bool {
        let output = self.output.output();
        let is_json = output
            .resolve_format()
            .is_ok_and(|format| format == Format::Json);
        self.junit.is_some() || self.output.is_github() || is_json
    }
}

/// Returns the exit code. Nothing compared is never a pass.
fn exit_code(found: &Comparison, fails_on_unclear: bool) -> u8 {
    let regression = found.regression;
    if regression.is_some_and(|regression| regression.is_exceeded()) {
        REGRESSED
    } else if found.all.pairs == 0 || (fails_on_unclear && found.undecided > 0) {
        UNDECIDED
    } else {
        DONE
    }
}

/// Prints the comparison: as one document, or as the requested table. Formats for people get both tables.
async fn print(found: &Comparison, command: &Compare) -> Result<(), Failure> {
    let output = &command.output.output();
    if command.output.is_github() {
        return write_text(&found.to_github(), output);
    }
    let format = output.resolve_format()?;
    if format == Format::Json {
        return write_json(serde_json::to_string_pretty(found), output);
    }
    if command.pairs {
        show(comparison_tables::changes(found), output).await?;
        return Ok(());
    }
    let for_people = matches!(format, Format::Table | Format::Markdown);
    show(comparison_tables::summaries(found, for_people), output).await?;
    if for_people && output.output.is_none() {
        show(comparison_tables::largest(found), output).await?;
    }
    Ok(())
}
