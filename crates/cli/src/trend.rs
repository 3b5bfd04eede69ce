//! `tsql trend`: changes in the history of programs.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int64Array, StringArray};
use clap::Args;
use tsql_error::Error;
use tsql_ml::trend::{ProgramChange, Trend, TrendOptions, TrendOrder, trend};

use super::outcome::{DONE, Failure, REGRESSED, UNDECIDED};
use super::output::{Output, show, write_json};
use super::percent::percent;
use super::printer::Format;
use super::short_values::{format_number, truncate};
use super::stderr::{count_noun, print_message};
use super::store_options::StoreOptions;

/// Width of a PNG file in pixels.
const PNG_WIDTH: u32 = 1600;

/// List the places in the history of each program where its time changed
///
/// A program is a graph and a configuration on a platform. Its history has one value for each commit, day or source: the
/// median of its records there. A change point needs three values on both sides and a change of at least --change; the
/// test assumes independent values. Several changes in one direction are a trend.
///
/// If more than half of the programs of a platform change at one place, the machine changed: such changes are marked.
#[derive(Args, Debug)]
#[command(after_help = "Exit codes:\n  \
    0  searched\n  \
    3  with --fail-on-regression 5%: a listed program is slower by more than 5 %\n  \
    4  no program has six values\n\n\
    Examples:\n  \
    tsql trend\n  \
    tsql trend --by commit --last 10 --fail-on-regression 5%\n  \
    tsql trend --by day --where \"platform = 'a100'\" --plot history.svg\n  \
    tsql trend --events")]
pub(super) struct TrendArgs {
    /// Places: `day`, `source` or the key of a label [default: commit if the store has it, else day, else source]
    #[arg(long, value_name = "NAME")]
    by: Option<TrendOrder>,
    /// SQL condition over `records`
    #[arg(
        long = "where",
        value_name = "SQL",
        default_value = "true",
        hide_default_value = true
    )]
    predicate: String,
    /// Minimum change between two levels [default: 2%]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    change: Option<f64>,
    /// Show only changes at the last N places of each platform
    #[arg(long, value_name = "N")]
    last: Option<usize>,
    /// Show places with the number of programs that changed, instead of programs
    #[arg(long)]
    events: bool,
    /// Plot the programs with the largest changes to FILE.svg or FILE.png
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Exit with code 3 if a listed program is slower by more than this; changes of the machine do not count
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    fail_on_regression: Option<f64>,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(place: &StoreOptions, command: TrendArgs) -> Result<u8, Failure> {
    let store = place.open().await?;
    let mut options = TrendOptions::default().predicate(command.predicate);
    if let Some(order) = command.by {
        options = options.order(order);
    }
    if let Some(fraction) = command.change {
        options = options.minimum_change(fraction);
    }
    if let Some(last) = command.last {
        options = options.last(last);
    }
    if let Some(bytes) = place.memory_limit_bytes() {
        options = options.memory_limit_bytes(bytes);
    }
    let found = match trend(&store, &options).await {
        Ok(found) => found,
        // Nothing searched is never a pass, and no failure of the command either.
        Err(Error::Empty(reason)) => {
            print_message(&format!("nothing was searched: {reason}"));
            return Ok(UNDECIDED);
        }
        Err(error) => return Err(error.into()),
    };
    match &command.plot {
        Some(_) if found.changes.is_empty() => print_message("no change to plot"),
        Some(path) => found.draw(path, PNG_WIDTH)?,
        None => {}
    }
    print(&found, command.events, &command.output).await?;
    print_summary(&found);
    let allowed = command.fail_on_regression;
    let mut changes = found.program_changes();
    Ok(if found.series == 0 {
        UNDECIDED
    } else if allowed.is_some_and(|allowed| changes.any(|change| change.change > allowed)) {
        REGRESSED
    } else {
        DONE
    })
}

async fn print(found: &Trend, events: bool, output: &Output) -> Result<(), Failure> {
    let format = output.resolve_format()?;
    if format == Format::Json {
        return write_json(serde_json::to_string_pretty(found), output);
    }
    if events {
        show(event_table(found), output).await?;
        return Ok(());
    }
    let for_people = matches!(format, Format::Table | Format::Markdown);
    show(change_table(found, for_people), output).await?;
    Ok(())
}

fn print_summary(found: &Trend) {
    let places = found.places;
    let mut text = format!(
        "searched {} over {} by {}",
        count_noun(found.series as u64, "program"),
        count_noun(places as u64, "place"),
        found.order
    );
    if found.short_series > 0 {
        text += &format!("; {} with fewer than 6 values", found.short_series);
    }
    print_message(&text);
}

/// A row for each change.
fn change_table(found: &Trend, for_people: bool) -> Vec<(&'static str, ArrayRef)> {
    let rows = &found.changes;
    let texts = |get: fn(&ProgramChange) -> Option<&str>| -> ArrayRef {
        Arc::new(rows.iter().map(get).collect::<StringArray>())
    };
    let keys = |get: fn(&ProgramChange) -> Option<&str>| -> ArrayRef {
        if !for_people {
            return texts(get);
        }
        let short = rows.iter().map(|change| get(change).map(truncate));
        Arc::new(short.collect::<StringArray>())
    };
    let numbers = |get: fn(&ProgramChange) -> f64| -> ArrayRef {
        let numbers = rows.iter().map(|change| Some(get(change)));
        Arc::new(format_number(numbers, for_people))
    };
    let is_machine = rows.iter().map(|change| Some(change.is_machine));
    let mut columns = vec![
        ("place", texts(|change| Some(&change.place))),
        ("change", numbers(|change| change.change)),
        ("before_ns", numbers(|change| change.before_ns)),
        ("after_ns", numbers(|change| change.after_ns)),
        ("kind", texts(|change| Some(change.kind))),
        (
            "is_machine",
            Arc::new(is_machine.collect::<BooleanArray>()) as ArrayRef,
        ),
        ("platform", texts(|change| Some(&change.platform))),
        ("workload_key", keys(|change| Some(&change.workload_key))),
        ("steps", keys(|change| change.steps.as_deref())),
        ("previous", texts(|change| Some(&change.previous))),
        ("p", numbers(|change| change.p)),
    ];
    if !for_people {
        let id = |get: fn(&ProgramChange) -> i64| -> ArrayRef {
            Arc::new(Int64Array::from_iter_values(rows.iter().map(get)))
        };
        let values = rows.iter().map(|change| i64::try_from(change.values).ok());
        columns.push(("values", Arc::new(values.collect::<Int64Array>())));
        columns.push(("graph_id", id(|change| change.graph_id)));
        columns.push(("config_id", id(|change| change.config_id)));
    }
    columns
}

/// A row for each place where programs changed.
fn event_table(found: &Trend) -> Vec<(&'static str, ArrayRef)> {
    let rows = &found.events;
    let places = rows.iter().map(|event| event.place.as_str());
    let platforms = rows.iter().map(|event| event.platform.as_str());
    let changed = rows.iter().map(|event| i64::try_from(event.changed).ok());
    let series = rows.iter().map(|event| i64::try_from(event.series).ok());
    let is_machine = rows.iter().map(|event| Some(event.is_machine));
    vec![
        (
            "place",
            Arc::new(StringArray::from_iter_values(places)) as ArrayRef,
        ),
        (
            "platform",
            Arc::new(StringArray::from_iter_values(platforms)),
        ),
        ("changed", Arc::new(changed.collect::<Int64Array>())),
        ("programs", Arc::new(series.collect::<Int64Array>())),
        ("is_machine", Arc::new(is_machine.collect::<BooleanArray>())),
    ]
}
