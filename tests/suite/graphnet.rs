//! GraphNet: ingest, queries and export of small samples, and of real ones if present.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::{Place, file_contents, shared};

/// Returns the folder of samples and logs of this repository.
pub(crate) fn own() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/graphnet")
}

fn assert_same_files(one: &Path, other: &Path) {
    let (one, other) = (file_contents(one), file_contents(other));
    assert_eq!(
        one.keys().collect::<Vec<_>>(),
        other.keys().collect::<Vec<_>>()
    );
    for (name, bytes) in one {
        assert_eq!(bytes, other[&name], "{name}");
    }
}

#[test]
#[ignore = "full tier"]
fn samples_and_logs_round_trip_and_are_stored_once() {
    let place = Place::new();
    let own = own();
    let input = own.to_str().unwrap();
    let stderr = place.ok(&["ingest", input]).stderr;
    assert!(
        stderr.contains("samples          3 (1 similar to another, 0 warnings)"),
        "{stderr}"
    );
    assert!(
        stderr.contains("records          7 (1 failed when measured)"),
        "{stderr}"
    );
    for _ in 0..2 {
        place.ok(&["check"]);
        let _ = fs::remove_dir_all(place.path().join("back"));
        place.ok(&["export", "--to", "back"]);
        assert_same_files(&own, &place.path().join("back/graphnet"));
        let again = place.ok(&["ingest", input]).stderr;
        assert!(
            again.contains("files            0 (21 already ingested)"),
            "{again}"
        );
        place.ok(&["optimize"]);
        place.ok(&["vacuum", "--retain", "0s"]);
    }
    let texts =
        "SELECT count(*) FROM source_segments WHERE text_id IS NOT NULL AND name LIKE '%meta.py'";
    assert_eq!(place.rows(texts), ["0"], "columns give them back");
}

#[test]
#[ignore = "full tier"]
fn archives_and_hub_parquet_contain_the_same_samples() {
    let place = Place::new();
    let own = own();
    let packed = Command::new("tar")
        .args(["czf", "s.tar.gz", "-C", own.to_str().unwrap()])
        .args(["samples", "paddle_samples"])
        .current_dir(place.path())
        .status();
    assert!(packed.unwrap().success());
    place.ok(&["ingest", "s.tar.gz"]);
    place.ok(&["export", "--to", "back"]);
    assert_same_files(&own.join("samples"), &place.path().join("back/samples"));
    assert_same_files(
        &own.join("paddle_samples"),
        &place.path().join("back/paddle_samples"),
    );
    place.ok(&["export", "--format", "graphnet", "-o", "hub.parquet"]);
    let again = place.ok(&["ingest", "hub.parquet"]).stderr;
    assert!(
        again.contains("files            0 (19 already ingested)"),
        "{again}"
    );

    // The Parquet file of the hub contains the folder of each sample.
    let query =
        "SELECT path, content, 'full_graph' AS source_folder FROM 'hub.parquet' ORDER BY path DESC";
    place.ok(&[query, "--format", "parquet", "-o", "full.parquet"]);
    let other = Place::new();
    fs::copy(
        place.path().join("full.parquet"),
        other.path().join("full.parquet"),
    )
    .unwrap();
    other.ok(&["ingest", "full.parquet"]);
    assert_eq!(
        other.rows("SELECT DISTINCT collection FROM sources"),
        ["full_graph"]
    );
    other.ok(&["export", "--to", "back"]);
    assert_same_files(
        &own.join("samples"),
        &other.path().join("back/full_graph/samples"),
    );
    other.ok(&["export", "--format", "graphnet", "-o", "again.parquet"]);
    let rows = |file: &str| {
        let sql = format!("SELECT md5(content), path, source_folder FROM '{file}' ORDER BY path");
        other.rows(&sql.replace("md5(content)", "length(content)"))
    };
    assert_eq!(rows("again.parquet"), rows("full.parquet"));
}

#[test]
fn views_match_the_files() {
    let place = Place::new();
    place.ok(&["ingest", own().to_str().unwrap()]);
    let ops = "SELECT name, op, op_kind, attributes, output_types FROM sample_nodes \
               WHERE path LIKE '%tiny' OR node < 3 AND path LIKE '%convnet' ORDER BY path, node";
    let rows = place.rows(ops);
    assert_eq!(
        rows[1],
        "scale_0,scale,call_function,\"{\"\"2\"\":0,\"\"3\"\":true}\",-1x8xf32"
    );
    assert_eq!(
        rows[2],
        "\"layer_norm_0,layer_norm_1,layer_norm_2\",layer_norm,call_function,\"{\"\"3\"\":0.00001,\"\"4\"\":1}\",\"-1x8xf32, -1xf32, -1xf32\""
    );
    assert_eq!(rows[8], "x_2,iadd,call_function,{},");
    let uses = "SELECT user, operand, output, input, argument FROM edges AS e JOIN samples AS s \
                USING (graph_id) WHERE s.path LIKE '%/convnet' AND user IN (2, 9) ORDER BY user, argument";
    assert_eq!(
        place.rows(uses),
        ["2,1,0,,0", "2,0,0,,1", "9,7,0,,0", "9,8,0,,1"]
    );
    let tensors = "SELECT argument, name, kind, shape, symbolic_shape, element_count, mean, data[2] \
                   FROM tensors WHERE path LIKE '%/convnet' ORDER BY argument LIMIT 3";
    assert_eq!(
        place.rows(tensors),
        [
            "0,L_self_modules_conv_parameters_weight_,parameter,\"[8,3,3,3]\",,216,0.001,",
            "1,L_x_,input,\"[1,3,8,8]\",\"S0,3,S1,S1\",192,0.5,",
            "2,L_self_modules_bn_buffers_running_mean_,buffer,[8],,8,0.002,0.002",
        ]
    );
    let variants = "SELECT s.path, count(*), min(t.shape[1]) FROM samples AS s JOIN tensors AS t USING (sample_id) \
                    WHERE s.framework = 'paddle' GROUP BY s.path ORDER BY s.path";
    assert_eq!(
        place.rows(variants),
        [
            "graphnet/paddle_samples/ours/tiny,3,4",
            "graphnet/paddle_samples/ours/tiny/shape_patches_tall,3,8"
        ]
    );
    // The number of operations equals the number in the sample, also for variants.
    let nodes = "SELECT s.path, s.node_count, count(n.node), count(n.name) FROM samples AS s \
                 LEFT JOIN sample_nodes AS n USING (sample_id) WHERE s.framework = 'paddle' \
                 GROUP BY s.path, s.node_count ORDER BY s.path";
    assert_eq!(
        place.rows(nodes),
        [
            "graphnet/paddle_samples/ours/tiny,6,6,6",
            "graphnet/paddle_samples/ours/tiny/shape_patches_tall,6,6,6"
        ]
    );
    let checks = "SELECT count(*), count(DISTINCT key) FROM checks";
    assert_eq!(place.rows(checks), ["384,64"]);
    let times = "SELECT r.runtime_ns, r.baseline_ns, r.repeats_ns, r.error_no, n.compiled_e2e_ms, n.compiler \
                 FROM records AS r JOIN runs AS n USING (source_id, line) JOIN sources AS s USING (source_id) \
                 WHERE s.name LIKE '%run.log' ORDER BY r.line";
    let rows = place.rows(times);
    assert_eq!(
        rows[0],
        "1250000.0,2000000.0,\"[1250000.0,1260000.0,1240000.0]\",0,\"[1.25,1.26,1.24]\",inductor"
    );
    assert_eq!(rows[3], ",,,8,,inductor");
    let linked = "SELECT r.sample, s.path IS NOT NULL FROM runs AS r LEFT JOIN samples AS s ON s.sample = r.sample \
                  ORDER BY r.source_id, r.line";
    assert_eq!(
        place
            .rows(linked)
            .iter()
            .filter(|row| row.ends_with("true"))
            .count(),
        4
    );
}

#[test]
#[ignore = "full tier"]
fn one_sample_exports_alone_and_subsets_are_stored() {
    let place = Place::new();
    place.ok(&["ingest", own().to_str().unwrap()]);
    place.ok(&["export", "--to", "one", "--where", "path LIKE '%/tiny'"]);
    let mut names = file_contents(&place.path().join("one"));
    assert!(names.remove("tsql-export.json").is_some());
    let names: Vec<String> = names.into_keys().collect();
    assert_eq!(names.len(), 7, "with its variant: {names:?}");
    assert!(names.iter().all(|name| name.contains("/tiny/")));

    let query = "SELECT path FROM samples WHERE variant_of IS NULL";
    let create = ["subset", "create", "all", "--query", query];
    place.ok(&create);
    let random = [
        &create[..2],
        &["two"],
        &create[3..],
        &["--random", "2", "--seed", "5"],
    ]
    .concat();
    place.ok(&random);
    place.ok(&random);
    let shown = place.ok(&["subset", "show", "two"]).stdout;
    assert_eq!(
        shown,
        place
            .ok(&["subset", "show", "two", "--version", "1"])
            .stdout
    );
    assert_eq!(shown.lines().count(), 2);
    assert_eq!(
        place
            .rows("SELECT name, version, count(*) FROM subset_members GROUP BY 1, 2 ORDER BY 1, 2"),
        ["all,1,3", "two,1,2"],
        "the same subset once more is no new version"
    );
    let many = [
        &create[..2],
        &["no"],
        &create[3..],
        &["--random", "9", "--seed", "5"],
    ]
    .concat();
    assert!(
        place
            .tsql(&many)
            .stderr
            .contains("cannot draw 9 values, the query returns 3")
    );
    let unknown = place.tsql(&["subset", "show", "tow"]).stderr;
    assert!(unknown.contains("there are all@1, two@1"), "{unknown}");
}

#[test]
fn a_dry_run_writes_nothing_and_reports_known_files() {
    let place = Place::new();
    let own = own();
    let samples = own.join("samples");
    let stderr = place
        .ok(&["ingest", "--dry-run", own.to_str().unwrap()])
        .stderr;
    assert!(
        stderr.contains("1 sample with the same graph except for numbers"),
        "{stderr}"
    );
    assert!(fs::read_dir(place.path()).unwrap().next().is_none());
    place.ok(&["ingest", samples.join("ours/convnet").to_str().unwrap()]);
    let before = place.rows("SELECT count(*) FROM sources");
    let stderr = place
        .ok(&["ingest", "--dry-run", samples.to_str().unwrap()])
        .stderr;
    assert!(stderr.contains("1 sample with the same files"), "{stderr}");
    assert_eq!(place.rows("SELECT count(*) FROM sources"), before);
}

#[test]
#[ignore = "full tier"]
fn a_grown_log_adds_only_new_records() {
    let place = Place::new();
    let whole = fs::read_to_string(own().join("logs/run.log")).unwrap();
    let at: Vec<usize> = whole
        .match_indices("graph-net-test-compiler-log [Processing]")
        .map(|m| m.0)
        .collect();
    for (end, records) in [
        (at[1], 1),
        (at[2] + 20, 2),
        (at[3] - 90, 3),
        (whole.len(), 4),
    ] {
        place.write("logs/run.log", &whole[..end]);
        place.ok(&["ingest", "logs"]);
        assert_eq!(
            place.rows("SELECT count(*), count(DISTINCT line) FROM runs"),
            [format!("{records},{records}")]
        );
        assert_eq!(
            place.rows("SELECT count(*) FROM records"),
            [records.to_string()]
        );
        place.assert_sound(&["logs/run.log"]);
    }
    let again = place.ok(&["ingest", "logs"]).stderr;
    assert!(again.contains("1 already ingested"), "{again}");
}

#[test]
#[ignore = "full tier"]
fn leftovers_of_an_interrupted_ingest_do_not_replace_a_changed_file() {
    let place = Place::new();
    let whole = fs::read_to_string(own().join("logs/run.log")).unwrap();
    let third = whole.match_indices("[Processing]").nth(2).unwrap().0;
    let model = "paddle_samples/ours/tiny/model.py";
    place.write("logs/run.log", &whole[..third + 300]);
    for (name, bytes) in file_contents(&own().join("paddle_samples")) {
        place.write(&format!("paddle_samples/{name}"), bytes);
    }
    place.ok(&["ingest", "logs", "paddle_samples"]);
    // Simulates a kill before the commit to the ingest log. Entries of other tables are evidence of the run.
    fs::remove_dir_all(place.path().join(".tsql/sources")).unwrap();
    place.ok(&["check", "--repair"]);
    place.write("logs/run.log", &whole);
    place.ok(&["ingest", "logs", "paddle_samples"]);
    for table in ["runs", "records"] {
        let counts = format!("SELECT count(*), count(DISTINCT line) FROM {table}");
        assert_eq!(place.rows(&counts), ["4,4"]);
    }
    place.assert_sound(&["logs/run.log", model]);
    let texts = "SELECT count(*) FROM source_segments WHERE text_id IS NOT NULL \
                AND (name LIKE '%.log' OR name LIKE '%tiny/model.py')";
    assert_eq!(place.rows(texts), ["1"]);
}

#[test]
#[ignore = "full tier"]
fn every_built_in_query_returns_rows() {
    let place = Place::new();
    place.ok(&["ingest", own().to_str().unwrap()]);
    let listed = place.ok(&["queries", "--format", "csv"]).stdout;
    let names = listed.lines().filter_map(|line| line.split(',').next());
    let names: Vec<&str> = names.filter(|name| name.starts_with("graphnet-")).collect();
    assert_eq!(names.len(), 9);
    for name in names {
        assert!(
            place.ok(&["queries", name]).stdout.lines().count() > 1,
            "{name}"
        );
    }
    // The curves contain the scores at one tolerance.
    for t in ["-5", "2"] {
        let scores = place
            .ok(&["queries", "graphnet-scores", "--set", &format!("t={t}")])
            .stdout;
        let curves = place.ok(&["queries", "graphnet-score-curves"]).stdout;
        let at = |kind: &str, name: &str| {
            let head = format!("{kind},{name},{t},");
            let line = curves.lines().find(|line| line.starts_with(&head));
            line.unwrap()[head.len()..].to_owned()
        };
        for line in scores.lines().skip(1) {
            let fields: Vec<&str> = line.split(',').collect();
            assert_eq!(at("S(t)", fields[0]), fields[3], "{t}");
            assert_eq!(at("ES(t)", fields[0]), fields[4], "{t}");
        }
    }
    let slower = place.ok(&["queries", "graphnet-regressions"]).stdout;
    let rows: Vec<&str> = slower.lines().skip(1).collect();
    assert!(rows[0].starts_with("samples/ours/gone,0.5,2.5,4.0,") && rows[0].ends_with("true"));
    assert!(
        rows[1].starts_with("samples/ours/convnet,1.0,1.25,0.25,"),
        "{slower}"
    );
    assert_eq!(rows.len(), 2, "within the threshold: {slower}");
}

#[cfg(feature = "plot")]
#[test]
#[ignore = "full tier"]
fn reports_contain_plots_and_scores() {
    let place = Place::new();
    place.ok(&["ingest", own().to_str().unwrap()]);
    let ran = place.ok(&["report", "graphnet", "--to", "report", "--by", "compiler"]);
    assert!(ran.stdout.contains("inductor,7,"), "{}", ran.stdout);
    let found = file_contents(&place.path().join("report"));
    assert_eq!(found.len(), 8);
    let svg = String::from_utf8(found["error_aware_speedup_score.svg"].clone()).unwrap();
    assert!(svg.contains("inductor (7)"));
    assert!(found["speedups.png"].starts_with(b"\x89PNG"));
    let scores = String::from_utf8(found["scores.csv"].clone()).unwrap();
    assert_eq!(scores.lines().count(), 16, "a head and t from -10 to 4");
    let none = [
        "report",
        "graphnet",
        "--to",
        "none",
        "--where",
        "compiler = 'gcc'",
    ];
    let none = place.tsql(&none);
    assert_eq!((none.code, none.stdout.as_str()), (Some(1), ""));
    assert!(
        none.stderr
            .contains("no GraphNet benchmark runs where compiler = 'gcc'"),
        "{}",
        none.stderr
    );
    assert!(!place.path().join("none").exists());
    let wrong = place.tsql(&["report", "graphnet", "--to", "report", "--by", "compilr"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.stderr.contains("compilr"), "{}", wrong.stderr);
}

#[test]
#[ignore = "full tier"]
fn graphs_and_logs_are_stored_as_columns() {
    let place = Place::new();
    place.ok(&["ingest", own().to_str().unwrap()]);
    let texts = "SELECT name FROM source_segments WHERE text_id IS NOT NULL AND same_as IS NULL \
                 AND (name LIKE '%paddle%model.py' OR name LIKE '%.log')";
    assert_eq!(place.rows(texts), Vec::<String>::new());
    let counts = "SELECT count(text), count(*) FROM stored.runs";
    assert_eq!(place.rows(counts), ["7,7"]);
    // A log without a record has no row that could contain its text.
    place.write(
        "more/empty.log",
        "x [Config] model: y\nx [Result] status: failed\n\u{feff}",
    );
    place.write("more/cut.log", "x [Processing] /s/a\n[Config] model: y");
    place.ok(&["ingest", "more", "--platform", "p"]);
    place.assert_sound(&["more/empty.log", "more/cut.log"]);
}

#[cfg(feature = "plot")]
#[test]
#[ignore = "full tier"]
fn plots_have_the_requested_size() {
    let place = Place::new();
    place.ok(&["ingest", own().to_str().unwrap()]);
    let report = |width: &str| {
        let ran = place.tsql(&["report", "graphnet", "--to", "report", "--width", width]);
        (ran.code, ran.stderr)
    };
    assert_eq!(report("3200").0, Some(0));
    let found = file_contents(&place.path().join("report"));
    assert_eq!(found["speedups.png"][16..24], [0, 0, 12, 128, 0, 0, 7, 8]);
    let (code, stderr) = report("80");
    assert_eq!(code, Some(2));
    assert!(
        stderr.contains("800 to 8000 pixels wide, found `80`"),
        "{stderr}"
    );
}

fn number(row: &str, column: usize) -> f64 {
    row.split(',').nth(column).unwrap().parse().unwrap()
}

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * other.abs().max(1.0)
}

#[test]
#[ignore = "full tier"]
fn scores_of_upstream_logs_match_upstream() {
    let Some(shared) = shared() else { return };
    let place = Place::new();
    let logs = shared.join("data/graphnet/logs");
    // One of the logs names no hardware.
    let nameless = logs.join("synth_all_fail_3.log");
    assert_eq!(
        place.tsql(&["ingest", logs.to_str().unwrap()]).code,
        Some(1)
    );
    let nameless = nameless.to_str().unwrap();
    place.ok(&["ingest", nameless, "--platform", "SYNTH-GPU 80GB"]);
    let (mut script, mut wanted) = (String::new(), Vec::new());
    for entry in fs::read_dir(shared.join("golden/graphnet/out")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let Some(stem) = name.strip_suffix(".scores.json") else {
            continue;
        };
        let golden: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        for score in golden["scores"].as_array().unwrap() {
            let settings = format!(
                "{}, {}, '{}'",
                score["p"],
                score["b"],
                score["interp"].as_str().unwrap()
            );
            let levels = score["St"].as_object().unwrap();
            let columns = levels.keys().map(|t| {
                let arguments = format!("speedup, passes, upstream_status, {t}, {settings}");
                format!(
                    "speedup_score({arguments}), error_aware_speedup_score({arguments}), \
                     speedup_statistics({arguments})['es']"
                )
            });
            script += &format!(
                "SELECT {} FROM runs JOIN sources USING (source_id) WHERE name LIKE '%{stem}%';\n",
                columns.collect::<Vec<_>>().join(", ")
            );
            let expected = levels.keys().flat_map(|t| {
                let scores = [
                    &score["St"][t],
                    &score["ESt"][t],
                    &score["agg"][t]["expected_es"],
                ];
                scores.map(|score| score.as_f64().unwrap())
            });
            wanted.push((format!("{stem} {settings}"), expected.collect::<Vec<f64>>()));
        }
    }
    // All queries run in one session. Each returns a header and a row.
    place.write("scores.sql", script);
    let out = place.ok(&["--format", "tsv", "-f", "scores.sql"]).stdout;
    let rows: Vec<&str> = out.lines().skip(1).step_by(2).collect();
    assert_eq!(rows.len(), wanted.len());
    for (row, (about, wanted)) in rows.into_iter().zip(&wanted) {
        let ours: Vec<&str> = row.split('\t').collect();
        assert_eq!(ours.len(), wanted.len(), "{about}");
        for (place, (ours, theirs)) in ours.into_iter().zip(wanted).enumerate() {
            let ours = ours.parse().unwrap();
            assert!(
                close(ours, *theirs),
                "{about}, column {place}: {ours} {theirs}"
            );
        }
    }
    let compared: usize = wanted.iter().map(|(_, scores)| scores.len()).sum();
    assert!(compared > 2000, "{compared}");
    let aggregate = "SELECT aggregate_speedup_score(speedup, passes, upstream_status) FROM runs \
                     JOIN sources USING (source_id) WHERE name LIKE '%synth_mixed_14%'";
    assert!(close(
        number(&place.rows(aggregate)[0], 0),
        -0.527_557_551_182_584_7
    ));
}

#[test]
fn published_tables_follow_from_the_formula() {
    let Some(shared) = shared() else { return };
    let place = Place::new();
    let table = shared.join("golden/graphnet/paper_tables_3_6.csv");
    let sql = format!(
        "SELECT count(*), \
         max(abs(macro_speedup_score(alpha, beta, lambda, eta, 0, 0.1) - CAST(nullif(\"S\", '-') AS DOUBLE))), \
         max(abs(macro_speedup_score(alpha, beta, lambda, eta, 0, gamma) - \"ES\")) FROM '{}'",
        table.display()
    );
    let row = &place.rows(&sql)[0];
    assert!(
        number(row, 0) > 59.0 && number(row, 1) < 0.002 && number(row, 2) < 0.002,
        "{row}"
    );
}

#[test]
#[ignore = "full tier"]
fn real_sample_counts_match_cpython() {
    let Some(shared) = shared() else { return };
    let place = Place::new();
    let archive = shared.join("data/graphnet/samples.tar.zst");
    place.ok(&["ingest", archive.to_str().unwrap()]);
    place.ok(&["export", "--to", "back"]);
    let stored = place.rows("SELECT name, content_hash FROM sources");
    assert_eq!(stored.len(), 1819);
    let texts = "SELECT framework, count(*) FROM source_segments AS f JOIN samples USING (sample_id) \
                 WHERE f.name LIKE '%/model.py' AND f.text_id IS NOT NULL GROUP BY 1 ORDER BY 1";
    let texts = place.rows(texts);
    assert_eq!(texts, ["paddle,3", "torch,1"], "all others are rebuilt");
    let nodes = "SELECT count(*) FROM samples AS s LEFT JOIN \
                 (SELECT sample_id, count(*) AS n FROM sample_nodes GROUP BY 1) AS c USING (sample_id) \
                 WHERE coalesce(s.node_count, 0) <> coalesce(c.n, 0)";
    assert_eq!(place.rows(nodes), ["0"]);
    let resnet = "SELECT node_count, tensor_count, parameter_count, parameter_elements FROM samples \
                  WHERE path = 'samples/torchvision/resnet18'";
    assert_eq!(place.rows(resnet), ["69,104,62,11689512"]);
    let unpacked = place.path().join("unpacked");
    fs::create_dir(&unpacked).unwrap();
    let raw = fs::File::open(&archive).unwrap();
    tar::Archive::new(zstd::Decoder::new(raw).unwrap())
        .unpack(&unpacked)
        .unwrap();
    fs::remove_file(place.path().join("back/tsql-export.json")).unwrap();
    assert_same_files(&unpacked, &place.path().join("back"));

    let Some(python) = crate::engines::python() else {
        return;
    };
    let counted = crate::engines::run(&python, "graph_counts.py", &[unpacked.to_str().unwrap()]);
    let theirs = counted["samples"].as_object().unwrap();
    let sql = "SELECT s.path, s.argument_count, s.node_count, g.edge_count FROM samples AS s \
               JOIN graphs AS g USING (graph_id) WHERE g.unparsed_count = 0 AND s.variant_of IS NULL";
    let ours = place.rows(sql);
    assert_eq!(ours.len(), 313);
    for row in ours {
        let (path, counts) = row.split_once(',').unwrap();
        let expected = theirs[path].as_array().unwrap();
        let expected: Vec<String> = expected.iter().map(Value::to_string).collect();
        assert_eq!(counts, expected.join(","), "{path}");
    }
    let sql = "SELECT op, count(*) FROM sample_nodes AS n JOIN graphs AS g USING (graph_id) \
               WHERE n.op_kind IN ('call_function', 'call_method') AND g.unparsed_count = 0 AND n.path IN \
               (SELECT path FROM samples WHERE variant_of IS NULL) GROUP BY op";
    let mut names = counted["ops"].as_object().unwrap().clone();
    // CPython also counts operations of graphs that tsql cannot parse completely.
    for row in place.rows(sql) {
        let (op, count) = row.split_once(',').unwrap();
        let theirs = names.remove(op).unwrap_or_default().as_u64().unwrap_or(0);
        let ours: u64 = count.parse().unwrap();
        assert!(
            theirs >= ours && theirs - ours < 300,
            "{op}: {ours} {theirs}"
        );
    }
    assert!(names.is_empty(), "{names:?}");
}
