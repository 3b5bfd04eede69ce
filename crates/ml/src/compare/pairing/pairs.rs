//! Buffer of compared pairs, because the correction of p needs all of them.

use std::io::{BufReader, BufWriter, Read as _, Seek as _, Write as _};

use tempfile::SpooledTempFile;
use tsql_error::{Error, Result};
use tsql_metrics::change::{PairComparison, Verdict};
use tsql_verdicts::run_test::RunTest;
use tsql_verdicts::verdict::{PairTest, Reason};

use crate::compare::pair_result::{ComparedPair, PairOutcome};
use crate::compare::records::PairKey;

/// Maximum size in memory, in bytes. A larger buffer is an unnamed temporary file.
const MAX_MEMORY_BYTES: usize = 64 << 20;

/// Number of stored values per pair.
const NUMBERS_PER_PAIR: usize = 12;

/// Kinds of outcomes. A pair of runs without a test has the number of its reason added.
const RANKS: u64 = 0;
const SPOILED_RANKS: u64 = 1;
const RUNS: u64 = 2;
const UNTESTED_RUNS: u64 = 3;

/// Compared pairs in order of insertion.
pub(in crate::compare) struct PairBuffer {
    file: BufWriter<SpooledTempFile>,
    platforms: Vec<Option<String>>,
    count: u64,
}

impl PairBuffer {
    pub(in crate::compare) fn new() -> Self {
        Self {
            file: BufWriter::new(SpooledTempFile::new(MAX_MEMORY_BYTES)),
            platforms: Vec::new(),
            count: 0,
        }
    }

    /// Appends a pair.
    pub(in crate::compare) fn push(&mut self, key: PairKey, found: &ComparedPair) -> Result<()> {
        let known = self
            .platforms
            .iter()
            .position(|platform| *platform == key.platform);
        let platform = known.unwrap_or(self.platforms.len());
        if known.is_none() {
            self.platforms.push(key.platform);
        }
        let (kind, outcome) = encode(&found.outcome);
        let [a, b] = found.ns.map(f64::to_bits);
        let head = [
            key.graph_id.cast_unsigned(),
            key.config_id.cast_unsigned(),
            platform as u64,
            kind,
            a,
            b,
        ];
        for number in head.into_iter().chain(outcome) {
            let written = self.file.write_all(&number.to_le_bytes());
            written.map_err(Error::io(std::env::temp_dir()))?;
        }
        self.count += 1;
        Ok(())
    }

    /// Calls `take` with all pairs in order, uncorrected.
    pub(in crate::compare) fn for_each(
        self,
        mut take: impl FnMut(PairKey, ComparedPair),
    ) -> Result<()> {
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
            let [graph_id, config_id, platform, kind, a, b, outcome @ ..] = numbers;
            let platform = usize::try_from(platform).ok();
            let platform = platform.and_then(|place| self.platforms.get(place));
            let key = PairKey {
                graph_id: graph_id.cast_signed(),
                config_id: config_id.cast_signed(),
                platform: platform.cloned().flatten(),
            };
            let ns = [a, b].map(f64::from_bits);
            take(
                key,
                ComparedPair {
                    ns,
                    outcome: decode(kind, outcome, ns),
                },
            );
        }
        Ok(())
    }
}

fn encode(outcome: &PairOutcome) -> (u64, [u64; 6]) {
    match outcome {
        PairOutcome::Ranks(found) => {
            let numbers = [
                found.change,
                found.change_low,
                found.change_high,
                found.minimum_change,
                found.p,
                0.0,
            ];
            let kind = if found.spoiled { SPOILED_RANKS } else { RANKS };
            (kind, numbers.map(f64::to_bits))
        }
        PairOutcome::Runs(found) => {
            let (kind, [se, df, p]) = match found.test {
                Ok(test) => (RUNS, [test.se, test.df, test.p]),
                Err(reason) => (UNTESTED_RUNS + reason_number(reason), [0.0; 3]),
            };
            let [change, se, df, p] =
                [found.change.unwrap_or(f64::NAN), se, df, p].map(f64::to_bits);
            (
                kind,
                [change, se, df, p, packed(found.runs), packed(found.days)],
            )
        }
    }
}

fn decode(kind: u64, numbers: [u64; 6], [a, b]: [f64; 2]) -> PairOutcome {
    let [first, second, third, fourth, fifth, sixth] = numbers;
    let [change, second, third, fourth, p] =
        [first, second, third, fourth, fifth].map(f64::from_bits);
    if kind < RUNS {
        return PairOutcome::Ranks(PairComparison {
            old_median_ns: a,
            new_median_ns: b,
            change,
            change_low: second,
            change_high: third,
            minimum_change: fourth,
            p,
            p_corrected: p,
            spoiled: kind == SPOILED_RANKS,
            verdict: Verdict::Unclear,
        });
    }
    let reason = kind
        .checked_sub(UNTESTED_RUNS)
        .and_then(|number| usize::try_from(number).ok())
        .and_then(|number| Reason::ALL.get(number).copied());
    PairOutcome::Runs(PairTest {
        change: Some(change).filter(|change| !change.is_nan()),
        test: match reason {
            Some(reason) => Err(reason),
            None => Ok(RunTest {
                change,
                se: second,
                df: third,
                p: fourth,
            }),
        },
        runs: unpacked(fifth),
        days: unpacked(sixth),
    })
}

fn reason_number(reason: Reason) -> u64 {
    let place = Reason::ALL.iter().position(|known| *known == reason);
    place.map_or(0, |place| place as u64)
}

/// Packs two counts below 2^32.
fn packed([a, b]: [usize; 2]) -> u64 {
    (a as u64) << 32 | (b as u64 & u64::from(u32::MAX))
}

fn unpacked(counts: u64) -> [usize; 2] {
    [counts >> 32, counts & u64::from(u32::MAX)]
        .map(|count| usize::try_from(count).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use tsql_metrics::change::RepeatPair;

    use super::*;

    fn outcome(number: i64, new: f64) -> PairOutcome {
        let test = RunTest::new(0.01 * new, 0.02, 8.5);
        let reason = usize::try_from(number).unwrap() % Reason::ALL.len();
        match number % 4 {
            0 => {
                let pair = RepeatPair::new(&[1.0, 2.5], &[new]).unwrap();
                PairOutcome::Ranks(pair.with_spoiled(number % 8 == 0).compare())
            }
            1 => PairOutcome::Runs(PairTest {
                change: Some(test.change),
                test: Ok(test),
                runs: [3, 70_000],
                days: [1, 2],
            }),
            2 => PairOutcome::Runs(PairTest {
                change: None,
                test: Err(Reason::Spoiled),
                runs: [0, 1],
                days: [0, 1],
            }),
            _ => PairOutcome::Runs(PairTest {
                change: Some(0.5),
                test: Err(Reason::ALL[reason]),
                runs: [1, 1],
                days: [1, 1],
            }),
        }
    }

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
            let outcome = outcome(number, new);
            let ns = match outcome {
                PairOutcome::Ranks(found) => [found.old_median_ns, found.new_median_ns],
                PairOutcome::Runs(_) => [1.5, new],
            };
            let found = ComparedPair { ns, outcome };
            pairs.push(key.clone(), &found).unwrap();
            expected.push((key, found));
        }
        let mut found = Vec::new();
        pairs.for_each(|key, pair| found.push((key, pair))).unwrap();
        assert_eq!(found, expected);
    }
}
