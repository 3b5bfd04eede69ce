//! MetaSchedule databases: records and workloads in any order.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::path::Path;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::Value;

use crate::networks::NETWORK;
use crate::support::{Place, files_below, shared};

/// Returns a module of one function over `p0` and `p1` with `extent` elements each, as a node graph of TVM.
fn module(extent: u32) -> String {
    format!(
        r#"{{"root": 1, "nodes": [{{"type_key": ""}},
    {{"type_key": "IRModule", "attrs": {{"functions": "2"}}}},
    {{"type_key": "Map", "data": [3, 5]}},
    {{"type_key": "GlobalVar", "attrs": {{"name_hint": "4"}}}},
    {{"type_key": "runtime.String", "repr_str": "main"}},
    {{"type_key": "tir.PrimFunc", "attrs": {{"params": "6", "buffer_map": "9", "body": "16"}}}},
    {{"type_key": "Array", "data": [7, 8]}},
    {{"type_key": "tir.Var", "attrs": {{"name": "14", "dtype": "handle"}}}},
    {{"type_key": "tir.Var", "attrs": {{"name": "14", "dtype": "handle"}}}},
    {{"type_key": "Map", "data": [7, 10, 8, 15]}},
    {{"type_key": "tir.Buffer", "attrs": {{"name": "13", "dtype": "float32", "shape": "11"}}}},
    {{"type_key": "Array", "data": [12]}},
    {{"type_key": "IntImm", "attrs": {{"dtype": "int32", "value": "{extent}"}}}},
    {{"type_key": "runtime.String", "repr_str": "p0"}},
    {{"type_key": "runtime.String", "repr_str": "var_p0"}},
    {{"type_key": "tir.Buffer", "attrs": {{"name": "13", "dtype": "float32", "shape": "11"}}}},
    {{"type_key": "tir.BlockRealize", "attrs": {{"block": "17"}}}},
    {{"type_key": "tir.Block", "attrs": {{"name_hint": "18", "init": "0", "body": "0"}}}},
    {{"type_key": "runtime.String", "repr_str": "T_relu"}}],
    "b64ndarrays": [], "attrs": {{"tvm_version": "0.13.0"}}}}"#
    )
}

/// Returns the line of a workload.
fn workload(hash: u64, extent: u32) -> String {
    let module = tsql_formats::tvm_json::encode(module(extent).as_bytes());
    format!("[\"{hash}\",\"{module}\"]\n")
}

/// Returns the line of a record: workload, tile and runtimes.
pub(crate) fn record(index: u32, extent: u32, tile: u32, run_secs: &str) -> String {
    format!(
        "[{index},[[[[\"GetBlock\",[],[\"T_relu\",\"main\"],[\"b0\"]],[\"SamplePerfectTile\",[\"l1\"],[2,64],[\"v2\",\"v3\"]]],\
         [[1,[{},{tile}]]]],{run_secs},{{\"keys\":[\"cpu\"],\"kind\":\"llvm\",\"tag\":\"\"}},\
         [[\"TENSOR\",\"float32\",[{extent}]],[\"TENSOR\",\"float32\",[{extent}]]]]]\n",
        extent / tile
    )
}

/// Structural hash above 2^63.
const LARGE: u64 = 11_262_074_163_714_101_772;

const RECORDS: &str = "database_tuning_record.json";
const WORKLOADS: &str = "database_workload.json";

/// Returns the records of a small database: measured, failed and unmeasured ones.
fn records() -> String {
    [
        record(0, 64, 8, "[0.0002500000000000000052]"),
        record(0, 64, 16, "[10000000000]"),
        record(
            1,
            128,
            8,
            "[0.00050000000000000001041,0.0010000000000000000208]",
        ),
        record(1, 128, 4, "null"),
    ]
    .concat()
}

pub(crate) fn workloads() -> String {
    workload(LARGE, 64) + &workload(42, 128)
}

#[test]
#[ignore = "full tier"]
fn records_have_the_graphs_of_their_workloads() {
    let place = Place::new();
    place.write(&format!("gpu/{RECORDS}"), records());
    place.write(&format!("gpu/{WORKLOADS}"), workloads());
    let ran = place.ok(&["ingest", "gpu"]);
    let expected = "records          4 (1 failed when measured, 1 unmeasured)";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    let sql = "SELECT g.workload_name, g.workload_args, w.structural_hash, w.blocks, w.tvm_version, e.target_kind, \
                 r.workload_index, count(*), count(DISTINCT config_id), min(runtime_ns), max(error_no), \
                 count(*) FILTER (WHERE status = 'unmeasured') \
                 FROM records r JOIN graphs g USING (graph_id) JOIN workloads w USING (graph_id) \
                 JOIN environments e USING (environment_id) WHERE r.dataset = 'metaschedule' AND platform = 'gpu' \
                 GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY r.workload_index";
    let tensors = |extent| {
        format!(
            r#""[[[""TENSOR"", ""float32"", [{extent}]], [""TENSOR"", ""float32"", [{extent}]]]]""#
        )
    };
    let wanted = [
        format!(
            "{LARGE},{},{LARGE},\"[\"\"T_relu\"\"]\",0.13.0,llvm,0,2,2,250000.0,8,0",
            tensors(64)
        ),
        format!(
            "42,{},42,\"[\"\"T_relu\"\"]\",0.13.0,llvm,1,2,2,750000.0,0,1",
            tensors(128)
        ),
    ];
    assert_eq!(place.rows(sql), wanted);
    let again = place.ok(&["ingest", "gpu"]);
    assert!(
        again.stderr.contains("2 already ingested"),
        "{}",
        again.stderr
    );
    place.ok(&["check"]);
    place.ok(&["export", "--to", "back"]);
    for (name, text) in [(RECORDS, records()), (WORKLOADS, workloads())] {
        let back = place.read(&format!("back/gpu/{name}"));
        assert_eq!(String::from_utf8(back).unwrap(), text);
    }
    assert_eq!(place.rows("SELECT sum(verbatim_count) FROM sources"), ["0"]);
    // An export is ingested in its original format, with the same graphs.
    let copy = Place::new();
    let back = place.path().join("back");
    copy.ok(&["ingest", "-q", back.to_str().unwrap()]);
    let graphs = "SELECT graph_id, workload_key FROM graphs ORDER BY graph_id";
    assert_eq!(copy.rows(graphs), place.rows(graphs));
}

#[test]
fn a_workload_of_two_databases_is_one_graph() {
    let place = Place::new();
    place.write(&format!("one/{RECORDS}"), record(0, 64, 8, "[0.5]"));
    place.write(&format!("one/{WORKLOADS}"), workloads());
    // The same programs with other numbers.
    let other = record(1, 64, 8, "[0.25]") + &record(0, 128, 8, "[0.125]");
    place.write(&format!("two/{RECORDS}"), other);
    place.write(
        &format!("two/{WORKLOADS}"),
        workload(42, 128) + &workload(LARGE, 64),
    );
    place.ok(&["ingest", "-q", "one", "two"]);
    let sql = "SELECT workload_name, count(*), count(DISTINCT config_id), count(DISTINCT platform) \
                 FROM records JOIN graphs USING (graph_id) GROUP BY 1 ORDER BY 2";
    assert_eq!(
        place.rows(sql),
        ["42,1,1,1".into(), format!("{LARGE},2,1,2")]
    );
    assert_eq!(
        place.rows("SELECT count(*) FROM texts"),
        ["2"],
        "each module once"
    );
    place.ok(&["export", "--to", "back"]);
    for name in ["one", "two"].map(|folder| format!("{folder}/{WORKLOADS}")) {
        assert_eq!(place.read(&format!("back/{name}")), place.read(&name));
    }
}

#[test]
#[ignore = "full tier"]
fn records_are_linked_to_workloads_ingested_later() {
    let place = Place::new();
    place.write(&format!("gpu/{RECORDS}"), records());
    // A database of the same name in another folder, with another first workload.
    place.write(&format!("other/gpu/{RECORDS}"), record(0, 64, 8, "[0.5]"));
    place.ok(&["ingest", "-q", "gpu"]);
    place.ok(&["ingest", "-q", "other", "--platform", "b"]);
    let names = "SELECT workload_name, workload_args LIKE '[[[\"TENSOR\"%', count(*) \
                 FROM records JOIN graphs USING (graph_id) WHERE platform = 'gpu' GROUP BY 1, 2 ORDER BY 1";
    assert_eq!(place.rows(names), ["gpu#0,true,2", "gpu#1,true,2"]);
    let graphs = place.rows("SELECT count(*), count(DISTINCT workload_name) FROM graphs");
    assert_eq!(
        graphs,
        ["3,2"],
        "two databases do not share a graph by their names"
    );
    place.write(&format!("gpu/{WORKLOADS}"), workloads());
    place.ok(&["ingest", "-q", "gpu"]);
    let met = "SELECT w.structural_hash, count(*), min(runtime_ns) FROM records r \
               JOIN computations c USING (graph_id) JOIN workloads w ON w.graph_id = c.known_graph_id \
               WHERE platform = 'gpu' GROUP BY 1 ORDER BY 2, 1";
    let wanted = [format!("{LARGE},2,250000.0"), "42,2,750000.0".to_owned()];
    assert_eq!(place.rows(met), wanted);
    assert_eq!(
        place.rows("SELECT count(*) FROM records"),
        ["5"],
        "nothing is read again"
    );
    let linked = "SELECT count(*), count(DISTINCT known_graph_id) FROM computations \
                  WHERE graph_id <> known_graph_id";
    assert_eq!(place.rows(linked), ["2,2"], "not that of the other folder");
    // With two candidates for a workload, none is used.
    place.write(
        &format!("gpu/{WORKLOADS}"),
        workload(7, 64) + &workload(8, 128),
    );
    place.ok(&["ingest", "-q", "gpu"]);
    assert_eq!(place.rows(linked), ["0,0"]);
    place.ok(&["check"]);
}

#[test]
fn compressed_and_archived_databases_are_read() {
    let place = Place::new();
    let pack = |text: String| {
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(text.as_bytes()).unwrap();
        packed.finish().unwrap()
    };
    place.write(&format!("gpu/{RECORDS}.gz"), pack(records()));
    place.write(&format!("gpu/{WORKLOADS}.gz"), pack(workloads()));
    place.ok(&["ingest", "-q", "gpu"]);
    let sql = "SELECT count(*) FROM records JOIN workloads USING (graph_id)";
    assert_eq!(place.rows(sql), ["4"]);
    let mut tar = tar::Builder::new(Vec::new());
    let pickle = "((net,[(1,3)]),cuda).task.pkl";
    for (name, text) in [
        (RECORDS, records().into_bytes()),
        (WORKLOADS, workloads().into_bytes()),
        (pickle, NETWORK.to_vec()),
    ] {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        let name = format!("gpu/{name}");
        tar.append_data(&mut header, name, text.as_slice()).unwrap();
    }
    let other = Place::new();
    other.write("all.tar", tar.into_inner().unwrap());
    other.ok(&["ingest", "-q", "all.tar"]);
    assert_eq!(other.rows(sql), ["4"]);
    assert_eq!(other.rows("SELECT count(*) FROM network_tasks"), ["1"]);
    other.ok(&["export", "--to", "back"]);
    assert_eq!(
        other.read(&format!("back/gpu/{WORKLOADS}")),
        workloads().as_bytes()
    );
    assert_eq!(other.read(&format!("back/gpu/{pickle}")), NETWORK);
}

#[test]
#[ignore = "full tier"]
fn bad_lines_are_reported_with_their_position_and_stored() {
    let place = Place::new();
    let bad_records = records() + &record(2, 64, 8, "[0.5]") + "[0,[[[[\"GetBlock\"\n";
    let bad_workloads = format!("{}\n[\"7\",\"AgAAAAAAAAB7\"]\n[\"8\", 9]", workloads());
    place.write(&format!("gpu/{RECORDS}"), &bad_records);
    place.write(&format!("gpu/{WORKLOADS}"), &bad_workloads);
    let ran = place.tsql(&["ingest", "gpu"]);
    assert_eq!(ran.code, Some(1));
    for expected in [
        "database_tuning_record.json:6: invalid JSON",
        "database_workload.json:4: byte 7: the module: the graph has 1 bytes, expected 2",
        "database_workload.json:5: byte 7: the module is not a string",
    ] {
        assert!(ran.stderr.contains(expected), "{expected}: {}", ran.stderr);
    }
    // Lines 3 and 5 are no workloads, but they count as lines.
    assert!(!ran.stderr.contains("json:5: workload"), "{}", ran.stderr);
    let rejects = place.rows("SELECT count(*) FROM rejects");
    assert_eq!(rejects, ["3"]);
    assert_eq!(place.rows("SELECT count(*) FROM records"), ["5"]);
    place.ok(&["check"]);
    place.ok(&["export", "--to", "back"]);
    assert_eq!(
        place.read(&format!("back/gpu/{RECORDS}")),
        bad_records.as_bytes()
    );
    assert_eq!(
        place.read(&format!("back/gpu/{WORKLOADS}")),
        bad_workloads.as_bytes()
    );

    let short = Place::new();
    short.write(
        &format!("gpu/{RECORDS}"),
        record(2, 64, 8, "[0.5]") + &records(),
    );
    short.write(&format!("gpu/{WORKLOADS}"), workloads());
    let ran = short.tsql(&["ingest", "gpu"]);
    let expected = "database_tuning_record.json:1: workload 2 (from 0) is not in `database_workload.json`, which has 2 lines";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    assert_eq!(short.rows("SELECT count(*) FROM records"), ["4"]);
}

/// Returns records, failures and minimum runtime of each workload, from plain JSON parsing.
fn count_records(text: &str) -> BTreeMap<i64, (u64, u64, f64)> {
    let mut counted = BTreeMap::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let times = line[1][1].as_array().unwrap();
        let times: Vec<f64> = times.iter().map(|time| time.as_f64().unwrap()).collect();
        let workload = counted.entry(line[0].as_i64().unwrap());
        let (records, failures, best) = workload.or_insert((0, 0, f64::INFINITY));
        *records += 1;
        if times[0] >= 1e10 {
            *failures += 1;
        } else {
            let sum: f64 = times.iter().sum();
            let mean = sum / f64::from(u32::try_from(times.len()).unwrap());
            *best = best.min(mean);
        }
    }
    counted
}

fn text_of(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap();
    if path.extension().is_some_and(|ending| ending == "gz") {
        let mut text = Vec::new();
        GzDecoder::new(bytes.as_slice())
            .read_to_end(&mut text)
            .unwrap();
        return text;
    }
    bytes
}

/// One command ingests all log formats: detected formats, contents, and the exported files.
#[test]
#[ignore = "full tier"]
fn real_files_of_all_tuners_round_trip_with_one_command() {
    let Some(shared) = shared() else { return };
    let place = Place::new();
    let tuners = ["tenset", "autotvm", "metaschedule"].map(|name| shared.join("data").join(name));
    let tuners = tuners.each_ref().map(|folder| folder.to_str().unwrap());
    let ran = place.ok(&[&["ingest"], tuners.as_slice()].concat());
    let expected = "formats          14 files of network_info, 1 AutoTVM log, 27 auto_scheduler logs, \
                4 files of records of a MetaSchedule database, 4 files of workloads of a MetaSchedule database";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    let golden = shared.join("golden/tenset/real_files.expected.json");
    let golden: Value = serde_json::from_slice(&std::fs::read(golden).unwrap()).unwrap();
    let logs = golden.as_object().unwrap().values();
    let (mut records, mut failures) = (0, 0);
    for log in logs.filter(|log| log["format"] == "auto_scheduler") {
        let errors = log["error_no"].as_object().unwrap().iter();
        let failed = errors.filter(|(number, _)| *number != "0");
        failures += failed
            .map(|(_, count)| count.as_u64().unwrap())
            .sum::<u64>();
        records += log["records"].as_u64().unwrap();
    }
    let counts = "SELECT dataset, count(*), count(*) FILTER (WHERE error_no <> 0) FROM records GROUP BY 1 ORDER BY 1";
    let wanted = [
        "autotvm,385,26".to_owned(),
        "metaschedule,20137,4639".to_owned(),
        format!("tenset,{records},{failures}"),
    ];
    assert_eq!(place.rows(counts), wanted);
    assert_eq!(place.rows("SELECT count(*) FROM network_tasks"), ["204"]);
    let folder = shared.join("data/metaschedule");
    for database in std::fs::read_dir(&folder).unwrap() {
        let database = database.unwrap().path();
        let name = database.file_name().unwrap().to_str().unwrap().to_owned();
        let files = std::fs::read_dir(&database).unwrap();
        let files: BTreeSet<_> = files.map(|file| file.unwrap().path()).collect();
        let records = files
            .iter()
            .find(|file| file.to_str().unwrap().contains("tuning"));
        let text = String::from_utf8(text_of(records.unwrap())).unwrap();
        let counted = count_records(&text);
        let sql = format!(
            "SELECT r.workload_index, count(*), count(*) FILTER (WHERE error_no = 8), \
             coalesce(min(runtime_ns), 'inf'::double) FROM records r JOIN workloads w USING (graph_id) \
             WHERE platform = '{name}' AND w.database = '{name}' AND w.workload_index = r.workload_index \
             GROUP BY 1 ORDER BY 1"
        );
        let found = place.rows(&sql);
        assert_eq!(found.len(), counted.len(), "{name}");
        for (row, (index, (records, failures, best))) in found.iter().zip(&counted) {
            let begin = format!("{index},{records},{failures},");
            let least: f64 = row.strip_prefix(&begin).expect(row).parse().unwrap();
            assert!(
                (least - best * 1e9).abs() <= least * 1e-12 || least == *best,
                "{row}: {best}"
            );
        }
    }
    place.ok(&["export", "--to", "back"]);
    for folder in tuners {
        for file in files_below(Path::new(folder)) {
            let name = file.strip_prefix(shared.join("data")).unwrap();
            let back = place.path().join("back").join(name);
            assert!(
                text_of(&back) == text_of(&file),
                "{} differs",
                name.display()
            );
        }
    }
    let verbatim = "SELECT sum(verbatim_count) FROM sources WHERE dataset LIKE 'metaschedule%'";
    assert_eq!(place.rows(verbatim), ["0"]);
}

/// The last layer of ResNet-18 in auto_scheduler equals that of ResNet-34 in MetaSchedule. No other layers are equal.
#[test]
#[ignore = "full tier"]
fn a_computation_of_two_tools_is_linked() {
    let Some(shared) = shared() else { return };
    let place = Place::new();
    for folder in [
        "data/tenset/network_info",
        "data/metaschedule/a100-resnet34",
    ] {
        for file in std::fs::read_dir(shared.join(folder)).unwrap() {
            let file = file.unwrap().path();
            if !file.to_str().unwrap().contains("tuning_record") {
                place.ok(&["ingest", "-q", file.to_str().unwrap()]);
            }
        }
    }
    let linked = "SELECT min(w.structural_hash), min(t.workload_key), count(DISTINCT c.graph_id), min(c.computation) \
                  FROM computations c LEFT JOIN workloads w USING (graph_id) \
                  LEFT JOIN (SELECT graph_id, workload_key FROM graphs WHERE dataset = 'tenset') t USING (graph_id) \
                  GROUP BY c.computation_id HAVING count(DISTINCT c.dataset) > 1";
    let key = r#"[""9847f8cc0b305137f49f2c5c0c8ab25d"", 1, 512, 1000, 512, 1000, 1, 1000]"#;
    let rows = place.rows(linked);
    let wanted = format!("14323817316436100562,\"{key}\",2,");
    assert!(rows[0].starts_with(&wanted), "{rows:?}");
    let known =
        "SELECT count(*), count(computation), count(DISTINCT computation_id) FROM computations";
    assert_eq!(place.rows(known), ["124,124,123"]);
    let apart = "SELECT count(*) FROM (SELECT computation_id FROM computations \
                 GROUP BY 1 HAVING count(DISTINCT dataset) > 1)";
    assert_eq!(place.rows(apart), ["1"]);
    place.ok(&["check"]);
}

/// Returns the lines of a file.
fn lines(place: &Place, name: &str) -> Vec<String> {
    let text = String::from_utf8(place.read(name)).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Returns the structural hash of the workload of each record of a database, and its runtimes.
fn tuned(place: &Place, folder: &str) -> BTreeSet<(String, String)> {
    let workloads = lines(place, &format!("{folder}/{WORKLOADS}"));
    let records = lines(place, &format!("{folder}/{RECORDS}"));
    let tuned = records.iter().map(|line| {
        let record: Value = serde_json::from_str(line).unwrap();
        let index = usize::try_from(record[0].as_u64().unwrap()).unwrap();
        let workload: Value = serde_json::from_str(&workloads[index]).unwrap();
        let hash = workload[0].as_str().unwrap().to_owned();
        (hash, record[1][1].to_string())
    });
    tuned.collect()
}

/// Returns the records of a store without ids.
fn record_rows(place: &Place) -> Vec<String> {
    place.rows(
        "SELECT platform, workload_key, runtime_ns, error_no, status, config_key, target FROM records \
         JOIN graphs USING (graph_id) JOIN environments USING (environment_id) ORDER BY 1, 2, 3, 4, 5, 6, 7",
    )
}

/// Returns two databases of one platform that number the same workloads differently.
fn two_databases() -> Place {
    let place = Place::new();
    place.write(&format!("one/gpu/{RECORDS}"), records());
    place.write(&format!("one/gpu/{WORKLOADS}"), workloads());
    let other = record(1, 64, 32, "[0.125]") + &record(0, 256, 8, "[0.0625]");
    place.write(&format!("two/gpu/{RECORDS}"), other);
    place.write(
        &format!("two/gpu/{WORKLOADS}"),
        workload(7, 256) + &workload(LARGE, 64),
    );
    place.ok(&["ingest", "-q", "one", "two"]);
    place
}

#[test]
#[ignore = "full tier"]
fn database_lines_are_never_exported_without_their_workloads() {
    let place = two_databases();
    place.write("log.json", crate::support::log(1, 3));
    place.ok(&["ingest", "-q", "--platform", "cpu", "log.json"]);
    place.write("best.json", "what was there");
    for args in [
        vec!["export", "--format", "tenset"],
        vec!["export", "--format", "tenset", "-o", "best.json"],
        vec![
            "export",
            "--format",
            "tenset",
            "--where",
            "platform = 'gpu'",
        ],
    ] {
        let ran = place.tsql(&args);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(
            ran.stderr
                .contains("6 of the selected records are records of a MetaSchedule database"),
            "{}",
            ran.stderr
        );
        assert!(
            ran.stderr.contains("hint: `tsql export databases -o DIR`"),
            "{}",
            ran.stderr
        );
        assert_eq!(ran.stdout, "");
    }
    assert_eq!(place.read("best.json"), b"what was there");
    let chosen = "dataset <> 'metaschedule'";
    let ran = place.ok(&["export", "--format", "tenset", "--where", chosen]);
    assert_eq!(ran.stdout.lines().count(), 3);
}

#[test]
#[ignore = "full tier"]
fn databases_merge_on_export_with_renumbered_workloads() {
    let place = two_databases();
    let stderr = place
        .ok(&["export", "--format", "databases", "-o", "out"])
        .stderr;
    assert!(
        stderr.contains("llvm/gpu: 6 records of 3 workloads"),
        "{stderr}"
    );
    let hashes = lines(&place, &format!("out/llvm/gpu/{WORKLOADS}"));
    assert_eq!(hashes.len(), 3);
    let before: BTreeSet<_> = ["one", "two"]
        .iter()
        .flat_map(|one| tuned(&place, &format!("{one}/gpu")))
        .collect();
    assert_eq!(tuned(&place, "out/llvm/gpu"), before);
    // Another ingest returns the same records, with or without the export list.
    for list in [true, false] {
        if !list {
            std::fs::remove_file(place.path().join("out/tsql-export.json")).unwrap();
        }
        let again = Place::new();
        let out = place.path().join("out");
        again.tsql(&["ingest", "-q", out.to_str().unwrap()]);
        assert_eq!(record_rows(&again), record_rows(&place), "list: {list}");
        again.ok(&["check"]);
    }
    // A repeated export is known. Other files are not overwritten.
    place.ok(&["export", "--format", "databases", "-o", "out"]);
    let ran = place.tsql(&[
        "export",
        "--format",
        "databases",
        "-o",
        "out",
        "--where",
        "runtime_ns > 0",
    ]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("another file already exists at")
            && ran.stderr.contains("hint: --overwrite"),
        "{}",
        ran.stderr
    );
    assert_eq!(tuned(&place, "out/llvm/gpu"), before);
    place.ok(&[
        "export",
        "--format",
        "databases",
        "-o",
        "out",
        "--where",
        "runtime_ns > 0",
        "--overwrite",
    ]);
    assert_eq!(tuned(&place, "out/llvm/gpu").len(), 4);
}

#[test]
fn a_whole_database_exports_the_ingested_bytes() {
    let place = Place::new();
    // Unusual spelling, a failed record, and a workload without records.
    let odd = record(1, 128, 16, "[0.5]").replace("[1,[[[[", "[ 1,  [[[[");
    let text = records() + &odd;
    let graphs = workloads() + &workload(99, 512);
    place.write(&format!("gpu/{RECORDS}"), &text);
    place.write(&format!("gpu/{WORKLOADS}"), &graphs);
    place.ok(&["ingest", "-q", "gpu"]);
    assert_eq!(
        place.rows("SELECT sum(verbatim_count) FROM sources WHERE dataset = 'metaschedule'"),
        ["1"]
    );
    place.ok(&["export", "--format", "databases", "-o", "out"]);
    for (name, text) in [(RECORDS, &text), (WORKLOADS, &graphs)] {
        let back = place.read(&format!("out/llvm/gpu/{name}"));
        assert_eq!(&String::from_utf8(back).unwrap(), text, "{name}");
    }
    // An export of a part omits unused workloads. The unusual line keeps its spelling.
    place.ok(&[
        "export",
        "--format",
        "databases",
        "-o",
        "part",
        "--where",
        "workload_index = 1 AND error_no = 0",
    ]);
    assert_eq!(
        lines(&place, &format!("part/llvm/gpu/{WORKLOADS}")).len(),
        1
    );
    let part = lines(&place, &format!("part/llvm/gpu/{RECORDS}"));
    assert_eq!(part.len(), 3);
    assert_eq!(part[2], odd.trim_end().replace("[ 1,", "[ 0,"));
}

#[test]
fn each_target_and_platform_is_a_separate_database() {
    let place = Place::new();
    let cuda = record(0, 64, 8, "[0.5]").replace("llvm", "cuda");
    let avx = record(0, 64, 8, "[0.25]").replace("\"tag\":\"\"", "\"mcpu\":\"x\",\"tag\":\"\"");
    place.write(
        &format!("a/{RECORDS}"),
        record(1, 128, 4, "[1]") + &cuda + &avx,
    );
    place.write(&format!("a/{WORKLOADS}"), workloads());
    place.write(&format!("b/{RECORDS}"), record(0, 64, 8, "[2]"));
    place.write(&format!("b/{WORKLOADS}"), workloads());
    place.ok(&["ingest", "-q", "a", "b"]);
    let stderr = place
        .ok(&["export", "--format", "databases", "-o", "out"])
        .stderr;
    assert_eq!(stderr.matches("1 record of").count(), 4, "{stderr}");
    let one = |folder: &str, hash: u64, time: &str| {
        let wanted = BTreeSet::from([(hash.to_string(), time.to_owned())]);
        assert_eq!(tuned(&place, &format!("out/{folder}")), wanted, "{folder}");
    };
    one("cuda/a", LARGE, "[0.5]");
    one("llvm/b", LARGE, "[2]");
    let mut both = tuned(&place, "out/llvm/a");
    both.extend(tuned(&place, "out/llvm-2/a"));
    assert_eq!(both.len(), 2);
    let again = Place::new();
    again.ok(&["ingest", "-q", place.path().join("out").to_str().unwrap()]);
    assert_eq!(record_rows(&again), record_rows(&place));
}

#[test]
fn records_without_workloads_are_rejected() {
    let place = Place::new();
    place.write(&format!("none/{RECORDS}"), records());
    place.ok(&["ingest", "-q", "none"]);
    let ran = place.tsql(&["export", "--format", "databases", "-o", "out"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("does not have the workloads of"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr
            .contains("hint: ingest both files of that database into a new store"),
        "{}",
        ran.stderr
    );
    assert!(!place.path().join("out").exists());
    // Workloads that are ingested later are found by their folder.
    place.write(&format!("none/{WORKLOADS}"), workloads());
    place.ok(&["ingest", "-q", "none"]);
    place.ok(&["export", "--format", "databases", "-o", "out"]);
    for (name, text) in [(RECORDS, records()), (WORKLOADS, workloads())] {
        let back = place.read(&format!("out/llvm/none/{name}"));
        assert_eq!(String::from_utf8(back).unwrap(), text, "{name}");
    }
    let ran = place.tsql(&[
        "export",
        "--format",
        "databases",
        "-o",
        "out",
        "--where",
        "platform = 'x'",
    ]);
    assert!(
        ran.stderr
            .contains("no record of a MetaSchedule database matches"),
        "{}",
        ran.stderr
    );
}

/// A record needs its workload, so a copy of a selection includes the workloads of its records.
#[test]
#[ignore = "full tier"]
fn selected_records_are_copied_with_their_workloads() {
    let place = two_databases();
    for (to, predicate, of) in [
        ("some", "runtime_ns IS NOT NULL", "runtime_ns IS NOT NULL"),
        ("whole", "source LIKE 'two/%'", "true"),
    ] {
        place.ok(&["copy", ".tsql", to, "--where", predicate]);
        let store = |args: &[&str]| place.ok(&[&["--store", to], args].concat());
        let graphs = format!(
            "SELECT workload_key, runtime_ns, count(*) FROM records JOIN graphs USING (graph_id) WHERE {of} GROUP BY 1, 2 ORDER BY 1, 2"
        );
        if to == "some" {
            let copied = store(&["--format", "csv", &graphs]).stdout;
            let copied: Vec<String> = copied.lines().skip(1).map(str::to_owned).collect();
            assert_eq!(copied.len(), 4);
            let csv = place.ok(&["--format", "csv", &graphs]).stdout;
            assert_eq!(copied, csv.lines().skip(1).collect::<Vec<_>>());
        }
        let known = store(&[
            "--format",
            "csv",
            "SELECT count(*) FROM records r LEFT JOIN workloads w USING (graph_id) WHERE w.graph_id IS NULL",
        ]);
        assert_eq!(known.stdout.lines().nth(1), Some("0"), "{to}");
        let out = format!("out-{to}");
        store(&["export", "--format", "databases", "-o", &out]);
        assert!(tuned(&place, &format!("{out}/llvm/gpu")).len() > 1);
        store(&["check"]);
    }
}

/// Unparsed parts of workloads are counted and reported with their position.
#[test]
fn unparsed_workloads_are_counted() {
    let place = Place::new();
    place.write(&format!("gpu/{RECORDS}"), records());
    // A variable as an extent.
    let extent = r#"{"type_key": "IntImm", "attrs": {"dtype": "int32", "value": "64"}}"#;
    let variable = r#"{"type_key": "tir.Var", "attrs": {"name": "13", "dtype": "int32"}}"#;
    let open = tsql_formats::tvm_json::encode(module(64).replace(extent, variable).as_bytes());
    let open = format!("[\"5\",\"{open}\"]\n");
    place.write(&format!("gpu/{WORKLOADS}"), workloads() + &open);
    let stderr = place.ok(&["ingest", "gpu", "--strict"]).stderr;
    let wanted = "1 of 3 workloads have no `arguments`, the first in line 3: ";
    assert!(stderr.contains(wanted), "{stderr}");
    assert!(
        stderr.contains(
            "3 of 3 workloads have no `computation`, the first in line 1: no canonical form: "
        ),
        "{stderr}"
    );
}
