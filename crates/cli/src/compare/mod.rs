//! `tsql compare`: faster and slower configurations of two sides.

mod comparison_tables;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tsql_error::Error;
use tsql_metrics::change::MINIMAL_CHANGE;
use tsql_ml::compare::compare;
use tsql_ml::compare::{CompareOptions, Comparison, RecordChoice, Side};

use super::outcome::{DONE, Failure, REGRESSED};
use super::output::{Output, show, write_text};
use super::percent::percent;
use super::printer::Format;
use super::stderr::{count_noun, print_message};
use super::store_options::StoreOptions;

/// Width of a PNG file in pixels.
const PNG_WIDTH: u32 = 1600;

/// Compare two sides: speedups of B over A, with significance tests
///
/// A and B are platforms (`k80`), tags (`v1.0`: all records of that version), labels (`night=7`), sources or streams by
/// name (`night-7`, `logs/*.json`), or times (`2026-11-01..2026-11-08` without its end, `2026-11-01..`, or a day). A
/// prefix resolves ambiguous names: `platform:k80`, `tag:v1.0`, `label:night=7`, `source:night-7`, `time:2026-11-01..`.
/// `where:SQL` is a condition over `records`, and ` AND ` joins several: `tag:v1.0 AND platform:k80`.
///
/// A pair is a configuration that both sides measured, on the same platform unless each side has only one. A speedup is
/// the time in A divided by the time in B: above 1 is faster. The table shows geometric means with 95 % intervals
/// (Student's t on logarithms): in total, by operator and by network.
///
/// A pair is faster or slower if a Mann-Whitney test of the repeats is significant (Benjamini-Hochberg, 5 %) and the
/// median and the minimum of the repeats both change by at least --change. Pairs with fewer than four repeats on a
/// side, with noisy ones, or from a busy machine are unclear.
#[derive(Args, Debug)]
#[command(after_help = "Exit code 3 with --fail-on-regression 5% if\n  \
    - a pair is significantly slower by more than 5 %, or\n  \
    - the whole interval of the total geometric mean is below 1 / 1.05, or\n  \
    - a configuration fails that worked before.\n\n\
    Examples:\n  \
    tsql compare k80 t4\n  \
    tsql compare v1.0 v1.1 --fail-on-regression 5%\n  \
    tsql compare label:night=7 label:night=8 --plot nights.svg\n  \
    tsql compare 2026-11-01..2026-11-08 2026-11-08.. --where \"platform = 'k80'\" \\\n      \
    --format json\n  \
    tsql compare 'main-*' 'tag:v1.0 AND source:pull-17' --pairs --top 100 \\\n      \
    -o changes.csv")]
pub(super) struct Compare {
    /// Baseline
    #[arg(value_name = "A")]
    a: Side,
    /// Side that is compared with the baseline
    #[arg(value_name = "B")]
    b: Side,
    /// SQL condition over `records`, for both sides
    #[arg(
        long = "where",
        value_name = "SQL",
        default_value = "true",
        hide_default_value = true
    )]
    predicate: String,
    /// Records of a configuration that count, if a side has several
    #[arg(long, value_enum, default_value_t = Counting::Newest)]
    of: Counting,
    /// Minimum relevant change [default: 2%]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    change: Option<f64>,
    /// Maximum number of configurations of each list
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Show only the worst regressions, the best improvements, and new failures and fixes
    #[arg(long)]
    pairs: bool,
    /// Plot the distribution of speedups and their means to FILE.svg or FILE.png
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Exit with code 3 if B is slower by more than this, or fails
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    fail_on_regression: Option<f64>,
    #[command(flatten)]
    output: Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Counting {
    /// The newest; records without a time count together
    Newest,
    /// All that did not fail, with their repeats combined
    All,
}

pub(super) async fn run(place: &StoreOptions, command: Compare) -> Result<u8, Failure> {
    let store = place.open().await?;
    let mut options = CompareOptions::default()
        .predicate(command.predicate)
        .record_choice(match command.of {
            Counting::Newest => RecordChoice::Newest,
            Counting::All => RecordChoice::All,
        })
        .minimum_change(command.change.unwrap_or(MINIMAL_CHANGE))
        .top(command.top);
    if let Some(fraction) = command.fail_on_regression {
        options = options.allowed_regression(fraction);
    }
    if let Some(bytes) = place.memory_limit_bytes() {
        options = options.memory_limit_bytes(bytes);
    }
    let found = compare(&store, &command.a, &command.b, &options).await?;
    if let Some(path) = &command.plot {
        found.draw(path, PNG_WIDTH)?;
    }
    print(&found, command.pairs, &command.output).await?;
    print_outcome(&found);
    Ok(match found.regression {
        Some(regression) if regression.is_exceeded() => REGRESSED,
        _ => DONE,
    })
}

/// Prints the comparison: as one JSON document, or as the requested table. Formats for people get both tables.
async fn print(found: &Comparison, pairs: bool, output: &Output) -> Result<(), Failure> {
    let format = output.resolve_format()?;
    if format == Format::Json {
        return write_json(found, output);
    }
    if pairs {
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

fn write_json(found: &Comparison, output: &Output) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(found).map_err(|error| {
        Error::Internal(format!("a comparison cannot be written as JSON: {error}"))
    })?;
    write_text(&(text + "\n"), output)
}

/// Prints the outcome as messages.
fn print_outcome(found: &Comparison) {
    let (a, b, all) = (&found.a.name, &found.b.name, &found.all);
    if let Some(speedup) = all.speedup {
        let interval = all.speedup_low.zip(all.speedup_high);
        let interval = interval.map_or_else(String::new, |(low, high)| {
            format!(" ({low:.3} to {high:.3} with 95 %)")
        });
        print_message(&format!(
            "{b} is {speedup:.3} times as fast as {a}{interval}, {}: {} faster, {} slower, {} the same, {} unclear",
            count_noun(all.pairs, "pair"),
            all.faster,
            all.slower,
            all.same,
            all.unclear
        ));
    }
    if all.unclear > 0 && all.unclear == all.pairs {
        print_message(
            "hint: there are too few repeats to decide about single pairs; use the mean of all pairs",
        );
    }
    let Some(regression) = found
        .regression
        .filter(|regression| regression.is_exceeded())
    else {
        return;
    };
    let allowed = regression.allowed * 100.0;
    let mut reasons = Vec::new();
    if regression.slower > 0 {
        reasons.push(format!(
            "{} slower by more than {allowed} %",
            count_noun(regression.slower, "pair")
        ));
    }
    if regression.is_slower_overall {
        reasons.push(format!("geometric mean slower by more than {allowed} %"));
    }
    if regression.newly_failing > 0 {
        reasons.push(format!(
            "{} newly failing",
            count_noun(regression.newly_failing, "pair")
        ));
    }
    print_message(&format!("regression: {}", reasons.join(", ")));
}
