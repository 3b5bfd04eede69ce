//! `tsql compare`: what is faster and what is slower.

mod shown;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tsql_metrics::change::MINIMAL_CHANGE;

use super::outcome::{DONE, Failure, REGRESSED};
use super::output::{Output, show, whole};
use super::percent::percent;
use super::place::Place;
use super::printer::Format;
use super::talk::{counted, talk};
use crate::compare::{CompareOptions, Comparison, Of, Side};
use crate::error::Error;

/// Pixels across a PNG.
const PNG_WIDTH: u32 = 1600;

/// Say what is faster and what is slower: B compared with A
///
/// A and B are each a platform (`k80`), a tag (`v1.0`: all records of that version of the store), a label (`night=7`), a
/// source or stream by its name (`night-7`, `logs/*.json`), or a time (`2026-11-01..2026-11-08` without its end, `2026-11-01..`, or
/// a day). Where a name could be several of these: `platform:k80`, `tag:v1.0`, `label:night=7`, `source:night-7`, `time:2026-11-01..`.
/// `where:SQL` is SQL over the columns of `records`, and ` AND ` joins several: `tag:v1.0 AND platform:k80`.
///
/// Pairs are what both have measured of one configuration of a graph; of one platform, too, unless each side has only one. Of several
/// records of a side the newest counts (`--of all` puts the repeats of all together). A speedup is the time in A over the time in
/// B: above 1 is faster. Shown is its geometric mean with a 95 % interval (Student's t on the logarithms), of all pairs, by
/// operator and by network.
///
/// Faster, slower and the same are beyond noise, as `tsql measure repeat` tells them: a Mann-Whitney test of the repeats, and a
/// change of at least `--change`, of the repeats as a whole and of the least of them. p is corrected after Benjamini and Hochberg: of
/// the pairs that are called faster or slower one in twenty may be wrong. The rest is unclear: too few repeats (four on
/// each side at least), too noisy ones, or taken on a busy machine.
///
/// A table for people has the largest changes behind it; `--pairs` has them alone, and `--format json` is one document with
/// all of it.
#[derive(Args, Debug)]
#[command(
    after_help = "Exit code 3 with --fail-on-regression 5% where, of what is compared,\n  \
    - a pair is slower by more than 5 %, beyond noise, or\n  \
    - all together are: the whole interval of the geometric mean is below 1 / 1.05, or\n  \
    - a configuration fails that worked.\n\n\
    Examples:\n  \
    tsql compare k80 t4\n  \
    tsql compare v1.0 v1.1 --fail-on-regression 5%\n  \
    tsql compare label:night=7 label:night=8 --plot nights.svg\n  \
    tsql compare 2026-11-01..2026-11-08 2026-11-08.. --where \"platform = 'k80'\" \\\n      \
    --format json\n  \
    tsql compare 'main-*' 'tag:v1.0 AND source:pull-17' --pairs --top 100 \\\n      \
    -o changes.csv"
)]
pub(super) struct Compare {
    /// What to compare with
    #[arg(value_name = "A")]
    a: Side,
    /// What is compared
    #[arg(value_name = "B")]
    b: Side,
    /// Only these records, of both: SQL over the columns of `records`
    #[arg(
        long = "where",
        value_name = "SQL",
        default_value = "true",
        hide_default_value = true
    )]
    predicate: String,
    /// Which records of a configuration count, where a side has several
    #[arg(long, value_enum, default_value_t = Counting::Newest)]
    of: Counting,
    /// The least change that counts [default: 2%]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    change: Option<f64>,
    /// How many configurations each list has at most
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Show the worst regressions, the best gains and what fails or works newly, and nothing else
    #[arg(long)]
    pairs: bool,
    /// Draw the distribution of the speedups and their means into FILE.svg or FILE.png
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Exit with code 3 where B is slower by more than this, or fails
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    fail_on_regression: Option<f64>,
    #[command(flatten)]
    output: Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Counting {
    /// The one that was measured last; records without a time count together
    Newest,
    /// All that did not fail: their repeats are put together
    All,
}

pub(super) async fn run(place: &Place, command: Compare) -> Result<u8, Failure> {
    let store = place.open().await?;
    let mut options = CompareOptions::default()
        .predicate(command.predicate)
        .of(match command.of {
            Counting::Newest => Of::Newest,
            Counting::All => Of::All,
        })
        .minimal_change(command.change.unwrap_or(MINIMAL_CHANGE))
        .top(command.top);
    if let Some(share) = command.fail_on_regression {
        options = options.allowed_regression(share);
    }
    if let Some(bytes) = place.memory_limit_bytes() {
        options = options.memory_limit_bytes(bytes);
    }
    let found = store.compare(&command.a, &command.b, &options).await?;
    if let Some(path) = &command.plot {
        found.draw(path, PNG_WIDTH)?;
    }
    print(&found, command.pairs, &command.output).await?;
    say(&found);
    Ok(match found.regression {
        Some(regression) if regression.is_one() => REGRESSED,
        _ => DONE,
    })
}

/// All of it as one document, or what was asked for as a table; both tables for people.
async fn print(found: &Comparison, pairs: bool, output: &Output) -> Result<(), Failure> {
    let format = output.chosen()?;
    if format == Format::Json {
        return document(found, output);
    }
    if pairs {
        show(shown::changes(found), output).await?;
        return Ok(());
    }
    let for_people = matches!(format, Format::Table | Format::Markdown);
    show(shown::summaries(found, for_people), output).await?;
    if for_people && output.output.is_none() {
        show(shown::largest(found), output).await?;
    }
    Ok(())
}

fn document(found: &Comparison, output: &Output) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(found)
        .map_err(|error| Error::Internal(format!("a comparison is no JSON: {error}")))?;
    whole(&(text + "\n"), output)
}

/// The outcome in words.
fn say(found: &Comparison) {
    let (a, b, all) = (&found.a.name, &found.b.name, &found.all);
    if let Some(speedup) = all.speedup {
        let interval = all.speedup_low.zip(all.speedup_high);
        let interval = interval.map_or_else(String::new, |(low, high)| {
            format!(" ({low:.3} to {high:.3} with 95 %)")
        });
        talk(&format!(
            "{b} is {speedup:.3} times as fast as {a}{interval}, {}: {} faster, {} slower, {} the same, {} unclear",
            counted(all.pairs, "pair"),
            all.faster,
            all.slower,
            all.same,
            all.unclear
        ));
    }
    if all.unclear > 0 && all.unclear == all.pairs {
        talk(
            "hint: no change is told from noise with so few repeats, but all pairs together tell one",
        );
    }
    let Some(regression) = found.regression.filter(|regression| regression.is_one()) else {
        return;
    };
    let allowed = regression.allowed * 100.0;
    let mut told = Vec::new();
    if regression.slower > 0 {
        told.push(format!(
            "{} slower by more than {allowed} %",
            counted(regression.slower, "pair")
        ));
    }
    if regression.is_slower_at_all {
        told.push(format!("all together slower by more than {allowed} %"));
    }
    if regression.newly_failing > 0 {
        told.push(format!(
            "{} newly failing",
            counted(regression.newly_failing, "pair")
        ));
    }
    talk(&format!("regression: {}", told.join(", ")));
}
