//! Comparison of two sets of records, configuration by configuration. A set is selected by platform, tag, label, source
//! or time.
//!
//! ```text
//!  a, b ─▶ predicates ─▶ records, sorted ─▶ pairs ─▶ all, by graph ─▶ by operator, by network
//!            (SQL)        (both sides)      (buffered until p is corrected)
//! ```
//!
//! * A pair is a graph and a configuration that both sides have. Both records are of one platform, unless each side has
//!   just one platform.
//! * If a side has several records of a configuration, the newest counts ([`RecordChoice`]).
//! * The test for significant changes is that of `tsql measure repeat`: `tsql_metrics::change`.

#[cfg_attr(not(feature = "plot"), path = "no_chart.rs")]
mod chart;
mod comparison;
mod condition;
mod group_names;
mod options;
mod pair_counter;
mod pairs;
mod records;
mod resolve_side;
mod side;

use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use tsql_dialect::collect;
use tsql_error::{Error, Result};
use tsql_schema::column;
use tsql_session::{SessionOptions, open_session_with, run_read_only};
use tsql_store::Store;

use pair_counter::{CountedPairs, PairCounter};
use records::RecordReader;
use resolve_side::{StoreNames, open_version};

pub use comparison::{
    Change, ComparedSide, Comparison, PairGroup, Regression, SpeedupRange, Summary,
};
pub use options::{CompareOptions, RecordChoice};
pub use side::Side;

/// Compares the records of two sides: `b` relative to `a`.
///
/// The configurations of both sides are sorted and counted as a stream. Memory use is low for any size: 88 bytes
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
    let (in_a, in_b) = (both(&in_a.predicate), both(&in_b.predicate));
    if options.read_only_session.is_some() {
        check_predicate(&of_a, &in_a).await?;
        check_predicate(&of_b, &in_b).await?;
    }
    let a = summarize_side(&of_a, a, &in_a).await?;
    let b = summarize_side(&of_b, b, &in_b).await?;
    let is_by_platform = a.platforms.len() > 1 || b.platforms.len() > 1;
    let sides = [(&of_a, in_a.as_str()), (&of_b, in_b.as_str())];
    let mut records = RecordReader::open(sides, is_by_platform, options.of).await?;
    let mut counting = PairCounter::new(options.top);
    loop {
        let some = records.next().await?;
        if some.is_empty() {
            break;
        }
        counting.take(some).await?;
    }
    let CountedPairs { mut found, graphs } = counting.finish(options)?;
    (found.a, found.b, found.is_by_platform) = (a, b, is_by_platform);
    check_not_empty(&found)?;
    [found.operators, found.networks] = group_names::summarize_groups(&of_a, &graphs).await?;
    let Comparison {
        regressions,
        gains,
        failures,
        fixes,
        ..
    } = &mut found;
    group_names::name_changes(&of_a, [regressions, gains, failures, fixes]).await?;
    Ok(found)
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

/// Summarizes the records of a side.
async fn summarize_side(
    context: &SessionContext,
    side: &Side,
    predicate: &str,
) -> Result<ComparedSide> {
    let sql = format!(
        "SELECT arrow_cast(platform, 'Utf8View') AS platform, count(*) AS records, \
         count(*) FILTER (WHERE error_no <> 0) AS failed \
         FROM records WHERE {predicate} GROUP BY platform ORDER BY platform"
    );
    let mut compared = ComparedSide {
        name: side.to_string(),
        ..ComparedSide::default()
    };
    for batch in collect(context, &sql).await? {
        let platforms = column::text(&batch, "platform")?;
        let sums = |name| column::numbers::<Int64Type>(&batch, name);
        for row in 0..batch.num_rows() {
            compared.platforms.push(platforms.value(row).to_owned());
            compared.records += sums("records")?.value(row).cast_unsigned();
            compared.failed_records += sums("failed")?.value(row).cast_unsigned();
        }
    }
    if compared.records == 0 {
        let reason = format!(
            "no records match `{side}`\nhint: `tsql \"SELECT * FROM records LIMIT 5\"` shows existing records"
        );
        return Err(Error::Empty(reason));
    }
    Ok(compared)
}

/// Checks that there are pairs to compare.
fn check_not_empty(found: &Comparison) -> Result<()> {
    let (a, b) = (&found.a.name, &found.b.name);
    if found.all.pairs + found.newly_failing + found.newly_working + found.failing > 0 {
        return Ok(());
    }
    Err(Error::Empty(if found.same_records > 0 {
        format!(
            "the {} configurations of `{a}` and `{b}` have the same records\n\
             hint: a comparison needs two different records of a configuration",
            found.same_records
        )
    } else {
        let of_platform = if found.is_by_platform {
            ", on the same platform"
        } else {
            ""
        };
        format!(
            "`{a}` and `{b}` have no configuration of a graph in common{of_platform}\nhint: {} and {} configurations were measured",
            found.only_a, found.only_b
        )
    }))
}
