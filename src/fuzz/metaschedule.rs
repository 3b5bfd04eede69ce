//! The two files of a MetaSchedule database.

use std::collections::HashMap;

use tsql_codecs::steps::StepsWriter;
use tsql_formats::computation::computation_of_module;
use tsql_formats::log_context::LogContext;
use tsql_formats::metaschedule::workload::{self, Workload, WorkloadEntry};
use tsql_formats::metaschedule::{parse, renumber, write};
use tsql_formats::rows::{LogRow, LogRows, Measurement};

use super::rows::{check_rows, sketch};

/// Hash of a module without a known hash.
const HASH: u64 = u64::MAX;

/// Records. A line without stored text is rebuilt from columns, byte for byte.
pub(super) fn records(bytes: &[u8]) {
    let lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
    for crlf in [false, true] {
        let rows = parse(bytes, crlf, &LogContext::default());
        check_rows(&rows, bytes);
        let kept: HashMap<usize, &[u8]> = rows
            .verbatim
            .iter()
            .map(|(place, text)| (*place, text.as_slice()))
            .collect();
        for (place, row) in rows.records.iter().enumerate() {
            let line = lines[usize::try_from(row.line).expect("it was counted")];
            let renumbered = renumber(line, 7).expect("a record has a number");
            assert!(renumbered.trim_ascii_start().starts_with(b"["));
            match kept.get(&place) {
                Some(&text) => assert_eq!(text, line),
                None => assert_eq!(rebuild_line(&rows, row, crlf), line),
            }
        }
    }
}

/// Rebuilds the line of a record from its columns.
fn rebuild_line(rows: &LogRows, row: &LogRow, crlf: bool) -> Vec<u8> {
    let (mut trace, mut line) = (Vec::new(), Vec::new());
    let filled = StepsWriter::default().fill(sketch(rows, row), rows.params(row), &mut trace);
    assert!(filled);
    let measurement = Measurement {
        runtime_ns: row.runtime_ns,
        repeat_count: row.repeat_count,
        repeats: rows.repeats(row),
        error_no: row.error_no,
        all_cost: row.all_cost,
        measured_at_s: row.measured_at_s,
        measured_at_fraction: row.measured_at_fraction,
        workload_index: row.workload_index,
    };
    let graph = &rows.graphs[row.graph as usize];
    let environment = &rows.environments[row.environment as usize];
    assert!(write(graph, &trace, measurement, environment, &mut line));
    if crlf {
        line.push(b'\r');
    }
    line
}

/// Workloads. A line that is marked as restorable is restored. Then the bytes as a module.
pub(super) fn workloads(bytes: &[u8]) {
    for crlf in [false, true] {
        let mut read = workload::read_lines(bytes, crlf);
        for (index, text) in (0..).zip(bytes.split_inclusive(|&byte| byte == b'\n')) {
            let line = read.next().expect("a line for each");
            let text = text.strip_suffix(b"\n").unwrap_or(text);
            assert_eq!((line.index, line.text), (index, text));
            check_workload_line(&line, crlf);
        }
        assert!(read.next().is_none());
    }
    let mut line = Vec::new();
    workload::write(HASH, bytes, &mut line);
    let line = workload::read_lines(&line, false)
        .next()
        .expect("it is one");
    assert_eq!(line.is_rebuilt, line.workload.is_ok());
    if let Ok(workload) = line.workload {
        assert_eq!((workload.hash, workload.json.as_slice()), (HASH, bytes));
    }
}

/// Checks that hash and JSON restore a line if it is marked as restorable, and that errors have a valid position.
fn check_workload_line(line: &WorkloadEntry<'_>, crlf: bool) {
    match &line.workload {
        Ok(workload) => {
            let mut rebuilt = Vec::new();
            workload::write(workload.hash, &workload.json, &mut rebuilt);
            if crlf {
                rebuilt.push(b'\r');
            }
            assert_eq!(line.is_rebuilt, rebuilt == line.text);
            check_size(workload);
        }
        Err(error) => {
            assert!(!line.is_rebuilt);
            assert_eq!(error.line, line.index + 1);
            assert!((1..=line.text.len() + 1).contains(&error.at));
        }
    }
}

/// Checks that the description of a module is at most a few times as large as the module.
fn check_size(workload: &Workload) {
    const TIMES: usize = 16;
    const FREE: usize = 1 << 16;
    let functions = workload.functions.iter();
    let told = functions.map(|function| {
        let shapes = function.parameters.iter();
        let shapes = shapes.map(|one| one.name.len() + one.shape.as_ref().map_or(0, Vec::len));
        let blocks = function.blocks.iter().map(String::len);
        function.name.len() + shapes.sum::<usize>() + blocks.sum::<usize>()
    });
    let told = told.sum::<usize>();
    let form = computation_of_module(&workload.module).map_or(0, |form| form.text.len());
    assert!(told.max(form) <= FREE + TIMES * workload.json.len());
}
