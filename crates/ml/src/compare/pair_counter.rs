//! Classifies and counts pairs as a stream, then applies the correction and builds the result.

use std::collections::{BTreeMap, HashMap};

use tsql_error::{Error, Result};
use tsql_metrics::change::{self, PValues, RepeatPair, Verdict};

use super::comparison::{Change, Comparison, PairTally, Regression, SpeedupRange};
use super::options::CompareOptions;
use super::pairs::PairBuffer;
use super::records::{MatchedConfig, PairKey, SideRecord};

/// Number of histogram bins for each doubling of the speedup.
const BINS: f64 = 64.0;

/// The outermost bins contain speedups of 2^16 and more, and their inverses.
const LAST_BIN: f64 = 16.0 * BINS;

/// Minimum number of pairs for another thread.
const MIN_PARALLEL_PAIRS: usize = 64;

/// Accumulator of pairs.
pub(super) struct PairCounter {
    pairs: PairBuffer,
    all_p: PValues,
    top: usize,
    found: Comparison,
}

/// Result of the comparison, and the pairs of each graph.
pub(super) struct CountedPairs {
    pub(super) found: Comparison,
    pub(super) graphs: HashMap<i64, PairTally>,
}

impl PairCounter {
    pub(super) fn new(top: usize) -> Self {
        Self {
            pairs: PairBuffer::new(),
            all_p: PValues::default(),
            top,
            found: Comparison::default(),
        }
    }

    /// Adds a batch of configurations.
    pub(super) async fn take(&mut self, some: Vec<MatchedConfig>) -> Result<()> {
        let mut measured = Vec::new();
        for MatchedConfig { key, a, b } in some {
            if let Some(pair) = self.classify(&key, &a, &b) {
                measured.push((key, pair));
            }
        }
        for (key, found) in compare_all(measured).await? {
            self.all_p.add(found.p);
            self.pairs.push(key, &found)?;
        }
        Ok(())
    }

    /// Returns a pair if it can be compared, and counts all other configurations.
    fn classify(&mut self, key: &PairKey, a: &SideRecord, b: &SideRecord) -> Option<RepeatPair> {
        let found = &mut self.found;
        let (count, list) = match (a.is_missing(), b.is_missing()) {
            (_, true) => (&mut found.only_a, None),
            (true, _) => (&mut found.only_b, None),
            _ if a.has_same_records(b) => (&mut found.same_records, None),
            _ => match (a.is_failed(), b.is_failed()) {
                (true, true) => (&mut found.failing, None),
                (false, true) => (&mut found.newly_failing, Some(&mut found.failures)),
                (true, false) => (&mut found.newly_working, Some(&mut found.fixes)),
                (false, false) => {
                    let pair = RepeatPair::new(&a.repeats_ns, &b.repeats_ns)?;
                    return Some(pair.with_spoiled(a.spoiled || b.spoiled));
                }
            },
        };
        *count += 1;
        if let Some(list) = list.filter(|list| list.len() < self.top) {
            let median = |timed: &SideRecord| {
                let median = tsql_metrics::median::median(&timed.repeats_ns);
                median.map(|median| median.value)
            };
            list.push(Change {
                graph_id: key.graph_id,
                config_id: key.config_id,
                platform: key.platform.clone(),
                a_ns: median(a),
                b_ns: median(b),
                verdict: if b.is_failed() { "failed" } else { "fixed" },
                error_no: Some(if b.is_failed() {
                    b.error_no
                } else {
                    a.error_no
                }),
                ..Change::default()
            });
        }
        None
    }

    /// Applies the correction and builds the result.
    pub(super) fn finish(self, options: &CompareOptions) -> Result<CountedPairs> {
        let Self {
            pairs,
            all_p,
            top,
            mut found,
        } = self;
        // The pairs are counted, not inspected one by one.
        let corrected = all_p.benjamini_hochberg();
        let mut all = PairTally::default();
        let mut graphs: HashMap<i64, PairTally> = HashMap::new();
        let mut bins: BTreeMap<i64, PairTally> = BTreeMap::new();
        let (mut regressions, mut gains) = (TopChanges::new(top), TopChanges::new(top));
        let mut slower = 0;
        pairs.for_each(|key, pair| {
            let pair = pair.with_correction(&corrected, options.minimum_change);
            let speedup = 1.0 / (1.0 + pair.change);
            let allowed = options.allowed_regression;
            slower += u64::from(
                allowed.is_some_and(|allowed| pair.verdict_at(allowed) == Verdict::Slower),
            );
            for tally in [
                &mut all,
                graphs.entry(key.graph_id).or_default(),
                bins.entry(bin_number(speedup)).or_default(),
            ] {
                tally.add(speedup, pair.verdict);
            }
            if pair.change > 0.0 {
                regressions.add(pair.verdict == Verdict::Slower, pair.change, &key, &pair);
            } else if pair.change < 0.0 {
                gains.add(pair.verdict == Verdict::Faster, -pair.change, &key, &pair);
            }
        })?;
        found.minimum_change = options.minimum_change;
        found.all = all.summary();
        found.regressions = regressions.into_changes();
        found.gains = gains.into_changes();
        found.histogram = bins
            .into_iter()
            .map(|(bin, tally)| to_bin(bin, &tally))
            .collect();
        found.regression = options.allowed_regression.map(|allowed| {
            let high = found.all.speedup_high;
            Regression {
                allowed,
                slower,
                is_slower_overall: high.is_some_and(|high| high < 1.0 / (1.0 + allowed)),
                newly_failing: found.newly_failing,
            }
        });
        Ok(CountedPairs { found, graphs })
    }
}

/// Compares all pairs on all cores; preserves their order.
async fn compare_all(
    mut pairs: Vec<(PairKey, RepeatPair)>,
) -> Result<Vec<(PairKey, change::PairComparison)>> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let share = pairs.len().div_ceil(threads).max(MIN_PARALLEL_PAIRS);
    let mut tasks = Vec::new();
    while !pairs.is_empty() {
        let rest = pairs.split_off(share.min(pairs.len()));
        let own = std::mem::replace(&mut pairs, rest).into_iter();
        let compared = move || -> Vec<_> { own.map(|(key, pair)| (key, pair.compare())).collect() };
        tasks.push(tokio::task::spawn_blocking(compared));
    }
    let mut all = Vec::new();
    for task in tasks {
        let failed = |error: tokio::task::JoinError| Error::Internal(error.to_string());
        all.extend(task.await.map_err(failed)?);
    }
    Ok(all)
}

/// Bin number of a speedup; bin 0 begins at 1.
fn bin_number(speedup: f64) -> i64 {
    let place = (speedup.log2() * BINS).floor().clamp(-LAST_BIN, LAST_BIN);
    #[expect(clippy::cast_possible_truncation, reason = "a small whole number")]
    let place = place as i64;
    place
}

fn to_bin(bin: i64, tally: &PairTally) -> SpeedupRange {
    #[expect(clippy::cast_precision_loss, reason = "a small whole number")]
    let from = bin as f64;
    tally.bin((from / BINS).exp2(), ((from + 1.0) / BINS).exp2())
}

/// The largest changes; statistically significant ones sort first.
struct TopChanges {
    most: usize,
    changes: Vec<((bool, f64), Change)>,
}

impl TopChanges {
    fn new(most: usize) -> Self {
        Self {
            most,
            changes: Vec::new(),
        }
    }

    fn add(
        &mut self,
        is_beyond_noise: bool,
        size: f64,
        key: &PairKey,
        pair: &change::PairComparison,
    ) {
        let order = (is_beyond_noise, size);
        self.changes.push((order, to_change(key, pair)));
        // Sorts once in a while, not after each insertion.
        if self.changes.len() > 2 * self.most + MIN_PARALLEL_PAIRS {
            self.truncate();
        }
    }

    fn truncate(&mut self) {
        self.changes.sort_by(|(one, _), (other, _)| {
            let by_noise = other.0.cmp(&one.0);
            by_noise.then_with(|| other.1.total_cmp(&one.1))
        });
        self.changes.truncate(self.most);
    }

    fn into_changes(mut self) -> Vec<Change> {
        self.truncate();
        self.changes.into_iter().map(|(_, change)| change).collect()
    }
}

/// Converts a pair for the report.
fn to_change(key: &PairKey, pair: &change::PairComparison) -> Change {
    let high = 1.0 / (1.0 + pair.change_low);
    Change {
        graph_id: key.graph_id,
        config_id: key.config_id,
        platform: key.platform.clone(),
        a_ns: Some(pair.old_median_ns),
        b_ns: Some(pair.new_median_ns),
        speedup: Some(1.0 / (1.0 + pair.change)),
        speedup_low: Some(1.0 / (1.0 + pair.change_high)),
        speedup_high: Some(high).filter(|high| high.is_finite()),
        p: Some(pair.p_corrected),
        verdict: pair.verdict.word(),
        ..Change::default()
    }
}
