//! `tsql split`: divisions into train, valid and test, and what leaks between them.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int64Array, StringArray, TimestampMicrosecondArray};
use clap::{Args, Subcommand};

use super::outcome::{DONE, Failure, UNANSWERED};
use super::output::{Output, show};
use super::place::Place;
use super::talk::{counted, talk};
use crate::splits::{self, AskedSplit, LeakLevel, Leaks, PartCount, split_presets};

/// Divide records into train, valid and test so that it stays so, and count what leaks
///
/// The part of a unit follows from its key, the seed and the ratios alone, so records that come later move nothing. In SQL,
/// `split('NAME')` is the part of a row of `records`. Made again with another definition, or with other clusters of keys, a split
/// gets another version; `split('NAME@1')` stays what it is.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql split create by-task --unit task --ratio 80/10/10 --seed 7\n  \
    tsql split create bert --unit network \\\n      \
    --hold-out \"SELECT DISTINCT network FROM network_tasks WHERE network LIKE 'bert%'\"\n  \
    tsql split create x86 --unit structure \\\n      \
    --query \"SELECT * FROM records WHERE platform = 'epyc-7452'\"\n  \
    tsql split create --preset tenset-all-five\n  \
    tsql \"SELECT split('by-task') AS part, count(*) FROM records GROUP BY part\"\n  \
    tsql split check by-task --level L3     # exits with 1 where something leaks\n  \
    tsql split list\n  \
    tsql split drop by-task@1")]
pub(super) struct Split {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Make the next version of a split
    Create(Create),
    /// List all versions of all splits
    List(List),
    /// Print the parts of a split, and how many records are in each
    Show(Named),
    /// Count what leaks between its parts: exits with 1 where something does that is not to
    Check(Check),
    /// Take a split away, or one version of it
    Drop(Drop),
    /// List the splits of papers and datasets that `create --preset` knows
    Presets(List),
}

#[derive(Args, Debug)]
struct Create {
    /// Its name: letters, digits and . - _ + / [default: that of the preset]
    #[arg(required_unless_present = "preset")]
    name: Option<String>,
    /// What stays together: config, task, dag, structure, network, platform, time (or line, collection, as presets have it)
    #[arg(
        long,
        value_name = "UNIT",
        required_unless_present = "preset",
        conflicts_with = "preset"
    )]
    unit: Option<String>,
    /// Shares of train, valid and test [default: 80/10/10]
    #[arg(long, value_name = "A/B/C")]
    ratio: Option<String>,
    /// Another seed is another split
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: i64,
    /// Query whose first column names units for test (keys, graph_id or config_id); a column `part` may say another part
    #[arg(long, value_name = "SQL", conflicts_with = "preset")]
    hold_out: Option<String>,
    /// Query over `records` whose rows it is about [default: all]
    #[arg(long, value_name = "SQL")]
    query: Option<String>,
    /// A split of a paper or a dataset: `tsql split presets` lists them
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
    /// Up to where nothing is to leak: L0 configuration and platform, L1 configuration, L2 task, L3 DAG or structure, L4 sketch, L5
    /// network [default: by its unit]
    #[arg(long, value_name = "LEVEL")]
    level: Option<String>,
    #[command(flatten)]
    output: Output,
}

#[derive(Args, Debug)]
struct Drop {
    /// Name of the split with all its versions, or NAME@VERSION
    name: String,
}

pub(super) async fn run(place: &Place, command: Split) -> Result<u8, Failure> {
    if let Action::Presets(list) = &command.action {
        return show(presets(), &list.output).await;
    }
    let store = place.open().await?;
    match command.action {
        Action::Create(create) => {
            let name = create.name.clone().or_else(|| create.preset.clone());
            let options = AskedSplit::from(create).options()?;
            let made = store
                .create_split(&name.unwrap_or_default(), &options)
                .await?;
            let split = &made.split;
            let what = if made.is_new { "" } else { " is that already" };
            talk(&format!(
                "{}{what}: {} by {}; {}",
                split.full_name(),
                counted(split.unit_count.unsigned_abs(), "unit"),
                split.unit.word(),
                told(&made.parts)
            ));
            if let Some(warning) = &split.warning {
                talk(&format!("note: {warning}"));
            }
            Ok(DONE)
        }
        Action::List(list) => show(listed(&store.splits().await?), &list.output).await,
        Action::Show(named) => {
            let split = store.split(&named.name).await?;
            let parts = store.parts_of_split(&split.full_name()).await?;
            if named.output.is_table() {
                talk(&about(&split));
            }
            show(of_parts(&split, &parts), &named.output).await
        }
        Action::Check(check) => {
            let level = check.level.as_deref().map(LeakLevel::parse).transpose()?;
            let found = store.check_split(&check.name, level).await?;
            let code = show(of_levels(&found.split, &found.levels), &check.output).await?;
            if found.is_clean() {
                return Ok(code);
            }
            let mut leaking = found.levels.iter();
            let first = leaking.find(|leaks| leaks.is_declared && leaks.any());
            if let Some(leaks) = first {
                talk(&format!(
                    "{} leaks at {}: {} in several parts",
                    found.split.full_name(),
                    leaks.level.word(),
                    counted(leaks.leaking_unit_count, leaks.shared)
                ));
            }
            Ok(UNANSWERED)
        }
        Action::Drop(named) => {
            let count = store.drop_split(&named.name).await?;
            talk(&format!(
                "{}: {} dropped",
                named.name,
                counted(count, "version")
            ));
            Ok(DONE)
        }
        Action::Presets(_) => Ok(DONE),
    }
}

impl From<Create> for AskedSplit {
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

/// Parts and their records in a line.
fn told(parts: &[PartCount]) -> String {
    let each = parts.iter().map(|part| {
        let name = part.part.as_deref().unwrap_or("in no part");
        format!("{name} {}", counted(part.record_count, "record"))
    });
    each.collect::<Vec<_>>().join(", ")
}

fn about(split: &splits::Split) -> String {
    let mut text = format!(
        "{}: by {}, {}, seed {}, {} when it was made, digest {}",
        split.full_name(),
        split.unit.word(),
        split.ratio,
        split.seed,
        counted(split.unit_count.unsigned_abs(), "unit"),
        split.digest
    );
    for (what, said) in [
        ("preset", &split.preset),
        ("note", &split.warning),
        ("query", &split.query),
        ("hold-out", &split.hold_out),
    ] {
        if let Some(said) = said {
            text += &format!("\n{what}: {said}");
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

fn listed(splits: &[splits::Split]) -> Columns<9> {
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

fn of_parts(split: &splits::Split, parts: &[PartCount]) -> Columns<3> {
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

fn of_levels(split: &splits::Split, levels: &[Leaks]) -> Columns<8> {
    let name = split.full_name();
    let each = || levels.iter();
    let declared = each().map(|one| Some(one.is_declared));
    let count = |of: fn(&Leaks) -> u64| numbers(levels.iter().map(|one| of(one).cast_signed()));
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
        ("what", texts(each().map(|one| one.doc))),
        ("warning", maybe(each().map(|one| one.warning))),
    ]
}
