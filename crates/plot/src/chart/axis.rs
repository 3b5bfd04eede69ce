//! Axes: mapping from values to positions, ticks and labels.

use chrono::{DateTime, Datelike as _, Months, NaiveDate, Utc};

use super::unit::{self, Unit};
use crate::number::float;

/// Minimum ratio of maximum to minimum for which an axis of times is logarithmic by default: two decades.
const LOG_MIN_RATIO: f64 = 100.0;

/// Kind of scale.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AxisScale {
    Linear,
    Log,
    /// Seconds since 1970.
    Time,
    /// Names, each in the middle of its slot.
    Words(Vec<String>),
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    pub(crate) title: String,
    pub(crate) scale: AxisScale,
    /// Minimum and maximum coordinate: see [`Axis::coordinate`].
    pub(crate) ends: (f64, f64),
    /// Divisor of values for display.
    pub(crate) factor: f64,
    /// Unit for display.
    pub(crate) unit: String,
}

/// Properties of a column for which an axis is created.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AxisColumn<'a> {
    pub(crate) name: &'a str,
    pub(crate) unit: Option<&'a str>,
    /// Minimum and maximum value.
    pub(crate) range: (f64, f64),
    /// Minimum of the values above 0.
    pub(crate) above: f64,
    /// Whether the axis is logarithmic; `None` chooses automatically.
    pub(crate) log: Option<bool>,
    /// Whether it starts at 0.
    pub(crate) has_zero: bool,
}

impl Axis {
    pub(crate) fn categorical(title: &str, names: Vec<String>) -> Self {
        Self {
            title: unit::axis_title(title, Some("\0"), ""),
            ends: (0.0, float(names.len().max(1))),
            scale: AxisScale::Words(names),
            factor: 1.0,
            unit: String::new(),
        }
    }

    /// Numbers without a unit, such as fractions and counts.
    pub(crate) fn unitless(title: &str, ends: (f64, f64)) -> Self {
        Self {
            title: title.to_owned(),
            scale: AxisScale::Linear,
            ends,
            factor: 1.0,
            unit: String::new(),
        }
    }

    pub(crate) fn time(title: &str, (low, high): (f64, f64)) -> Self {
        let room = if high > low {
            0.02 * (high - low)
        } else {
            43_200.0
        };
        Self {
            title: title.replace('_', " "),
            scale: AxisScale::Time,
            ends: (low - room, high + room),
            factor: 1.0,
            unit: String::new(),
        }
    }

    pub(crate) fn numeric(of: &AxisColumn<'_>) -> Self {
        let (low, high) = of.range;
        let unit = Unit::for_column(of.name, of.unit);
        let is_wide = low > 0.0 && high / low > LOG_MIN_RATIO;
        let is_log = of.log.unwrap_or(unit.is_time() && is_wide && !of.has_zero) && high > 0.0;
        let (ends, typical) = if is_log {
            let (low, high) = (of.above.log10(), high.log10());
            let room = if high > low { 0.03 * (high - low) } else { 0.3 };
            let typical = 10_f64.powf(f64::midpoint(low, high));
            ((low - room, high + room), typical)
        } else {
            let (low, high) = match of.has_zero {
                true => (low.min(0.0), high.max(0.0)),
                false => (low, high),
            };
            let room = match high - low {
                span if span > 0.0 => 0.04 * span,
                _ if low == 0.0 => 1.0,
                _ => 0.1 * low.abs(),
            };
            // Bars have no gap to their axis.
            let below = if of.has_zero && low == 0.0 { 0.0 } else { room };
            let over = if of.has_zero && high == 0.0 && low < 0.0 {
                0.0
            } else {
                room
            };
            ((low - below, high + over), low.abs().max(high.abs()))
        };
        let (unit, factor) = unit.scale_for(typical);
        Self {
            title: unit::axis_title(of.name, of.unit, &unit),
            scale: if is_log {
                AxisScale::Log
            } else {
                AxisScale::Linear
            },
            ends,
            factor,
            unit,
        }
    }

    /// Coordinate of a value along the axis: its logarithm, or the middle of its name. `None` if the axis cannot show
    /// the value.
    pub(crate) fn coordinate(&self, value: f64) -> Option<f64> {
        let along = match self.scale {
            AxisScale::Linear | AxisScale::Time => value,
            AxisScale::Log => value.log10(),
            AxisScale::Words(_) => value + 0.5,
        };
        along.is_finite().then_some(along)
    }

    /// Fraction of the axis before a value.
    pub(crate) fn fraction(&self, value: f64) -> Option<f64> {
        self.coordinate(value)
            .map(|along| self.fraction_of_range(along))
    }

    fn fraction_of_range(&self, along: f64) -> f64 {
        let (low, high) = self.ends;
        (along - low) / (high - low)
    }

    /// Value at a fraction of a numeric axis.
    pub(crate) fn value(&self, share: f64) -> f64 {
        let along = self.ends.0 + share * (self.ends.1 - self.ends.0);
        match self.scale {
            AxisScale::Log => 10_f64.powf(along),
            _ => along,
        }
    }

    /// Formats a value with its unit.
    pub(crate) fn format_value(&self, value: f64) -> String {
        match &self.scale {
            AxisScale::Time => format_time(value),
            AxisScale::Words(names) => {
                let place = crate::number::round_to_count(value);
                names.get(place).cloned().unwrap_or_default()
            }
            _ if !value.is_finite() => "no number".to_owned(),
            _ => {
                let number = format_number(strip_float_noise(value / self.factor));
                match self.unit.as_str() {
                    "" => number,
                    unit => format!("{number} {unit}"),
                }
            }
        }
    }

    /// Positions and labels of at most about `count` ticks.
    pub(crate) fn ticks(&self, count: f64) -> Vec<(f64, String)> {
        let within = |share: &f64| (-1e-6..=1.0 + 1e-6).contains(share);
        let found: Vec<(f64, String)> = match &self.scale {
            AxisScale::Words(names) => {
                let at = |place| self.fraction_of_range(float(place) + 0.5);
                let named = names.iter().enumerate();
                named
                    .map(|(place, name)| (at(place), name.clone()))
                    .collect()
            }
            AxisScale::Linear => {
                let (low, high) = self.ends;
                let steps = linear_steps(low / self.factor, high / self.factor, count);
                let texts = linear_labels(&steps);
                let at = steps
                    .iter()
                    .map(|step| self.fraction_of_range(step * self.factor));
                at.zip(texts).collect()
            }
            AxisScale::Log => {
                let shift = self.factor.log10();
                let found = log_steps(self.ends.0 - shift, self.ends.1 - shift, count);
                let at = |value: f64| self.fraction_of_range(value.log10() + shift);
                found
                    .into_iter()
                    .map(|value| (at(value), format_number(value)))
                    .collect()
            }
            AxisScale::Time => {
                let found = date_ticks(self.ends, count);
                found
                    .into_iter()
                    .map(|(at, text)| (self.fraction_of_range(at), text))
                    .collect()
            }
        };
        found
            .into_iter()
            .filter(|(share, _)| within(share))
            .collect()
    }
}

/// Multiples of 1, 2 or 5 times a power of ten, about `count` of them.
fn linear_steps(low: f64, high: f64, count: f64) -> Vec<f64> {
    let rough = (high - low) / count.max(1.0);
    if !rough.is_finite() || rough <= 0.0 {
        return Vec::new();
    }
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    let step = step.into_iter().find(|step| *step >= rough * 0.999);
    let step = step.unwrap_or(rough);
    let first = (low / step - 1e-6).ceil();
    let values = (0..100_u32).map(|place| (first + f64::from(place)) * step + 0.0);
    let values = values.map(|value| if value.abs() < step / 2.0 { 0.0 } else { value });
    values
        .take_while(|value| *value <= high + step * 1e-6)
        .collect()
}

/// Formats steps: with as many decimals as needed, large ones in thousands and millions.
fn linear_labels(steps: &[f64]) -> Vec<String> {
    let most = steps
        .iter()
        .fold(0.0, |most: f64, step| most.max(step.abs()));
    let step = match steps {
        [first, second, ..] => second - first,
        [only] => only.abs().max(f64::MIN_POSITIVE),
        [] => return Vec::new(),
    };
    if most >= 1e15 || (most < 1e-4 && most > 0.0) {
        return steps
            .iter()
            .map(|value| format_number(strip_float_noise(*value)))
            .collect();
    }
    let thousands = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    let large = thousands.into_iter().find(|(size, _)| most >= *size);
    let (size, suffix) = large.filter(|_| most >= 1e5).unwrap_or((1.0, ""));
    let decimals = (0..9).find(|places| step / size >= 0.999 * 10_f64.powi(-*places));
    let decimals = usize::try_from(decimals.unwrap_or(9)).unwrap_or(9);
    let text = |value: &f64| match *value {
        0.0 => "0".to_owned(),
        value => format!("{:.decimals$}{suffix}", value / size),
    };
    steps.iter().map(text).collect()
}

/// Powers of ten; also 2 and 5 times them if there are few.
fn log_steps(low: f64, high: f64, count: f64) -> Vec<f64> {
    let decades = high - low;
    if !decades.is_finite() || decades <= 0.0 {
        return Vec::new();
    }
    let (step, parts): (f64, &[f64]) = match count / decades {
        ratio if ratio >= 3.0 => (1.0, &[1.0, 2.0, 5.0]),
        ratio if ratio >= 1.0 => (1.0, &[1.0]),
        _ => ((decades / count.max(1.0)).ceil(), &[1.0]),
    };
    let first = (low / step).floor() * step;
    let powers = (0..100_u32).map(|place| first + f64::from(place) * step);
    let powers = powers.take_while(|power| *power <= high);
    let values = powers.flat_map(|power| parts.iter().map(move |part| (power, part)));
    let values = values.map(|(power, part)| (power + part.log10(), part * 10_f64.powf(power)));
    let inside = values.filter(|(at, _)| (low..=high).contains(at));
    let found: Vec<f64> = inside.map(|(_, value)| strip_float_noise(value)).collect();
    // A range of less than a decade has linear steps.
    if found.len() < 2 {
        return linear_steps(10_f64.powf(low), 10_f64.powf(high), count.min(6.0))
            .into_iter()
            .filter(|value| *value > 0.0)
            .collect();
    }
    found
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
    let at = to_utc(seconds);
    at.map_or_else(
        || "no time".to_owned(),
        |at| at.format("%Y-%m-%d %H:%M:%S").to_string(),
    )
}

fn to_utc(seconds: f64) -> Option<DateTime<Utc>> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "stops at the ends of the range"
    )]
    let whole = seconds.floor() as i64;
    seconds
        .is_finite()
        .then(|| DateTime::from_timestamp(whole, 0))?
}

/// Ticks at round times: years, months, days, hours, minutes.
fn date_ticks((low, high): (f64, f64), count: f64) -> Vec<(f64, String)> {
    let rough = (high - low) / count.max(1.0);
    let fixed = [
        (1.0, "%H:%M:%S"),
        (10.0, "%H:%M:%S"),
        (60.0, "%H:%M"),
        (600.0, "%H:%M"),
        (3_600.0, "%m-%d %H:%M"),
        (21_600.0, "%m-%d %H:%M"),
        (86_400.0, "%m-%d"),
        (604_800.0, "%m-%d"),
    ];
    if let Some((step, format)) = fixed.into_iter().find(|(step, _)| *step >= rough) {
        let first = (low / step).ceil();
        let at = (0..100_u32).map(|place| (first + f64::from(place)) * step);
        let at = at.take_while(|at| *at <= high);
        let texts = at.map(|at| (at, to_utc(at)));
        return texts
            .filter_map(|(at, instant)| Some((at, instant?.format(format).to_string())))
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
    let mut found = Vec::new();
    while let Some(day) = date.filter(|_| found.len() < 100) {
        let at = day.and_hms_opt(0, 0, 0).map(|at| at.and_utc().timestamp());
        #[expect(clippy::cast_precision_loss, reason = "seconds of the calendar")]
        let at = at.unwrap_or_default() as f64;
        if at > high {
            break;
        }
        if at >= low {
            found.push((at, day.format(format).to_string()));
        }
        date = day.checked_add_months(Months::new(months));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(range: (f64, f64), log: Option<bool>, has_zero: bool) -> Axis {
        Axis::numeric(&AxisColumn {
            name: "runtime_ns",
            unit: Some("ns"),
            range,
            above: if range.0 > 0.0 { range.0 } else { 1.0 },
            log,
            has_zero,
        })
    }

    fn texts(axis: &Axis, count: f64) -> Vec<String> {
        axis.ticks(count)
            .into_iter()
            .map(|(_, text)| text)
            .collect()
    }

    #[test]
    fn times_over_two_decades_are_logarithmic() {
        let wide = axis((1e3, 2e8), None, false);
        assert_eq!(
            (wide.scale.clone(), wide.title.as_str()),
            (AxisScale::Log, "runtime (µs)")
        );
        assert_eq!(
            texts(&wide, 8.0),
            ["1", "10", "100", "1000", "10000", "100000"]
        );
        assert_eq!(axis((1e3, 9e4), None, false).scale, AxisScale::Linear);
        assert_eq!(
            axis((1e3, 2e8), Some(false), false).scale,
            AxisScale::Linear
        );
        assert_eq!(axis((-1.0, 2e8), None, false).scale, AxisScale::Linear);
        let narrow = axis((1e6, 3e6), Some(true), false);
        assert_eq!(texts(&narrow, 6.0), ["1", "2"]);
    }

    #[test]
    fn bars_stand_on_zero() {
        let bars = axis((2e6, 5e6), None, true);
        assert_eq!(bars.fraction(0.0), Some(0.0));
        assert_eq!(texts(&bars, 5.0), ["0", "2", "4"]);
        assert_eq!(bars.format_value(2_500_000.0), "2.5 ms");
    }

    #[test]
    fn numbers_are_written_short() {
        let of = |low, high| texts(&Axis::unitless("rows", (low, high)), 5.0);
        assert_eq!(of(0.0, 1.0), ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(
            of(0.0, 2_000_000.0),
            ["0", "0.5M", "1.0M", "1.5M", "2.0M"].map(|text| text)
        );
        assert_eq!(of(0.0, 5e-6).last().unwrap(), "5e-6");
        assert_eq!(format_number(1.5e6), "1.5M");
        assert_eq!(format_number(123_456_789.0), "123456789");
    }

    #[test]
    fn days_and_years_are_written_as_such() {
        let day = 86_400.0;
        let days = Axis::time("at", (20_000.0 * day, 20_010.0 * day));
        // 2024-10-04 is day 20,000.
        assert_eq!(texts(&days, 12.0).first().unwrap(), "10-04");
        let years = Axis::time("at", (10_000.0 * day, 20_000.0 * day));
        assert_eq!(
            texts(&years, 8.0),
            ["2000", "2005", "2010", "2015", "2020", "2025"]
        );
        assert_eq!(format_time(0.0), "1970-01-01 00:00:00");
    }

    #[test]
    fn one_value_and_odd_ones_have_an_axis() {
        for range in [
            (0.0, 0.0),
            (5.0, 5.0),
            (-3.0, -3.0),
            (1e300, 1e308),
            (1e-320, 1e-310),
        ] {
            for log in [None, Some(true), Some(false)] {
                let axis = axis(range, log, false);
                assert!(axis.ends.0 < axis.ends.1, "{range:?} {log:?} {axis:?}");
                assert!(axis.fraction(range.0).is_none_or(f64::is_finite));
                assert!(axis.ticks(6.0).len() < 100);
            }
        }
    }
}
