//! Choice of the pairs of runs that floors are fitted to.

use std::collections::BTreeMap;

/// Maximum number of runs of a day among which a partner is searched.
const MAX_SEARCHED_RUNS: usize = 16;

/// Pairs of indices of runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelectedPairs {
    /// Two runs of one day: at most one pair for each day.
    pub within_day: Vec<(usize, usize)>,
    /// Runs of two days; each day is in at most one pair.
    pub across_days: Vec<(usize, usize)>,
}

/// Selects pairs among the runs of one configuration, program and platform, in the order of their time.
///
/// Pairs share no day with another pair of the same kind, so that they are independent. `day_of` identifies the day of
/// a run; `may_pair` rejects pairs in which something may have changed.
pub fn select_pairs<R>(
    runs: &[R],
    day_of: impl Fn(&R) -> u64,
    may_pair: impl Fn(&R, &R) -> bool,
) -> SelectedPairs {
    let mut days: BTreeMap<u64, Vec<(usize, &R)>> = BTreeMap::new();
    let mut order = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        let day = day_of(run);
        let of_day = days.entry(day).or_default();
        if of_day.is_empty() {
            order.push(day);
        }
        of_day.push((index, run));
    }
    let runs_of = |day: &u64| days.get(day).map_or(&[][..], Vec::as_slice);
    let mut selected = SelectedPairs::default();
    for of_day in order.iter().map(runs_of) {
        let mut pairs = of_day.iter().enumerate().flat_map(|(place, one)| {
            let later = of_day.iter().skip(place + 1).take(MAX_SEARCHED_RUNS);
            later.map(move |other| (one, other))
        });
        let pair = pairs.find(|((_, one), (_, other))| may_pair(one, other));
        let indices = pair.map(|((one, _), (other, _))| (*one, *other));
        selected.within_day.extend(indices);
    }
    let mut waiting: &[(usize, &R)] = &[];
    for of_day in order.iter().map(runs_of) {
        let mut pairs = waiting.iter().take(MAX_SEARCHED_RUNS).flat_map(|one| {
            let searched = of_day.iter().take(MAX_SEARCHED_RUNS);
            searched.map(move |other| (one, other))
        });
        let pair = pairs.find(|((_, one), (_, other))| may_pair(one, other));
        waiting = match pair {
            Some(((one, _), (other, _))) => {
                selected.across_days.push((*one, *other));
                &[]
            }
            None => of_day,
        };
    }
    selected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_day_gives_one_pair() {
        let days = [1, 1, 1, 2, 3, 3, 4];
        let selected = select_pairs(&days, |day| *day, |_, _| true);
        assert_eq!(selected.within_day, [(0, 1), (4, 5)]);
        assert_eq!(selected.across_days, [(0, 3), (4, 6)]);
    }

    #[test]
    fn changed_programs_make_no_pair() {
        // (day, build)
        let runs = [(1, 'a'), (1, 'b'), (1, 'b'), (2, 'b'), (3, 'b'), (4, 'c')];
        let selected = select_pairs(&runs, |run| run.0, |one, other| one.1 == other.1);
        assert_eq!(selected.within_day, [(1, 2)]);
        assert_eq!(selected.across_days, [(1, 3)]);
        // A partner need not be the next run.
        let mixed = [(1, 'a'), (1, 'b'), (1, 'a'), (2, 'c'), (2, 'b')];
        let selected = select_pairs(&mixed, |run| run.0, |one, other| one.1 == other.1);
        assert_eq!(selected.within_day, [(0, 2)]);
        assert_eq!(selected.across_days, [(1, 4)]);
        assert_eq!(
            select_pairs(&[(1, 'a'); 0], |run| run.0, |_, _| true),
            SelectedPairs::default()
        );
    }
}
