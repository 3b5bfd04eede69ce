//! The two files of a MetaSchedule database.

use tsql_formats::Dialect;
use tsql_formats::computation::computation_of_module;
use tsql_formats::log_context::LogContext;
use tsql_formats::metaschedule::workload::{self, Workload, WorkloadEntry};
use tsql_formats::metaschedule::{parse, renumber};

use super::files;

/// Hash of a module without a known hash.
const HASH: u64 = u64::MAX;

/// Records, which can be renumbered.
pub(super) fn records(bytes: &[u8]) {
    files::lines(Dialect::METASCHEDULE, bytes);
    let lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
    for row in parse(bytes, false, &LogContext::default()).records {
        let line = lines[usize::try_from(row.line).expect("it was counted")];
        let renumbered = renumber(line, 7).expect("a record has a number");
        assert!(renumbered.trim_ascii_start().starts_with(b"["));
    }
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
