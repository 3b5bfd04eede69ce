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

/// Units at the end of column names.
const NAME_SUFFIXES: [&str; 6] = ["ns", "us", "ms", "s", "bytes", "percent"];

/// Display spelling of units and abbreviations in column names.
const WORD_SPELLINGS: [(&str, &str); 7] = [
    ("gflops", "GFLOPS"),
    ("flop", "FLOP"),
    ("hz", "Hz"),
    ("us", "µs"),
    ("percent", "%"),
    ("celsius", "°C"),
    ("op", "operator"),
];

/// Display spelling of several words in column names.
const PHRASES: [(&str, &str); 4] = [
    ("gb per s", "GB/s"),
    ("bytes per s", "bytes/s"),
    ("flop per s", "FLOP/s"),
    ("kendall tau b", "Kendall’s τ-b"),
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
    pub(crate) fn for_column(name: &'a str, declared_unit: Option<&'a str>) -> Self {
        let end = || split_unit(name, None).1;
        match declared_unit.or_else(end) {
            Some("us") => Self::Time(1e3),
            Some("bytes") => Self::Size(1.0),
            Some(declared_unit) => match TIMES.iter().find(|(unit, _)| *unit == declared_unit) {
                Some((_, ns)) => Self::Time(*ns),
                None => Self::Other(declared_unit),
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

/// Words of a column name.
pub(crate) fn words(name: &str) -> String {
    let text = name.replace('_', " ");
    let text = PHRASES.iter().fold(text, |text, (phrase, spelled)| {
        text.replace(phrase, spelled)
    });
    let words: Vec<String> = text.split(' ').map(spell_out).collect();
    words.join(" ").trim().to_owned()
}

/// Splits a column name into its words and its unit (`best_ns`). A percentage in the words is no unit of the values
/// (`trials_to_5_percent`), and a rate is no time (`peak_flop_per_s`).
fn split_unit<'a>(name: &'a str, declared_unit: Option<&str>) -> (&'a str, Option<&'a str>) {
    let Some((bare, end)) = name.rsplit_once('_') else {
        return (name, None);
    };
    let is_unit = declared_unit == Some(end) || NAME_SUFFIXES.contains(&end);
    let last_word = bare.rsplit('_').next().unwrap_or_default();
    let is_percentage = end == "percent" && last_word.parse::<u32>().is_ok();
    let is_rate = last_word == "per";
    match is_unit && !is_percentage && !is_rate {
        true => (bare, Some(end)),
        false => (name, None),
    }
}

/// Title of an axis: `title`, or the words of the column name without the unit suffix, followed by the unit.
pub(crate) fn axis_title(
    title: Option<&str>,
    (name, declared_unit): (&str, Option<&str>),
    unit: &str,
) -> String {
    let (bare, _) = split_unit(name, declared_unit);
    let words = title.map_or_else(|| words(bare), str::to_owned);
    match unit {
        "" => words,
        unit if words.is_empty() || words == unit => unit.to_owned(),
        unit => format!("{words} ({unit})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_fit_their_values() {
        let fit =
            |name, declared_unit, value| Unit::for_column(name, declared_unit).scale_for(value);
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
        let title = |name, declared, unit: &str| axis_title(None, (name, declared), unit);
        assert_eq!(title("best_ns", None, "ms"), "best (ms)");
        assert_eq!(
            title("median_spread_percent", None, "%"),
            "median spread (%)"
        );
        assert_eq!(title("power_w", Some("w"), "w"), "power (w)");
        assert_eq!(title("gflops", None, ""), "GFLOPS");
        assert_eq!(title("median_gflops", None, ""), "median GFLOPS");
        assert_eq!(title("record_count", None, ""), "record count");
        assert_eq!(title("percent_of_platform", None, ""), "% of platform");
        let own = axis_title(Some("fraction of best"), ("x_ns", None), "ns");
        assert_eq!(own, "fraction of best (ns)");
    }

    #[test]
    fn names_that_are_only_a_unit_are_titles() {
        for (name, wanted) in [
            ("_percent", "%"),
            ("percent", "%"),
            ("_ns", "µs"),
            ("ns", "ns"),
        ] {
            let (unit, _) = Unit::for_column(name, None).scale_for(5_000.0);
            assert_eq!(axis_title(None, (name, None), &unit), wanted, "{name}");
        }
    }

    #[test]
    fn a_percentage_in_a_name_is_no_unit_of_the_values() {
        let name = "trials_to_5_percent";
        assert_eq!(Unit::for_column(name, None), Unit::None);
        assert_eq!(axis_title(None, (name, None), ""), "trials to 5 %");
        assert_eq!(Unit::for_column("p_95_ns", None), Unit::Time(1.0));
    }

    #[test]
    fn a_rate_is_no_time() {
        for (name, wanted) in [
            ("peak_flop_per_s", "peak FLOP/s"),
            ("bandwidth_bytes_per_s", "bandwidth bytes/s"),
            ("gb_per_s", "GB/s"),
        ] {
            assert_eq!(Unit::for_column(name, None), Unit::None, "{name}");
            assert_eq!(axis_title(None, (name, None), ""), wanted);
        }
    }
}
