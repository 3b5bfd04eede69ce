//! What a column is measured in, and in which unit its axis reads well.

/// Units of time with their nanoseconds.
const TIMES: [(&str, f64); 6] = [
    ("ns", 1.0),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("min", 60e9),
    ("h", 3_600e9),
];

/// Units of size with their bytes.
const SIZES: [(&str, f64); 5] = [
    ("B", 1.0),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
];

/// Words that are no words.
const SPELLED: [(&str, &str); 5] = [
    ("gflops", "GFLOPS"),
    ("gb per s", "GB/s"),
    ("us", "µs"),
    ("percent", "%"),
    ("celsius", "°C"),
];

/// What numbers are measured in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Unit<'a> {
    /// Times the nanoseconds that one is.
    Time(f64),
    /// Times the bytes that one is.
    Size(f64),
    /// Something that is only named.
    Other(&'a str),
    None,
}

impl<'a> Unit<'a> {
    /// That of a column: what its schema says, or the end of its name (`best_ns`).
    pub(crate) fn of(name: &'a str, told: Option<&'a str>) -> Self {
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

    /// The unit in which `value` has few digits, and by how much numbers are divided for it.
    pub(crate) fn fitting(self, value: f64) -> (String, f64) {
        let (units, one): (&[(&str, f64)], f64) = match self {
            Self::Time(ns) => (&TIMES, ns),
            Self::Size(bytes) => (&SIZES, bytes),
            Self::Other(unit) => return (spelled(unit), 1.0),
            Self::None => return (String::new(), 1.0),
        };
        let value = value.abs() * one;
        let fits = units.iter().rev().find(|(_, size)| value >= *size);
        let (unit, size) = fits.or(units.first()).copied().unwrap_or(("", 1.0));
        (unit.to_owned(), size / one)
    }
}

fn spelled(text: &str) -> String {
    let found = SPELLED.iter().find(|(name, _)| *name == text);
    found.map_or_else(|| text.to_owned(), |(_, spelled)| (*spelled).to_owned())
}

/// The name of a column as an axis has it: words, without the unit at its end, and with the unit behind it.
pub(crate) fn title(name: &str, told: Option<&str>, unit: &str) -> String {
    let ends = ["ns", "us", "ms", "s", "bytes", "percent"];
    let bare = match name.rsplit_once('_') {
        Some((bare, end)) if told == Some(end) || ends.contains(&end) => bare,
        _ => name,
    };
    let words = spelled(&bare.replace('_', " "));
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
        let fit = |name, told, value| Unit::of(name, told).fitting(value);
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
        assert_eq!(title("best_ns", None, "ms"), "best (ms)");
        assert_eq!(
            title("median_spread_percent", None, "%"),
            "median spread (%)"
        );
        assert_eq!(title("power_w", Some("w"), "w"), "power (w)");
        assert_eq!(title("gflops", None, ""), "GFLOPS");
        assert_eq!(title("record_count", None, ""), "record count");
    }
}
