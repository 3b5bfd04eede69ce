//! A shuffle that is computed element by element. It is not stored, so the millionth element costs as much as
//! the first.
//!
//! A Feistel network (Luby and Rackoff, SIAM J. Comput. 17, 1988) permutes the numbers of `2 h` bits. Outputs
//! beyond the last element are permuted again until one is in range (Black and Rogaway, CT-RSA 2002,
//! "cycle-walking").
//!
//! Architecture invariant: the constants never change, because a training run resumes with the same sequence.

/// Rounds of the network.
const ROUNDS: usize = 6;

/// Increment of the key sequence: 2^64 divided by the golden ratio (Steele et al., "SplitMix", OOPSLA 2014).
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A permutation of the numbers below a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Permutation {
    count: u64,
    /// Bits of each half.
    half: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    /// Creates the permutation of `0..count` for an epoch and a seed.
    pub(crate) fn new(count: u64, seed: u64, epoch: u64) -> Self {
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        let mut state = mix64(seed) ^ mix64(epoch.wrapping_add(GOLDEN));
        let keys = [(); ROUNDS].map(|()| {
            state = state.wrapping_add(GOLDEN);
            mix64(state)
        });
        Self {
            count,
            half: bits.div_ceil(2).max(1),
            keys,
        }
    }

    /// Returns the number at an index below the count.
    pub(crate) fn at(&self, place: u64) -> u64 {
        if self.count < 2 {
            return place;
        }
        let mut number = place;
        loop {
            number = self.network(number);
            // The walk returns to `place`, which is below the count, at the latest.
            if number < self.count {
                return number;
            }
        }
    }

    fn network(&self, number: u64) -> u64 {
        let mask = (1 << self.half) - 1;
        let (mut left, mut right) = (number >> self.half & mask, number & mask);
        for key in self.keys {
            (left, right) = (right, left ^ (mix64(right ^ key) & mask));
        }
        left << self.half | right
    }
}

/// Finalizer of SplitMix64: each bit of the input changes half of the output bits on average.
pub(crate) fn mix64(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(count: u64, seed: u64, epoch: u64) -> Vec<u64> {
        let permutation = Permutation::new(count, seed, epoch);
        (0..count).map(|place| permutation.at(place)).collect()
    }

    #[test]
    fn each_number_comes_once() {
        for count in [0, 1, 2, 3, 4, 5, 16, 17, 1000, 65_537] {
            let mut numbers = all(count, 7, 3);
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..count), "{count}");
        }
        let last = Permutation::new(u64::MAX, 1, 1);
        assert!(last.at(u64::MAX - 1) < u64::MAX);
    }

    /// A different sequence would change the training of resumed runs. The expected values were computed by the
    /// same steps in Python.
    #[test]
    fn permutations_equal_the_reference_values() {
        assert_eq!(all(10, 0, 0), [9, 4, 6, 8, 7, 3, 1, 5, 2, 0]);
        assert_eq!(all(10, 7, 1), [0, 9, 1, 7, 2, 3, 6, 4, 5, 8]);
        let large = Permutation::new(51_600_000, 7, 2);
        let places = [0, 1, 2, 51_599_999].map(|place| large.at(place));
        assert_eq!(places, [49800060, 36785977, 7790819, 21232239]);
    }

    #[test]
    fn seeds_and_epochs_give_other_orders() {
        let first = all(1000, 7, 0);
        for (seed, epoch) in [(7, 1), (8, 0), (0, 7)] {
            let other = all(1000, seed, epoch);
            let same = first.iter().zip(&other).filter(|(a, b)| a == b).count();
            assert!(same < 10, "{seed} {epoch}: {same} of 1000 stay");
        }
    }

    /// Over 2,000 epochs each number is about equally frequent at each index.
    #[test]
    fn all_places_are_as_likely() {
        let mut counts = [[0_u32; 8]; 8];
        for epoch in 0..2000 {
            for (place, number) in all(8, 11, epoch).into_iter().enumerate() {
                counts[place][usize::try_from(number).unwrap()] += 1;
            }
        }
        // 250 expected, standard deviation 15.
        let likely = |count: &u32| (180..320).contains(count);
        assert!(counts.iter().flatten().all(likely), "{counts:?}");
    }
}
