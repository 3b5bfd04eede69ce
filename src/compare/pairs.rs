//! Pairs that were compared, set aside until all of them are known: a correction for their number needs all of them.

use std::io::{BufReader, BufWriter, Read as _, Seek as _, Write as _};

use tempfile::SpooledTempFile;
use tsql_metrics::change::{Comparison, Verdict};

use super::records::Key;
use crate::error::{Error, Result};

/// Up to this many bytes of them stay in memory; more are a temporary file without a name.
const KEPT_BYTES: usize = 64 << 20;

/// Numbers of a pair.
const NUMBERS: usize = 11;

/// Pairs, one after the other.
pub(super) struct Pairs {
    file: BufWriter<SpooledTempFile>,
    platforms: Vec<Option<String>>,
    count: u64,
}

impl Pairs {
    pub(super) fn new() -> Self {
        Self {
            file: BufWriter::new(SpooledTempFile::new(KEPT_BYTES)),
            platforms: Vec::new(),
            count: 0,
        }
    }

    /// Takes one more.
    pub(super) fn push(&mut self, key: Key, found: &Comparison) -> Result<()> {
        let known = self
            .platforms
            .iter()
            .position(|platform| *platform == key.platform);
        let platform = known.unwrap_or(self.platforms.len());
        if known.is_none() {
            self.platforms.push(key.platform);
        }
        let numbers: [u64; NUMBERS] = [
            key.graph_id.cast_unsigned(),
            key.config_id.cast_unsigned(),
            platform as u64,
            u64::from(found.spoiled),
            found.old_median_ns.to_bits(),
            found.new_median_ns.to_bits(),
            found.change.to_bits(),
            found.change_low.to_bits(),
            found.change_high.to_bits(),
            found.least_change.to_bits(),
            found.p.to_bits(),
        ];
        for number in numbers {
            let written = self.file.write_all(&number.to_le_bytes());
            written.map_err(Error::io(std::env::temp_dir()))?;
        }
        self.count += 1;
        Ok(())
    }

    /// Gives all of them, in their order, uncorrected.
    pub(super) fn each(self, mut take: impl FnMut(Key, Comparison)) -> Result<()> {
        let failed = || Error::io(std::env::temp_dir());
        let file = self.file.into_inner();
        let mut file = file.map_err(|error| failed()(error.into_error()))?;
        file.rewind().map_err(failed())?;
        let mut file = BufReader::new(file);
        for _ in 0..self.count {
            let mut numbers = [0; NUMBERS];
            for number in &mut numbers {
                let mut bytes = [0; 8];
                file.read_exact(&mut bytes).map_err(failed())?;
                *number = u64::from_le_bytes(bytes);
            }
            let [graph_id, config_id, platform, spoiled, rest @ ..] = numbers;
            let [old, new, change, low, high, least, p] = rest.map(f64::from_bits);
            let platform = usize::try_from(platform).ok();
            let platform = platform.and_then(|place| self.platforms.get(place));
            let key = Key {
                graph_id: graph_id.cast_signed(),
                config_id: config_id.cast_signed(),
                platform: platform.cloned().flatten(),
            };
            let found = Comparison {
                old_median_ns: old,
                new_median_ns: new,
                change,
                change_low: low,
                change_high: high,
                least_change: least,
                p,
                p_corrected: p,
                spoiled: spoiled != 0,
                verdict: Verdict::Unclear,
            };
            take(key, found);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tsql_metrics::change::Pair;

    use super::*;

    #[test]
    fn what_is_set_aside_comes_back() {
        let mut pairs = Pairs::new();
        let mut expected = Vec::new();
        for number in 0..100_i64 {
            let key = Key {
                graph_id: -number,
                config_id: i64::MAX - number,
                platform: (number % 3 > 0).then(|| format!("p{}", number % 3)),
            };
            let new = f64::from(u32::try_from(number).unwrap()) + 1.0;
            let pair = Pair::new(&[1.0, 2.5], &[new]).unwrap();
            let found = pair.with_spoiled(number % 2 == 0).compare();
            pairs.push(key.clone(), &found).unwrap();
            expected.push((key, found));
        }
        let mut found = Vec::new();
        pairs
            .each(|key, comparison| found.push((key, comparison)))
            .unwrap();
        assert_eq!(found, expected);
    }
}
