//! Runs of a configuration: level, day, and the flags that spoil one.

use tsql_metrics::change::SPOILING_FLAGS;
use tsql_metrics::median::median;

/// Time in microseconds, file and line of a record.
pub type RecordPosition = (Option<i64>, i64, i64);

/// Level of a run: the natural logarithm of the median of its repeats in nanoseconds. `None` without repeats.
pub fn level(repeats_ns: &[f64]) -> Option<f64> {
    median(repeats_ns).map(|median| median.value.ln())
}

/// Identity of the day of a record: its date in UTC, or else its source.
pub fn day_of((time_us, source_id, _): RecordPosition) -> u64 {
    /// Microseconds of a day.
    const DAY_US: i64 = 86_400_000_000;
    match time_us {
        Some(time_us) => time_us.div_euclid(DAY_US).cast_unsigned(),
        // Dates are small numbers, source ids are hashes.
        None => source_id.cast_unsigned() | (1 << 63),
    }
}

/// SQL expression over `records` for the flags that spoil a record.
pub fn spoiled_expression() -> String {
    let spoiling = SPOILING_FLAGS.map(|flag| format!("'{flag}'")).join(", ");
    format!("coalesce(array_has_any(flags, [{spoiling}]), false)")
}
