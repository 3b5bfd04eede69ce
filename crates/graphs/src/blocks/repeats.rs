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
    /// Number of letters in all occurrences but one.
    pub(super) fn saved_symbols(&self) -> u64 {
        self.length as u64 * (self.starts.len() as u64).saturating_sub(1)
    }
}

/// Returns runs of at least `least` letters, in descending order of [`Repeat::saved_symbols`]. Ties are broken by the
/// number of occurrences (most), then by position (first).
///
/// For each set of positions where the same runs begin, it is the longest run whose occurrences do not overlap.
pub(super) fn find_repeats(letters: &[u32], least: usize) -> impl Iterator<Item = Repeat> {
    let suffixes = suffix_array(letters);
    let mut found = lcp_intervals(letters, &suffixes, least);
    found.sort_by_key(|one| {
        std::cmp::Reverse((
            one.saved_symbols(),
            one.count(),
            std::cmp::Reverse(one.first),
        ))
    });
    found.into_iter().map(move |one| {
        let mut starts = suffixes
            .get(one.begin..one.end)
            .unwrap_or_default()
            .to_vec();
        starts.sort_unstable();
        Repeat {
            length: one.length,
            starts,
        }
    })
}

/// Suffixes with a common prefix: a range of the suffix array.
struct LcpInterval {
    length: usize,
    begin: usize,
    end: usize,
    /// First position of the run.
    first: u32,
}

impl LcpInterval {
    fn count(&self) -> usize {
        self.end - self.begin
    }

    fn saved_symbols(&self) -> usize {
        self.count().saturating_sub(1) * self.length
    }
}

/// Positions, and the minimum distance between two of them.
#[derive(Default)]
struct Occurrences {
    places: BTreeSet<u32>,
    nearest: Option<u32>,
}

impl Occurrences {
    fn new(place: u32) -> Self {
        Self {
            places: BTreeSet::from([place]),
            nearest: None,
        }
    }

    /// Merges the smaller set into the larger one.
    fn merge(&mut self, mut other: Self) {
        if other.places.len() > self.places.len() {
            std::mem::swap(self, &mut other);
        }
        let mut nearest = [self.nearest, other.nearest].into_iter().flatten().min();
        for place in other.places {
            let before = self
                .places
                .range(..place)
                .next_back()
                .map(|near| place - near);
            let behind = self.places.range(place..).next().map(|near| near - place);
            nearest = [nearest, before, behind].into_iter().flatten().min();
            self.places.insert(place);
        }
        self.nearest = nearest;
    }
}

/// An interval that is still being extended.
struct OpenInterval {
    common: u32,
    begin: usize,
    places: Occurrences,
}

/// Returns the LCP intervals of the suffix array, bottom up.
fn lcp_intervals(letters: &[u32], suffixes: &[u32], least: usize) -> Vec<LcpInterval> {
    let lengths = lcp_array(letters, suffixes);
    let mut found = Vec::new();
    let mut open = vec![OpenInterval {
        common: 0,
        begin: 0,
        places: Occurrences::default(),
    }];
    let mut pending: Option<(Occurrences, usize)> = None;
    for end in 0..=suffixes.len() {
        let length = lengths.get(end).copied().unwrap_or(0);
        if let Some((mut places, mut begin)) = pending.take() {
            while let Some(mut top) = open.pop_if(|top| top.common > length) {
                let around = open.last().map_or(0, |below| below.common).max(length);
                top.places.merge(places);
                found.extend(close_interval(&top, end, around, least));
                (places, begin) = (top.places, top.begin);
            }
            match open.last_mut() {
                Some(top) if top.common == length => top.places.merge(places),
                _ => open.push(OpenInterval {
                    common: length,
                    begin,
                    places,
                }),
            }
        }
        pending = suffixes
            .get(end)
            .map(|&suffix| (Occurrences::new(suffix), end));
    }
    found
}

/// Returns the run of an interval; `None` if a longer run has the same positions (`around` letters are common to the
/// enclosing interval).
fn close_interval(
    open: &OpenInterval,
    end: usize,
    around: u32,
    least: usize,
) -> Option<LcpInterval> {
    let length = open.places.nearest?.min(open.common);
    (length > around && length as usize >= least).then_some(LcpInterval {
        length: length as usize,
        begin: open.begin,
        end,
        first: open.places.places.first().copied().unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts_and_length(text: &str, least: usize) -> Vec<(String, Vec<u32>)> {
        let letters: Vec<u32> = text.chars().map(u32::from).collect();
        let text: Vec<char> = text.chars().collect();
        let of = |one: Repeat| {
            let begin = one.starts[0] as usize;
            (text[begin..begin + one.length].iter().collect(), one.starts)
        };
        find_repeats(&letters, least).map(of).collect()
    }

    #[test]
    fn runs_are_as_long_as_they_do_not_overlap() {
        let found = starts_and_length("xabcabcabcy", 2);
        assert_eq!(found[0], ("abc".to_owned(), vec![1, 4, 7]));
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
            let letters: Vec<u32> = (0..length).map(|_| random.u32(0..3)).collect();
            let mut most = 0;
            for run in 2..=length / 2 {
                for begin in 0..=length - run {
                    let same = |at: &usize| letters[*at..at + run] == letters[begin..begin + run];
                    let starts: Vec<usize> = (0..=length - run).filter(same).collect();
                    let apart = starts.windows(2).all(|two| two[1] - two[0] >= run);
                    if starts.len() > 1 && apart {
                        most = most.max((starts.len() - 1) * run);
                    }
                }
            }
            let first = find_repeats(&letters, 2).next();
            let found = first.map_or(0, |first| (first.starts.len() - 1) * first.length);
            assert_eq!(found, most, "{letters:?}");
        }
    }
}
