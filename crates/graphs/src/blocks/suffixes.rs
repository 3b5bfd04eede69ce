//! Suffix array and LCP array of a sequence.

/// Returns the start positions of all suffixes in lexicographic order, by prefix doubling (Manber and Myers, 1993).
pub(super) fn suffix_array(symbols: &[u32]) -> Vec<u32> {
    let count = symbols.len();
    let mut ranks: Vec<usize> = symbols.iter().map(|&symbol| symbol as usize).collect();
    let mut suffixes: Vec<u32> = (0..).take(count).collect();
    let mut step = 1;
    loop {
        // A suffix that ends sorts before any longer one.
        let key = |&suffix: &u32| {
            let position = suffix as usize;
            let first_rank = ranks.get(position).copied().unwrap_or_default();
            (first_rank, ranks.get(position + step).map(|rank| rank + 1))
        };
        suffixes.sort_unstable_by_key(key);
        let mut next = vec![0; count];
        let mut rank = 0;
        for (previous, suffix) in suffixes.iter().zip(suffixes.iter().skip(1)) {
            rank += usize::from(key(previous) != key(suffix));
            if let Some(slot) = next.get_mut(*suffix as usize) {
                *slot = rank;
            }
        }
        ranks = next;
        step *= 2;
        if rank + 1 >= count {
            return suffixes;
        }
    }
}

/// Returns the length of the common prefix of each suffix and its predecessor (Kasai and others, 2001); 0 for the
/// first.
pub(super) fn lcp_array(symbols: &[u32], suffixes: &[u32]) -> Vec<u32> {
    let mut positions = vec![0; suffixes.len()];
    for (position, &start) in suffixes.iter().enumerate() {
        if let Some(slot) = positions.get_mut(start as usize) {
            *slot = position;
        }
    }
    let mut lengths = vec![0; suffixes.len()];
    let mut length = 0_usize;
    for (start, &position) in positions.iter().enumerate() {
        let previous = position
            .checked_sub(1)
            .and_then(|previous| suffixes.get(previous));
        let Some(&previous) = previous else {
            length = 0;
            continue;
        };
        let suffix_symbols = symbols.iter().skip(start + length);
        let previous_symbols = symbols.iter().skip(previous as usize + length);
        length += suffix_symbols
            .zip(previous_symbols)
            .take_while(|(a, b)| a == b)
            .count();
        if let Some(slot) = lengths.get_mut(position) {
            *slot = u32::try_from(length).unwrap_or(u32::MAX);
        }
        length = length.saturating_sub(1);
    }
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_are_sorted_as_slices_are() {
        let mut random = fastrand::Rng::with_seed(3);
        let mut all = vec![vec![], vec![5], vec![1; 40], vec![1, 2, 1, 2, 1, 2, 1]];
        all.extend((0..60).map(|length| (0..length).map(|_| random.u32(0..3)).collect()));
        for symbols in all {
            let mut expected: Vec<u32> = (0..).take(symbols.len()).collect();
            expected.sort_by_key(|&suffix| &symbols[suffix as usize..]);
            let suffixes = suffix_array(&symbols);
            assert_eq!(suffixes, expected, "{symbols:?}");
            let lengths = lcp_array(&symbols, &suffixes);
            for (pair, length) in suffixes.windows(2).zip(lengths.iter().skip(1)) {
                let [a, b] = [pair[0], pair[1]].map(|suffix| &symbols[suffix as usize..]);
                let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
                assert_eq!(*length as usize, same);
            }
        }
    }
}
