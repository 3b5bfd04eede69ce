//! Order-independent checksum of rows: a sum of key hashes.

use arrow::array::{Array as _, AsArray as _, RecordBatch};
use arrow::datatypes::Float64Type;
use tsql_error::{Error, Result};
use twox_hash::XxHash3_128;

use super::keys::KEYS;

/// Sum of key hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeySum(u128);

impl KeySum {
    /// Adds the hash of a row: its configuration and platform (for graphs: file and sample) and its runtime.
    pub(crate) fn row(&mut self, what: &str, on: &str, runtime_ns: Option<f64>) {
        let mut text = Vec::with_capacity(64);
        for part in [what.as_bytes(), on.as_bytes()] {
            text.extend_from_slice(part);
            text.push(0);
        }
        if let Some(runtime) = runtime_ns {
            text.extend_from_slice(&runtime.to_bits().to_le_bytes());
        }
        self.0 = self.0.wrapping_add(XxHash3_128::oneshot(&text));
    }

    /// Adds the hashes of a batch of file rows.
    pub(super) fn rows(&mut self, batch: &RecordBatch) -> Result<()> {
        let column = |name: &str| {
            let column = batch.column_by_name(name);
            column.ok_or_else(|| Error::Internal(format!("rows without `{name}`")))
        };
        let [config, platform, runtime] = KEYS;
        let (configs, platforms) = (column(config)?, column(platform)?);
        let (configs, platforms) = (configs.as_string::<i32>(), platforms.as_string::<i32>());
        let runtimes = column(runtime)?.as_primitive::<Float64Type>();
        for row in 0..batch.num_rows() {
            let runtime = runtimes.is_valid(row).then(|| runtimes.value(row));
            self.row(configs.value(row), platforms.value(row), runtime);
        }
        Ok(())
    }

    /// Returns 32 hexadecimal digits.
    pub(crate) fn text(self) -> String {
        format!("{:032x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_does_not_matter_and_every_part_does() {
        let sum = |rows: &[(&str, &str, f64)]| {
            let mut sum = KeySum::default();
            rows.iter()
                .for_each(|(config, platform, time)| sum.row(config, platform, Some(*time)));
            sum.text()
        };
        let (a, b) = (("a", "x", 1.0), ("b", "x", 2.0));
        assert_eq!(sum(&[a, b]), sum(&[b, a]));
        let others = [
            [a, a],
            [a, ("b", "y", 2.0)],
            [a, ("b", "x", 3.0)],
            [a, ("bx", "", 2.0)],
        ];
        assert!(others.iter().all(|rows| sum(rows) != sum(&[a, b])));
        assert_ne!(sum(&[a, a]), sum(&[]));
    }
}
