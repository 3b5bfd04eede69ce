//! Classifies and counts pairs as a stream, then applies the correction and builds the result.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use tsql_error::{Error, Result};
use tsql_metrics::change::{PValues, Verdict};
use tsql_verdicts::common_shift::is_anchor_moved;

use super::pairs::PairBuffer;
use super::rule_context::RuleContext;
use super::shift_tracker::ShiftTracker;
use super::top_changes::{TopChanges, to_change};
use crate::compare::comparison::{Change, Comparison, PairTally, Regression, SpeedupRange};
use crate::compare::options::CompareOptions;
use crate::compare::pair_result::{ComparedPair, DecidedPair};
use crate::compare::records::{MatchedConfig, PairKey, SideRecord};

/// Number of histogram bins for each doubling of the speedup.
const BINS: f64 = 64.0;

/// The outermost bins contain speedups of 2^16 and more, and their inverses.
const LAST_BIN: f64 = 16.0 * BINS;

/// Minimum number of pairs for another thread.
const MIN_PARALLEL_PAIRS: usize = 64;

/// Accumulator of pairs.
pub(in crate::compare) struct PairCounter {
    pairs: PairBuffer,
    all_p: PValues,
    top: usize,
    found: Comparison,
    context: Arc<RuleContext>,
    /// Pairs of the control programs.
    anchors: Vec<(PairKey, ComparedPair)>,
}

/// Result of the comparison, and the pairs of each graph.
pub(in crate::compare) struct CountedPairs {
    pub(in crate::compare) found: Comparison,
    pub(in crate::compare) graphs: HashMap<i64, PairTally>,
}

impl PairCounter {
    pub(in crate::compare) fn new(top: usize, context: RuleContext) -> Self {
        Self {
            pairs: PairBuffer::new(),
            all_p: PValues::default(),
            top,
            found: Comparison::default(),
            context: Arc::new(context),
            anchors: Vec::new(),
        }
    }

    /// Adds a batch of configurations.
    pub(in crate::compare) async fn take(&mut self, some: Vec<MatchedConfig>) -> Result<()> {
        let mut measured = Vec::new();
        for config in some {
            if self.classify(&config.key, &config.a, &config.b) {
                measured.push(config);
            }
        }
        for (key, found) in compare_all(measured, &self.context).await? {
            self.all_p.add(found.p());
            if self.context.anchors.contains(&key.graph_id) {
                self.anchors.push((key.clone(), found));
            }
            self.pairs.push(key, &found)?;
        }
        Ok(())
    }

    /// Returns whether a configuration can be compared, and counts all others.
    fn classify(&mut self, key: &PairKey, a: &SideRecord, b: &SideRecord) -> bool {
        let found = &mut self.found;
        let (count, list) = match (a.is_missing(), b.is_missing()) {
            (_, true) => (&mut found.only_a, None),
            (true, _) => (&mut found.only_b, None),
            _ if a.has_same_records(b) => (&mut found.same_records, None),
            _ => match (a.is_failed(), b.is_failed()) {
                (true, true) => (&mut found.failing, None),
                (false, true) => (&mut found.newly_failing, Some(&mut found.failures)),
                (true, false) => (&mut found.newly_working, Some(&mut found.fixes)),
                (false, false) => return true,
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
        false
    }

    /// Returns the control programs with their verdicts, and the platforms whose control program moved.
    fn judge_anchors(&self, options: &CompareOptions) -> (Vec<Change>, BTreeSet<Option<String>>) {
        let all: PValues = self.anchors.iter().map(|(_, pair)| pair.p()).collect();
        let corrected = all.benjamini_hochberg();
        let (mut changes, mut moved) = (Vec::new(), BTreeSet::new());
        for (key, pair) in &self.anchors {
            let pair = pair.decide(&corrected, options.minimum_change);
            if is_anchor_moved([pair.verdict]) {
                moved.insert(key.platform.clone());
            }
            changes.push(to_change(key, &pair, options.minimum_change));
        }
        (changes, moved)
    }

    /// Applies the correction and builds the result.
    pub(in crate::compare) fn finish(self, options: &CompareOptions) -> Result<CountedPairs> {
        let (anchors, moved) = self.judge_anchors(options);
        // The pairs are counted, not inspected one by one.
        let corrected = self.all_p.benjamini_hochberg();
        let mut report = ReportBuilder::new(self.top, self.found, options);
        report.is_trusted = moved.is_empty();
        self.pairs.for_each(|key, pair| {
            let mut pair = pair.decide(&corrected, options.minimum_change);
            if moved.contains(&key.platform) {
                pair = pair.with_moved_anchor();
            }
            report.add(&key, &pair);
        })?;
        let mut counted = report.finish();
        counted.found.anchors = anchors;
        Ok(counted)
    }
}

/// Builder of the report from decided pairs.
struct ReportBuilder<'a> {
    options: &'a CompareOptions,
    found: Comparison,
    all: PairTally,
    graphs: HashMap<i64, PairTally>,
    bins: BTreeMap<i64, PairTally>,
    shifts: ShiftTracker,
    regressions: TopChanges,
    gains: TopChanges,
    unclear: TopChanges,
    slower: u64,
    undecided: u64,
    /// Whether no control program moved.
    is_trusted: bool,
}

impl<'a> ReportBuilder<'a> {
    fn new(top: usize, found: Comparison, options: &'a CompareOptions) -> Self {
        Self {
            options,
            found,
            all: PairTally::default(),
            graphs: HashMap::new(),
            bins: BTreeMap::new(),
            shifts: ShiftTracker::default(),
            regressions: TopChanges::new(top),
            gains: TopChanges::new(top),
            unclear: TopChanges::new(top),
            slower: 0,
            undecided: 0,
            is_trusted: true,
        }
    }

    /// The change that must be found: the allowed slowdown, or else the minimum change.
    fn wanted_change(&self) -> f64 {
        let allowed = self.options.allowed_regression;
        allowed
            .filter(|allowed| *allowed > 0.0)
            .unwrap_or(self.options.minimum_change)
    }

    fn add(&mut self, key: &PairKey, pair: &DecidedPair) {
        let wanted = self.wanted_change();
        if let Some(allowed) = self.options.allowed_regression {
            self.slower += u64::from(pair.is_slower_than(allowed));
        }
        self.undecided += u64::from(pair.is_undecided(wanted));
        for tally in [
            &mut self.all,
            self.graphs.entry(key.graph_id).or_default(),
            self.bins.entry(bin_number(pair.speedup())).or_default(),
        ] {
            tally.add(pair);
        }
        self.shifts.add(key.platform.as_ref(), pair.log_change);
        if pair.log_change > 0.0 {
            let is_slower = pair.verdict == Verdict::Slower;
            self.regressions.add(is_slower, key, pair, wanted);
        } else if pair.log_change < 0.0 {
            let is_faster = pair.verdict == Verdict::Faster;
            self.gains.add(is_faster, key, pair, wanted);
        }
        if pair.verdict == Verdict::Unclear {
            self.unclear.add(false, key, pair, wanted);
        }
        if let Some(reason) = pair.reason {
            *self.found.unclear_reasons.entry(reason).or_default() += 1;
        }
        if self.found.pairs.len() < self.options.max_pairs {
            self.found.pairs.push(to_change(key, pair, wanted));
        }
    }

    fn finish(self) -> CountedPairs {
        let Self {
            options, mut found, ..
        } = self;
        found.version = 1;
        found.undecided = self.undecided;
        found.rule = options.rule;
        found.minimum_change = options.minimum_change;
        found.all = self.all.summary(options.rule);
        found.shifts = self.shifts.shifts(options.minimum_change);
        found.regressions = self.regressions.into_changes();
        found.gains = self.gains.into_changes();
        found.unclear = self.unclear.into_changes();
        found.histogram = self
            .bins
            .into_iter()
            .map(|(bin, tally)| to_bin(bin, &tally))
            .collect();
        found.regression = options.allowed_regression.map(|allowed| {
            let high = found.all.speedup_high;
            Regression {
                allowed,
                slower: self.slower,
                is_slower_overall: self.is_trusted
                    && high.is_some_and(|high| high < 1.0 / (1.0 + allowed)),
                newly_failing: found.newly_failing,
            }
        });
        CountedPairs {
            found,
            graphs: self.graphs,
        }
    }
}

/// Compares all pairs on all cores; preserves their order.
async fn compare_all(
    mut configs: Vec<MatchedConfig>,
    context: &Arc<RuleContext>,
) -> Result<Vec<(PairKey, ComparedPair)>> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let share = configs.len().div_ceil(threads).max(MIN_PARALLEL_PAIRS);
    let mut tasks = Vec::new();
    while !configs.is_empty() {
        let rest = configs.split_off(share.min(configs.len()));
        let own = std::mem::replace(&mut configs, rest).into_iter();
        let context = Arc::clone(context);
        let compared = move || -> Vec<_> {
            let pairs = own.filter_map(|MatchedConfig { key, a, b }| {
                let pair = context.compare(&key, &a, &b)?;
                Some((key, pair))
            });
            pairs.collect()
        };
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
