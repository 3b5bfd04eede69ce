//! Memory limits and sizes on the command line.

use std::str::FromStr;

use bytesize::ByteSize;

/// Memory limit of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    /// Limit in bytes.
    Bytes(usize),
    /// No limit: `none`.
    Unlimited,
}

impl Memory {
    /// Returns the limit in bytes; `None` for no limit.
    pub(super) fn bytes(self) -> Option<usize> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Unlimited => None,
        }
    }
}

impl FromStr for Memory {
    type Err = String;

    /// Parses `none`, or a size like `500MB`, `1GB` or `2GiB`.
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self::Unlimited);
        }
        size(text)
            .map(Self::Bytes)
            .map_err(|wrong| format!("{wrong}, or `none`"))
    }
}

/// Parses a size like `500MB`, `1GB` or `2GiB`, and returns its bytes.
///
/// # Errors
/// Returns a message if the text is not a size above 0.
pub fn size(text: &str) -> Result<usize, String> {
    let size = text.trim().parse().map_or(0, |ByteSize(bytes)| bytes);
    let bytes = usize::try_from(size).ok().filter(|bytes| *bytes > 0);
    bytes.ok_or_else(|| format!("`{text}` is not a size, expected one like 500MB or 2GiB"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_nothing_else() {
        assert_eq!("2GiB".parse(), Ok(Memory::Bytes(2 << 30)));
        assert_eq!("none".parse(), Ok(Memory::Unlimited));
        for wrong in ["", "0", "much", "-1GB"] {
            assert!(wrong.parse::<Memory>().is_err(), "{wrong}");
        }
    }
}
