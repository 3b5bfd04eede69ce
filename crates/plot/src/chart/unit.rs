//! Units of columns, and choice of a readable display unit.

/// Time units in nanoseconds.
const TIMES: [(&str, f64); 6] = [
    ("ns", 1.0),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("min", 60e9),
    ("h", 3_600e9),
];

/// Size units in bytes.
const SIZES: [(&str, f64); 5] = [
    ("B", 1.0),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
];

/// Display spelling of units and abbreviations in column names.
const WORD_SPELLINGS: [(&str, &str); 5] = [
    ("gflops", "GFLOPS"),
    ("gb per s", "GB/s"),
    ("us", "µs"),
    ("percent", "%"),
    ("celsius", "°C"),
];

/// Unit of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Unit<'a> {
    /// A time unit, in nanoseconds.
    Time(f64),
    /// A size unit, in bytes.
    Size(f64),
    /// Any other unit, by name.
    Other(&'a str),
    None,
}

impl<'a> Unit<'a> {
    /// Unit of a column: from its schema, or from the end of its name (`best_ns`).
    pub(crate) fn for_column(name: &'a str, told: Option<&'a str>) -> Self {
        let end = || {
            let (_, end) = name.rsplit_once('_')?;
            let known = ["ns", "us", "ms", "s", "bytes", "percent"];
            known.contains(&end).then_some(end)
        };
        match told.or_else(end) {
            Some("us") => Self::Time(1e3),
            Some("bytes") => Self::Size(1.0),
            Some(told) => match TIMES.iter().find(|(unit, _)| *unit == told) {
                Some((_, ns)) => Self::Time(*ns),
                None => Self::Other(told),
            },
            None => Self::None,
        }
    }

    pub(crate) fn is_time(self) -> bool {
        matches!(self, Self::Time(_))
    }

    /// Returns a display unit in which `value` has few digits, and the divisor for it.
    pub(crate) fn scale_for(self, value: f64) -> (String, f64) {
        let (units, one): (&[(&str, f64)], f64) = match self {
            Self::Time(ns) => (&TIMES, ns),
            Self::Size(bytes) => (&SIZES, bytes),
            Self::Other(unit) => return (spell_out(unit), 1.0),
            Self::None => return (String::new(), 1.0),
        };
        let value = value.abs() * one;
        let fits = units.iter().rev().find(|(_, size)| value >= *size);
        let (unit, size) = fits.or(units.first()).copied().unwrap_or(("", 1.0));
        (unit.to_owned(), size / one)
    }
}

fn spell_out(text: &str) -> String {
    let found = WORD_SPELLINGS.iter().find(|(name, _)| *name == text);
    found.map_or_else(|| text.to_owned(), |(_, spelled)| (*spelled).to_owned())
}

/// Title of an axis: the words of the column name, without the unit suffix, followed by the unit.
pub(crate) fn axis_title(name: &str, told: Option<&str>, unit: &str) -> String {
    let ends = ["ns", "us", "ms", "s", "bytes", "percent"];
    let bare = match name.rsplit_once('_') {
        Some((bare, end)) if told == Some(end) || ends.contains(&end) => bare,
        _ => name,
    };
    let words = spell_out(&bare.replace('_', " "));
    match unit {
        "" => words,
        unit => format!("{words} ({unit})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_fit_their_values() {
        let fit = |name, told, value| Unit::for_column(name, told).scale_for(value);
        assert_eq!(fit("runtime_ns", Some("ns"), 15_000.0), ("µs".into(), 1e3));
        assert_eq!(fit("best", Some("ns"), 3e6), ("ms".into(), 1e6));
        assert_eq!(fit("all_cost_s", Some("s"), 0.002), ("ms".into(), 1e-3));
        assert_eq!(fit("size_bytes", None, 3e6), ("MiB".into(), 1_048_576.0));
        assert_eq!(fit("spread_percent", None, 3.0), ("%".into(), 1.0));
        assert_eq!(fit("trial", None, 3.0), (String::new(), 1.0));
        assert_eq!(fit("x_ns", None, 0.0), ("ns".into(), 1.0));
    }

    #[test]
    fn titles_are_words_with_a_unit() {
        assert_eq!(axis_title("best_ns", None, "ms"), "best (ms)");
        assert_eq!(
            axis_title("median_spread_percent", None, "%"),
            "median spread (%)"
        );
        assert_eq!(axis_title("power_w", Some("w"), "w"), "power (w)");
        assert_eq!(axis_title("gflops", None, ""), "GFLOPS");
        assert_eq!(axis_title("record_count", None, ""), "record count");
    }
}
