//! Positions and texts of ticks.

use chrono::{DateTime, Datelike as _, Months, NaiveDate, Utc};

use crate::number::float;

/// Multiples of 1, 2 or 5 times a power of ten, about `count` of them, and at least `min_step` apart.
pub(crate) fn linear_steps(low: f64, high: f64, count: f64, min_step: f64) -> Vec<f64> {
    let rough = ((high - low) / count.max(1.0)).max(min_step);
    if !rough.is_finite() || rough <= 0.0 {
        return Vec::new();
    }
    let step = round_step(rough * 0.999, &[1.0, 2.0, 5.0, 10.0]);
    let first = (low / step - 1e-6).ceil();
    let values = (0..100_u32).map(|index| (first + f64::from(index)) * step + 0.0);
    let values = values.map(|value| if value.abs() < step / 2.0 { 0.0 } else { value });
    values
        .take_while(|value| *value <= high + step * 1e-6)
        .collect()
}

/// Minimum of `parts` times a power of ten that is at least `minimum`.
pub(crate) fn round_step(minimum: f64, parts: &[f64]) -> f64 {
    let power = 10_f64.powf(minimum.log10().floor());
    let steps = parts.iter().map(|part| part * power);
    steps
        .into_iter()
        .find(|step| *step >= minimum)
        .unwrap_or(minimum)
}

/// Formats steps: with as many decimals as needed, large ones in thousands and millions.
pub(crate) fn linear_labels(steps: &[f64]) -> Vec<String> {
    let maximum = steps
        .iter()
        .fold(0.0, |maximum: f64, step| maximum.max(step.abs()));
    let step = match steps {
        [first, second, ..] => second - first,
        [only] => only.abs().max(f64::MIN_POSITIVE),
        [] => return Vec::new(),
    };
    if maximum >= 1e15 || (maximum < 1e-4 && maximum > 0.0) {
        return steps
            .iter()
            .map(|value| format_number(strip_float_noise(*value)))
            .collect();
    }
    let thousands = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    let large = thousands.into_iter().find(|(size, _)| maximum >= *size);
    let (size, suffix) = large.filter(|_| maximum >= 1e5).unwrap_or((1.0, ""));
    let decimals = (0..9).find(|count| step / size >= 0.999 * 10_f64.powi(-*count));
    let decimals = usize::try_from(decimals.unwrap_or(9)).unwrap_or(9);
    let text = |value: &f64| match *value {
        0.0 => "0".to_owned(),
        value => format!("{:.decimals$}{suffix}", value / size),
    };
    steps.iter().map(text).collect()
}

/// Factors of the ticks within a decade, from many to few.
const DECADE_PARTS: [&[f64]; 3] = [&[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]];

/// Powers of ten; also 3 times them, or 2 and 5 times them, as long as there are at most `count`. At least two, if the
/// range has them.
pub(crate) fn log_steps(low: f64, high: f64, count: f64) -> Vec<f64> {
    let decades = high - low;
    if !decades.is_finite() || decades <= 0.0 {
        return Vec::new();
    }
    let max_count = count.max(2.0);
    let mut fewest = Vec::new();
    for parts in DECADE_PARTS {
        let steps = decade_steps((low, high), 1.0, parts);
        if steps.len() < 2 {
            break;
        }
        if float(steps.len()) <= max_count {
            return steps;
        }
        fewest = steps;
    }
    if float(fewest.len()) > 1.5 * max_count {
        let step = (decades / max_count).ceil();
        let steps = decade_steps((low, high), step, &[1.0]);
        if steps.len() >= 2 {
            return steps;
        }
    }
    if fewest.is_empty() {
        // A range of less than a decade has linear steps.
        let (low, high) = (10_f64.powf(low), 10_f64.powf(high));
        fewest = linear_steps(low, high, count.min(6.0), 0.0);
        fewest.retain(|value| *value > 0.0);
    }
    fewest
}

/// Values in a range of exponents: `parts` times every `step`-th power of ten.
fn decade_steps((low, high): (f64, f64), step: f64, parts: &[f64]) -> Vec<f64> {
    let first = (low / step).floor() * step;
    let powers = (0..100_u32).map(|index| first + f64::from(index) * step);
    let powers = powers.take_while(|power| *power <= high);
    let values = powers.flat_map(|power| parts.iter().map(move |part| (power, part)));
    let values = values.map(|(power, part)| (power + part.log10(), part * 10_f64.powf(power)));
    let inside = values.filter(|(exponent, _)| (low..=high).contains(exponent));
    inside.map(|(_, value)| strip_float_noise(value)).collect()
}

/// Maximum number of decades with marks between their ticks.
const MAX_MARKED_DECADES: f64 = 8.0;

/// Multiples of powers of ten in a range of exponents, for marks without a text.
pub(crate) fn minor_steps(low: f64, high: f64) -> Vec<f64> {
    match high - low <= MAX_MARKED_DECADES {
        true => decade_steps(
            (low, high),
            1.0,
            &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
        ),
        false => Vec::new(),
    }
}

/// Removes floating-point noise in the last digits.
pub(crate) fn strip_float_noise(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// Formats a number for display.
pub(crate) fn format_number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if !(1e-4..1e15).contains(&size) => format!("{value:e}"),
        1e6.. if value % 1e5 == 0.0 => {
            let sizes = [(1e12, "T"), (1e9, "G"), (1e6, "M")];
            let found = sizes.into_iter().find(|(size, _)| value.abs() >= *size);
            let (size, suffix) = found.unwrap_or((1.0, ""));
            format!("{}{suffix}", value / size)
        }
        _ => value.to_string(),
    }
}

/// Formats a time to the second.
pub(crate) fn format_time(seconds: f64) -> String {
    let time = to_utc(seconds);
    time.map_or_else(
        || "no time".to_owned(),
        |time| time.format("%Y-%m-%d %H:%M:%S").to_string(),
    )
}

fn to_utc(seconds: f64) -> Option<DateTime<Utc>> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "stops at the ends of the range"
    )]
    let whole_seconds = seconds.floor() as i64;
    seconds
        .is_finite()
        .then(|| DateTime::from_timestamp(whole_seconds, 0))?
}

/// Date or year that short tick texts omit, for the title of the axis.
pub(crate) fn time_context((low, high): (f64, f64)) -> Option<String> {
    const DAYS_WITHOUT_YEAR: f64 = 60.0;
    let (first, last) = to_utc(low).zip(to_utc(high))?;
    let (year, last_year) = (first.year(), last.year());
    match high - low <= DAYS_WITHOUT_YEAR * 86_400.0 {
        false => None,
        true if first.date_naive() == last.date_naive() => {
            Some(format!("{}, UTC", first.format("%Y-%m-%d")))
        }
        true if year == last_year => Some(format!("{year}, UTC")),
        true => Some(format!("{year} to {last_year}, UTC")),
    }
}

/// Ticks at round times: years, months, days, hours, minutes.
pub(crate) fn date_ticks((low, high): (f64, f64), count: f64) -> Vec<(f64, String)> {
    let rough = (high - low) / count.max(1.0);
    let fixed = [
        (1.0, "%H:%M:%S"),
        (5.0, "%H:%M:%S"),
        (15.0, "%H:%M:%S"),
        (30.0, "%H:%M:%S"),
        (60.0, "%H:%M"),
        (300.0, "%H:%M"),
        (900.0, "%H:%M"),
        (1_800.0, "%H:%M"),
        (3_600.0, "%m-%d %H:%M"),
        (21_600.0, "%m-%d %H:%M"),
        (43_200.0, "%m-%d %H:%M"),
        (86_400.0, "%m-%d"),
        (604_800.0, "%m-%d"),
    ];
    if let Some((step, format)) = fixed.into_iter().find(|(step, _)| *step >= rough) {
        let first = (low / step).ceil();
        let times = (0..100_u32).map(|index| (first + f64::from(index)) * step);
        let times = times.take_while(|time| *time <= high);
        let texts = times.map(|time| (time, to_utc(time)));
        return texts
            .filter_map(|(time, instant)| Some((time, instant?.format(format).to_string())))
            .collect();
    }
    let months = [1_u32, 3, 6, 12, 24, 60, 120, 600, 1_200, 12_000];
    let fits = |months: &u32| f64::from(*months) * 30.5 * 86_400.0 >= rough;
    let months = months.into_iter().find(fits).unwrap_or(120_000);
    let format = if months >= 12 { "%Y" } else { "%Y-%m" };
    let Some(start) = to_utc(low) else {
        return Vec::new();
    };
    let years = i32::try_from(months / 12).unwrap_or(1).max(1);
    let first = start.year() - start.year().rem_euclid(years);
    let mut date = NaiveDate::from_ymd_opt(first, 1, 1);
    let mut ticks = Vec::new();
    while let Some(day) = date.filter(|_| ticks.len() < 100) {
        let seconds = day
            .and_hms_opt(0, 0, 0)
            .map(|time| time.and_utc().timestamp());
        #[expect(clippy::cast_precision_loss, reason = "seconds of the calendar")]
        let seconds = seconds.unwrap_or_default() as f64;
        if seconds > high {
            break;
        }
        if seconds >= low {
            ticks.push((seconds, day.format(format).to_string()));
        }
        date = day.checked_add_months(Months::new(months));
    }
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithmic_ticks_are_two_or_more_and_few() {
        let steps = |low: f64, high: f64, count| log_steps(low.log10(), high.log10(), count);
        assert_eq!(steps(25.0, 700.0, 2.0), [30.0, 100.0, 300.0]);
        assert_eq!(steps(20.0, 6_000.0, 4.0), [100.0, 1_000.0]);
        assert_eq!(
            steps(20.0, 6_000.0, 6.0),
            [30.0, 100.0, 300.0, 1_000.0, 3_000.0]
        );
        assert_eq!(steps(25.0, 40.0, 4.0), [25.0, 30.0, 35.0, 40.0]);
        assert_eq!(steps(1e-3, 1e9, 4.0), [1e-3, 1.0, 1e3, 1e6, 1e9]);
    }

    #[test]
    fn whole_numbers_have_whole_steps() {
        assert_eq!(linear_steps(0.0, 3.1, 6.0, 1.0), [0.0, 1.0, 2.0, 3.0]);
        assert_eq!(linear_steps(0.0, 1.0, 2.0, 0.0), [0.0, 0.5, 1.0]);
    }

    #[test]
    fn minutes_have_ticks_of_seconds() {
        let ticks = date_ticks((0.0, 100.0), 4.0);
        let texts: Vec<&str> = ticks.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["00:00:00", "00:00:30", "00:01:00", "00:01:30"]);
    }

    #[test]
    fn short_times_have_their_date_in_the_title() {
        let day = 86_400.0;
        let context = |days: f64| time_context((20_000.0 * day, (20_000.0 + days) * day));
        // 2024-10-04 is day 20,000.
        assert_eq!(context(0.5).unwrap(), "2024-10-04, UTC");
        assert_eq!(context(20.0).unwrap(), "2024, UTC");
        assert_eq!(
            time_context((20_080.0 * day, 20_100.0 * day)).unwrap(),
            "2024 to 2025, UTC"
        );
        assert_eq!(context(400.0), None);
    }
}
