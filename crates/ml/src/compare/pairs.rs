//! Buffer of compared pairs, because the correction of p needs all of them.

use std::io::{BufReader, BufWriter, Read as _, Seek as _, Write as _};

use tempfile::SpooledTempFile;
use tsql_error::{Error, Result};
use tsql_metrics::change::{PairComparison, Verdict};

use super::records::PairKey;

/// Maximum size in memory, in bytes. A larger buffer is an unnamed temporary file.
const MAX_MEMORY_BYTES: usize = 64 << 20;

/// Number of stored values per pair.
const NUMBERS_PER_PAIR: usize = 11;

/// Compared pairs in order of insertion.
pub(super) struct PairBuffer {
    file: BufWriter<SpooledTempFile>,
    platforms: Vec<Option<String>>,
    count: u64,
}

impl PairBuffer {
    pub(super) fn new() -> Self {
        Self {
            file: BufWriter::new(SpooledTempFile::new(MAX_MEMORY_BYTES)),
            platforms: Vec::new(),
            count: 0,
        }
    }

    /// Appends a pair.
    pub(super) fn push(&mut self, key: PairKey, found: &PairComparison) -> Result<()> {
        let known = self
            .platforms
            .iter()
            .position(|platform| *platform == key.platform);
        let platform = known.unwrap_or(self.platforms.len());
        if known.is_none() {
            self.platforms.push(key.platform);
        }
        let numbers: [u64; NUMBERS_PER_PAIR] = [
            key.graph_id.cast_unsigned(),
            key.config_id.cast_unsigned(),
            platform as u64,
            u64::from(found.spoiled),
            found.old_median_ns.to_bits(),
            found.new_median_ns.to_bits(),
            found.change.to_bits(),
            found.change_low.to_bits(),
            found.change_high.to_bits(),
            found.minimum_change.to_bits(),
            found.p.to_bits(),
        ];
        for number in numbers {
            let written = self.file.write_all(&number.to_le_bytes());
            written.map_err(Error::io(std::env::temp_dir()))?;
        }
        self.count += 1;
        Ok(())
    }

    /// Calls `take` with all pairs in order, uncorrected.
    pub(super) fn for_each(self, mut take: impl FnMut(PairKey, PairComparison)) -> Result<()> {
        let failed = || Error::io(std::env::temp_dir());
        let file = self.file.into_inner();
        let mut file = file.map_err(|error| failed()(error.into_error()))?;
        file.rewind().map_err(failed())?;
        let mut file = BufReader::new(file);
        for _ in 0..self.count {
            let mut numbers = [0; NUMBERS_PER_PAIR];
            for number in &mut numbers {
                let mut bytes = [0; 8];
                file.read_exact(&mut bytes).map_err(failed())?;
                *number = u64::from_le_bytes(bytes);
            }
            let [graph_id, config_id, platform, spoiled, rest @ ..] = numbers;
            let [old, new, change, low, high, least, p] = rest.map(f64::from_bits);
            let platform = usize::try_from(platform).ok();
            let platform = platform.and_then(|place| self.platforms.get(place));
            let key = PairKey {
                graph_id: graph_id.cast_signed(),
                config_id: config_id.cast_signed(),
                platform: platform.cloned().flatten(),
            };
            let found = PairComparison {
                old_median_ns: old,
                new_median_ns: new,
                change,
                change_low: low,
                change_high: high,
                minimum_change: least,
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
    use tsql_metrics::change::RepeatPair;

    use super::*;

    #[test]
    fn what_is_set_aside_comes_back() {
        let mut pairs = PairBuffer::new();
        let mut expected = Vec::new();
        for number in 0..100_i64 {
            let key = PairKey {
                graph_id: -number,
                config_id: i64::MAX - number,
                platform: (number % 3 > 0).then(|| format!("p{}", number % 3)),
            };
            let new = f64::from(u32::try_from(number).unwrap()) + 1.0;
            let pair = RepeatPair::new(&[1.0, 2.5], &[new]).unwrap();
            let found = pair.with_spoiled(number % 2 == 0).compare();
            pairs.push(key.clone(), &found).unwrap();
            expected.push((key, found));
        }
        let mut found = Vec::new();
        pairs
            .for_each(|key, comparison| found.push((key, comparison)))
            .unwrap();
        assert_eq!(found, expected);
    }
}
