//! Output of results: the interface of a format, and the writer that all formats share.

use std::io::{self, BufWriter, Write};

use arrow::array::RecordBatch;
use arrow::error::ArrowError;

/// Size of the write buffer: one pipe buffer of Linux.
const BUFFER_BYTES: usize = 64 * 1024;

/// Writer of a format.
///
/// An [`ArrowError`] means that the format cannot represent the result. [`Outlet`] stores errors of the output itself,
/// so implementations need not distinguish the two.
pub(super) trait Sink {
    /// Writes one batch, and flushes it if the format allows.
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError>;

    /// Writes the end of the format; `rows` is the number of rows of all batches.
    fn finish(&mut self, rows: u64) -> Result<(), ArrowError>;
}

/// Writer without output.
pub(super) struct Nothing;

impl Sink for Nothing {
    fn write(&mut self, _batch: &RecordBatch) -> Result<(), ArrowError> {
        Ok(())
    }

    fn finish(&mut self, _rows: u64) -> Result<(), ArrowError> {
        Ok(())
    }
}

/// A buffered writer that stores its first error.
///
/// Arrow's writers turn the error of an output into text (the CSV writer always does). The caller needs the error
/// itself, to end silently when the reader has closed a pipe. After a failure, nothing more is written, even if a
/// writer tries it when it is dropped.
pub(super) struct Outlet<W: Write> {
    out: BufWriter<W>,
    failure: Option<io::Error>,
}

impl<W: Write> Outlet<W> {
    pub(super) fn new(out: W) -> Self {
        Self {
            out: BufWriter::with_capacity(BUFFER_BYTES, out),
            failure: None,
        }
    }

    /// Returns the error of the output, if it failed.
    pub(super) fn into_failure(self) -> Option<io::Error> {
        let Self { out, failure } = self;
        if failure.is_some() {
            // Otherwise, the buffer would try the output again when it is dropped.
            drop(out.into_parts());
        }
        failure
    }

    fn attempt<T>(
        &mut self,
        action: impl FnOnce(&mut BufWriter<W>) -> io::Result<T>,
    ) -> io::Result<T> {
        if let Some(failure) = &self.failure {
            return Err(failure.kind().into());
        }
        action(&mut self.out).map_err(|error| {
            let kind = error.kind();
            if kind != io::ErrorKind::Interrupted {
                self.failure = Some(error);
            }
            kind.into()
        })
    }
}

impl<W: Write> Write for Outlet<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.attempt(|out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.attempt(BufWriter::flush)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails always, and counts the calls.
    struct Closed<'a>(&'a mut u32);

    impl Write for Closed<'_> {
        fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
            *self.0 += 1;
            Err(io::Error::new(
                io::ErrorKind::BrokenPipe,
                "the reader has gone",
            ))
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_failed_output_is_not_written_again() {
        let mut count = 0;
        let mut outlet = Outlet::new(Closed(&mut count));
        outlet.write_all(b"row\n").unwrap();
        assert_eq!(
            outlet.flush().unwrap_err().kind(),
            io::ErrorKind::BrokenPipe
        );
        assert_eq!(
            outlet.write_all(b"row\n").unwrap_err().kind(),
            io::ErrorKind::BrokenPipe
        );
        assert_eq!(
            outlet.into_failure().unwrap().to_string(),
            "the reader has gone"
        );
        assert_eq!(count, 1);
    }
}
