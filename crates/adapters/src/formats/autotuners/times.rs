//! Times of a trial as columns.

use chrono::DateTime;
use tsql_codecs::number::Decimal;
use tsql_codecs::repeats::{self, PackedRepeats};
use tsql_formats::autotuners::readers::{Format, Number, Repeats, Time, TimeUnit, Trial};

/// Relative difference up to which a stated time is the mean of the repeats: sums in another order differ by less.
const MEAN_TOLERANCE: f64 = 1e-9;

/// Formats of time stamps with a zone.
const ZONED: [&str; 2] = ["%Y-%m-%d %H:%M:%S%.f%:z", "%Y-%m-%dT%H:%M:%S%.f%:z"];

/// Times of a trial, and whether they contain its repeats.
pub(super) struct TrialTimes {
    /// Packed repeats and their number. `None` without a time.
    pub(super) packed: Option<(PackedRepeats, i32)>,
    /// Whether the repeats of the trial are among them.
    pub(super) has_repeats: bool,
}

/// Packs the times of a trial. The stated time counts. Repeats of which it is not the mean are left out, except those of
/// benchmark tools: these state medians, and means of repeats that the file has in part.
pub(super) fn pack(format: Format, trial: &Trial) -> TrialTimes {
    let none = TrialTimes {
        packed: None,
        has_repeats: false,
    };
    let Some(time) = &trial.time else {
        return none;
    };
    let stated = time.nanoseconds();
    if let Some(mut packed) = trial.repeats.as_ref().and_then(pack_repeats) {
        let is_mean = (packed.0.runtime_ns - stated).abs() <= MEAN_TOLERANCE * stated.abs();
        if !is_mean && format.is_benchmark() {
            let values = trial.repeats.as_ref().and_then(in_seconds);
            let beside = values.and_then(|values| repeats::pack_beside(stated, &values));
            packed.0 = beside.unwrap_or(packed.0);
        }
        if is_mean || packed.0.runtime_ns == stated {
            return TrialTimes {
                packed: Some(packed),
                has_repeats: true,
            };
        }
    }
    let packed = seconds(&time.number, time.unit).and_then(|time| repeats::pack(&[time]));
    let packed = packed.filter(|packed| packed.runtime_ns.is_finite());
    TrialTimes {
        packed: packed.map(|packed| (packed, 1)),
        has_repeats: trial
            .repeats
            .as_ref()
            .is_some_and(|list| is_same(list, time)),
    }
}

/// Returns whether a list of repeats is the stated time alone.
fn is_same(list: &Repeats, time: &Time) -> bool {
    matches!(list.values.as_slice(), [single] if single.text() == time.number.text())
}

fn pack_repeats(repeats: &Repeats) -> Option<(PackedRepeats, i32)> {
    let values = in_seconds(repeats)?;
    let packed = repeats::pack(&values).filter(|packed| packed.runtime_ns.is_finite())?;
    Some((packed, i32::try_from(values.len()).ok()?))
}

fn in_seconds(repeats: &Repeats) -> Option<Vec<Decimal>> {
    let unit = TimeUnit::parse(repeats.unit)?;
    let values = repeats.values.iter().map(|value| seconds(value, unit));
    values.collect()
}

/// A number of a source in seconds.
fn seconds(number: &Number, unit: TimeUnit) -> Option<Decimal> {
    let places = match unit {
        TimeUnit::Seconds => 0,
        TimeUnit::Milliseconds => -3,
        TimeUnit::Microseconds => -6,
        TimeUnit::Nanoseconds => -9,
    };
    let decimal = Decimal::parse(number.text().as_bytes());
    let decimal = decimal.or_else(|| Decimal::from_f64(number.value()))?;
    (decimal.digits >= 0).then(|| decimal.scale_by_power(places))
}

/// End of a trial in seconds since 1970. `None` for a time stamp without a zone.
pub(super) fn measured_at(format: Format, timestamp: &str) -> Option<i64> {
    if matches!(format, Format::Asv | Format::GithubAction)
        && let Ok(milliseconds) = timestamp.parse::<i64>()
    {
        let seconds = milliseconds.div_euclid(1000);
        return (seconds.unsigned_abs() < 1_000_000_000_000).then_some(seconds);
    }
    if format == Format::AutoTvm01 {
        let seconds: f64 = timestamp.parse().ok()?;
        #[expect(clippy::cast_possible_truncation, reason = "bounded")]
        let whole = seconds.floor() as i64;
        return (seconds.abs() < 1e12).then_some(whole);
    }
    let mut parsed = ZONED
        .iter()
        .filter_map(|format| DateTime::parse_from_str(timestamp, format).ok());
    let parsed = parsed.next();
    let parsed = parsed.or_else(|| DateTime::parse_from_rfc3339(timestamp).ok());
    parsed.map(|time| time.timestamp())
}

/// A number as a decimal.
pub(super) fn decimal(text: &str) -> Option<Decimal> {
    Decimal::parse(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_time_stamps_with_a_zone_are_times() {
        let at = |text| measured_at(Format::KernelTunerCache, text);
        assert_eq!(at("2023-12-22 09:54:05.502007+00:00"), Some(1_703_238_845));
        assert_eq!(at("2023-12-22T09:54:05Z"), Some(1_703_238_845));
        assert_eq!(at("2023-12-22T09:54:05"), None);
        assert_eq!(at("12.5"), None);
        assert_eq!(
            measured_at(Format::AutoTvm01, "1549916400.75"),
            Some(1_549_916_400)
        );
    }
}
