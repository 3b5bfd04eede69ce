//! Reading of whole inputs with a size limit. Larger inputs are rejected without buffering them.

use std::io::{self, Read};

/// Failure to read a whole input.
#[derive(Debug)]
pub(crate) enum ReadLimitError {
    /// The input exceeds the size limit.
    TooLarge,
    Io(io::Error),
}

impl ReadLimitError {
    /// User-readable message. `of_what` names the kind of input, `most` is the limit in bytes.
    pub(crate) fn describe(&self, of_what: &str, most: u64) -> String {
        match self {
            Self::TooLarge => format!("larger than {} MiB, the limit {of_what}", most >> 20),
            Self::Io(error) => error.to_string(),
        }
    }
}

/// Reads `input` to its end, up to `most` bytes. The buffer grows with the data.
pub(crate) fn read_limited(input: impl Read, most: u64) -> Result<Vec<u8>, ReadLimitError> {
    let mut bytes = Vec::new();
    let read = input.take(most.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(ReadLimitError::Io)?;
    if bytes.len() as u64 > most {
        return Err(ReadLimitError::TooLarge);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oversized_inputs_are_rejected_before_they_are_read() {
        assert_eq!(read_limited(b"abc".as_slice(), 3).unwrap(), b"abc");
        let endless = read_limited(io::repeat(0), 1 << 20).unwrap_err();
        let words = endless.describe("of a log", 1 << 20);
        assert_eq!(words, "larger than 1 MiB, the limit of a log");
    }
}
