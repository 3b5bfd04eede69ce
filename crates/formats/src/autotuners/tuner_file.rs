//! Formats of autotuner files, with names and datasets.

use tsql_autotuners::{Detected, Format as FileFormat};

use crate::{DocumentFormat, Format};

/// Document format of the files of one kind.
#[derive(Debug)]
pub struct TunerFile {
    /// Format of its reader.
    pub format: FileFormat,
    dataset: &'static str,
    name: &'static str,
    description: &'static str,
}

impl TunerFile {
    const fn new(
        format: FileFormat,
        dataset: &'static str,
        name: &'static str,
        description: &'static str,
    ) -> Self {
        Self {
            format,
            dataset,
            name,
            description,
        }
    }

    /// Returns whether the path may name kernel or device, so that equal bytes at another path are other records.
    fn is_named_by_path(&self) -> bool {
        use FileFormat::{Aiter, Helion, MiopenFindDb, T4, Tokamax, Triton};
        matches!(
            self.format,
            Aiter | Helion | MiopenFindDb | T4 | Tokamax | Triton
        )
    }

    /// Returns whether a file with the same bytes under another name may be an alias of this file. Files of a folder
    /// that name records are themselves named by their folder. Samples of one benchmark of Criterion that are equal are
    /// one run under two names.
    #[must_use]
    pub fn may_be_alias(&self, name: &str, other: &str) -> bool {
        let above = |name: &str, levels: usize| {
            let mut parts = name.rsplitn(levels + 1, '/').skip(levels);
            parts.next().map(str::to_owned)
        };
        match self.format {
            FileFormat::CriterionPart | FileFormat::AsvPart => name == other,
            FileFormat::CriterionSample => above(name, 2) == above(other, 2),
            FileFormat::Asv | FileFormat::PerfReport => {
                let last_two = |name: &str| {
                    let parts: Vec<&str> = name.rsplitn(3, '/').take(2).collect();
                    parts.join("/")
                };
                last_two(name) == last_two(other)
            }
            _ if self.is_named_by_path() => name.rsplit('/').next() == other.rsplit('/').next(),
            _ => true,
        }
    }

    /// Returns whether the position of a record is its ordinal, because several may be on one line.
    #[must_use]
    pub fn counts_records(&self) -> bool {
        use FileFormat::{
            KernelBench, KernelBenchRuns, KernelTunerCache, KttJson, MiopenFindDb, NvbenchJson, T4,
            Tokamax, Triton,
        };
        let has_elements = matches!(
            self.format,
            KernelBench
                | KernelBenchRuns
                | KernelTunerCache
                | KttJson
                | MiopenFindDb
                | NvbenchJson
                | T4
                | Tokamax
                | Triton
        );
        has_elements || self.format.is_benchmark()
    }

    /// Returns whether the names of the parameters separate kernels of equal name and problem. Elsewhere each
    /// configuration chooses its own implementation, with parameters of its own.
    #[must_use]
    pub fn parameters_identify_graphs(&self) -> bool {
        use FileFormat::{
            Helion, KernelTunerCache, KttCsv, KttJson, NvbenchCsv, NvbenchJson, T4, Table, Triton,
        };
        matches!(
            self.format,
            Helion
                | KernelTunerCache
                | KttCsv
                | KttJson
                | NvbenchCsv
                | NvbenchJson
                | T4
                | Table
                | Triton
        )
    }

    /// Returns the document format with this name for `--input-format`.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static Self> {
        ALL.iter().copied().find(|file| file.name == name)
    }

    /// Returns the document format of a reader.
    #[must_use]
    pub fn of_reader(format: FileFormat) -> Option<&'static Self> {
        ALL.iter().copied().find(|file| file.format == format)
    }
}

impl Format for TunerFile {
    fn dataset(&self) -> &'static str {
        self.dataset
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn description(&self) -> &'static str {
        self.description
    }
}

impl DocumentFormat for TunerFile {}

macro_rules! tuner_files {
    ($($constant:ident: $format:ident, $dataset:literal, $name:literal, $description:literal;)*) => {
        $(static $constant: TunerFile =
            TunerFile::new(FileFormat::$format, $dataset, $name, $description);)*

        /// All formats of autotuner files. Datasets are stored with each record and never change.
        pub static ALL: &[&TunerFile] = &[$(&$constant),*];
    };
}

tuner_files! {
    KERNEL_TUNER: KernelTunerCache, "kerneltuner", "kerneltuner", "a cache of Kernel Tuner";
    T4: T4, "t4", "t4", "a file of T4 results";
    T1: T1, "t1", "t1", "a T1 search space";
    KTT: KttJson, "ktt", "ktt", "a file of KTT results";
    KTT_CSV: KttCsv, "ktt", "ktt_csv", "a table of KTT results";
    HELION: Helion, "helion", "helion", "an autotune log of Helion";
    MIOPEN: MiopenFindDb, "miopen", "miopen", "a find database of MIOpen";
    TOKAMAX: Tokamax, "tokamax", "tokamax", "an autotuning cache of tokamax";
    AITER: Aiter, "aiter", "aiter", "a tuned table of AITER";
    TRITON: Triton, "triton", "triton", "a file of Triton's autotuning times";
    FLASHINFER_BENCH: FlashInferBench, "flashinfer_bench", "flashinfer_bench",
        "a file of FlashInfer-Bench traces";
    FLASHINFER: FlashInferCsv, "flashinfer", "flashinfer", "a benchmark table of FlashInfer";
    INDUCTOR: Inductor, "inductor", "inductor", "a log of PyTorch Inductor with AUTOTUNE blocks";
    TUNABLEOP: TunableOp, "tunableop", "tunableop", "a file of PyTorch TunableOp results";
    NVBENCH: NvbenchJson, "nvbench", "nvbench", "a file of nvbench results";
    NVBENCH_CSV: NvbenchCsv, "nvbench", "nvbench_csv", "a table of nvbench results";
    KERNELBENCH: KernelBench, "kernelbench", "kernelbench", "a file of KernelBench times";
    KERNELBENCH_RUNS: KernelBenchRuns, "kernelbench", "kernelbench_runs",
        "a file of KernelBench runs";
    AUTOTVM_OLD: AutoTvm01, "autotvm01", "autotvm01", "an AutoTVM log of version 0.1";
    MAPPED_TABLE: Table, "mapped_table", "mapped_table", "a mapped table";
    GOOGLE_BENCHMARK: GoogleBenchmark, "google_benchmark", "google_benchmark",
        "a file of Google Benchmark results";
    CRITERION: CriterionSample, "criterion", "criterion", "a file of Criterion samples";
    CRITERION_PART: CriterionPart, "criterion", "criterion_part",
        "a file of Criterion that names or summarizes samples";
    CARGO_CRITERION: CargoCriterion, "cargo_criterion", "cargo_criterion",
        "a file of cargo-criterion messages";
    PYTEST_BENCHMARK: PytestBenchmark, "pytest_benchmark", "pytest_benchmark",
        "a file of pytest-benchmark results";
    HYPERFINE: Hyperfine, "hyperfine", "hyperfine", "a file of hyperfine results";
    ASV: Asv, "asv", "asv", "a file of asv results";
    ASV_PART: AsvPart, "asv", "asv_part", "a description of a machine or of benchmarks of asv";
    JMH: Jmh, "jmh", "jmh", "a file of JMH results";
    BENCHMARK_DOT_NET: BenchmarkDotNet, "benchmarkdotnet", "benchmarkdotnet",
        "a report of BenchmarkDotNet";
    OPERATOR_BENCHMARK: OperatorBenchmark, "pytorch_operator_benchmark",
        "pytorch_operator_benchmark", "a table of the PyTorch operator benchmark";
    PYTORCH_DASHBOARD: PytorchDashboard, "pytorch_dashboard", "pytorch_dashboard",
        "a file of the PyTorch benchmark dashboard";
    LIGER: Liger, "liger", "liger", "a benchmark table of Liger-Kernel";
    PERF_REPORT: PerfReport, "triton_perf_report", "triton_perf_report",
        "a table of Triton's perf_report";
    TILELANG: Tilelang, "sglang", "sglang", "a table of SGLang's kernels";
    GITHUB_ACTION: GithubAction, "github_action_benchmark", "github_action_benchmark",
        "a history of github-action-benchmark";
}

/// Content of a file of an autotuner.
#[derive(Clone, Copy, Debug)]
pub enum TunerContent {
    /// Records, or a search space.
    File(&'static TunerFile),
    /// No records. Contains the reason.
    NoRecords(&'static str),
}

/// Detects autotuner files from their first bytes.
pub fn detect(head: &[u8]) -> Option<TunerContent> {
    match tsql_autotuners::detect(head) {
        Detected::Format(format) => TunerFile::of_reader(format).map(TunerContent::File),
        Detected::NoRecords(kind) => Some(TunerContent::NoRecords(kind.reason())),
        Detected::Unknown => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reader_has_one_format() {
        for file in ALL {
            let found = TunerFile::of_reader(file.format).map(|found| found.name);
            assert_eq!(found, Some(file.name));
            assert!(TunerFile::by_name(file.name).is_some());
        }
    }
}
