//! Suffix array and LCP array of a sequence.

/// Returns the start positions of all suffixes in lexicographic order, by prefix doubling (Manber and Myers, 1993).
pub(super) fn suffix_array(letters: &[u32]) -> Vec<u32> {
    let count = letters.len();
    let mut ranks: Vec<usize> = letters.iter().map(|&letter| letter as usize).collect();
    let mut suffixes: Vec<u32> = (0..).take(count).collect();
    let mut step = 1;
    loop {
        // A suffix that ends sorts before any longer one.
        let key = |&suffix: &u32| {
            let at = suffix as usize;
            let own = ranks.get(at).copied().unwrap_or_default();
            (own, ranks.get(at + step).map(|rank| rank + 1))
        };
        suffixes.sort_unstable_by_key(key);
        let mut next = vec![0; count];
        let mut rank = 0;
        for (before, suffix) in suffixes.iter().zip(suffixes.iter().skip(1)) {
            rank += usize::from(key(before) != key(suffix));
            if let Some(of_suffix) = next.get_mut(*suffix as usize) {
                *of_suffix = rank;
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
pub(super) fn lcp_array(letters: &[u32], suffixes: &[u32]) -> Vec<u32> {
    let mut places = vec![0; suffixes.len()];
    for (place, &suffix) in suffixes.iter().enumerate() {
        if let Some(slot) = places.get_mut(suffix as usize) {
            *slot = place;
        }
    }
    let mut lengths = vec![0; suffixes.len()];
    let mut length = 0_usize;
    for (begin, &place) in places.iter().enumerate() {
        let before = place.checked_sub(1).and_then(|before| suffixes.get(before));
        let Some(&before) = before else {
            length = 0;
            continue;
        };
        let own = letters.iter().skip(begin + length);
        let other = letters.iter().skip(before as usize + length);
        length += own.zip(other).take_while(|(a, b)| a == b).count();
        if let Some(slot) = lengths.get_mut(place) {
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
        for letters in all {
            let mut expected: Vec<u32> = (0..).take(letters.len()).collect();
            expected.sort_by_key(|&suffix| &letters[suffix as usize..]);
            let suffixes = suffix_array(&letters);
            assert_eq!(suffixes, expected, "{letters:?}");
            let lengths = lcp_array(&letters, &suffixes);
            for (pair, length) in suffixes.windows(2).zip(lengths.iter().skip(1)) {
                let [a, b] = [pair[0], pair[1]].map(|suffix| &letters[suffix as usize..]);
                let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
                assert_eq!(*length as usize, same);
            }
        }
    }
}
