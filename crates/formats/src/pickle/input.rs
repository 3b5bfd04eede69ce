//! Reader of the bytes of a pickle.

use super::error::Error;

/// Bytes that are consumed from the front. Lengths are checked against the remaining bytes before any allocation.
pub(super) struct PickleInput<'a> {
    bytes: &'a [u8],
    position: usize,
    /// Offset of the current operation.
    operation: usize,
}

impl<'a> PickleInput<'a> {
    /// Creates a reader of these bytes.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            position: 0,
            operation: 0,
        }
    }

    /// Number of bytes read.
    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// Creates an error of the current operation.
    pub(super) fn error(&self, reason: impl Into<String>) -> Error {
        Error {
            position: self.operation,
            reason: reason.into(),
        }
    }

    /// Reads the next operation code.
    pub(super) fn next_operation(&mut self) -> Result<u8, Error> {
        self.operation = self.position;
        self.read_byte()
    }

    /// Reads a byte.
    pub(super) fn read_byte(&mut self) -> Result<u8, Error> {
        let [byte] = self.read_array()?;
        Ok(byte)
    }

    /// Reads an array of bytes, from which a machine number is decoded.
    pub(super) fn read_array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        let Some(array) = rest.first_chunk() else {
            return Err(self.error("the pickle is incomplete"));
        };
        self.position += N;
        Ok(*array)
    }

    /// Reads a length of one byte.
    pub(super) fn read_length1(&mut self) -> Result<u64, Error> {
        self.read_byte().map(u64::from)
    }

    /// Reads a length of four bytes.
    pub(super) fn read_length4(&mut self) -> Result<u64, Error> {
        self.read_array()
            .map(|bytes| u64::from(u32::from_le_bytes(bytes)))
    }

    /// Reads a length of eight bytes.
    pub(super) fn read_length8(&mut self) -> Result<u64, Error> {
        self.read_array().map(u64::from_le_bytes)
    }

    /// Reads a signed length of four bytes; negative lengths are rejected.
    pub(super) fn read_signed_length4(&mut self) -> Result<u64, Error> {
        let length = i32::from_le_bytes(self.read_array()?);
        u64::try_from(length)
            .map_err(|_| self.error(format!("a length of {length} bytes, expected 0 or more")))
    }

    /// Checks that `length` bytes remain and returns the length.
    pub(super) fn check_length(&self, length: u64) -> Result<usize, Error> {
        let remaining = self.bytes.len().saturating_sub(self.position);
        let fits = usize::try_from(length)
            .ok()
            .filter(|&length| length <= remaining);
        fits.ok_or_else(|| self.error(format!("{length} bytes expected, {remaining} are left")))
    }

    /// Consumes `length` bytes.
    pub(super) fn take(&mut self, length: u64) -> Result<&'a [u8], Error> {
        let end = self.position + self.check_length(length)?;
        let content = self.bytes.get(self.position..end).unwrap_or_default();
        self.position = end;
        Ok(content)
    }

    /// Reads the bytes up to the next line feed and drops the line feed.
    pub(super) fn read_line(&mut self) -> Result<&'a [u8], Error> {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        let Some(end) = memchr::memchr(b'\n', rest) else {
            return Err(self.error("a line without a line feed"));
        };
        self.position += end + 1;
        Ok(rest.get(..end).unwrap_or_default())
    }

    /// Reads a line of ASCII.
    pub(super) fn read_ascii_line(&mut self) -> Result<&'a str, Error> {
        let line = self.read_line()?;
        let text = std::str::from_utf8(line)
            .ok()
            .filter(|text| text.is_ascii());
        text.ok_or_else(|| self.error("a line that is not ASCII"))
    }
}
