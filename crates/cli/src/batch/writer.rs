//! Batches as an Arrow stream.

use std::io::{BufWriter, Write};
use std::path::Path;

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use arrow::error::ArrowError;
use arrow::ipc::writer::StreamWriter;
use tsql_error::Error;
use tsql_folders::OutputFile;
use tsql_store::atomic_output::create_output;

use crate::outcome::Failure;
use crate::printer::PrintError;

/// Writer of batches as an Arrow stream, to standard output or a file.
pub(super) struct BatchWriter {
    stream: StreamWriter<BufWriter<Box<dyn Write>>>,
    output: Option<OutputFile>,
}

impl BatchWriter {
    /// Opens a stream to the file `path`, or to standard output without a path.
    pub(super) fn open(path: Option<&Path>, schema: &Schema) -> Result<Self, Failure> {
        let (output, out): (_, Box<dyn Write>) = match path {
            Some(path) => {
                let (output, file) = create_output(path)?;
                (Some(output), Box::new(file))
            }
            None => (None, Box::new(std::io::stdout().lock())),
        };
        let stream = StreamWriter::try_new(BufWriter::new(out), schema).map_err(arrow_error)?;
        Ok(Self { stream, output })
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        Ok(self.stream.write(batch).map_err(arrow_error)?)
    }

    pub(super) fn finish(mut self) -> Result<(), Failure> {
        self.stream.finish().map_err(arrow_error)?;
        match self.output {
            Some(output) => Ok(output.finish().map_err(Error::from)?),
            None => Ok(()),
        }
    }
}

fn arrow_error(error: ArrowError) -> PrintError {
    match error {
        ArrowError::IoError(_, error) => PrintError::Io(error),
        other => PrintError::Io(std::io::Error::other(other)),
    }
}
