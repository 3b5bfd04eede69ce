//! `date_diff('day', a, b)`: the number of day boundaries between two times.
//!
//! Boundaries count rather than whole days, as in DuckDB: 23:00 to 01:00 is one day, and -1 in reverse. Times are in
//! UTC and in the Gregorian calendar. Weeks are the exception: they are whole periods of seven days, regardless of the
//! first weekday.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, Int64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, TimeUnit, TimestampMicrosecondType};
use chrono::{DateTime, Datelike as _};
use datafusion::common::cast::as_string_array;
use datafusion::common::{Result, exec_datafusion_err, exec_err};

use super::function_docs::FunctionDocs;
use super::scalar::{Scalar, argument};

const SECOND_US: i64 = 1_000_000;
const DAY_US: i64 = 86_400 * SECOND_US;

/// Weeks have no boundaries, so they are counted as periods of this many days.
const DAYS_OF_WEEK: i64 = 7;

pub(super) fn function() -> Scalar {
    let about = FunctionDocs::new(
        "date_diff",
        "Number of boundaries of a unit between two times (UTC): 1 for 'day' from 23:00 to 01:00. For 'week', the \
         number of days divided by seven",
        "SELECT date_diff('day', min(measured_at), max(measured_at)) FROM records",
    )
    .argument("unit", None, UNITS)
    .argument("from", None, "date or time")
    .argument("to", None, "date or time; the result is negative if it is before `from`")
    .source("DuckDB, date_diff");
    Scalar::new(&about, DataType::Int64, date_differences)
}

/// Names of units, for messages.
const UNITS: &str = "microsecond, millisecond, second, minute, hour, day, week, month, quarter, year, decade, century or millennium";

/// Counts the boundaries from the start of 1970, or of year 0, to a time in microseconds.
type Boundaries = fn(i64) -> Option<i64>;

/// A unit: its boundaries, and its length in such boundaries.
type Unit = (Boundaries, i64);

/// Units by name, in lower case.
const BY_NAME: [(&[&str], Boundaries); 13] = [
    (&["microsecond", "microseconds", "us"], Some),
    (&["millisecond", "milliseconds", "ms"], |us| {
        Some(us.div_euclid(1000))
    }),
    (&["second", "seconds", "sec", "s", "epoch"], |us| {
        Some(us.div_euclid(SECOND_US))
    }),
    (&["minute", "minutes", "min", "m"], |us| {
        Some(us.div_euclid(60 * SECOND_US))
    }),
    (&["hour", "hours", "h"], |us| {
        Some(us.div_euclid(3600 * SECOND_US))
    }),
    (&["day", "days", "d"], |us| Some(us.div_euclid(DAY_US))),
    (&["week", "weeks", "w"], |us| Some(us.div_euclid(DAY_US))),
    (&["month", "months", "mon"], months_since_year_0),
    (&["quarter", "quarters"], |us| {
        Some(months_since_year_0(us)?.div_euclid(3))
    }),
    (&["year", "years", "y"], |us| {
        Some(months_since_year_0(us)?.div_euclid(12))
    }),
    (&["decade", "decades"], |us| {
        Some(months_since_year_0(us)?.div_euclid(120))
    }),
    (&["century", "centuries"], |us| {
        Some(months_since_year_0(us)?.div_euclid(1200))
    }),
    (&["millennium", "millennia", "millenniums"], |us| {
        Some(months_since_year_0(us)?.div_euclid(12_000))
    }),
];

fn unit_from_name(name: &str) -> Option<Unit> {
    let name = name.to_ascii_lowercase();
    let mut units = BY_NAME.iter();
    let (names, count) = units.find(|(names, _)| names.contains(&name.as_str()))?;
    let length = if names.contains(&"week") {
        DAYS_OF_WEEK
    } else {
        1
    };
    Some((*count, length))
}

/// Months since January of year 0.
fn months_since_year_0(us: i64) -> Option<i64> {
    let date = DateTime::from_timestamp_micros(us)?;
    Some(i64::from(date.year()) * 12 + i64::from(date.month0()))
}

fn date_differences(args: &[ArrayRef]) -> Result<ArrayRef> {
    let names = cast(argument(args, 0)?, &DataType::Utf8)?;
    let names = as_string_array(&names)?;
    let (from, to) = (
        to_microseconds(argument(args, 1)?)?,
        to_microseconds(argument(args, 2)?)?,
    );
    let (from, to) = (
        from.as_primitive::<TimestampMicrosecondType>().iter(),
        to.as_primitive::<TimestampMicrosecondType>().iter(),
    );
    let mut found = Vec::with_capacity(names.len());
    // Consecutive rows nearly always have the same unit.
    let mut known: Option<(&str, Unit)> = None;
    for ((name, from), to) in names.iter().zip(from).zip(to) {
        let (Some(name), Some(from), Some(to)) = (name, from, to) else {
            found.push(None);
            continue;
        };
        let (count, length) = match known {
            Some((last, unit)) if last == name => unit,
            _ => unit_from_name(name).ok_or_else(|| {
                exec_datafusion_err!("date_diff: unknown unit `{name}`\nhint: use {UNITS}")
            })?,
        };
        known = Some((name, (count, length)));
        let between = || count(to)?.checked_sub(count(from)?)?.checked_div(length);
        let Some(between) = between() else {
            return exec_err!("date_diff: a time is out of range");
        };
        found.push(Some(between));
    }
    Ok(Arc::new(Int64Array::from(found)))
}

/// Casts to microseconds in UTC.
fn to_microseconds(values: &ArrayRef) -> Result<ArrayRef> {
    let of = values.data_type();
    let is_time = matches!(
        of,
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(..)
    );
    if !is_time && !of.is_string() && !of.is_null() {
        return exec_err!("date_diff expects dates and times, not {of}");
    }
    Ok(cast(
        values,
        &DataType::Timestamp(TimeUnit::Microsecond, None),
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boundaries_before_1970_count_as_those_after_it() {
        let between = |name: &str, from: i64, to: i64| {
            let (count, length) = unit_from_name(name).unwrap();
            (count(to).unwrap() - count(from).unwrap()) / length
        };
        assert_eq!(between("day", -1, 0), 1);
        assert_eq!(between("hours", 1, -1), -1);
        assert_eq!(between("week", 0, 7 * DAY_US), 1);
        assert_eq!(between("week", 0, -6 * DAY_US), 0);
        assert_eq!(between("year", -1, 0), 1);
        assert_eq!(between("month", 0, 31 * DAY_US), 1);
        assert!(unit_from_name("fortnight").is_none());
    }
}
