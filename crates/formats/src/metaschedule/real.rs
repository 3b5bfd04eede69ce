//! Databases that TVM wrote, which are not part of the project.

#![allow(clippy::print_stderr, reason = "a test prints its results")]

use std::collections::HashSet;
use std::fs;
use std::io::Read as _;

use flate2::read::DeflateDecoder;

use super::workload::{read_lines, write as write_workload};
use super::{Log, parse, workload, write};
use crate::log_context::LogContext;
use crate::rows::{LogRows, Measurement};
use crate::{Dialect, Input, LogFormat as _, chunk, read_companion_graphs, shared};

/// Folder; records; failed records; workloads; maximum number of sketches.
const DATABASES: [(&str, usize, usize, usize, usize); 4] = [
    ("a100-resnet34", 20_089, 4_639, 20, 130),
    ("cpu-c2d-0.27", 16, 0, 1, 16),
    ("cpu-gmm-0.27", 16, 0, 1, 16),
    ("cpu-sfm-0.27", 16, 0, 1, 16),
];

/// Bytes that are read at once, as in ingest.
const CHUNK_BYTES: usize = 1 << 20;

/// One of this many chunks is parsed. The largest database has 137 MB, which take a minute without optimization.
const CHUNKS_FOR_ONE: usize = 8;

/// Run time of a failed program.
const FAILED: &[u8] = b"[10000000000]";

/// Flag of a gzip file with a file name before its content.
const NAMED: u8 = 8;

/// Size of a gzip header in bytes.
const HEADER: usize = 10;

/// Records of a database; empty if it is missing.
fn records(name: &str) -> Option<Vec<u8>> {
    let folder = format!("data/metaschedule/{name}");
    let path = shared::path(&folder)?.join("database_tuning_record.json.gz");
    if !path.exists() {
        return shared::bytes(&format!("{folder}/database_tuning_record.json"));
    }
    let compressed = fs::read(path).unwrap();
    // Without the checksum, which dominates the run time without optimization.
    let (header, content) = compressed.split_at(HEADER);
    let name = match header[3] {
        0 => 0,
        NAMED => content.iter().position(|&byte| byte == 0).unwrap() + 1,
        flags => panic!("flags {flags}"),
    };
    let mut text = Vec::new();
    let mut content = DeflateDecoder::new(&content[name..]);
    content.read_to_end(&mut text).unwrap();
    Some(text)
}

/// Chunks of complete lines.
fn chunks(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let after = rest.get(CHUNK_BYTES..).unwrap_or(&[]);
        let end = memchr::memchr(b'\n', after);
        let end = end.map_or(rest.len(), |end| CHUNK_BYTES + end + 1);
        let (chunk, after) = rest.split_at(end);
        rest = after;
        (!chunk.is_empty()).then_some(chunk)
    })
}

/// Rebuilds the line of a record from its columns.
fn rebuild_line(rows: &LogRows, index: usize) -> Vec<u8> {
    let row = &rows.records[index];
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
    let (mut trace, mut line) = (Vec::new(), Vec::new());
    let sketch = &rows.sketches[row.sketch as usize];
    let filled = tsql_codecs::sketch::fill(&sketch.text, rows.params(row), &mut trace);
    assert!(filled && !sketch.literal);
    let environment = &rows.environments[row.environment as usize];
    let graph = &rows.graphs[row.graph as usize];
    assert!(write(graph, &trace, measurement, environment, &mut line));
    line
}

/// Keys of the graphs of a database, derived from its workloads.
fn workload_keys(name: &str) -> HashSet<String> {
    let text = shared::bytes(&format!("data/metaschedule/{name}/database_workload.json"));
    let text = text.unwrap_or_default();
    let keys = read_lines(&text, false).map(|line| line.workload.unwrap().key().unwrap());
    keys.collect()
}

#[test]
fn every_record_of_real_databases_is_rebuilt() {
    for (name, count, failed, _, max_sketches) in DATABASES {
        let Some(text) = records(name) else {
            return;
        };
        assert!(Log.begins_record(&text) && !workload::begins_workload(&text));
        let context = LogContext {
            graphs: shared::path(&format!("data/metaschedule/{name}/database_workload.json"))
                .map(|path| Input::new(path, String::new(), "database_workload.json".to_owned()))
                .and_then(|input| read_companion_graphs(Dialect::METASCHEDULE, &input).unwrap()),
            ..LogContext::default()
        };
        let workloads = workload_keys(name);
        let (mut records, mut failures, mut repeats, mut params) = (0, 0, 0, 0);
        let (mut sketches, mut programs) = (HashSet::new(), HashSet::new());
        let (mut graphs, mut environments) = (HashSet::new(), HashSet::new());
        for (number, chunk) in chunks(&text).enumerate() {
            let (lines, failed) = (
                memchr::memchr_iter(b'\n', chunk).count(),
                memchr::memmem::find_iter(chunk, FAILED).count(),
            );
            records += lines;
            failures += failed;
            if number % CHUNKS_FOR_ONE != 0 {
                continue;
            }
            let rows = parse(chunk, false, &context);
            assert!(rows.others.is_empty() && rows.verbatim.is_empty());
            for (index, line) in chunk::split_lines(chunk).enumerate() {
                assert!(
                    rebuild_line(&rows, index) == line,
                    "{name}: {number}, {index}"
                );
            }
            let failures_here = rows.records.iter().filter(|row| row.error_no == 8);
            assert_eq!((rows.records.len(), failures_here.count()), (lines, failed));
            programs.extend(rows.records.iter().map(|row| row.program));
            repeats += rows.repeats.len();
            params += rows.params.len();
            sketches.extend(rows.sketches);
            graphs.extend(rows.graphs);
            environments.extend(rows.environments);
        }
        eprintln!(
            "{name}: {records} records ({failures} failed), {} bytes; of those parsed {} graphs, {} environments, \
             {} sketches, {} configurations, {params} bytes of parameters, {repeats} of repeats",
            text.len(),
            graphs.len(),
            environments.len(),
            sketches.len(),
            programs.len()
        );
        assert_eq!((records, failures), (count, failed));
        assert_eq!(environments.len(), 1);
        assert!(graphs.is_subset(&workloads), "{graphs:?}");
        assert!(sketches.len() <= max_sketches, "{}", sketches.len());
    }
}

#[test]
fn every_workload_of_real_databases_is_rebuilt() {
    for (name, _, _, count, _) in DATABASES {
        let Some(text) = shared::bytes(&format!("data/metaschedule/{name}/database_workload.json"))
        else {
            return;
        };
        assert!(workload::begins_workload(&text) && !Log.begins_record(&text));
        let (mut workload_count, mut hashes) = (0, HashSet::new());
        for line in read_lines(&text, false) {
            let workload = line.workload.unwrap();
            let mut rebuilt = Vec::new();
            write_workload(workload.hash, &workload.json, &mut rebuilt);
            assert!(line.is_rebuilt && rebuilt == line.text);
            let [main] = workload.functions.as_slice() else {
                panic!("{} functions", workload.functions.len());
            };
            eprintln!("{name} {}: {} {main:?}", line.index, workload.hash);
            assert_eq!(main.name, "main");
            assert!(main.parameters.len() > 1 && main.blocks.len() > 1);
            assert_eq!(main.blocks[0], "root");
            for parameter in &main.parameters {
                assert!(parameter.dtype.is_some() && parameter.shape.is_some());
            }
            hashes.insert(workload.hash);
            workload_count += 1;
        }
        assert_eq!((workload_count, hashes.len()), (count, count));
    }
}
