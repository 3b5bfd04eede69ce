//! Times and sizes in readable units: `13.67 ms`, `1.2 MiB`.
//!
//! The unit of a column comes from its schema, or from the end of its name (`runtime_ns`, `size_bytes`).

use arrow::datatypes::Field;

use super::kind::is_number;

/// Key of the unit in the metadata of a column.
const UNIT: &str = "unit";

/// Units of time with their nanoseconds, longest first.
const TIMES: [(f64, &str); 6] = [
    (3_600e9, "h"),
    (60e9, "min"),
    (1e9, "s"),
    (1e6, "ms"),
    (1e3, "µs"),
    (1.0, "ns"),
];

/// Units of size with their bytes, largest first.
const SIZES: [(f64, &str); 5] = [
    (1_099_511_627_776.0, "TiB"),
    (1_073_741_824.0, "GiB"),
    (1_048_576.0, "MiB"),
    (1024.0, "KiB"),
    (1.0, "B"),
];

/// Unit of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Nanoseconds,
    Bytes,
}

impl Unit {
    /// Returns the unit of a numeric column, if it is known.
    pub(super) fn for_field(field: &Field) -> Option<Self> {
        if !is_number(field.data_type()) {
            return None;
        }
        let declared = field.metadata().get(UNIT).map(String::as_str);
        let end = field.name().rsplit_once('_').map(|(_, end)| end);
        match declared.or(end)? {
            "ns" => Some(Self::Nanoseconds),
            "bytes" => Some(Self::Bytes),
            _ => None,
        }
    }

    /// Formats `value` in a unit in which it has one to three digits before the point.
    pub(super) fn spell(self, value: f64) -> String {
        if !value.is_finite() {
            return value.to_string();
        }
        let (units, is_size): (&[(f64, &str)], _) = match self {
            Self::Nanoseconds => (&TIMES, false),
            Self::Bytes => (&SIZES, true),
        };
        let fits = |(size, _): &&(f64, &str)| value.abs() >= *size;
        let Some((size, unit)) = units.iter().find(fits).or(units.last()) else {
            return value.to_string();
        };
        let number = value / size;
        if *size == 1.0 && number.fract() == 0.0 {
            return format!("{number} {unit}");
        }
        let digits = match number.abs() {
            _ if is_size => 1,
            100.0.. => 1,
            10.0.. => 2,
            _ => 3,
        };
        format!("{number:.digits$} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::DataType;

    use super::*;

    #[test]
    fn times_and_sizes_have_a_unit_that_fits() {
        let time = |value| Unit::Nanoseconds.spell(value);
        assert_eq!(time(13_671_200.0), "13.67 ms");
        assert_eq!(time(0.0), "0 ns");
        assert_eq!(time(417.0), "417 ns");
        assert_eq!(time(0.25), "0.250 ns");
        assert_eq!(time(-1_500.0), "-1.500 µs");
        assert_eq!(time(90e9), "1.500 min");
        assert_eq!(time(1e22), "2777777777.8 h");
        assert_eq!(time(f64::NAN), "NaN");
        let size = |value| Unit::Bytes.spell(value);
        assert_eq!(size(1023.0), "1023 B");
        assert_eq!(size(1_258_291.0), "1.2 MiB");
    }

    #[test]
    fn a_column_is_measured_by_its_name_or_schema() {
        let unit = |name: &str, data_type| Unit::for_field(&Field::new(name, data_type, true));
        assert_eq!(
            unit("runtime_ns", DataType::Float64),
            Some(Unit::Nanoseconds)
        );
        assert_eq!(unit("size_bytes", DataType::Int64), Some(Unit::Bytes));
        assert_eq!(unit("runtime_ns", DataType::Utf8), None);
        assert_eq!(unit("columns", DataType::Int64), None);
        let field = Field::new("best", DataType::Float64, true);
        let field = field.with_metadata([("unit".to_owned(), "ns".to_owned())].into());
        assert_eq!(Unit::for_field(&field), Some(Unit::Nanoseconds));
    }
}
