//! Names under which metrics are stored, with units and documentation.

use crate::format::Format;

/// A canonical metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricName {
    /// Name.
    pub name: &'static str,
    /// Base unit.
    pub unit: &'static str,
    /// Description.
    pub doc: &'static str,
    /// Names in sources. A name with a colon is of one format only: `kernelbench:std`.
    pub sources: &'static [&'static str],
}

macro_rules! metric_names {
    ($($name:literal, $unit:literal, [$($source:literal),*], $doc:literal;)*) => {
        /// All canonical metrics. Names that no entry lists are stored verbatim, such as hardware counters.
        pub const METRIC_NAMES: &[MetricName] = &[
            $(MetricName { name: $name, unit: $unit, doc: $doc, sources: &[$($source),*] },)*
        ];
    };
}

metric_names! {
    "compile_time", "s", ["compile_time", "ktt:Overhead"],
        "Time of compiling the kernel. KTT: compiling and launching.";
    "lower_time", "s", ["lower_time"], "Time of lowering the kernel.";
    "benchmark_time", "s", ["benchmark_time"], "Wall time of all repeats.";
    "verification_time", "s", ["verification_time", "ktt:ValidationOverhead"],
        "Time of checking the result.";
    "search_time", "s", ["strategy_time", "ktt:SearcherOverhead"],
        "Time that the search took to choose the configuration.";
    "framework_time", "s", ["framework_time"], "Time of the tuner itself.";
    "data_movement_time", "s", ["ktt:DataMovementOverhead"], "Time of copying data.";
    "extra_time", "s", ["ktt:ExtraDuration"], "Time outside of the kernel functions.";
    "total_overhead", "s", ["ktt:TotalOverhead"], "Time of everything except the computation.";
    "all_cost", "s", ["all_cost"], "Wall time of building and running the measurement.";
    "stage1_time", "s", ["us1"], "Time of the first stage.";
    "stage2_time", "s", ["us2"], "Time of the second stage.";
    "cpu_time", "s", ["nv/cold/time/cpu/mean", "Average CPU Time (Cold)", "google:cpu_time"],
        "Mean time seen by the processor.";
    "user_time", "s", ["bench:user"], "Processor time of a process in user mode.";
    "system_time", "s", ["bench:system"], "Processor time of a process in the kernel.";
    "batch_time", "s", ["nv/batch/time/gpu/mean", "Average GPU Time (Batch)"],
        "Mean time within a batch of launches.";
    "walltime", "s", ["nv/cold/walltime", "nv/batch/walltime"], "Wall time of the measurement.";
    "reference_time", "s", ["reference_latency"], "Time of the reference program.";
    "time_std", "s", ["kernelbench:std", "std_time", "bench:stddev", "bench:StandardDeviation"], "Standard deviation of the repeats.";
    "time_min", "s", ["kernelbench:min", "bench:min", "bench:Min", "google:time_min"], "Fastest repeat.";
    "time_max", "s", ["kernelbench:max", "bench:max", "bench:Max", "google:time_max"], "Slowest repeat.";
    "time_median", "s", ["bench:median", "bench:Median", "google:time_median"],
        "Median of the repeats, where the repeats are unknown.";
    "time_q1", "s", ["bench:q1"], "First quartile of the repeats.";
    "time_q3", "s", ["bench:q3"], "Third quartile of the repeats.";
    "time_iqr", "s", ["bench:iqr"], "Third minus first quartile of the repeats.";
    "time_slope", "s", ["bench:slope"], "Time of an iteration by linear regression.";
    "time_p20", "s", ["time_p20", "bench:p20"], "20 % quantile of the repeats.";
    "time_p80", "s", ["time_p80", "bench:p80"], "80 % quantile of the repeats.";
    "noise", "1",
        ["nv/cold/time/gpu/stdev/relative", "GPU Relative Standard Deviation (Cold)"],
        "Standard deviation of the repeats over their mean.";
    "cpu_noise", "1",
        ["nv/cold/time/cpu/stdev/relative", "CPU Relative Standard Deviation (Cold)"],
        "The same for the time seen by the processor.";
    "sample_count", "1", ["num_trials", "nv/cold/sample_size", "Number of Samples (Cold)", "bench:rounds"],
        "Number of repeats.";
    "iterations", "1", ["bench:iterations", "bench:number", "google:iterations"],
        "Calls of which a repeat is the mean.";
    "batch_sample_count", "1", ["nv/batch/sample_size", "Number of Samples (Batch)"],
        "Number of launches in the batch.";
    "energy", "J", ["energy", "ps_energy", "nvml_energy"], "Energy of a run.";
    "power", "W", ["nvml_power", "ps_power"], "Electric power during a run.";
    "core_clock", "Hz", ["core_freq", "pwr_core_freq"], "Clock of the cores.";
    "memory_clock", "Hz", ["mem_freq"], "Clock of the memory.";
    "temperature", "degC", ["temperature"], "Temperature of the device.";
    "peak_memory", "B",
        ["peak_memory", "bench:memory_usage_byte", "bench:memory", "bench:peakmemory", "bench:peakmem", "google:max_bytes_used"],
        "Maximum of allocated memory.";
    "allocated", "B",
        ["bench:BytesAllocatedPerOperation", "jmh:gc.alloc.rate.norm", "jmh:·gc.alloc.rate.norm"],
        "Memory that an operation allocates.";
    "allocations", "1", ["google:allocs_per_iter"], "Allocations of an iteration.";
    "workspace", "B", ["workspace"], "Memory that the kernel needs beside its operands.";
    "registers", "1", ["RegistersCount", "Registers count"], "Registers of a thread.";
    "max_work_group_size", "1", ["MaxWorkGroupSize", "Maximum work-group size"],
        "Maximum threads of a block.";
    "shared_memory", "B", ["LocalMemorySize", "Local memory size"], "Shared memory of a block.";
    "private_memory", "B", ["PrivateMemorySize", "Private memory size"],
        "Private memory of a thread.";
    "constant_memory", "B", ["ConstantMemorySize", "Constant memory size"], "Constant memory.";
    "flop_rate", "FLOP/s", ["GFLOP/s", "tflops", "bench:flop_rate"], "Floating-point operations per second.";
    "bandwidth", "B/s",
        ["GB/s", "bw", "tb_per_sec", "nv/cold/bw/global/bytes_per_second", "Average Global Memory Throughput", "google:bytes_per_second"],
        "Bytes moved per second.";
    "bandwidth_fraction", "1",
        ["nv/cold/bw/global/utilization", "Percent Peak Global Memory Throughput"],
        "Fraction of the peak bandwidth.";
    "item_rate", "1/s", ["nv/cold/bw/item_rate", "Element Throughput", "google:items_per_second"],
        "Items per second.";
    "throughput", "1/s", ["jmh:throughput", "bench:ops"], "Operations per second.";
    "flops_per_watt", "FLOP/J", ["GFLOPS/W"], "Floating-point operations per joule.";
    "error_fraction", "1", ["errRatio", "err_ratio"], "Fraction of wrong elements.";
    "stage1_error", "1", ["err1"], "Fraction of wrong elements of the first stage.";
    "stage2_error", "1", ["err2"], "Fraction of wrong elements of the second stage.";
    "max_relative_error", "1", ["max_relative_error"], "Maximum relative error.";
    "max_absolute_error", "1", ["max_absolute_error", "bench:max_diff"], "Maximum absolute error.";
    "speed_up", "1", ["speedup_factor", "helion_speedup", "torch_compile_speedup"], "Time of the reference over that of the kernel.";
}

/// Returns the canonical metric of a name in a source; `None` for a name that is stored verbatim.
#[must_use]
pub fn canonical_name(format: Format, name: &str) -> Option<&'static MetricName> {
    let prefix = match format {
        Format::KttJson | Format::KttCsv => "ktt",
        Format::KernelBench | Format::KernelBenchRuns => "kernelbench",
        Format::GoogleBenchmark => "google",
        Format::Jmh => "jmh",
        // Names of their metrics are those of the user.
        Format::PytorchDashboard | Format::PerfReport | Format::GithubAction => "",
        benchmark if benchmark.is_benchmark() => "bench",
        _ => "",
    };
    METRIC_NAMES.iter().find(|metric| {
        metric
            .sources
            .iter()
            .any(|source| match source.split_once(':') {
                Some((own, rest)) if is_prefix(own) => own == prefix && rest == name,
                _ => *source == name,
            })
    })
}

/// Returns whether a text before a colon is the name of a format. Names of sources may have colons, too.
fn is_prefix(text: &str) -> bool {
    matches!(text, "ktt" | "kernelbench" | "google" | "jmh" | "bench")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::units::base_unit;

    #[test]
    fn names_and_units_are_unique_and_canonical() {
        for (index, metric) in METRIC_NAMES.iter().enumerate() {
            assert_eq!(base_unit(metric.unit).0, metric.unit, "{}", metric.name);
            let later = METRIC_NAMES.iter().skip(index + 1);
            assert_eq!(later.filter(|other| other.name == metric.name).count(), 0);
        }
    }

    #[test]
    fn generic_names_are_of_one_format() {
        let name = |format, name| canonical_name(format, name).map(|metric| metric.name);
        assert_eq!(name(Format::KernelBench, "std"), Some("time_std"));
        assert_eq!(name(Format::KernelTunerCache, "std"), None);
        assert_eq!(name(Format::KernelTunerCache, "ps_energy"), Some("energy"));
        assert_eq!(name(Format::KttJson, "Overhead"), Some("compile_time"));
        assert_eq!(name(Format::KttJson, "dram__sectors_read.sum"), None);
    }
}
