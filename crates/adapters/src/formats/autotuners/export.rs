//! Export of autotuner files: their bytes are stored, because writers differ in spelling.

use datafusion::prelude::SessionContext;
use futures::future::{BoxFuture, ready};
use tsql_error::Result;

use crate::formats::text_writer::TextWriter;
use crate::formats::{ExportFormat, FormatWriter, HashCheck};

/// The export format of a dataset of autotuner files.
pub(in crate::formats) struct Format(&'static str);

/// The export formats of all datasets of autotuners and benchmark tools.
pub(in crate::formats) static FORMATS: [Format; 31] = [
    Format("kerneltuner"),
    Format("t4"),
    Format("t1"),
    Format("ktt"),
    Format("helion"),
    Format("miopen"),
    Format("tokamax"),
    Format("aiter"),
    Format("triton"),
    Format("flashinfer_bench"),
    Format("flashinfer"),
    Format("inductor"),
    Format("tunableop"),
    Format("nvbench"),
    Format("kernelbench"),
    Format("autotvm01"),
    Format("mapped_table"),
    Format("google_benchmark"),
    Format("criterion"),
    Format("cargo_criterion"),
    Format("pytest_benchmark"),
    Format("hyperfine"),
    Format("asv"),
    Format("jmh"),
    Format("benchmarkdotnet"),
    Format("pytorch_operator_benchmark"),
    Format("pytorch_dashboard"),
    Format("liger"),
    Format("triton_perf_report"),
    Format("sglang"),
    Format("github_action_benchmark"),
];

impl ExportFormat for Format {
    fn dataset(&self) -> &'static str {
        self.0
    }

    fn writer<'a>(
        &'a self,
        context: &'a SessionContext,
    ) -> BoxFuture<'a, Result<Box<dyn FormatWriter + 'a>>> {
        let writer: Box<dyn FormatWriter> = Box::new(TextWriter::new(context));
        Box::pin(ready(Ok(writer)))
    }

    fn recompute<'a>(&'a self, _: &'a SessionContext) -> BoxFuture<'a, Result<HashCheck>> {
        Box::pin(ready(Ok(HashCheck::default())))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use tsql_formats::Format as _;
    use tsql_formats::autotuners::ALL;

    use super::*;

    #[test]
    fn each_dataset_can_be_exported() {
        let exported: BTreeSet<&str> = FORMATS.iter().map(ExportFormat::dataset).collect();
        let datasets: BTreeSet<&str> = ALL.iter().map(|file| file.dataset()).collect();
        assert_eq!(exported, datasets);
        assert_eq!(exported.len(), FORMATS.len());
    }
}
