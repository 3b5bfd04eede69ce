//! `part_of_split`: the part of a split that a unit belongs to, computed from its key alone.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringViewArray};
use arrow::datatypes::DataType;
use datafusion::common::cast::{as_int64_array, as_string_view_array};
use datafusion::common::{Result, exec_datafusion_err};
use twox_hash::XxHash3_64;

use super::function_docs::FunctionDocs;
use super::scalar::{Scalar, argument};

/// Parts of a split, in the order of their ratios.
pub const PARTS: [&str; 3] = ["train", "valid", "test"];

/// Prefix of the hashed bytes. Another rule needs another version number.
const HASH_PREFIX: &[u8] = b"tsql-split-1\0";

pub(super) fn function() -> Scalar {
    let about = FunctionDocs::new(
        "part_of_split",
        "Part of a split that a unit belongs to: `train`, `valid` or `test`. It depends on the key only, so appended \
         records never move a unit. It is the first part whose cumulative fraction is above \
         XXH3-64(\"tsql-split-1\\0\", seed as 8 bytes little-endian, unit, \\0, key) / 2^64. NULL if the key is NULL",
        "SELECT part_of_split(7, 'task', workload_key, '80/10/10') AS part, count(*) FROM graphs GROUP BY part",
    )
    .argument("seed", DataType::Int64, "seed; another seed gives another split")
    .argument("unit", DataType::Utf8View, "kind of unit: `config`, `task`, `dag`, `structure`, `network`, `platform`")
    .argument("key", DataType::Utf8View, "key of the unit, equal in all stores")
    .argument("ratios", DataType::Utf8View, "whole numbers for train, valid and test: `80/10/10`")
    .source("tsql");
    Scalar::new(&about, DataType::Utf8View, parts)
}

fn parts(args: &[ArrayRef]) -> Result<ArrayRef> {
    let seeds = as_int64_array(argument(args, 0)?)?;
    let units = as_string_view_array(argument(args, 1)?)?;
    let keys = as_string_view_array(argument(args, 2)?)?;
    let ratios = as_string_view_array(argument(args, 3)?)?;
    let mut last: Option<(&str, Ratios)> = None;
    let mut text = Vec::new();
    let others = keys.iter().zip(ratios.iter());
    let each = seeds.iter().zip(units.iter()).zip(others);
    let part = each.map(|((seed, unit), (key, given))| {
        let (Some(seed), Some(unit), Some(given)) = (seed, unit, given) else {
            return Ok(None);
        };
        if last.as_ref().is_none_or(|(known, _)| *known != given) {
            last = Some((given, Ratios::parse(given)?));
        }
        let Some((key, (_, ratios))) = key.zip(last.as_ref()) else {
            return Ok(None);
        };
        let place = ratios.part_index(hash_key(&mut text, seed, unit, key));
        Ok(PARTS.get(place).copied())
    });
    let parts: StringViewArray = part.collect::<Result<_>>()?;
    Ok(Arc::new(parts))
}

/// Hash of a unit's key, which determines the part. `text` is a reusable buffer.
pub fn hash_key(text: &mut Vec<u8>, seed: i64, unit: &str, key: &str) -> u64 {
    text.clear();
    text.extend_from_slice(HASH_PREFIX);
    text.extend_from_slice(&seed.to_le_bytes());
    text.extend_from_slice(unit.as_bytes());
    text.push(0);
    text.extend_from_slice(key.as_bytes());
    XxHash3_64::oneshot(text)
}

/// Cumulative sums of the ratios.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratios([u64; PARTS.len()]);

impl Ratios {
    /// Parses ratios such as `80/10/10`.
    ///
    /// # Errors
    /// If the text is not three whole numbers, or only zeros.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = || {
            exec_datafusion_err!(
                "`{text}` is not a ratio\nhint: three whole numbers, for train, valid and test: '80/10/10'"
            )
        };
        let numbers = text.split('/').map(|number| number.trim().parse::<u32>());
        let numbers: Vec<u32> = numbers
            .collect::<std::result::Result<_, _>>()
            .map_err(|_| wrong())?;
        let numbers: [u32; PARTS.len()] = numbers.try_into().map_err(|_| wrong())?;
        let mut sum = 0;
        let sums = numbers.map(|number| {
            sum += u64::from(number);
            sum
        });
        if sum == 0 {
            return Err(wrong());
        }
        Ok(Self(sums))
    }

    /// Index among [`PARTS`] for a hash. The comparison `hash / 2^64 < sum / total` uses whole numbers.
    pub fn part_index(&self, hash: u64) -> usize {
        let [.., total] = self.0;
        let scaled = u128::from(hash) * u128::from(total);
        let mut sums = self.0.iter();
        let below = sums.position(|sum| scaled < u128::from(*sum) << u64::BITS);
        // A hash is less than 2^64, so the last part takes the rest.
        below.unwrap_or(PARTS.len() - 1)
    }

    /// Cumulative fractions: the end of each part in an order from 0 to 1.
    pub fn cumulative_fractions(&self) -> [f64; PARTS.len()] {
        let [.., total] = self.0;
        #[expect(clippy::cast_precision_loss, reason = "sums of 32-bit numbers")]
        self.0.map(|sum| sum as f64 / total as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_exact() {
        let ratios = Ratios::parse("1/2/1").unwrap();
        let quarter = 1_u64 << 62;
        let parts = [
            0,
            quarter - 1,
            quarter,
            3 * quarter - 1,
            3 * quarter,
            u64::MAX,
        ];
        let expected = ["train", "train", "valid", "valid", "test", "test"];
        assert_eq!(parts.map(|hash| PARTS[ratios.part_index(hash)]), expected);
        let none = Ratios::parse("0/ 1 /0").unwrap();
        assert_eq!([0, u64::MAX].map(|hash| none.part_index(hash)), [1; 2]);
        for text in [
            "",
            "80/20",
            "80/10/10/0",
            "a/b/c",
            "0/0/0",
            "-1/1/1",
            "0.8/0.1/0.1",
        ] {
            assert!(Ratios::parse(text).is_err(), "{text}");
        }
    }
}
