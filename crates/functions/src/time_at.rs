//! `time_at`: seconds since 1970 as a time.
//!
//! A cast would suffice, but DataFusion compares a cast column with a literal by casting the literal to whole seconds.
//! That drops its fraction: `= '...:34.5'` would match a record of :34.

use std::sync::Arc;

use arrow::array::{ArrayRef, TimestampMicrosecondArray};
use arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::cast::as_int64_array;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::interval_arithmetic::Interval;
use datafusion::logical_expr::preimage::PreimageResult;

use super::function_docs::FunctionDocs;
use super::scalar::{Scalar, argument};

const MICROSECONDS: i64 = 1_000_000;

/// Seconds whose microseconds fit an `i64`.
const SECONDS_RANGE: std::ops::RangeInclusive<i64> =
    i64::MIN / MICROSECONDS..=i64::MAX / MICROSECONDS;

pub(super) fn function() -> Scalar {
    let about = FunctionDocs::new(
        "time_at",
        "Time from seconds since 1970 (UTC). NULL if the time is outside of the range of microseconds (292,000 years)",
        "SELECT time_at(1700000000)",
    ).argument("seconds", DataType::Int64, "seconds since 1970").source("POSIX, seconds since the Epoch");
    let time = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    Scalar::new(&about, time, times_of_seconds).monotonic(seconds_preimage)
}

fn times_of_seconds(args: &[ArrayRef]) -> Result<ArrayRef> {
    let seconds = as_int64_array(argument(args, 0)?)?;
    // Nearly always true. A multiplication without an overflow check per value is several times as fast.
    let fit = seconds
        .values()
        .iter()
        .all(|seconds| SECONDS_RANGE.contains(seconds));
    let times: TimestampMicrosecondArray = if fit {
        seconds.unary(|seconds| seconds * MICROSECONDS)
    } else {
        seconds.unary_opt(|seconds| seconds.checked_mul(MICROSECONDS))
    };
    Ok(Arc::new(times.with_timezone("UTC")))
}

/// Rewrites a comparison with a literal to one of the stored seconds, which prunes files and pages.
///
/// Matching seconds are `from <= s < end`: one second if the literal is a whole second. Otherwise none match, and both
/// bounds are the next second.
fn seconds_preimage(args: &[Expr], literal: &Expr) -> Result<PreimageResult> {
    let ([seconds], Expr::Literal(ScalarValue::TimestampMicrosecond(Some(time), _), _)) =
        (args, literal)
    else {
        return Ok(PreimageResult::None);
    };
    let end = time.div_euclid(MICROSECONDS) + 1;
    let whole = time.rem_euclid(MICROSECONDS) == 0;
    let from = if whole { end - 1 } else { end };
    let [from, end] = [from, end].map(|second| ScalarValue::Int64(Some(second)));
    Ok(PreimageResult::Range {
        expr: seconds.clone(),
        interval: Box::new(Interval::try_new(from, end)?),
    })
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::{SessionConfig, SessionContext};

    use super::*;

    /// Uses each comparison as a filter, which is rewritten, and as a value, which is not.
    #[tokio::test]
    async fn comparisons_are_those_of_the_times() {
        let context = SessionContext::new_with_config(SessionConfig::new());
        context.register_udf(function().into());
        let sql = "CREATE TABLE seconds AS SELECT * FROM (VALUES \
                   (-2), (-1), (0), (1), (34), (35), (36), (NULL)) AS v(s)";
        context.sql(sql).await.unwrap().collect().await.unwrap();
        let mut asked = 0;
        for op in [
            "=",
            "<>",
            "<",
            "<=",
            ">",
            ">=",
            "IS DISTINCT FROM",
            "IS NOT DISTINCT FROM",
        ] {
            for at in ["00:00:34", "00:00:34.5", "00:00:00", "00:00:00.000001"] {
                let literal = format!("TIMESTAMP '1970-01-01 {at}'");
                let comparison = format!("time_at(arrow_cast(s, 'Int64')) {op} {literal}");
                check(&context, &comparison).await;
                asked += 1;
            }
        }
        for list in [
            "'1970-01-01T00:00:34Z'",
            "'1970-01-01T00:00:34.5Z', '1970-01-01T00:00:35Z'",
        ] {
            for not in ["", "NOT"] {
                check(
                    &context,
                    &format!("time_at(arrow_cast(s, 'Int64')) {not} IN ({list})"),
                )
                .await;
                asked += 1;
            }
        }
        assert_eq!(asked, 36);
    }

    #[tokio::test]
    async fn what_no_time_reaches_is_null() {
        let context = SessionContext::new();
        context.register_udf(function().into());
        let sql = "SELECT time_at(s) IS NULL FROM (VALUES \
                   (arrow_cast(9223372036854, 'Int64')), (9223372036855), (NULL), (-9223372036855)) AS v(s)";
        let batches = context.sql(sql).await.unwrap().collect().await.unwrap();
        let text = arrow::util::pretty::pretty_format_batches(&batches)
            .unwrap()
            .to_string();
        assert_eq!(text.matches("| true ").count(), 3, "{text}");
    }

    async fn check(context: &SessionContext, comparison: &str) {
        let filtered = format!("SELECT count(*) FROM seconds WHERE {comparison}");
        // After a window, nothing is pushed down or simplified.
        let counted = format!(
            "SELECT count(*) FROM (SELECT t, row_number() OVER () AS place FROM (SELECT \
             arrow_cast(arrow_cast(arrow_cast(s, 'Int64') * 1000000, 'Timestamp(us)'), 'Timestamp(us, \"UTC\")') AS t \
             FROM seconds)) WHERE {}",
            comparison.replace("time_at(arrow_cast(s, 'Int64'))", "t")
        );
        let mut counts = Vec::new();
        for sql in [filtered, counted] {
            let batches = context.sql(&sql).await.unwrap().collect().await.unwrap();
            counts.push(
                arrow::util::pretty::pretty_format_batches(&batches)
                    .unwrap()
                    .to_string(),
            );
        }
        assert_eq!(counts[0], counts[1], "{comparison}");
    }
}
