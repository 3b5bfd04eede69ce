//! Units of sources and the base units to which they are converted.

/// Factor between a unit and its base unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scale {
    /// The base unit counts this many.
    Times(f64),
    /// The base unit is this many times as large. The division rounds once.
    Over(f64),
}

impl Scale {
    /// Converts a value of the source to the base unit.
    #[must_use]
    pub fn apply(self, value: f64) -> f64 {
        match self {
            Self::Times(factor) => value * factor,
            Self::Over(divisor) => value / divisor,
        }
    }
}

/// Returns the base unit of a unit and the factor to it. Units that are not listed are their own base.
#[must_use]
pub fn base_unit(unit: &str) -> (&str, Scale) {
    let (base, scale) = match unit {
        "ms" => ("s", Scale::Over(1e3)),
        "us" => ("s", Scale::Over(1e6)),
        "ns" => ("s", Scale::Over(1e9)),
        "kHz" => ("Hz", Scale::Times(1e3)),
        "MHz" => ("Hz", Scale::Times(1e6)),
        "GHz" => ("Hz", Scale::Times(1e9)),
        "KB" | "kB" => ("B", Scale::Times(1e3)),
        "MB" => ("B", Scale::Times(1e6)),
        "GB" => ("B", Scale::Times(1e9)),
        "KiB" => ("B", Scale::Times(1024.0)),
        "MiB" => ("B", Scale::Times(1_048_576.0)),
        "GiB" => ("B", Scale::Times(1_073_741_824.0)),
        "GB/s" => ("B/s", Scale::Times(1e9)),
        "TB/s" => ("B/s", Scale::Times(1e12)),
        "GFLOP/s" | "gflopss" | "GFLOPS" => ("FLOP/s", Scale::Times(1e9)),
        "TFLOP/s" => ("FLOP/s", Scale::Times(1e12)),
        "GFLOPS/W" => ("FLOP/J", Scale::Times(1e9)),
        "mW" => ("W", Scale::Over(1e3)),
        "mJ" => ("J", Scale::Over(1e3)),
        "ops/ns" => ("1/s", Scale::Times(1e9)),
        "ops/us" => ("1/s", Scale::Times(1e6)),
        "ops/ms" => ("1/s", Scale::Times(1e3)),
        "ops/s" | "iter/sec" => ("1/s", Scale::Times(1.0)),
        "ops/min" => ("1/s", Scale::Over(60.0)),
        "ops/h" => ("1/s", Scale::Over(3600.0)),
        "ops/day" => ("1/s", Scale::Over(86_400.0)),
        "B/op" | "bytes" => ("B", Scale::Times(1.0)),
        "" | "count" => ("1", Scale::Times(1.0)),
        other => (other, Scale::Times(1.0)),
    };
    (base, scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_converted_with_one_rounding() {
        let convert = |value: f64, unit| {
            let (base, scale) = base_unit(unit);
            (scale.apply(value), base)
        };
        assert_eq!(convert(918.6, "ms"), (0.9186, "s"));
        assert_eq!(convert(1.5, "GFLOP/s"), (1.5e9, "FLOP/s"));
        assert_eq!(convert(12.0, "%"), (12.0, "%"));
        assert_eq!(convert(3.0, ""), (3.0, "1"));
    }
}
