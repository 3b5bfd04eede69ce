//! Records as lines of JSON, and as Arrow batches: taken, deduplicated, given back.

use std::fmt::Write as _;

use tsql::{AppendOptions, Store, StreamFormat};

use crate::support::Place;

/// Lines as Python's `json.dumps` writes them: every seventh record failed.
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
        "--format",
        format,
    ]
}

const COUNTED: &str = "SELECT count(*), count(DISTINCT line), count(DISTINCT config_id), count(runtime_ns) FROM records WHERE dataset = 'measured'";

#[test]
fn lines_become_records_once_and_come_back() {
    let place = Place::new();
    let text = lines(70);
    for _ in 0..2 {
        let ran = place.tsql_with_input(&append("measured"), text.as_bytes());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert_eq!(place.rows(COUNTED), ["70,70,10,60"]);
    }
    // The same programs in a file, spelled otherwise, with a line that is none.
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
    let asked = "SELECT min(runtime_ns), max(error_no), min(error_message), max(g.workload_name), max(e.machine) \
        FROM records JOIN graphs g USING (graph_id) JOIN environments e USING (environment_id)";
    assert_eq!(
        place.rows(asked),
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
fn arrow_batches_are_the_lines_that_they_say() {
    let place = Place::new();
    place.tsql_with_input(&append("measured"), lines(70).as_bytes());
    let asked = "SELECT workload_key, steps, repeats_ns, error_no, error_message, measured_at \
        FROM records JOIN graphs USING (graph_id) JOIN configurations USING (graph_id, config_id) ORDER BY line";
    place.ok(&[asked, "--format", "arrow", "-o", "x.arrow"]);
    let stream = place.read("x.arrow");
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
        let asked = "SELECT workload_key, steps, runtime_ns FROM records \
            JOIN graphs USING (graph_id) JOIN configurations USING (graph_id, config_id)";
        let batches = context.sql(asked).await.unwrap().collect().await.unwrap();
        let mut options = AppendOptions::new("mine", "p");
        options.format = StreamFormat::Measured;
        let mut appender = store.appender(&options).await.unwrap();
        for batch in &batches {
            appender.write_batch(batch).await.unwrap();
        }
        assert_eq!(appender.flush().await.unwrap().lines, 70);
        assert_eq!(appender.close().await.unwrap().rejects, 0);
    });
    assert_eq!(place.rows(COUNTED), ["140,70,10,120"]);
}

/// All that `steps` may be, each with two sets of numbers, so that some numbers are common to a sketch.
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
fn whatever_the_steps_are_they_can_be_optimized() {
    let place = Place::new();
    // One after the other, so that sketches are packed with few others each.
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
