//! Detection of tables by their header.

use crate::format::{Detected, Format, NoRecords};
use crate::formats::aiter;
use crate::text::split_cells;

pub(super) fn detect(beginning: &[u8]) -> Option<Detected> {
    let mut lines = beginning.split(|byte| *byte == b'\n');
    let line = lines.find(|line| {
        let line = line.trim_ascii();
        !line.is_empty() && !line.starts_with(b"#")
    })?;
    let cells = split_cells(line.trim_ascii_end()).ok()?;
    let header: Vec<&str> = cells.iter().map(String::as_str).collect();
    let has = |name: &str| header.contains(&name);
    if let ["Validator", _, _] = header.as_slice() {
        return Some(Detected::Format(Format::TunableOp));
    }
    if let [operator, parameters, _, ..] = header.as_slice()
        && header.len() <= 4
        && operator.contains("TunableOp_")
        && parameters.contains('_')
    {
        return Some(Detected::Format(Format::TunableOp));
    }
    let format = if has("status") && has("perf_ms") && has("config") {
        Format::Helion
    } else if has("Kernel name") && has("Global size") {
        Format::KttCsv
    } else if has("Benchmark") && has("Skipped") && has("Device Name") {
        Format::NvbenchCsv
    } else if has("routine") && has("median_time") && has("backend") {
        Format::FlashInferCsv
    } else if aiter::is_header(&header) {
        Format::Aiter
    } else if let Some(format) = super::benchmarks::table(&header) {
        format
    } else if aiter::is_work_list(&header) {
        return Some(Detected::NoRecords(NoRecords::ShapesToTune));
    } else {
        return None;
    };
    Some(Detected::Format(format))
}
