//! Counts pairs while they come, and says what became of them when all have come.

use std::collections::{BTreeMap, HashMap};

use tsql_metrics::change::{self, AllP, Pair, Verdict};

use super::found::{Bin, Change, Comparison, Regression, Tally};
use super::options::CompareOptions;
use super::pairs::Pairs;
use super::records::{Key, Matched, Timed};
use crate::error::{Error, Result};

/// Bins of the histogram for each doubling of the speedup.
const BINS: f64 = 64.0;

/// The end bins are of speedups of 2^16 and more.
const LAST_BIN: f64 = 16.0 * BINS;

/// Fewer pairs than these are not worth a thread.
const LEAST: usize = 64;

/// Pairs while they come.
pub(super) struct Counting {
    pairs: Pairs,
    all_p: AllP,
    top: usize,
    found: Comparison,
}

/// What was found, and the pairs of each graph.
pub(super) struct Counted {
    pub(super) found: Comparison,
    pub(super) graphs: HashMap<i64, Tally>,
}

impl Counting {
    pub(super) fn new(top: usize) -> Self {
        Self {
            pairs: Pairs::new(),
            all_p: AllP::default(),
            top,
            found: Comparison::default(),
        }
    }

    /// Takes some configurations.
    pub(super) async fn take(&mut self, some: Vec<Matched>) -> Result<()> {
        let mut measured = Vec::new();
        for Matched { key, a, b } in some {
            if let Some(pair) = self.sorted(&key, &a, &b) {
                measured.push((key, pair));
            }
        }
        for (key, found) in all_compared(measured).await? {
            self.all_p.add(found.p);
            self.pairs.push(key, &found)?;
        }
        Ok(())
    }

    /// A pair to compare; others are counted.
    fn sorted(&mut self, key: &Key, a: &Timed, b: &Timed) -> Option<Pair> {
        let found = &mut self.found;
        let (count, list) = match (a.is_missing(), b.is_missing()) {
            (_, true) => (&mut found.only_a, None),
            (true, _) => (&mut found.only_b, None),
            _ if a.is_same(b) => (&mut found.same_records, None),
            _ => match (a.failed(), b.failed()) {
                (true, true) => (&mut found.failing, None),
                (false, true) => (&mut found.newly_failing, Some(&mut found.failures)),
                (true, false) => (&mut found.newly_working, Some(&mut found.repairs)),
                (false, false) => {
                    let pair = Pair::new(&a.repeats_ns, &b.repeats_ns)?;
                    return Some(pair.with_spoiled(a.spoiled || b.spoiled));
                }
            },
        };
        *count += 1;
        if let Some(list) = list.filter(|list| list.len() < self.top) {
            let median = |timed: &Timed| {
                let median = tsql_metrics::median::median(&timed.repeats_ns);
                median.map(|median| median.value)
            };
            list.push(Change {
                graph_id: key.graph_id,
                config_id: key.config_id,
                platform: key.platform.clone(),
                a_ns: median(a),
                b_ns: median(b),
                verdict: if b.failed() { "failed" } else { "mended" },
                error_no: Some(if b.failed() { b.error_no } else { a.error_no }),
                ..Change::default()
            });
        }
        None
    }

    /// What became of all of them.
    pub(super) fn counted(self, options: &CompareOptions) -> Result<Counted> {
        let Self {
            pairs,
            all_p,
            top,
            mut found,
        } = self;
        // They are counted, and not looked at one by one.
        let corrected = all_p.benjamini_hochberg();
        let mut all = Tally::default();
        let mut graphs: HashMap<i64, Tally> = HashMap::new();
        let mut bins: BTreeMap<i64, Tally> = BTreeMap::new();
        let (mut regressions, mut gains) = (Top::new(top), Top::new(top));
        let mut slower = 0;
        pairs.each(|key, pair| {
            let pair = pair.corrected(&corrected, options.minimal_change);
            let speedup = 1.0 / (1.0 + pair.change);
            let allowed = options.allowed_regression;
            slower += u64::from(
                allowed.is_some_and(|allowed| pair.verdict_at(allowed) == Verdict::Slower),
            );
            for tally in [
                &mut all,
                graphs.entry(key.graph_id).or_default(),
                bins.entry(bin(speedup)).or_default(),
            ] {
                tally.add(speedup, pair.verdict);
            }
            if pair.change > 0.0 {
                regressions.add(pair.verdict == Verdict::Slower, pair.change, &key, &pair);
            } else if pair.change < 0.0 {
                gains.add(pair.verdict == Verdict::Faster, -pair.change, &key, &pair);
            }
        })?;
        found.minimal_change = options.minimal_change;
        found.all = all.summary();
        found.regressions = regressions.sorted();
        found.gains = gains.sorted();
        found.histogram = bins
            .into_iter()
            .map(|(bin, tally)| bin_of(bin, &tally))
            .collect();
        found.regression = options.allowed_regression.map(|allowed| {
            let high = found.all.speedup_high;
            Regression {
                allowed,
                slower,
                is_slower_at_all: high.is_some_and(|high| high < 1.0 / (1.0 + allowed)),
                newly_failing: found.newly_failing,
            }
        });
        Ok(Counted { found, graphs })
    }
}

/// Compares each, on all cores; gives them in their order.
async fn all_compared(mut pairs: Vec<(Key, Pair)>) -> Result<Vec<(Key, change::Comparison)>> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let share = pairs.len().div_ceil(threads).max(LEAST);
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

/// The number of the bin of a speedup, 0 beginning at 1.
fn bin(speedup: f64) -> i64 {
    let place = (speedup.log2() * BINS).floor().clamp(-LAST_BIN, LAST_BIN);
    #[expect(clippy::cast_possible_truncation, reason = "a small whole number")]
    let place = place as i64;
    place
}

fn bin_of(bin: i64, tally: &Tally) -> Bin {
    #[expect(clippy::cast_precision_loss, reason = "a small whole number")]
    let from = bin as f64;
    tally.bin((from / BINS).exp2(), ((from + 1.0) / BINS).exp2())
}

/// The largest of many: those beyond noise before all others.
struct Top {
    most: usize,
    changes: Vec<((bool, f64), Change)>,
}

impl Top {
    fn new(most: usize) -> Self {
        Self {
            most,
            changes: Vec::new(),
        }
    }

    fn add(&mut self, is_beyond_noise: bool, size: f64, key: &Key, pair: &change::Comparison) {
        let order = (is_beyond_noise, size);
        self.changes.push((order, changed(key, pair)));
        // Sorted now and then, and not for each.
        if self.changes.len() > 2 * self.most + LEAST {
            self.cut();
        }
    }

    fn cut(&mut self) {
        self.changes.sort_by(|(one, _), (other, _)| {
            let by_noise = other.0.cmp(&one.0);
            by_noise.then_with(|| other.1.total_cmp(&one.1))
        });
        self.changes.truncate(self.most);
    }

    fn sorted(mut self) -> Vec<Change> {
        self.cut();
        self.changes.into_iter().map(|(_, change)| change).collect()
    }
}

/// A pair as it is shown.
fn changed(key: &Key, pair: &change::Comparison) -> Change {
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
