//! Repeated runs of a sequence, without overlap.

use std::collections::BTreeSet;

use super::suffixes::{lcp_array, suffix_array};

/// A run that occurs several times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Repeat {
    pub(super) length: usize,
    /// Start of each occurrence, in ascending order. Occurrences do not overlap.
    pub(super) starts: Vec<u32>,
}

impl Repeat {
    /// Number of symbols in all occurrences but one.
    pub(super) fn saved_symbols(&self) -> u64 {
        self.length as u64 * (self.starts.len() as u64).saturating_sub(1)
    }
}

/// Returns runs of at least `min_length` symbols, in descending order of [`Repeat::saved_symbols`]. Ties are broken by
/// the number of occurrences (most first), then by position (first one first).
///
/// For each set of positions where the same runs start, the result has the longest run whose occurrences do not
/// overlap.
pub(super) fn find_repeats(symbols: &[u32], min_length: usize) -> impl Iterator<Item = Repeat> {
    let suffixes = suffix_array(symbols);
    let mut intervals = lcp_intervals(symbols, &suffixes, min_length);
    intervals.sort_by_key(|interval| {
        std::cmp::Reverse((
            interval.saved_symbols(),
            interval.count(),
            std::cmp::Reverse(interval.first_start),
        ))
    });
    intervals.into_iter().map(move |interval| {
        let mut starts = suffixes
            .get(interval.start..interval.end)
            .unwrap_or_default()
            .to_vec();
        starts.sort_unstable();
        Repeat {
            length: interval.length,
            starts,
        }
    })
}

/// Suffixes with a common prefix: a range of the suffix array.
struct LcpInterval {
    length: usize,
    start: usize,
    end: usize,
    /// Position of the first occurrence.
    first_start: u32,
}

impl LcpInterval {
    fn count(&self) -> usize {
        self.end - self.start
    }

    fn saved_symbols(&self) -> usize {
        self.count().saturating_sub(1) * self.length
    }
}

/// Positions, and the minimum distance between two of them.
#[derive(Default)]
struct Occurrences {
    positions: BTreeSet<u32>,
    nearest: Option<u32>,
}

impl Occurrences {
    fn new(position: u32) -> Self {
        Self {
            positions: BTreeSet::from([position]),
            nearest: None,
        }
    }

    /// Merges the smaller set into the larger one.
    fn merge(&mut self, mut other: Self) {
        if other.positions.len() > self.positions.len() {
            std::mem::swap(self, &mut other);
        }
        let mut nearest = [self.nearest, other.nearest].into_iter().flatten().min();
        for position in other.positions {
            let gap_before = self
                .positions
                .range(..position)
                .next_back()
                .map(|near| position - near);
            let gap_after = self
                .positions
                .range(position..)
                .next()
                .map(|near| near - position);
            nearest = [nearest, gap_before, gap_after].into_iter().flatten().min();
            self.positions.insert(position);
        }
        self.nearest = nearest;
    }
}

/// An interval that is still being extended.
struct OpenInterval {
    prefix_length: u32,
    start: usize,
    positions: Occurrences,
}

/// Returns the LCP intervals of the suffix array, bottom up.
fn lcp_intervals(symbols: &[u32], suffixes: &[u32], min_length: usize) -> Vec<LcpInterval> {
    let lengths = lcp_array(symbols, suffixes);
    let mut intervals = Vec::new();
    let mut open = vec![OpenInterval {
        prefix_length: 0,
        start: 0,
        positions: Occurrences::default(),
    }];
    let mut pending: Option<(Occurrences, usize)> = None;
    for end in 0..=suffixes.len() {
        let length = lengths.get(end).copied().unwrap_or(0);
        if let Some((mut positions, mut start)) = pending.take() {
            while let Some(mut top) = open.pop_if(|top| top.prefix_length > length) {
                let enclosing_length = open
                    .last()
                    .map_or(0, |below| below.prefix_length)
                    .max(length);
                top.positions.merge(positions);
                intervals.extend(close_interval(&top, end, enclosing_length, min_length));
                (positions, start) = (top.positions, top.start);
            }
            match open.last_mut() {
                Some(top) if top.prefix_length == length => top.positions.merge(positions),
                _ => open.push(OpenInterval {
                    prefix_length: length,
                    start,
                    positions,
                }),
            }
        }
        pending = suffixes
            .get(end)
            .map(|&suffix| (Occurrences::new(suffix), end));
    }
    intervals
}

/// Returns the run of an interval. Returns `None` if a longer run has the same positions: the enclosing interval has a
/// common prefix of `enclosing_length` symbols.
fn close_interval(
    open: &OpenInterval,
    end: usize,
    enclosing_length: u32,
    min_length: usize,
) -> Option<LcpInterval> {
    let length = open.positions.nearest?.min(open.prefix_length);
    (length > enclosing_length && length as usize >= min_length).then_some(LcpInterval {
        length: length as usize,
        start: open.start,
        end,
        first_start: open
            .positions
            .positions
            .first()
            .copied()
            .unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts_and_length(text: &str, min_length: usize) -> Vec<(String, Vec<u32>)> {
        let symbols: Vec<u32> = text.chars().map(u32::from).collect();
        let text: Vec<char> = text.chars().collect();
        let text_and_starts = |repeat: Repeat| {
            let start = repeat.starts[0] as usize;
            (
                text[start..start + repeat.length].iter().collect(),
                repeat.starts,
            )
        };
        find_repeats(&symbols, min_length)
            .map(text_and_starts)
            .collect()
    }

    #[test]
    fn runs_are_as_long_as_they_do_not_overlap() {
        let repeats = starts_and_length("xabcabcabcy", 2);
        assert_eq!(repeats[0], ("abc".to_owned(), vec![1, 4, 7]));
        let twice = starts_and_length("abcdXabcd", 1);
        assert_eq!(twice[0], ("abcd".to_owned(), vec![0, 5]));
        assert_eq!(starts_and_length("abcdefg", 1), []);
        assert_eq!(
            starts_and_length("aaaa", 1)[0],
            ("a".to_owned(), vec![0, 1, 2, 3])
        );
        assert_eq!(starts_and_length("abab", 3), []);
        assert_eq!(starts_and_length("", 1), []);
    }

    /// Compares with an exhaustive search over all runs of a sequence.
    #[test]
    fn the_first_repeat_saves_as_much_as_any_that_recurs_without_overlap() {
        let mut random = fastrand::Rng::with_seed(11);
        for _ in 0..200 {
            let length = random.usize(2..24);
            let symbols: Vec<u32> = (0..length).map(|_| random.u32(0..3)).collect();
            let mut max_saved = 0;
            for run in 2..=length / 2 {
                for start in 0..=length - run {
                    let same = |position: &usize| {
                        symbols[*position..position + run] == symbols[start..start + run]
                    };
                    let starts: Vec<usize> = (0..=length - run).filter(same).collect();
                    let are_disjoint = starts.windows(2).all(|two| two[1] - two[0] >= run);
                    if starts.len() > 1 && are_disjoint {
                        max_saved = max_saved.max((starts.len() - 1) * run);
                    }
                }
            }
            let first = find_repeats(&symbols, 2).next();
            let saved = first.map_or(0, |first| (first.starts.len() - 1) * first.length);
            assert_eq!(saved, max_saved, "{symbols:?}");
        }
    }
}
