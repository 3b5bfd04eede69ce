//! Comparison of two sets of records, configuration by configuration. A set is selected by platform, tag, label, source
//! or time.
//!
//! ```text
//!  a, b ─▶ predicates ─▶ records, sorted ─▶ pairs ─▶ all, by graph ─▶ by operator, by network
//!            (SQL)        (both sides)      (buffered until p is corrected)
//!                              repeated records ─▶ noise floors ─▶ ▲
//! ```
//!
//! * A pair is a graph and a configuration that both sides have. Both records are of one platform, unless each side has
//!   just one platform.
//! * Each record is a run. Runs are compared with the noise between repeated records of the store (`tsql_verdicts`);
//!   [`Rule::Ranks`] compares the repeats of the newest records instead, as `tsql measure repeat` does.
//! * If a side has several records of a configuration, those of the newest day count ([`RecordChoice`]).

#[cfg_attr(not(feature = "plot"), path = "no_chart.rs")]
mod chart;
mod comparison;
mod group_names;
mod options;
#[cfg(all(feature = "measure", target_os = "linux"))]
mod pair_comparison;
mod pair_result;
mod pairing;
mod records;
mod report;
mod self_check;
mod sides;

use datafusion::prelude::SessionContext;
use tsql_error::{Error, Result};
use tsql_session::noise::{FloorSelection, RepeatedRecords, read_repeated_records};
use tsql_session::{SessionOptions, open_session_with, run_read_only};
use tsql_store::Store;

use pairing::pair_counter::{CountedPairs, PairCounter};
use pairing::rule_context::RuleContext;
use pairing::unpaired::check_not_empty;
use records::RecordReader;
use sides::compared_side::summarize_side;
use sides::resolve_side::{StoreNames, open_version};

pub(crate) use comparison::as_text;
pub use comparison::{
    Change, ComparedSide, Comparison, PairGroup, Regression, SpeedupRange, Summary,
};
pub(crate) use group_names::program_names;
pub use options::{CompareOptions, RecordChoice, Rule};
pub use report::GITHUB_MARKER;
pub use self_check::{CheckedClass, SelfCheck, check_rule};
pub use sides::side::Side;

/// Compares the records of two sides: `b` relative to `a`.
///
/// The configurations of both sides are sorted and counted as a stream. Memory use is low for any size: 96 bytes
/// per pair, in a temporary file above 64 MiB.
///
/// # Errors
/// [`Error::Unknown`] and [`Error::Ambiguous`] for names that cannot be resolved, [`Error::Empty`] if there is
/// nothing to compare, [`Error::Query`] for an invalid predicate, and failures of the storage.
pub async fn compare(
    store: &Store,
    a: &Side,
    b: &Side,
    options: &CompareOptions,
) -> Result<Comparison> {
    let session = options.read_only_session.clone().unwrap_or_else(|| {
        SessionOptions::default().memory_limit_bytes(options.memory_limit_bytes)
    });
    let context = open_session_with(store, &session).await?;
    let known = StoreNames::load(store, &context).await?;
    let (in_a, in_b) = (known.resolve(a).await?, known.resolve(b).await?);
    let of_a = session_of(store, in_a.tag.as_deref(), &context, &session).await?;
    // One snapshot for both sides, if they have the same version.
    let of_b = if in_a.tag == in_b.tag {
        of_a.clone()
    } else {
        session_of(store, in_b.tag.as_deref(), &context, &session).await?
    };
    let both = |predicate: &str| format!("({predicate}) AND ({})", options.predicate);
    let is_one_version = in_a.tag == in_b.tag;
    let (in_a, in_b) = (both(&in_a.predicate), both(&in_b.predicate));
    if options.read_only_session.is_some() {
        check_predicate(&of_a, &in_a).await?;
        check_predicate(&of_b, &in_b).await?;
    }
    let a = summarize_side(&of_a, &a.to_string(), &in_a).await?;
    let b = summarize_side(&of_b, &b.to_string(), &in_b).await?;
    let is_by_platform = a.platforms.len() > 1 || b.platforms.len() > 1;
    let noise = match options.rule {
        Rule::Ranks => RepeatedRecords::default(),
        Rule::Runs => {
            // The smaller side of two versions does not contain the new records of the other.
            let older = if a.records <= b.records { &of_a } else { &of_b };
            let predicates = is_one_version.then_some([in_a.as_str(), in_b.as_str()]);
            read_noise(older, [&a, &b], predicates).await?
        }
    };
    let anchors = group_names::anchor_graphs(&of_a, &options.anchors).await?;
    let rule = RuleContext {
        rule: options.rule,
        floors: noise.pairs.fit(),
        platforms: match (a.platforms.as_slice(), b.platforms.as_slice()) {
            ([a], [b]) => Some([a.clone(), b.clone()]),
            _ => None,
        },
        anchors,
    };
    let floors = rule.floors.as_slice().to_vec();
    let sides = [(&of_a, in_a.as_str()), (&of_b, in_b.as_str())];
    let mut records = RecordReader::open(sides, is_by_platform, options.resolved_choice()).await?;
    let mut counting = PairCounter::new(options.top, rule);
    loop {
        let some = records.next().await?;
        if some.is_empty() {
            break;
        }
        counting.take(some).await?;
    }
    let CountedPairs { mut found, graphs } = counting.finish(options)?;
    (found.a, found.b, found.is_by_platform) = (a, b, is_by_platform);
    found.floors = floors;
    found.floor_date = noise.newest_us().and_then(date);
    check_not_empty(&found, sides).await?;
    if !options.anchors.is_empty() && found.anchors.is_empty() {
        let reason = format!("no pair of {}", options.anchors.join(", "));
        return Err(Error::Argument {
            name: "anchor",
            reason: reason + "\nhint: a control program is measured on both sides",
        });
    }
    [found.operators, found.networks] =
        group_names::summarize_groups(&of_a, &graphs, options.rule).await?;
    let Comparison {
        regressions,
        gains,
        unclear,
        pairs,
        anchors,
        failures,
        fixes,
        ..
    } = &mut found;
    let lists = [regressions, gains, unclear, pairs, anchors, failures, fixes];
    group_names::name_changes(&of_a, lists).await?;
    Ok(found)
}

/// Reads the repeated records on the platforms of both sides. `predicates` select the sides, if both are of one version.
async fn read_noise(
    context: &SessionContext,
    sides: [&ComparedSide; 2],
    predicates: Option<[&str; 2]>,
) -> Result<RepeatedRecords> {
    let mut platforms = sides.map(|side| side.platforms.as_slice()).concat();
    platforms.sort();
    platforms.dedup();
    let selection = FloorSelection {
        platforms: Some(&platforms),
        sides: predicates.unwrap_or(["false", "false"]),
        predicate: "true",
    };
    read_repeated_records(context, &selection).await
}

/// Returns the date of a time in UTC.
fn date(time_us: i64) -> Option<String> {
    let time = chrono::DateTime::from_timestamp_micros(time_us)?;
    Some(time.date_naive().to_string())
}

async fn session_of(
    store: &Store,
    tag: Option<&str>,
    newest: &SessionContext,
    options: &SessionOptions,
) -> Result<SessionContext> {
    if tag.is_none() {
        return Ok(newest.clone());
    }
    open_session_with(&open_version(store, tag).await?, options).await
}

/// Checks that a predicate is one condition, which reads nothing but the store.
async fn check_predicate(context: &SessionContext, predicate: &str) -> Result<()> {
    let sql = format!("SELECT 1 FROM records WHERE {predicate}");
    run_read_only(context, &sql, true).await.map(|_| ())
}
