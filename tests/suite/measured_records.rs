//! Records as JSON lines and as Arrow batches: ingest, deduplication and export.

use std::fmt::Write as _;

use tsql::ingest::StreamFormat;
use tsql::{AppendOptions, Store};

use crate::support::Place;

/// Returns lines in the format of Python's `json.dumps`. Every seventh record failed.
fn lines(count: u32) -> String {
    let mut text = String::new();
    for n in 0..count {
        let (tile, runtime) = (n % 10 + 1, 1000 * (n % 10) + 500 + n);
        let result = if n % 7 == 6 {
            r#""error_no": 4, "error_message": "signal:11""#.to_owned()
        } else {
            format!(r#""repeats_ns": [{runtime}, {}.5]"#, runtime + 2)
        };
        let _ = writeln!(
            text,
            r#"{{"workload_key": ["mm", {{"M": 128}}], "steps": {{"TILE": {tile}}}, {result}, "measured_at": {}, "environment": {{"target": "c", "machine": {{"cores": 2}}}}}}"#,
            1_700_000_000 + n
        );
    }
    text
}

fn append(format: &str) -> [&str; 7] {
    let stream = "s";
    [
        "append",
        "--stream",
        stream,
        "--platform",
        "p",
        "--input-format",
        format,
    ]
}

const COUNTED: &str = "SELECT count(*), count(DISTINCT line), count(DISTINCT config_id), count(runtime_ns) FROM records WHERE dataset = 'measured'";

#[test]
#[ignore = "full tier"]
fn lines_become_records_once_and_round_trip() {
    let place = Place::new();
    let text = lines(70);
    for _ in 0..2 {
        let ran = place.tsql_with_input(&append("measured"), text.as_bytes());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert_eq!(place.rows(COUNTED), ["70,70,10,60"]);
    }
    // A file of the same programs with other spaces, and a line that is no record.
    let compact = text.replace(", ", ",").replace(": ", ":") + "{\"steps\": 1}\n";
    place.write("q/more.jsonl", &compact);
    let ran = place.tsql(&["ingest", "q/more.jsonl", "--platform", "q"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("q/more.jsonl:71: key `workload_key` is missing"),
        "{}",
        ran.stderr
    );
    assert_eq!(place.rows(COUNTED), ["140,70,10,120"]);
    let sql = "SELECT min(runtime_ns), max(error_no), min(error_message), max(g.workload_name), max(e.machine) \
        FROM records JOIN graphs g USING (graph_id) JOIN environments e USING (environment_id)";
    assert_eq!(
        place.rows(sql),
        [r#"501.25,4,signal:11,mm,"{""cores"": 2}""#]
    );
    assert_eq!(
        place.rows("SELECT count(*) FROM rejects WHERE reason LIKE '%workload_key%'"),
        ["1"]
    );
    place.ok(&["check"]);
    place.ok(&["export", "--to", "back"]);
    assert_eq!(place.read("back/streams/p/s.jsonl"), text.as_bytes());
    assert_eq!(place.read("back/more.jsonl"), compact.as_bytes());
    let lines = place.rows("SELECT sum(verbatim_count) FROM sources");
    assert_eq!(lines, ["0"], "all are rebuilt from columns");
}

#[test]
#[ignore = "full tier"]
fn arrow_batches_equal_json_lines() {
    let place = Place::new();
    place.tsql_with_input(&append("measured"), lines(70).as_bytes());
    let sql = "SELECT workload_key, steps, repeats_ns, error_no, error_message, measured_at \
        FROM records JOIN graphs USING (graph_id) JOIN configurations USING (graph_id, config_id) ORDER BY line";
    place.ok(&[sql, "-o", "x.arrows"]);
    let stream = place.read("x.arrows");
    let mut args = append("arrow");
    args[2] = "a";
    for _ in 0..2 {
        let ran = place.tsql_with_input(&args, &stream);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert_eq!(place.rows(COUNTED), ["140,70,10,120"]);
    }
    let differ = "SELECT count(*) FROM records a JOIN records b USING (line, graph_id, config_id, error_no) \
        WHERE a.source_id < b.source_id AND (a.runtime_ns IS NOT DISTINCT FROM b.runtime_ns) AND a.measured_at = b.measured_at";
    assert_eq!(place.rows(differ), ["70"]);
    args[2] = "b";
    for (input, reason) in [
        (&b"no arrow at all"[..], "not Arrow's streaming IPC"),
        (&stream[..stream.len() / 2], "not Arrow's streaming IPC"),
    ] {
        let ran = place.tsql_with_input(&args, input);
        assert_eq!(ran.code, Some(2));
        assert!(ran.stderr.contains(reason), "{}", ran.stderr);
    }
    place.ok(&["check"]);
}

#[test]
fn a_program_appends_batches() {
    let place = Place::new();
    place.tsql_with_input(&append("measured"), lines(70).as_bytes());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let store = Store::open(place.path().join(".tsql").to_str().unwrap()).await;
        let store = store.unwrap();
        let context = store.session().await.unwrap();
        let sql = "SELECT workload_key, steps, runtime_ns FROM records \
            JOIN graphs USING (graph_id) JOIN configurations USING (graph_id, config_id)";
        let batches = context.sql(sql).await.unwrap().collect().await.unwrap();
        let options = AppendOptions::new("mine", "p").format(StreamFormat::MEASURED);
        let mut appender = store.appender(&options).await.unwrap();
        for batch in &batches {
            appender.write_batch(batch).await.unwrap();
        }
        assert_eq!(appender.flush().await.unwrap().lines, 70);
        assert_eq!(appender.close().await.unwrap().rejects, 0);
    });
    assert_eq!(place.rows(COUNTED), ["140,70,10,120"]);
}

/// Returns lines with every shape of `steps`, each with two sets of numbers, so that sketches have common numbers.
fn shapes() -> String {
    let mut text = String::new();
    for n in 0..6 {
        for steps in [
            format!(r#"{{"TILE": {n}, "UNROLL": 8}}"#),
            format!(r#"{{"a": [{n}, 4, [2, {{"b": {n}}}]], "c": {{}}, "d": []}}"#),
            format!(r#"[["SP", 2, {n}, [8, 4]], ["FU", 1, [0, 1, 2]], ["PR", 0, "unroll${n}"]]"#),
            format!(r#"["FU", [{n}, {}], [0, 1, 2]]"#, n + 1),
            format!(
                r#"{{"x": {n}.5, "y": -{n}, "z": 1e{n}, "on": true, "off": false, "none": null}}"#
            ),
            format!(r#"{{"name$3": "value${n}", "text": "conv2d", "TILE_8": 3}}"#),
            format!(r#"{{"what?": {n}, "a..b": "x..{n}"}}"#),
            format!(r#"{{"long": 12345678901234567890, "short": {n}}}"#),
            format!("{}{n}{}", "[".repeat(9), "]".repeat(9)),
            format!(r#""-O{n} -march=native""#),
            format!(r#""tile?{n}""#),
        ] {
            let _ = writeln!(
                text,
                r#"{{"workload_key": ["mm", 64], "steps": {steps}, "repeats_ns": [{}]}}"#,
                1000 + n
            );
        }
    }
    text
}

#[test]
#[ignore = "full tier"]
fn stores_with_any_steps_can_be_optimized() {
    let place = Place::new();
    // Separate ingests, so that each file packs few sketches.
    let text = shapes();
    for (number, part) in text.lines().collect::<Vec<_>>().chunks(7).enumerate() {
        place.write(&format!("p/{number}.jsonl"), part.join("\n") + "\n");
        place.ok(&[
            "ingest",
            "-q",
            "--platform",
            "p",
            &format!("p/{number}.jsonl"),
        ]);
    }
    let sql = "SELECT config_id, steps, sketch, params_list, count(*) FROM configurations \
               JOIN records USING (graph_id, config_id) GROUP BY 1, 2, 3, 4 ORDER BY 1";
    let before = place.rows(sql);
    assert_eq!(before.len(), 66);
    place.ok(&["check"]);
    place.ok(&["optimize"]);
    place.ok(&["check"]);
    assert_eq!(place.rows(sql), before);
    let kinds = place
        .rows("SELECT count(DISTINCT sketch) FROM configurations WHERE params_list IS NOT NULL");
    assert_eq!(
        kinds,
        ["13"],
        "seven shapes, and six of one whose numbers are fractions"
    );
    place.ok(&["export", "--to", "back"]);
    let first: Vec<&str> = text.lines().take(7).collect();
    assert_eq!(
        place.read("back/0.jsonl"),
        (first.join("\n") + "\n").as_bytes()
    );
}

/// Returns lines of the same steps in four kernels: one without information, a program, and two builds of it.
fn builds() -> String {
    let line = |fields: &str, runtime: u32| {
        format!(
            r#"{{"workload_key": ["mm", {{"M": 128}}], "steps": {{"TILE": 8}}, {fields}"repeats_ns": [{runtime}, {runtime}.5]}}"#
        )
    };
    let lines = [
        line("", 900),
        line(r#""program": "mm@1", "#, 800),
        line(r#""program": "mm@1", "build": "cc 12 -O0", "#, 700),
        line(r#""program": "mm@1", "build": "cc 12 -O3", "#, 100),
        line(r#""program": "mm@1", "build": "cc 12 -O3", "#, 101),
    ];
    lines.join("\n") + "\n"
}

#[test]
#[ignore = "full tier"]
fn another_build_is_another_configuration() {
    let place = Place::new();
    // Different bytes, because an equal stream would be another name of the first.
    let text = |stream: &str| format!("{}# {stream}\n", builds());
    for stream in ["s", "t"] {
        let mut args = append("measured");
        args[2] = stream;
        let ran = place.tsql_with_input(&args, text(stream).as_bytes());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    }
    let counted = "SELECT count(*), count(DISTINCT config_id) FROM records";
    for optimized in [false, true] {
        if optimized {
            place.ok(&["optimize"]);
        }
        assert_eq!(place.rows(counted), ["10,4"]);
        assert_eq!(
            place.rows("SELECT program, build, steps FROM configurations ORDER BY program, build"),
            [
                r#"mm@1,cc 12 -O0,"{""TILE"": 8}""#,
                r#"mm@1,cc 12 -O3,"{""TILE"": 8}""#,
                r#"mm@1,,"{""TILE"": 8}""#,
                r#",,"{""TILE"": 8}""#,
            ]
        );
        assert_eq!(place.rows("SELECT sum(verbatim_count) FROM sources"), ["0"]);
        place.assert_sound(&[]);
        for stream in ["s", "t"] {
            let back = place.read(&format!("back/streams/p/{stream}.jsonl"));
            assert_eq!(back, text(stream).as_bytes());
        }
    }
    // Other records of the same kernels have the same configurations.
    let mut args = append("measured");
    args[2] = "u";
    place.tsql_with_input(&args, text("u").as_bytes());
    assert_eq!(place.rows(counted), ["15,4"]);
    // Built-in queries of the best programs separate builds.
    let query_rows = |query: &str, column: &str| {
        let set = ["--set", "platform=p"];
        let out = place.ok(&[&["queries", query, "--format", "json"], &set[..]].concat());
        let rows: Vec<serde_json::Value> = serde_json::from_str(&out.stdout).unwrap();
        let text = |row: &serde_json::Value| format!("{} {}", row["build"], row[column]);
        rows.iter().map(text).collect::<Vec<_>>()
    };
    let fastest = [
        "\"cc 12 -O0\" 700.25",
        "\"cc 12 -O3\" 100.25",
        "null 800.25",
        "null 900.25",
    ];
    assert_eq!(query_rows("best-program-per-graph", "runtime_ns"), fastest);
    assert_eq!(query_rows("top-k-per-graph", "runtime_ns"), fastest);
    assert_eq!(query_rows("best-sketch-per-graph", "best_ns"), fastest);
    let elsewhere = ["queries", "best-program-elsewhere", "--format", "json"];
    let set = ["--set", "from_platform=p", "--set", "to_platform=p"];
    let out = place.ok(&[&elsewhere[..], &set].concat()).stdout;
    assert_eq!(
        out.matches("\"times_slower_than_best\":1.0").count(),
        4,
        "{out}"
    );
}

#[test]
#[ignore = "full tier"]
fn the_environment_contains_program_and_build() {
    let place = Place::new();
    let line = |flag: &str, repeat: u32, source: &str, fields: &str| {
        format!(
            r#"{{"workload_key": "k", "steps": {{"T": 1}}, {fields}"repeats_ns": [5], "environment": {{"target": "c", "machine": {{"toolchain": {{"flags": ["{flag}"], "path": "cc", "version_line": "cc 12"}}}}, "settings": {{"repeat": {repeat}}}, "program": {{"files": {{"k.c": "{source}"}}, "manifest": "[program]\nflags = [\"{flag}\"]\n[measure]\nrepeat = {repeat}\n", "name": "k.toml"}}}}}}"#
        )
    };
    let lines = [
        line("-O3", 1, "int x;", ""),
        line("-O3", 2, "int x;", ""),
        line("-O0", 1, "int x;", ""),
        line("-O3", 1, "int y;", ""),
        line("-O3", 1, "int x;", r#""build": "by hand", "#),
    ];
    let text = lines.join("\n") + "\n";
    let ran = place.tsql_with_input(&append("measured"), text.as_bytes());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(
        place.rows("SELECT count(*), count(DISTINCT config_id), count(DISTINCT program), count(DISTINCT build) \
            FROM records JOIN configurations USING (graph_id, config_id)"),
        ["5,4,2,3"]
    );
    let built = "SELECT build, count(*) FROM records JOIN configurations USING (graph_id, config_id) \
        WHERE program LIKE 'k@%' GROUP BY build ORDER BY build";
    assert_eq!(
        place.rows(built),
        ["by hand,1", "cc 12 -O0,1", "cc 12 -O3,3"]
    );
    place.assert_sound(&[]);
    assert_eq!(place.read("back/streams/p/s.jsonl"), text.as_bytes());
    assert_eq!(place.rows("SELECT sum(verbatim_count) FROM sources"), ["0"]);
}

#[test]
#[ignore = "full tier"]
fn list_columns_are_lists() {
    let place = Place::new();
    let text = concat!(
        r#"{"workload_key": "k", "steps": {"T": 1}, "repeats_ns": [5], "disturbed_repeats": [[1.5, null, 3], [2500000.5, 1400000, 0]], "flags": ["unsteady", "stolen"]}"#,
        "\n",
        r#"{"workload_key": "k", "steps": {"T": 2}, "repeats_ns": [5], "disturbed_repeats": [1, 2], "flags": []}"#,
        "\n",
        r#"{"workload_key": "k", "steps": {"T": 3}, "repeats_ns": [5], "disturbed_repeats": [[1.50, 2, 3]]}"#,
        "\n",
        r#"{"workload_key": "k", "steps": {"T": 4}, "error_no": 4}"#,
        "\n",
    );
    let ran = place.tsql_with_input(&append("measured"), text.as_bytes());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let stolen = "SELECT line FROM records WHERE array_has(flags, 'stolen')";
    let disturbed = "SELECT line, repeat['wall_ns'], repeat['cpu_ns'], repeat['involuntary_switches'] \
        FROM (SELECT line, unnest(disturbed_repeats) AS repeat FROM records) ORDER BY 1, 2";
    let lengths =
        "SELECT line, array_length(flags), disturbed_repeats IS NULL FROM records ORDER BY line";
    for optimized in [false, true] {
        if optimized {
            place.ok(&["optimize"]);
        }
        assert_eq!(place.rows(stolen), ["1"]);
        assert_eq!(
            place.rows(disturbed),
            ["1,1.5,,3", "1,2500000.5,1400000.0,0", "3,1.5,2.0,3"]
        );
        assert_eq!(
            place.rows(lengths),
            ["1,2,false", "2,0,true", "3,,false", "4,,true"]
        );
        place.assert_sound(&[]);
        assert_eq!(place.read("back/streams/p/s.jsonl"), text.as_bytes());
    }
}

/// A store with version 3 of `records`: lists as text, configurations without kernels.
#[test]
#[ignore = "full tier"]
fn stores_of_version_3_are_read_and_written() {
    let place = Place::new();
    let packed = include_bytes!("../stores/records-version-3.tar.zst");
    let mut old = tar::Archive::new(zstd::Decoder::new(&packed[..]).unwrap());
    old.unpack(place.path()).unwrap();
    let sql = "SELECT line, array_to_string(flags, ' '), array_length(disturbed_repeats), \
        disturbed_repeats[2]['wall_ns'] FROM records ORDER BY source_id, line";
    let old = ["1,unsteady stolen,2,2500000.5", "2,,,", "3,,,"];
    assert_eq!(place.rows(sql), old);
    place.assert_sound(&[]);
    let text = place.read("back/streams/p/s.jsonl");
    assert_eq!(text.split(|&byte| byte == b'\n').count(), 4);
    // The same lines again: lines with kernels get new configurations, the others are known.
    let again = [&text[..], b"# again\n"].concat();
    let mut args = append("measured");
    args[2] = "new";
    let ran = place.tsql_with_input(&args, &again);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(
        place.rows("SELECT steps, count(*), count(program), count(build) FROM configurations GROUP BY steps ORDER BY steps"),
        [
            r#""{""T"": 1}",2,1,1"#,
            r#""{""T"": 2}",1,0,0"#,
            r#""{""T"": 3}",1,0,0"#
        ]
    );
    for optimized in [false, true] {
        if optimized {
            place.ok(&["optimize"]);
        }
        assert_eq!(place.rows(sql), [old, old].concat());
        place.assert_sound(&[]);
        for (stream, text) in [("s", &text), ("new", &again)] {
            assert_eq!(place.read(&format!("back/streams/p/{stream}.jsonl")), *text);
        }
    }
}

/// A metric keeps its text and unit, also on a failed record, and is exported as it was.
#[test]
fn metrics_of_own_timings_round_trip() {
    let place = Place::new();
    let lines = concat!(
        r#"{"workload_key": ["mm"], "steps": {"T": 1}, "repeats_ns": [5000], "metrics": {"energy": {"value": 3.20, "unit": "mJ"}, "my_counter": [7, 8]}, "measured_at": 1700000000}"#,
        "\n",
        r#"{"workload_key": ["mm"], "steps": {"T": 2}, "error_no": 4, "metrics": {"compile_time": {"value": 812, "unit": "ms"}}}"#,
        "\n",
        // Another order of keys is stored as text.
        r#"{"workload_key": ["mm"], "steps": {"T": 3}, "metrics": {"registers": 32}, "repeats_ns": [7]}"#,
        "\n",
        r#"{"workload_key": ["mm"], "steps": {"T": 4}, "repeats_ns": [7], "metrics": {"energy": 3}}"#,
        "\n",
    );
    place.write("in/k80/own.jsonl", lines);
    let ran = place.tsql(&["ingest", "in"]);
    assert_eq!(ran.code, Some(1));
    let reason = "own.jsonl:4: `metrics`: `energy` has no unit, expected one like `J`";
    assert!(ran.stderr.contains(reason), "{}", ran.stderr);
    let sql = "SELECT line, status, metric('energy'), metric('my_counter'), metric('compile_time'), metric('registers') \
               FROM records ORDER BY line";
    assert_eq!(
        place.rows(sql),
        ["1,ok,0.0032,7.0,,", "2,failed,,,0.812,", "3,ok,,,,32.0"]
    );
    let sql =
        "SELECT line, name, index, raw_text, raw_unit FROM metrics ORDER BY line, name, index";
    assert_eq!(
        place.rows(sql),
        [
            "1,energy,0,3.20,mJ",
            "1,my_counter,0,,",
            "1,my_counter,1,,",
            "2,compile_time,0,,ms",
            "3,registers,0,,"
        ]
    );
    assert_eq!(
        place.rows("SELECT line FROM stored.records WHERE verbatim IS NOT NULL"),
        ["3"]
    );
    place.assert_sound(&["in/k80/own.jsonl"]);
    let ambiguous = "SELECT metric('energy') FROM records AS a JOIN records AS b USING (config_id)";
    let ran = place.tsql(&[ambiguous]);
    assert!(
        ran.stderr.contains("is in several of the tables"),
        "{}",
        ran.stderr
    );
}
