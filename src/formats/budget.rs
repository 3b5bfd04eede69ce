//! Inputs that are read as a whole, within a budget: what inflates to more is refused, not held.

use std::io::{self, Read};

/// Why an input was not read as a whole.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It has more bytes than it may.
    TooLarge,
    Io(io::Error),
}

impl Failure {
    /// As it is told to people: of what there may be at most so many bytes.
    pub(crate) fn in_words(&self, of_what: &str, most: u64) -> String {
        match self {
            Self::TooLarge => format!(
                "more than {} MiB, which is the most that is read {of_what}",
                most >> 20
            ),
            Self::Io(error) => error.to_string(),
        }
    }
}

/// All bytes of `input`, if there are no more than `most`. Memory follows what is there.
pub(crate) fn read(input: impl Read, most: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = input.take(most.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(Failure::Io)?;
    if bytes.len() as u64 > most {
        return Err(Failure::TooLarge);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_larger_is_refused_before_it_is_held() {
        assert_eq!(read(b"abc".as_slice(), 3).unwrap(), b"abc");
        let endless = read(io::repeat(0), 1 << 20).unwrap_err();
        let words = endless.in_words("of a log", 1 << 20);
        assert_eq!(
            words,
            "more than 1 MiB, which is the most that is read of a log"
        );
    }
}
