//! Formats, and files of autotuners that hold no records.

/// Format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Cache of Kernel Tuner.
    KernelTunerCache,
    /// T4 results.
    T4,
    /// T1 search space; no trials.
    T1,
    /// KTT results, JSON.
    KttJson,
    /// KTT results, CSV.
    KttCsv,
    /// Autotune log of Helion.
    Helion,
    /// Find database of MIOpen.
    MiopenFindDb,
    /// Autotuning cache of tokamax.
    Tokamax,
    /// Tuned table or profile of AITER.
    Aiter,
    /// Triton's `*.autotune.json`.
    Triton,
    /// Traces of FlashInfer-Bench.
    FlashInferBench,
    /// Output of FlashInfer's benchmark runner.
    FlashInferCsv,
    /// Log with AUTOTUNE blocks of PyTorch Inductor.
    Inductor,
    /// Results of PyTorch TunableOp.
    TunableOp,
    /// nvbench, JSON of three dialects.
    NvbenchJson,
    /// nvbench, CSV.
    NvbenchCsv,
    /// Times of KernelBench.
    KernelBench,
    /// `results.jsonl` of KernelBench runs.
    KernelBenchRuns,
    /// AutoTVM logs of version 0.1.
    AutoTvm01,
    /// A table with a mapping of its columns.
    Table,
    /// Google Benchmark, JSON.
    GoogleBenchmark,
    /// Samples of Criterion (`sample.json`).
    CriterionSample,
    /// Another file of a folder of Criterion; no trials.
    CriterionPart,
    /// Messages of cargo-criterion.
    CargoCriterion,
    /// pytest-benchmark, JSON.
    PytestBenchmark,
    /// hyperfine, JSON.
    Hyperfine,
    /// Results of asv (airspeed velocity).
    Asv,
    /// Machine or benchmarks of asv; no trials.
    AsvPart,
    /// JMH, JSON.
    Jmh,
    /// BenchmarkDotNet, JSON.
    BenchmarkDotNet,
    /// Table of the PyTorch operator benchmark.
    OperatorBenchmark,
    /// Records of the PyTorch benchmark dashboard.
    PytorchDashboard,
    /// Table of Liger-Kernel.
    Liger,
    /// Table of `triton.testing.perf_report`.
    PerfReport,
    /// Table of SGLang's tilelang kernels.
    Tilelang,
    /// History of github-action-benchmark.
    GithubAction,
}

impl Format {
    /// Returns whether the format is of a general benchmark tool.
    #[must_use]
    pub fn is_benchmark(self) -> bool {
        matches!(
            self,
            Self::GoogleBenchmark
                | Self::CriterionSample
                | Self::CriterionPart
                | Self::CargoCriterion
                | Self::PytestBenchmark
                | Self::Hyperfine
                | Self::Asv
                | Self::AsvPart
                | Self::Jmh
                | Self::BenchmarkDotNet
                | Self::OperatorBenchmark
                | Self::PytorchDashboard
                | Self::Liger
                | Self::PerfReport
                | Self::Tilelang
                | Self::GithubAction
        )
    }

    /// Returns the paths of the files, relative to the folder of a file, that name its records.
    #[must_use]
    pub fn companions(self) -> &'static [&'static str] {
        match self {
            Self::CriterionSample => &["benchmark.json", "estimates.json"],
            Self::Asv => &["../benchmarks.json"],
            _ => &[],
        }
    }
}

/// Kind of a file of an autotuner without records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NoRecords {
    /// Shapes or kernels to tune (AITER).
    ShapesToTune,
    /// Output of Helion's driver.
    HelionDriverLog,
    /// Definition of FlashInfer-Bench.
    FlashInferDefinition,
    /// Solution of FlashInfer-Bench.
    FlashInferSolution,
    /// Tactics that FlashInfer chose.
    FlashInferTactics,
    /// Properties of a device (NeuSight).
    DeviceDescription,
    /// File of asv without results.
    AsvWithoutResults,
}

impl NoRecords {
    /// Reason for people, lower case.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::ShapesToTune => "a list of shapes or kernels to tune, without results",
            Self::HelionDriverLog => {
                "the output of Helion's driver; its records are in the CSV file"
            }
            Self::FlashInferDefinition => "a definition of FlashInfer-Bench, without evaluations",
            Self::FlashInferSolution => "a solution of FlashInfer-Bench, without evaluations",
            Self::FlashInferTactics => "tactics that FlashInfer chose, without times",
            Self::DeviceDescription => "a description of a device, without times",
            Self::AsvWithoutResults => "a file of asv, without results",
        }
    }
}

/// Result of the detection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detected {
    /// A format with a reader.
    Format(Format),
    /// A known kind of file without records.
    NoRecords(NoRecords),
    /// Another file.
    Unknown,
}
