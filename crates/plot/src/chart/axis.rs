//! Axes: mapping from values to positions, ticks and labels.

use super::ticks::{
    date_ticks, format_number, format_time, linear_labels, linear_steps, log_steps, minor_steps,
    strip_float_noise, time_context,
};
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
    /// Minimum distance between linear ticks: 1 for whole numbers.
    pub(crate) min_step: f64,
}

/// Properties of a column for which an axis is created.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AxisColumn<'a> {
    pub(crate) name: &'a str,
    pub(crate) unit: Option<&'a str>,
    /// Words of the title instead of those of the name.
    pub(crate) title: Option<&'a str>,
    /// Minimum and maximum value.
    pub(crate) range: (f64, f64),
    /// Minimum of the values above 0.
    pub(crate) min_positive: f64,
    /// Whether the axis is logarithmic; `None` chooses automatically.
    pub(crate) log: Option<bool>,
    /// Whether it starts at 0.
    pub(crate) has_zero: bool,
    /// Whether all values are whole numbers.
    pub(crate) is_whole: bool,
}

impl Axis {
    pub(crate) fn categorical(title: &str, names: Vec<String>) -> Self {
        Self {
            title: unit::words(title),
            ends: (0.0, float(names.len().max(1))),
            scale: AxisScale::Words(names),
            factor: 1.0,
            unit: String::new(),
            min_step: 0.0,
        }
    }

    /// Counts, with whole numbers as ticks.
    pub(crate) fn count(title: &str, ends: (f64, f64)) -> Self {
        Self {
            min_step: 1.0,
            ..Self::unitless(title, ends)
        }
    }

    /// Numbers without a unit, such as fractions.
    pub(crate) fn unitless(title: &str, ends: (f64, f64)) -> Self {
        Self {
            title: title.to_owned(),
            scale: AxisScale::Linear,
            ends,
            factor: 1.0,
            unit: String::new(),
            min_step: 0.0,
        }
    }

    pub(crate) fn time(title: &str, (low, high): (f64, f64)) -> Self {
        let room = if high > low {
            0.02 * (high - low)
        } else {
            43_200.0
        };
        Self {
            title: match time_context((low, high)) {
                Some(context) => format!("{} ({context})", title.replace('_', " ")),
                None => title.replace('_', " "),
            },
            scale: AxisScale::Time,
            ends: (low - room, high + room),
            factor: 1.0,
            unit: String::new(),
            min_step: 0.0,
        }
    }

    pub(crate) fn numeric(column: &AxisColumn<'_>) -> Self {
        let (low, high) = column.range;
        let unit = Unit::for_column(column.name, column.unit);
        let is_wide = low > 0.0 && high / low > LOG_MIN_RATIO;
        let is_log = column
            .log
            .unwrap_or(unit.is_time() && is_wide && !column.has_zero)
            && high > 0.0;
        let (ends, typical) = if is_log {
            let (low, high) = (column.min_positive.log10(), high.log10());
            let room = if high > low { 0.03 * (high - low) } else { 0.3 };
            let typical = 10_f64.powf(f64::midpoint(low, high));
            ((low - room, high + room), typical)
        } else {
            let (low, high) = match column.has_zero {
                true => (low.min(0.0), high.max(0.0)),
                false => (low, high),
            };
            let room = match high - low {
                span if span > 0.0 => 0.04 * span,
                _ if low == 0.0 => 1.0,
                _ => 0.1 * low.abs(),
            };
            // Bars have no gap to their axis.
            let below = if column.has_zero && low == 0.0 {
                0.0
            } else {
                room
            };
            let over = if column.has_zero && high == 0.0 && low < 0.0 {
                0.0
            } else {
                room
            };
            ((low - below, high + over), low.abs().max(high.abs()))
        };
        let (unit, factor) = unit.scale_for(typical);
        Self {
            title: unit::axis_title(column.title, (column.name, column.unit), &unit),
            scale: if is_log {
                AxisScale::Log
            } else {
                AxisScale::Linear
            },
            ends,
            factor,
            unit,
            min_step: match column.is_whole && factor == 1.0 {
                true => 1.0,
                false => 0.0,
            },
        }
    }

    /// Coordinate of a value along the axis: its logarithm, or the middle of its name. `None` if the axis cannot show
    /// the value.
    pub(crate) fn coordinate(&self, value: f64) -> Option<f64> {
        let coordinate = match self.scale {
            AxisScale::Linear | AxisScale::Time => value,
            AxisScale::Log => value.log10(),
            AxisScale::Words(_) => value + 0.5,
        };
        coordinate.is_finite().then_some(coordinate)
    }

    /// Fraction of the axis before a value.
    pub(crate) fn fraction(&self, value: f64) -> Option<f64> {
        self.coordinate(value)
            .map(|coordinate| self.fraction_of_range(coordinate))
    }

    fn fraction_of_range(&self, coordinate: f64) -> f64 {
        let (low, high) = self.ends;
        (coordinate - low) / (high - low)
    }

    /// Value at a fraction of a numeric axis.
    pub(crate) fn value(&self, fraction: f64) -> f64 {
        let coordinate = self.ends.0 + fraction * (self.ends.1 - self.ends.0);
        match self.scale {
            AxisScale::Log => 10_f64.powf(coordinate),
            _ => coordinate,
        }
    }

    /// Formats a value with its unit.
    pub(crate) fn format_value(&self, value: f64) -> String {
        match &self.scale {
            AxisScale::Time => format_time(value),
            AxisScale::Words(names) => {
                let index = crate::number::round_to_count(value);
                names.get(index).cloned().unwrap_or_default()
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
        let is_within = |fraction: &f64| (-1e-6..=1.0 + 1e-6).contains(fraction);
        let ticks: Vec<(f64, String)> = match &self.scale {
            AxisScale::Words(names) => {
                let middle = |index| self.fraction_of_range(float(index) + 0.5);
                let indexed = names.iter().enumerate();
                indexed
                    .map(|(index, name)| (middle(index), name.clone()))
                    .collect()
            }
            AxisScale::Linear => {
                let (low, high) = self.ends;
                let (low, high) = (low / self.factor, high / self.factor);
                let steps = |count| linear_steps(low, high, count, self.min_step);
                // One tick does not define a scale.
                let steps = [count, 2.0 * count, 4.0 * count]
                    .map(steps)
                    .into_iter()
                    .find(|steps| steps.len() > 1)
                    .unwrap_or_else(|| steps(count));
                let texts = linear_labels(&steps);
                let fractions = steps
                    .iter()
                    .map(|step| self.fraction_of_range(step * self.factor));
                fractions.zip(texts).collect()
            }
            AxisScale::Log => {
                let shift = self.factor.log10();
                let values = log_steps(self.ends.0 - shift, self.ends.1 - shift, count);
                let fraction = |value: f64| self.fraction_of_range(value.log10() + shift);
                values
                    .into_iter()
                    .map(|value| (fraction(value), format_number(value)))
                    .collect()
            }
            AxisScale::Time => {
                let times = date_ticks(self.ends, count);
                times
                    .into_iter()
                    .map(|(seconds, text)| (self.fraction_of_range(seconds), text))
                    .collect()
            }
        };
        ticks
            .into_iter()
            .filter(|(fraction, _)| is_within(fraction))
            .collect()
    }

    /// Positions of marks between the ticks of a logarithmic axis.
    pub(crate) fn minor_ticks(&self) -> Vec<f64> {
        if self.scale != AxisScale::Log {
            return Vec::new();
        }
        let shift = self.factor.log10();
        let values = minor_steps(self.ends.0 - shift, self.ends.1 - shift).into_iter();
        values
            .map(|value| self.fraction_of_range(value.log10() + shift))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(range: (f64, f64), log: Option<bool>, has_zero: bool) -> Axis {
        Axis::numeric(&AxisColumn {
            name: "runtime_ns",
            unit: Some("ns"),
            title: None,
            range,
            min_positive: if range.0 > 0.0 { range.0 } else { 1.0 },
            log,
            has_zero,
            is_whole: false,
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
        // One tick does not define a scale.
        let linear = axis((3e4, 7e5), Some(false), false);
        assert_eq!(texts(&linear, 1.0), ["200", "400", "600"]);
    }

    #[test]
    fn bars_start_at_zero() {
        let bars = axis((2e6, 5e6), None, true);
        assert_eq!(bars.fraction(0.0), Some(0.0));
        assert_eq!(texts(&bars, 5.0), ["0", "2", "4"]);
        assert_eq!(bars.format_value(2_500_000.0), "2.5 ms");
    }

    #[test]
    fn numbers_are_written_short() {
        let labels = |low, high| texts(&Axis::unitless("rows", (low, high)), 5.0);
        assert_eq!(labels(0.0, 1.0), ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(
            labels(0.0, 2_000_000.0),
            ["0", "0.5M", "1.0M", "1.5M", "2.0M"].map(|text| text)
        );
        assert_eq!(labels(0.0, 5e-6).last().unwrap(), "5e-6");
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
    fn single_and_extreme_values_have_an_axis() {
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
