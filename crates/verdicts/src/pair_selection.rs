//! Choice of the pairs of runs that floors are fitted to.

use std::collections::BTreeMap;

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
    let mut selected = SelectedPairs::default();
    for day in &order {
        let of_day = days.get(day).map_or(&[][..], Vec::as_slice);
        let pairs = of_day.iter().zip(of_day.iter().skip(1));
        let pair = pairs
            .map(|(one, other)| (*one, *other))
            .find(|((_, one), (_, other))| may_pair(one, other));
        selected
            .within_day
            .extend(pair.map(|((one, _), (other, _))| (one, other)));
    }
    let mut waiting: Option<(usize, &R)> = None;
    for day in &order {
        let Some(first) = days.get(day).and_then(|runs| runs.first()).copied() else {
            continue;
        };
        waiting = match waiting {
            Some((index, run)) if may_pair(run, first.1) => {
                selected.across_days.push((index, first.0));
                None
            }
            _ => Some(first),
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
        assert_eq!(selected.across_days, [(3, 4)]);
        assert_eq!(
            select_pairs(&[(1, 'a'); 0], |run| run.0, |_, _| true),
            SelectedPairs::default()
        );
    }
}
