//! One module for each format.

pub(crate) mod aiter;
mod autotvm;
mod benchmarks;
mod elements;
mod flashinfer_bench;
mod flashinfer_csv;
mod helion;
pub(crate) mod inductor;
mod kernel_tuner;
mod kernelbench;
mod ktt;
mod ktt_csv;
mod literal;
mod mapped;
pub(crate) mod miopen;
mod nvbench;
mod nvbench_csv;
mod rows;
mod t1;
mod t4;
mod tokamax;
mod triton;
mod tunableop;

use std::io::BufRead;

use crate::document::Document;
use crate::format::Format;
use crate::output::{FormatReader, ReadOptions};

use elements::Elements;
use rows::{Lines, Table};

type Input<'a> = Box<dyn BufRead + 'a>;

/// Opens the reader of a format and its document.
pub(crate) fn open<'a>(
    format: Format,
    input: Input<'a>,
    options: &ReadOptions,
) -> (Box<dyn FormatReader + 'a>, Document) {
    match format {
        Format::KernelTunerCache => (
            Box::new(kernel_tuner::Cache::new(input)),
            kernel_tuner::document(),
        ),
        Format::T4 => (
            elements(input, t4::Results::default()),
            t4::document(options),
        ),
        Format::T1 => (Box::new(t1::Description::new(input)), t1::document()),
        Format::KttJson => (elements(input, ktt::Results::default()), ktt::document()),
        Format::KttCsv => (
            table(input, ktt_csv::Results::default()),
            ktt_csv::document(),
        ),
        Format::Helion => (table(input, helion::Log::default()), helion::document()),
        Format::MiopenFindDb => (lines(input, miopen::FindDb), miopen::document(options)),
        Format::Tokamax => (
            elements(input, tokamax::Cache::new(options)),
            tokamax::document(options),
        ),
        Format::Aiter => (table(input, aiter::Table::default()), aiter::document()),
        Format::Triton => (
            elements(input, triton::Timings::default()),
            triton::document(),
        ),
        Format::FlashInferBench => (
            lines(input, flashinfer_bench::Traces::default()),
            flashinfer_bench::document(),
        ),
        Format::FlashInferCsv => (
            table(input, flashinfer_csv::Runs),
            flashinfer_csv::document(),
        ),
        Format::Inductor => (lines(input, inductor::Log::default()), inductor::document()),
        Format::TunableOp => (
            lines(input, tunableop::Results::default()),
            tunableop::document(),
        ),
        Format::NvbenchJson => (
            elements(input, nvbench::Benchmarks::default()),
            nvbench::document(),
        ),
        Format::NvbenchCsv => (
            table(input, nvbench_csv::Table::default()),
            nvbench_csv::document(),
        ),
        Format::KernelBench => (
            elements(input, kernelbench::Baselines),
            kernelbench::document(format, options),
        ),
        Format::KernelBenchRuns => (
            lines(input, kernelbench::Runs),
            kernelbench::document(format, options),
        ),
        Format::AutoTvm01 => (lines(input, autotvm::Log), autotvm::document()),
        Format::Table => match &options.mapping {
            Some(mapping) => (
                table(input, mapped::Table::new(mapping.clone())),
                mapped::document(),
            ),
            None => (Box::new(mapped::NoMapping), mapped::document()),
        },
        benchmark => benchmarks::open(benchmark, input),
    }
}

fn elements<'a>(
    input: Input<'a>,
    format: impl elements::ElementFormat + 'a,
) -> Box<dyn FormatReader + 'a> {
    Box::new(Elements::new(input, format))
}

fn table<'a>(input: Input<'a>, format: impl rows::TableFormat + 'a) -> Box<dyn FormatReader + 'a> {
    Box::new(Table::new(input, format))
}

fn lines<'a>(input: Input<'a>, format: impl rows::LineFormat + 'a) -> Box<dyn FormatReader + 'a> {
    Box::new(Lines::new(input, format))
}
