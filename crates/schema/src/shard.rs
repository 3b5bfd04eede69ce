//! Shards of work that several processes share.

use std::fmt;
use std::str::FromStr;

use tsql_error::{Error, Result};

/// One of several equal shards of work: `3/8` is the third of eight.
///
/// Membership depends on names only. All processes with the same number of shards agree, and each name is in exactly
/// one shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    number: u64,
    count: u64,
}

impl Shard {
    /// Creates the shard with this number, from 1, of `count` shards.
    ///
    /// # Errors
    /// [`Error::Argument`] if there is no such shard.
    pub fn new(number: u64, count: u64) -> Result<Self> {
        if number == 0 || number > count {
            return Err(Error::Argument {
                name: "part",
                reason: format!(
                    "`{number}/{count}` is not a shard, expected 1/{count} to {count}/{count}"
                ),
            });
        }
        Ok(Self { number, count })
    }

    /// Returns whether the item with this name belongs to the shard.
    pub fn contains(self, name: &str) -> bool {
        twox_hash::XxHash3_64::oneshot(name.as_bytes()) % self.count == self.number - 1
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.number, self.count)
    }
}

impl FromStr for Shard {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parts = text.split_once('/');
        let numbers =
            parts.and_then(|(number, count)| Some((number.parse().ok()?, count.parse().ok()?)));
        let (number, count) = numbers.ok_or_else(|| Error::Argument {
            name: "part",
            reason: format!("`{text}` is not a shard\nhint: --shard 3/8 is the third of eight"),
        })?;
        Self::new(number, count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_in_one_part() {
        let parts: Vec<Shard> = (1..=3)
            .map(|number| Shard::new(number, 3).unwrap())
            .collect();
        let mut taken = [0; 3];
        for name in 0..600 {
            let name = format!("logs/{name}.json");
            let own: Vec<usize> = (0..3).filter(|part| parts[*part].contains(&name)).collect();
            assert_eq!(own.len(), 1);
            taken[own[0]] += 1;
        }
        assert!(taken.iter().all(|count| *count > 150), "{taken:?}");
    }

    #[test]
    fn invalid_shards_are_reported() {
        assert_eq!("2/8".parse::<Shard>().unwrap().to_string(), "2/8");
        for text in ["", "3", "0/4", "5/4", "a/b", "1/0", "-1/2"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }
}
