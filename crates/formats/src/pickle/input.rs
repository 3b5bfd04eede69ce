//! The bytes of a pickle, and how far they were read.

use super::error::Error;

/// Bytes that are read from the front. A length is compared with what is left before anything is taken.
pub(super) struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where the operation begins that is being read.
    operation: usize,
}

impl<'a> Input<'a> {
    /// All of these bytes.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            operation: 0,
        }
    }

    /// How much was read.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// An error of the operation that is being read.
    pub(super) fn error(&self, reason: impl Into<String>) -> Error {
        Error {
            position: self.operation,
            reason: reason.into(),
        }
    }

    /// The next operation.
    pub(super) fn operation(&mut self) -> Result<u8, Error> {
        self.operation = self.at;
        self.byte()
    }

    /// The next byte.
    pub(super) fn byte(&mut self) -> Result<u8, Error> {
        let [byte] = self.array()?;
        Ok(byte)
    }

    /// So many bytes as a number of the machine is made of.
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some(array) = rest.first_chunk() else {
            return Err(self.error("the pickle ends here, before it is complete"));
        };
        self.at += N;
        Ok(*array)
    }

    /// A length of one byte.
    pub(super) fn length1(&mut self) -> Result<u64, Error> {
        self.byte().map(u64::from)
    }

    /// A length of four bytes.
    pub(super) fn length4(&mut self) -> Result<u64, Error> {
        self.array()
            .map(|bytes| u64::from(u32::from_le_bytes(bytes)))
    }

    /// A length of eight bytes.
    pub(super) fn length8(&mut self) -> Result<u64, Error> {
        self.array().map(u64::from_le_bytes)
    }

    /// A length of four bytes with a sign, which nobody should need.
    pub(super) fn signed_length4(&mut self) -> Result<u64, Error> {
        let length = i32::from_le_bytes(self.array()?);
        u64::try_from(length).map_err(|_| self.error(format!("a length of {length} bytes")))
    }

    /// How many bytes are left, if they are as many as this.
    pub(super) fn has(&self, length: u64) -> Result<usize, Error> {
        let left = self.bytes.len().saturating_sub(self.at);
        let fits = usize::try_from(length)
            .ok()
            .filter(|&length| length <= left);
        fits.ok_or_else(|| self.error(format!("says {length} bytes follow, where {left} are left")))
    }

    /// So many bytes.
    pub(super) fn take(&mut self, length: u64) -> Result<&'a [u8], Error> {
        let end = self.at + self.has(length)?;
        let taken = self.bytes.get(self.at..end).unwrap_or_default();
        self.at = end;
        Ok(taken)
    }

    /// The bytes up to the next line feed, without it.
    pub(super) fn line(&mut self) -> Result<&'a [u8], Error> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some(end) = memchr::memchr(b'\n', rest) else {
            return Err(self.error("a line without an end"));
        };
        self.at += end + 1;
        Ok(rest.get(..end).unwrap_or_default())
    }

    /// A line of ASCII.
    pub(super) fn ascii_line(&mut self) -> Result<&'a str, Error> {
        let line = self.line()?;
        let text = std::str::from_utf8(line)
            .ok()
            .filter(|text| text.is_ascii());
        text.ok_or_else(|| self.error("a line that should be ASCII is not"))
    }
}
