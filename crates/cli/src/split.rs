//! `tsql split`: divisions into train, valid and test, and leaks between them.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int64Array, StringArray, TimestampMicrosecondArray};
use clap::{Args, Subcommand};
use tsql_ml::splits;
use tsql_ml::splits::{LeakLevel, Leaks, PartCount, SplitRequest, split_presets};
use tsql_ml::splits::{
    check_split, create_split, drop_split, find_split, list_splits, parts_of_split,
};

use super::deletion::Deletion;
use super::outcome::{DONE, Failure, QUERY_FAILED};
use super::output::{Output, show};
use super::stderr::{count_noun, print_message};
use super::store_options::StoreOptions;

/// Divide records into train, valid and test, reproducibly, and count leaks between the parts
///
/// The key of a unit, the seed and the ratios alone decide the part of a unit, so new records never move old ones. In
/// SQL, `split('NAME')` returns the part of a row of `records`. A split that is created again with another definition,
/// or over other keys, gets a new version; `split('NAME@1')` does not change.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql split create by-task --unit task --ratio 80/10/10 --seed 7\n  \
    tsql split create bert --unit network \\\n      \
    --hold-out \"SELECT DISTINCT network FROM network_tasks WHERE network LIKE 'bert%'\"\n  \
    tsql split create x86 --unit structure \\\n      \
    --query \"SELECT * FROM records WHERE platform = 'epyc-7452'\"\n  \
    tsql split create --preset tenset-all-five\n  \
    tsql \"SELECT split('by-task') AS part, count(*) FROM records GROUP BY part\"\n  \
    tsql split leaks by-task --level L3     # exit code 1 if anything leaks\n  \
    tsql split list\n  \
    tsql split delete by-task@1")]
pub(super) struct Split {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Create the next version of a split
    Create(Create),
    /// List all versions of all splits
    List(List),
    /// Show the parts of a split, and the number of records in each
    Show(Named),
    /// Count leaks between the parts of a split; exit code 1 if a level has leaks that should not have any
    #[command(alias = "check")]
    Leaks(Check),
    /// Delete a split, or one version of it
    #[command(alias = "drop")]
    Delete(Drop),
    /// List the splits of publications and datasets, for `create --preset`
    Presets(List),
}

#[derive(Args, Debug)]
struct Create {
    /// Name: alphanumeric characters and . - _ + / [default: the name of the preset]
    #[arg(required_unless_present = "preset")]
    name: Option<String>,
    /// Unit whose records stay in one part: config, task, dag, structure, network, platform or time
    #[arg(
        long,
        value_name = "UNIT",
        required_unless_present = "preset",
        conflicts_with = "preset"
    )]
    unit: Option<String>,
    /// Percentages of train, valid and test [default: 80/10/10]
    #[arg(long, value_name = "A/B/C")]
    ratio: Option<String>,
    /// Seed; another seed gives another split
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: i64,
    /// Query whose first column lists the units of test (keys, graph_id or config_id); a column `part` may name another
    /// part
    #[arg(long, value_name = "SQL", conflicts_with = "preset")]
    hold_out: Option<String>,
    /// Query over `records` whose rows are divided [default: all]
    #[arg(long, value_name = "SQL")]
    query: Option<String>,
    /// Split of a publication or a dataset; see `tsql split presets`
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
}

#[derive(Args, Debug)]
struct List {
    #[command(flatten)]
    output: Output,
}

#[derive(Args, Debug)]
struct Named {
    /// Name of the split, or NAME@VERSION
    name: String,
    #[command(flatten)]
    output: Output,
}

#[derive(Args, Debug)]
struct Check {
    /// Name of the split, or NAME@VERSION
    name: String,
    /// Highest level without leaks: L0 configuration and platform, L1 configuration, L2 task, L3 DAG or structure, L4
    /// sketch, L5 network [default: the level of the unit]
    #[arg(long, value_name = "LEVEL")]
    level: Option<String>,
    #[command(flatten)]
    output: Output,
}

#[derive(Args, Debug)]
struct Drop {
    /// Name of the split, with all its versions, or NAME@VERSION
    name: String,
    #[command(flatten)]
    deletion: Deletion,
}

pub(super) async fn run(place: &StoreOptions, command: Split) -> Result<u8, Failure> {
    if let Action::Presets(list) = &command.action {
        return show(presets(), &list.output).await;
    }
    let store = place.open().await?;
    match command.action {
        Action::Create(create) => {
            let name = create.name.clone().or_else(|| create.preset.clone());
            let options = SplitRequest::from(create).options()?;
            let created = create_split(&store, &name.unwrap_or_default(), &options).await?;
            let split = &created.split;
            let what = if created.is_new {
                ""
            } else {
                " already exists"
            };
            print_message(&format!(
                "{}{what}: {} by {}; {}",
                split.full_name(),
                count_noun(split.unit_count.unsigned_abs(), "unit"),
                split.unit.word(),
                join_parts(&created.parts)
            ));
            if let Some(warning) = &split.warning {
                print_message(&format!("note: {warning}"));
            }
            Ok(DONE)
        }
        Action::List(list) => show(split_columns(&list_splits(&store).await?), &list.output).await,
        Action::Show(named) => {
            let split = find_split(&store, &named.name).await?;
            let parts = parts_of_split(&store, &split.full_name()).await?;
            if named.output.is_table() {
                print_message(&describe(&split));
            }
            show(part_columns(&split, &parts), &named.output).await
        }
        Action::Leaks(check) => {
            let level = check.level.as_deref().map(LeakLevel::parse).transpose()?;
            let found = check_split(&store, &check.name, level).await?;
            let code = show(level_columns(&found.split, &found.levels), &check.output).await?;
            if found.is_clean() {
                return Ok(code);
            }
            let mut leaking = found.levels.iter();
            let first = leaking.find(|leaks| leaks.is_declared && leaks.any());
            if let Some(leaks) = first {
                print_message(&format!(
                    "{} leaks at {}: {} in several parts",
                    found.split.full_name(),
                    leaks.level.word(),
                    count_noun(leaks.leaking_unit_count, leaks.shared)
                ));
            }
            Ok(QUERY_FAILED)
        }
        Action::Delete(named) => {
            let split = find_split(&store, &named.name).await?;
            let what = match named.name.contains('@') {
                true => format!("the split {}", split.full_name()),
                false => format!("all versions of the split {}", named.name),
            };
            if !named.deletion.is_confirmed(&what)? {
                return Ok(DONE);
            }
            let count = drop_split(&store, &named.name).await?;
            print_message(&format!(
                "{}: {} deleted",
                named.name,
                count_noun(count, "version")
            ));
            Ok(DONE)
        }
        Action::Presets(_) => Ok(DONE),
    }
}

impl From<Create> for SplitRequest {
    fn from(create: Create) -> Self {
        Self {
            preset: create.preset,
            unit: create.unit,
            ratio: create.ratio,
            seed: create.seed,
            hold_out: create.hold_out,
            query: create.query,
        }
    }
}

/// Joins parts and their numbers of records on one line.
fn join_parts(parts: &[PartCount]) -> String {
    let each = parts.iter().map(|part| {
        let name = part.part.as_deref().unwrap_or("in no part");
        format!("{name} {}", count_noun(part.record_count, "record"))
    });
    each.collect::<Vec<_>>().join(", ")
}

fn describe(split: &splits::Split) -> String {
    let mut text = format!(
        "{}: by {}, {}, seed {}, {} when it was created, digest {}",
        split.full_name(),
        split.unit.word(),
        split.ratio,
        split.seed,
        count_noun(split.unit_count.unsigned_abs(), "unit"),
        split.digest
    );
    for (what, value) in [
        ("preset", &split.preset),
        ("note", &split.warning),
        ("query", &split.query),
        ("hold-out", &split.hold_out),
    ] {
        if let Some(value) = value {
            text += &format!("\n{what}: {value}");
        }
    }
    text
}

type Columns<const N: usize> = [(&'static str, ArrayRef); N];

fn texts<'a>(texts: impl Iterator<Item = &'a str>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(texts))
}

fn maybe<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
    Arc::new(StringArray::from_iter(texts))
}

fn numbers(numbers: impl Iterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(numbers))
}

fn split_columns(splits: &[splits::Split]) -> Columns<9> {
    let each = || splits.iter();
    let times = TimestampMicrosecondArray::from_iter_values(each().map(|one| one.created_at_us));
    [
        ("name", texts(each().map(|one| one.name.as_str()))),
        ("version", numbers(each().map(|one| one.version))),
        ("unit", texts(each().map(|one| one.unit.word()))),
        ("ratio", texts(each().map(|one| one.ratio.as_str()))),
        ("seed", numbers(each().map(|one| one.seed))),
        ("unit_count", numbers(each().map(|one| one.unit_count))),
        ("preset", maybe(each().map(|one| one.preset.as_deref()))),
        ("digest", texts(each().map(|one| one.digest.as_str()))),
        ("created_at", Arc::new(times.with_timezone("UTC"))),
    ]
}

fn part_columns(split: &splits::Split, parts: &[PartCount]) -> Columns<3> {
    let name = split.full_name();
    [
        ("split", texts(parts.iter().map(|_| name.as_str()))),
        ("part", maybe(parts.iter().map(|one| one.part.as_deref()))),
        (
            "record_count",
            numbers(parts.iter().map(|one| one.record_count.cast_signed())),
        ),
    ]
}

fn level_columns(split: &splits::Split, levels: &[Leaks]) -> Columns<8> {
    let name = split.full_name();
    let each = || levels.iter();
    let declared = each().map(|one| Some(one.is_declared));
    let count = |get: fn(&Leaks) -> u64| numbers(levels.iter().map(|one| get(one).cast_signed()));
    [
        ("split", texts(each().map(|_| name.as_str()))),
        ("level", texts(each().map(|one| one.level.word()))),
        ("shared", texts(each().map(|one| one.shared))),
        ("declared", Arc::new(BooleanArray::from_iter(declared))),
        ("unit_count", count(|one| one.unit_count)),
        ("leaking_unit_count", count(|one| one.leaking_unit_count)),
        (
            "held_out_record_count",
            count(|one| one.held_out_record_count),
        ),
        (
            "leaking_record_count",
            count(|one| one.leaking_record_count),
        ),
    ]
}

fn presets() -> Columns<5> {
    let each = || split_presets().iter();
    [
        ("name", texts(each().map(|one| one.name))),
        ("unit", texts(each().map(|one| one.unit.word()))),
        ("ratio", texts(each().map(|one| one.ratio))),
        ("doc", texts(each().map(|one| one.doc))),
        ("warning", maybe(each().map(|one| one.warning))),
    ]
}
