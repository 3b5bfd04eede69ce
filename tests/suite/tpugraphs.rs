//! TpuGraphs: ingest, SQL, training batches and export.

use std::path::Path;

use crate::npz::{Array, array, integers, layout_file, members, npz, tile_file, zipped};
use crate::support::{Place, shared};

const RANDOM: &str = "npz/layout/xla/random/train/net.npz";
const DEFAULT: &str = "npz/layout/xla/default/train/net.npz";
const TILE: &str = "npz/tile/xla/valid/net_-1f.npz";
const WITHHELD: &str = "npz/tile/xla/test/00ff.npz";

fn runs() -> Vec<((i8, i8), f64)> {
    vec![
        ((1, 0), 500.0),
        ((0, 1), 300.0),
        ((1, 0), 510.0),
        ((2, 0), 100.0),
        ((1, 1), 9_007_199_254_740_991.0),
    ]
}

/// Returns two searches of one graph, a kernel, and a kernel with withheld runtimes.
fn tree() -> Place {
    let place = Place::new();
    place.write(RANDOM, npz(&layout_file(&runs())));
    place.write(
        DEFAULT,
        npz(&layout_file(&[((1, 0), 505.0), ((0, 0), 90.0)])),
    );
    let kernel = [(4.0, 80.0, 100.0), (8.0, 120.0, 100.0), (4.0, 90.0, 100.0)];
    place.write(TILE, npz(&tile_file(2, &kernel)));
    let withheld = [(0.0, 0.0, 1.0), (0.0, 0.0, 1.0)];
    place.write(WITHHELD, npz(&tile_file(3, &withheld)));
    place
}

fn ingested() -> Place {
    let place = tree();
    let stderr = place.ok(&["ingest", "npz"]).stderr;
    assert!(
        stderr.contains("records          12 (2 unmeasured)"),
        "{stderr}"
    );
    place
}

/// Asserts that every array of these files exports unchanged.
fn assert_exported(place: &Place, names: &[&str]) {
    place.ok(&["check"]);
    let _ = std::fs::remove_dir_all(place.path().join("back"));
    let stderr = place.ok(&["export", "--to", "back"]).stderr;
    assert!(stderr.contains(" 0 differ"), "{stderr}");
    for name in names {
        let back = place.read(&format!("back/{name}"));
        assert!(members(&back) == members(&place.read(name)), "{name}");
    }
}

#[test]
fn graphs_and_configurations_are_stored_once() {
    let place = ingested();
    assert_eq!(
        place.rows("SELECT kind, count(*), sum(node_count), sum(slot_count) FROM graphs GROUP BY kind ORDER BY kind"),
        ["layout,1,12,3", "tile,2,5,0"]
    );
    assert_eq!(
        place.rows(
            "SELECT collection, split, count(*), count(runtime_ns), count(DISTINCT config_id), min(runtime_ns), min(baseline_ns) \
             FROM records GROUP BY 1, 2 ORDER BY 1, 2"
        ),
        [
            "layout:xla:default,train,2,2,2,90.0,",
            "layout:xla:random,train,5,5,4,100.0,",
            "tile:xla,test,2,0,2,,",
            "tile:xla,valid,3,3,3,80.0,100.0",
        ]
    );
    // Four of the random search, one of them also in the default search, and one more.
    assert_eq!(
        place.rows("SELECT count(*) FROM configurations c JOIN graphs g USING (graph_id) WHERE kind = 'layout'"),
        ["5"]
    );
    assert_eq!(
        place.rows("SELECT max(runtime_ns) = 9007199254740991 FROM records"),
        ["true"]
    );
    assert_eq!(
        place.rows("SELECT id, network FROM sources ORDER BY id"),
        [
            "layout:xla:default:net,net",
            "layout:xla:random:net,net",
            "tile:xla:00ff,00ff",
            "tile:xla:net_-1f,net",
        ]
    );
    let steps = "SELECT steps FROM configurations JOIN records USING (config_id) \
                 WHERE runtime_ns = 100";
    assert_eq!(
        place.rows(steps),
        ["\"[\"\"2|1|\"\", \"\"0|1|\"\", \"\"2|1|\"\"]\""]
    );
    let again = place.ok(&["ingest", "npz"]).stderr;
    assert!(again.contains("4 already ingested"), "{again}");
    assert_eq!(place.rows("SELECT count(*) FROM records"), ["12"]);
}

#[test]
fn graphs_are_drawn_by_the_id_of_their_file() {
    let place = ingested();
    for name in [
        "layout:xla:default:net",
        "default:net",
        "tile:xla:00ff",
        "00ff",
    ] {
        place.ok(&["plot", "graph", name, "-o", "graph.svg"]);
        assert!(place.read("graph.svg").starts_with(b"<svg"), "{name}");
    }
    let unknown = place.tsql(&["plot", "graph", "layout:xla:default:other", "-o", "x.svg"]);
    assert_eq!(unknown.code, Some(2), "{}", unknown.stderr);
}

#[test]
fn nodes_and_edges_can_be_queried() {
    let place = ingested();
    assert_eq!(
        place.rows(
            "SELECT op, count(*), count(DISTINCT node_type_id), min(node_feature(features, 'shape_dimensions_product')), \
             sum(node_feature(features, 'window_padding_high_0')) \
             FROM nodes JOIN graphs USING (graph_id) WHERE kind = 'layout' GROUP BY op ORDER BY op"
        ),
        ["convolution,3,2,2952790016,-3", "parameter,9,3,2952790016,-3"]
    );
    assert_eq!(
        place.rows(
            "SELECT e.user, e.operand, n.op FROM edges e JOIN graphs g USING (graph_id) \
             JOIN nodes n ON n.graph_id = e.graph_id AND n.node = e.user \
             WHERE kind = 'layout' AND e.user IN (3, 4) ORDER BY 1"
        ),
        ["3,1,convolution", "4,2,parameter"]
    );
    assert_eq!(
        place.rows("SELECT slot_nodes, split_nodes, edge_count FROM graphs WHERE kind = 'layout'"),
        ["\"[3,7,11]\",\"[0,12]\",11"]
    );
    assert_eq!(
        place.rows("SELECT DISTINCT array_length(node_features(features)) FROM nodes"),
        ["140"]
    );
    let typo = place.tsql(&["SELECT node_feature(features, 'shape_dimension') FROM nodes"]);
    assert_eq!(typo.code, Some(1));
    assert!(typo.stderr.contains("shape_dimensions_"), "{}", typo.stderr);
    for view in ["nodes", "edges"] {
        let described = place.ok(&["describe", view]).stdout.lines().count();
        let columns = place.ok(&[&format!("SELECT * FROM {view} LIMIT 1")]).stdout;
        assert_eq!(
            described - 1,
            columns.lines().next().unwrap().split(',').count()
        );
    }
}

#[test]
#[ignore = "full tier"]
fn arrays_of_any_type_and_order_round_trip() {
    let place = ingested();
    let names = [RANDOM, DEFAULT, TILE, WITHHELD];
    assert_exported(&place, &names);
    place.ok(&["optimize"]);
    assert_exported(&place, &names);

    let place = Place::new();
    let types: [&[(&str, &'static str, bool)]; 5] = [
        &[
            ("node_config_feat", "|i1", false),
            ("node_opcode", "<i4", false),
        ],
        &[
            ("node_config_feat", "<f4", true),
            ("node_feat", "<f8", true),
        ],
        &[
            ("node_config_feat", "<i2", true),
            ("config_runtime", "<f8", false),
        ],
        &[
            ("edge_index", ">i4", false),
            ("node_config_feat", ">f4", false),
        ],
        &[
            ("node_splits", "<i4", false),
            ("node_config_ids", "|u1", false),
        ],
    ];
    let mut names = Vec::new();
    for (number, changes) in types.iter().enumerate() {
        let mut arrays = layout_file(&runs());
        for (name, dtype, fortran) in *changes {
            let array = arrays.iter_mut().find(|array| array.name == *name).unwrap();
            (array.dtype, array.fortran) = (dtype, *fortran);
        }
        arrays.reverse();
        arrays[0].shape = vec![2];
        names.push(format!("layout/nlp/random/train/n{number}.npz"));
        place.write(&names[number], npz(&arrays));
    }
    place.write("layout/nlp/random/train/none.npz", npz(&layout_file(&[])));
    names.push("layout/nlp/random/train/none.npz".to_owned());
    place.ok(&["ingest", "layout"]);
    assert_eq!(
        place.rows("SELECT count(*), count(DISTINCT config_id) FROM records"),
        ["25,4"]
    );
    assert_exported(
        &place,
        &names.iter().map(String::as_str).collect::<Vec<_>>(),
    );
}

#[test]
#[ignore = "full tier"]
fn archives_contain_the_same_files() {
    let place = ingested();
    let mut plain = tar::Builder::new(Vec::new());
    for name in [RANDOM, DEFAULT, TILE, WITHHELD] {
        plain
            .append_path_with_name(place.path().join(name), name)
            .unwrap();
    }
    let plain = plain.into_inner().unwrap();
    place.write("npz_all.tar", &plain);
    let stderr = place.ok(&["ingest", "npz_all.tar"]).stderr;
    assert!(stderr.contains("4 already ingested"), "{stderr}");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, &plain).unwrap();
    place.write("npz_all.tar.gz", gzip.finish().unwrap());
    for archive in ["npz_all.tar", "npz_all.tar.gz"] {
        std::fs::remove_dir_all(place.path().join(".tsql")).unwrap();
        place.ok(&["ingest", archive]);
        assert_eq!(
            place.rows("SELECT count(*) FROM records WHERE split = 'train'"),
            ["7"]
        );
        assert_exported(&place, &[RANDOM, DEFAULT, TILE, WITHHELD]);
    }
    let cut = &plain[..plain.len() / 2];
    place.write("cut.tar", cut);
    assert_eq!(place.tsql(&["ingest", "cut.tar"]).code, Some(1));
}

/// Runs `tsql batch` into a file. Returns its samples and its rows of `node_config_feat`.
fn batch(place: &Place, args: &str) -> (Vec<i64>, Vec<i64>) {
    let args: Vec<&str> = "batch".split(' ').chain(args.split(' ')).collect();
    place.ok(&[&args[..], &["-o", "batch.npz"]].concat());
    let npz = place.read("batch.npz");
    (integers(&npz, "sample"), integers(&npz, "node_config_feat"))
}

#[test]
#[ignore = "full tier"]
fn batches_are_rows_of_the_file() {
    let place = ingested();
    let (samples, all) = batch(&place, "layout:xla:random:net --pick all");
    assert_eq!(samples, [0, 1, 2, 3, 4]);
    let file = layout_file(&runs());
    let wanted = file.iter().find(|array| array.name == "node_config_feat");
    let wanted = wanted.unwrap().numbers.iter();
    let wanted: Vec<i64> = wanted
        .map(|number| number.to_string().parse().unwrap())
        .collect();
    assert_eq!(all, wanted);

    let (samples, some) = batch(&place, "random:net -k 3 --seed 5");
    assert_eq!(samples.len(), 3);
    for (sample, row) in samples.iter().zip(some.chunks(54)) {
        let start = usize::try_from(*sample).unwrap() * 54;
        assert_eq!(row, &all[start..start + 54]);
    }
    assert_eq!(batch(&place, "random:net -k 3 --seed 5"), (samples, some));
    assert_eq!(batch(&place, "random:net -k 2 --pick best").0, [3, 1]);
    assert_eq!(batch(&place, "random:net -k 2 --pick worst").0, [4, 2]);
    assert_eq!(
        batch(&place, "random:net --pick all --unique").0,
        [0, 1, 3, 4]
    );
}

/// Computed by hand from `runs`, whose best is 100: medians of the configurations of each layout.
#[test]
fn layouts_are_compared_group_by_group() {
    let place = ingested();
    let stdout = place
        .ok(&["queries", "tpugraphs-layout-codes", "--format", "csv"])
        .stdout;
    let of = |group: &str| {
        let rows = stdout.lines().filter(|line| line.starts_with(group));
        let rows = rows.map(|line| {
            line.split(',')
                .skip(2)
                .take(2)
                .collect::<Vec<_>>()
                .join(",")
        });
        let mut rows: Vec<String> = rows.collect();
        rows.sort();
        rows
    };
    assert_eq!(of("0,"), ["1.0,1", "3.0,1", "5.1,3"], "{stdout}");
    let middle = f64::midpoint(3.0, 9_007_199_254_740_991.0 / 100.0);
    assert_eq!(
        of("1,"),
        [format!("{middle:?},2"), "5.0,3".to_owned()],
        "{stdout}"
    );
}

#[test]
fn codes_and_layout_table_reproduce_the_rows() {
    let place = ingested();
    let (_, all) = batch(&place, "random:net --pick all");
    let args = [
        "batch",
        "random:net",
        "--pick",
        "all",
        "--values",
        "codes",
        "-o",
        "codes.npz",
    ];
    place.ok(&args);
    let npz = place.read("codes.npz");
    let [codes, of_slot, layouts] =
        ["codes", "group_of_slot", "layouts"].map(|name| integers(&npz, name));
    let groups = 2;
    let most = layouts.len() / 18 / groups;
    let mut expanded = Vec::new();
    for row in codes.chunks(groups) {
        for &group in &of_slot {
            let group = usize::try_from(group).unwrap();
            let vector = (group * most + usize::try_from(row[group]).unwrap()) * 18;
            expanded.extend_from_slice(&layouts[vector..vector + 18]);
        }
    }
    assert_eq!(expanded, all);
}

#[test]
fn batches_are_listed_and_streamed_and_misspellings_reported() {
    let place = ingested();
    let listed = place.ok(&["batch"]).stdout;
    assert_eq!(listed.lines().count(), 4);
    assert!(
        place
            .tsql(&["batch", "net"])
            .stderr
            .contains("several files")
    );
    let unknown = place.tsql(&["batch", "nat"]).stderr;
    assert!(
        unknown.contains("no training file named `nat`"),
        "{unknown}"
    );
    let codes = place
        .tsql(&["batch", "tile:xla:00ff", "--values", "codes"])
        .stderr;
    assert!(codes.contains("is a tile file"), "{codes}");
    let mut stream = place.command(&["batch", "random:net", "-k", "2", "--steps", "5"]);
    let stream = stream.output().unwrap().stdout;
    let reader = arrow::ipc::reader::StreamReader::try_new(stream.as_slice(), None).unwrap();
    let rows = reader.map(|batch| batch.unwrap().num_rows());
    assert_eq!(rows.sum::<usize>(), 10);
}

fn changed(change: impl Fn(&mut Vec<Array>)) -> Vec<u8> {
    let mut arrays = layout_file(&runs());
    change(&mut arrays);
    npz(&arrays)
}

fn numbers<'a>(arrays: &'a mut [Array], name: &str) -> &'a mut Vec<f64> {
    let array = arrays.iter_mut().find(|array| array.name == name);
    &mut array.unwrap().numbers
}

/// Name, bytes, and error message.
type Bad = (&'static str, Vec<u8>, &'static str);

/// Returns files with invalid containers or shapes.
fn bad_files(good: &[u8]) -> Vec<Bad> {
    let raw: Vec<(String, Vec<u8>)> = members(good);
    let with = |name: &str, change: &dyn Fn(&mut Vec<u8>)| {
        let mut members = raw.clone();
        let member = members.iter_mut().find(|(member, _)| member == name);
        change(&mut member.unwrap().1);
        zipped(&members)
    };
    let huge = b"(5, 3, 18), }".as_slice();
    vec![
        ("cut", good[..good.len() - 40].to_vec(), ""),
        ("crc", with_wrong_crc(good), "node_feat: "),
        (
            "missing",
            changed(|arrays| drop(arrays.remove(1))),
            "node_opcode: missing",
        ),
        (
            "extra",
            changed(|arrays| arrays.push(array("more", "<i8", &[1], &[1.0]))),
            "more: not an array of a layout file",
        ),
        (
            "shapes",
            changed(|arrays| arrays[5] = array("config_runtime", "<i8", &[4], &[1.0; 4])),
            "node_config_feat: shape (5, 3, 18), expected (4, 3, 18)",
        ),
        (
            "features",
            changed(|arrays| arrays[0].shape = vec![140, 12]),
            "node_feat: shape (140, 12), expected (12, 140)",
        ),
        (
            "longer",
            with("config_runtime.npy", &|bytes| bytes.push(0)),
            "config_runtime: longer than its header states",
        ),
        (
            "shorter",
            with("config_runtime.npy", &|bytes| {
                bytes.truncate(bytes.len() - 1)
            }),
            "config_runtime: ",
        ),
        (
            "huge",
            with("node_config_feat.npy", &|bytes| {
                let at = bytes
                    .windows(huge.len())
                    .position(|found| found == huge)
                    .unwrap();
                bytes[at..at + huge.len()].copy_from_slice(b"(5,999999999)");
            }),
            "node_config_feat: ",
        ),
        (
            "bomb",
            bomb(),
            "config_runtime: 100000000 numbers, expected at most 16777216",
        ),
        (
            "header",
            with("node_feat.npy", &|bytes| bytes[0] = 0),
            "node_feat: not a NumPy array",
        ),
        (
            "text_type",
            with("node_feat.npy", &|bytes| bytes[21] = b'U'),
            "node_feat: unsupported number type \"Uf4\"",
        ),
    ]
}

/// Returns files with invalid numbers.
fn bad_numbers() -> Vec<Bad> {
    vec![
        (
            "edge",
            changed(|arrays| numbers(arrays, "edge_index")[3] = 12.0),
            "edge_index: node 12, expected at most 11",
        ),
        (
            "slot",
            changed(|arrays| numbers(arrays, "node_config_ids")[0] = -1.0),
            "node_config_ids: node -1, expected at most 11",
        ),
        (
            "nan",
            changed(|arrays| numbers(arrays, "node_feat")[7] = f64::NAN),
            "node_feat: NaN is not an integer",
        ),
        (
            "fraction",
            changed(|arrays| numbers(arrays, "node_config_feat")[7] = 0.5),
            "node_config_feat: 0.5 is not an integer",
        ),
        (
            "dimension",
            changed(|arrays| numbers(arrays, "node_config_feat")[7] = 300.0),
            "node_config_feat: 300 is not a dimension",
        ),
        (
            "negative",
            changed(|arrays| numbers(arrays, "config_runtime")[2] = -5.0),
            "config_runtime: -5 is not a runtime",
        ),
    ]
}

#[test]
fn a_bad_file_is_rejected_as_a_whole_and_others_ingested() {
    let good = npz(&layout_file(&runs()));
    let cases = [bad_files(&good), bad_numbers()].concat();
    let place = Place::new();
    place.write("layout/xla/random/train/good.npz", &good);
    for (name, bytes, _) in &cases {
        place.write(&format!("layout/xla/random/train/{name}.npz"), bytes);
    }
    let others = [
        members(&good)[0].clone(),
        ("readme.txt".to_owned(), b"hi".to_vec()),
    ];
    for (name, members) in [("empty_zip", &[][..]), ("text", &others[..])] {
        place.write(
            &format!("layout/xla/random/train/{name}.npz"),
            zipped(members),
        );
    }
    let ran = place.tsql(&["ingest", "layout"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    for message in [
        "skipped: 1 file, an empty zip archive: layout/xla/random/train/empty_zip.npz",
        "skipped: 1 file, an npz file without TpuGraphs arrays (node_feat, readme.txt): ",
    ] {
        assert!(ran.stderr.contains(message), "{message}\n{}", ran.stderr);
    }
    for (name, _, reason) in &cases {
        let message = format!("layout/xla/random/train/{name}.npz: {reason}");
        assert!(ran.stderr.contains(&message), "{message}\n{}", ran.stderr);
    }
    assert_eq!(
        place.rows("SELECT name FROM sources"),
        ["layout/xla/random/train/good.npz"]
    );
    assert_eq!(place.rows("SELECT count(*) FROM records"), ["5"]);
    assert_exported(&place, &["layout/xla/random/train/good.npz"]);
    let strict = place.tsql(&["ingest", "--strict", "layout"]);
    assert_eq!(strict.code, Some(2));
}

/// Returns a file with a wrong checksum of the first member in the directory.
fn with_wrong_crc(good: &[u8]) -> Vec<u8> {
    let mut bytes = good.to_vec();
    let entry = b"PK\x01\x02";
    let at = bytes.windows(4).position(|found| found == entry).unwrap();
    bytes[at + 16] ^= 1;
    bytes
}

/// Returns 800 MB of zeros in a few kilobytes.
fn bomb() -> Vec<u8> {
    let mut arrays = layout_file(&runs());
    arrays.retain(|array| array.name != "config_runtime");
    let mut members: Vec<_> = members(&npz(&arrays));
    let empty = array("config_runtime", "<i8", &[0], &[]).bytes();
    let text = String::from_utf8_lossy(&empty[10..]).replace("(0,), }        ", "(100000000,), }");
    let bytes = [&empty[..10], text.as_bytes(), &vec![0; 1 << 20]].concat();
    members.push(("config_runtime.npy".to_owned(), bytes));
    zipped(&members)
}

#[test]
fn tiles_of_equal_bounds_are_not_merged() {
    let place = Place::new();
    let zeros = npz(&tile_file(
        2,
        &[(0.0, 5.0, 5.0), (0.0, 6.0, 5.0), (3.0, 7.0, 5.0)],
    ));
    place.write("tile/xla/train/a_1.npz", &zeros);
    let other = npz(&tile_file(2, &[(0.0, 8.0, 5.0), (3.0, 9.0, 5.0)]));
    place.write("tile/xla/train/b_2.npz", &other);
    place.ok(&["ingest", "tile"]);
    // Equal nonzero bounds are one configuration of the kernel in both files.
    assert_eq!(
        place.rows(
            "SELECT count(*), count(DISTINCT config_id), count(DISTINCT graph_id) FROM records"
        ),
        ["5,4,1"]
    );
    assert_exported(
        &place,
        &["tile/xla/train/a_1.npz", "tile/xla/train/b_2.npz"],
    );
}

#[test]
fn the_same_bytes_elsewhere_are_another_file() {
    let place = Place::new();
    let bytes = npz(&tile_file(2, &[(0.0, 0.0, 1.0)]));
    for name in [
        "tile/xla/test/aa.npz",
        "tile/xla/test/bb.npz",
        "copy/tile/xla/test/aa.npz",
    ] {
        place.write(name, &bytes);
    }
    let stderr = place.ok(&["ingest", "tile", "copy"]).stderr;
    assert!(
        stderr.contains("files            2 (1 identical to another source)"),
        "{stderr}"
    );
    assert_eq!(
        place
            .rows("SELECT id, count(*) FROM sources GROUP BY 1 ORDER BY 1")
            .len(),
        2
    );
    assert_exported(
        &place,
        &[
            "tile/xla/test/aa.npz",
            "tile/xla/test/bb.npz",
            "copy/tile/xla/test/aa.npz",
        ],
    );
}

#[test]
#[ignore = "full tier"]
fn every_real_file_round_trips_exactly() {
    let (Some(shared), Some(python)) = (shared(), crate::engines::python()) else {
        return;
    };
    let real = shared.join("data/tpugraphs/npz");
    let place = Place::new();
    place.ok(&["ingest", real.to_str().unwrap()]);
    assert_eq!(
        place.rows("SELECT count(*), count(DISTINCT graph_id) FROM sources"),
        ["19,17"]
    );
    for upkeep in [false, true] {
        if upkeep {
            place.ok(&["optimize"]);
            place.ok(&["vacuum", "--retain", "0s"]);
        }
        place.ok(&["check"]);
        let _ = std::fs::remove_dir_all(place.path().join("back"));
        place.ok(&["export", "--to", "back"]);
        let back = place.path().join("back/npz");
        let args = [real.to_str().unwrap(), back.to_str().unwrap()];
        let same = crate::engines::run(&python, "same_arrays.py", &args);
        assert_eq!(same["files"], 19);
    }
    steps_of_npz(&place, &real);
}

/// Operations of known networks, computed by hand.
#[test]
fn runtime_bounds_follow_from_operations_and_moved_bytes() {
    let Some(shared) = shared() else { return };
    let real = shared.join("data/tpugraphs/npz");
    let place = Place::new();
    for part in ["layout/nlp", "layout/xla/default/valid", "tile"] {
        place.ok(&["ingest", "-q", real.join(part).to_str().unwrap()]);
    }
    // BERT of four layers: 8 texts of 128 tokens, 768 numbers each, 12 heads, 3,072 between, 2 kinds.
    let (tokens, width) = (8_i64 * 128, 768);
    let layer = 4 * width * width + 2 * width * 4 * width + 2 * 128 * width;
    let ends = tokens * 2 * width + 8 * width * width + 8 * width * 2;
    let bert = 2 * (4 * tokens * layer + ends);
    let sql = "SELECT sum(hlo_flop_count(n.opcode, n.features, o.features)) FROM nodes AS n JOIN ( \
         SELECT e.graph_id, e.user, array_agg(o.features) AS features FROM edges AS e \
         JOIN nodes AS o ON o.graph_id = e.graph_id AND o.node = e.operand GROUP BY e.graph_id, e.user \
         ) AS o ON o.graph_id = n.graph_id AND o.user = n.node WHERE n.op = 'dot' AND n.graph_id IN \
         (SELECT graph_id FROM records WHERE collection = 'layout:nlp:random')";
    assert_eq!(place.rows(sql), [bert.to_string()]);
    let bounds = place.ok(&["queries", "tpugraphs-bounds", "--format", "csv"]);
    let bounds: Vec<Vec<&str>> = bounds
        .stdout
        .lines()
        .skip(1)
        .map(|line| line.split(',').collect())
        .collect();
    let one = |name: &str| bounds.iter().find(|row| row[0].contains(name)).unwrap();
    // 32 by 4,096 numbers with 4,096 by 1,000; a copy of 32 by 5 by 5 by 128 numbers of 4 bytes.
    let fusion = one("tile_testdata_fusion.205_");
    assert_eq!(fusion[1], (2 * 32 * 4096 * 1000).to_string());
    assert_eq!(
        one("tile_testdata_copy.24_")[2],
        (2 * 32 * 5 * 5 * 128 * 4).to_string()
    );
    // No runtime is below the bound of a TPU v3.
    assert!(bounds.len() > 12);
    for row in &bounds {
        let reached: f64 = row[5].parse().unwrap();
        assert!(reached > 0.0 && reached < 1.0, "{row:?}");
    }
}

/// Asserts that batches of a real file match NumPy.
fn steps_of_npz(place: &Place, real: &Path) {
    let python = crate::engines::python().unwrap();
    for values in ["int8", "float32", "codes"] {
        let id = "layout:xla:default:unet_3d.4x4.bf16";
        place.ok(&[
            "batch", id, "-k", "64", "--seed", "3", "--values", values, "-o", "step.npz",
        ]);
        let file = real.join("layout/xla/default/valid/unet_3d.4x4.bf16.npz");
        let step = place.path().join("step.npz");
        let args = [file.to_str().unwrap(), step.to_str().unwrap()];
        assert_eq!(
            crate::engines::run(&python, "same_batch.py", &args)["samples"],
            64
        );
    }
}
