//! Facts about platforms: set by people, stated by environments, and read by queries of bounds.

use crate::networks::NETWORK;
use crate::support::{Place, file_contents, files_below, has_extension, log};

/// Sets facts of a platform. Returns the messages.
fn set(place: &Place, platform: &str, args: &[&str]) -> String {
    place
        .ok(&[&["platform", "set", platform], args].concat())
        .stderr
}

/// Returns the facts of a platform as CSV rows without times.
fn facts(place: &Place, platform: &str) -> Vec<String> {
    let sql = format!(
        "SELECT fact, value_text, value_number, regexp_replace(source, '-?[0-9]+$', 'N'), author \
         FROM platform_values WHERE platform = '{platform}' ORDER BY fact"
    );
    place.rows(&sql)
}

#[test]
fn facts_that_people_set_win_and_equal_ones_are_not_stored_again() {
    let place = Place::new();
    place.write("logs/k80/a.json", log(1, 4));
    place.write("logs/t4/b.json", log(10, 3));
    place.ok(&["ingest", "-q", "logs"]);
    // The lines state four cores.
    assert_eq!(facts(&place, "k80"), ["cores,,4.0,environment N,"]);
    let peak = ["--cores", "13", "--peak-flops", "4.1TFLOP/s"];
    let source = ["--source", "data sheet", "--author", "ann"];
    let first = [peak.as_slice(), &source].concat();
    assert_eq!(
        set(&place, "k80", &first),
        "platform k80: set cores, peak_flop_per_s\n"
    );
    let table = place.path().join(".tsql/platform_facts");
    let before = file_contents(&table);
    assert_eq!(
        set(&place, "k80", &first),
        "platform k80: 2 facts unchanged\n"
    );
    assert_eq!(file_contents(&table), before);
    place.ok(&["tag", "create", "one"]);
    let measured = [
        "--peak-flops",
        "2.8e12",
        "--source",
        "matmul",
        "--author",
        "",
    ];
    set(&place, "k80", &measured);
    let wanted = [
        "cores,,13.0,data sheet,ann",
        "peak_flop_per_s,,2800000000000.0,matmul,",
    ];
    assert_eq!(facts(&place, "k80"), wanted);
    let sql = "SELECT platform, cores, peak_flop_per_s, array_to_string(fact_sources, '; ') FROM platforms ORDER BY 1";
    let platforms = place.rows(sql);
    assert_eq!(
        platforms[0],
        "k80,13,2800000000000.0,cores: data sheet; peak_flop_per_s: matmul"
    );
    assert!(platforms[1].starts_with("t4,4,,cores: environment "));
    let then = place.ok(&["--at", "one", "platform", "show", "k80", "--format", "tsv"]);
    assert!(
        then.stdout
            .contains("peak_flop_per_s\t4100000000000\tdata sheet\t")
    );
    // A copy has the facts, and the newest of both stores is valid.
    place.ok(&["copy", ".tsql", "copied"]);
    let copied = [
        "--store", "copied", "platform", "set", "k80", "--cores", "26",
    ];
    place.ok(&[copied.as_slice(), &["--source", "both dies"]].concat());
    place.ok(&["copy", "copied", ".tsql"]);
    assert_eq!(facts(&place, "k80")[0].split(',').nth(2), Some("26.0"));
    place.ok(&["optimize"]);
    place.ok(&["platform", "unset", "k80", "cores", "--dry-run"]);
    place.ok(&["platform", "unset", "k80", "cores"]);
    assert_eq!(
        facts(&place, "k80"),
        ["cores,,4.0,environment N,", wanted[1]]
    );
    let history = place.ok(&["history"]).stdout;
    assert!(history.contains("unset cores of k80"), "{history}");
    place.assert_sound(&["logs/k80/a.json"]);
}

/// Lines of `tsql measure` on a processor and on a GPU, by hand.
#[test]
fn environments_state_facts_of_processors_and_gpus() {
    let place = Place::new();
    let processor = r#""processor": {"architecture": "x86_64", "vendor": "GenuineIntel"}, "topology": {"cores": 8}"#;
    let gpu = r#"{"name": "Acme GPU", "architecture": "sm_90", "multiprocessors": 132, "memory_bytes": 1000}"#;
    let cpu = format!(
        r#"{processor}, "frequency": {{"max_khz": 3500000}}, "memory": {{"total_bytes": 64}}, "gpus": []"#
    );
    let gpu = format!(r#"{processor}, "product": "Acme p5", "gpus": [{gpu}]"#);
    for (platform, target, machine) in [("cpu", "c", cpu), ("gpu", "cuda", gpu)] {
        let line = format!(
            "{{\"workload_key\": [\"w\"], \"steps\": \"1\", \"repeats_ns\": [5], \
             \"environment\": {{\"target\": \"{target}\", \"machine\": {{{machine}}}}}}}\n"
        );
        let file = format!("{platform}.jsonl");
        place.write(&file, line);
        place.ok(&["ingest", "-q", &file, "--platform", platform]);
    }
    let wanted = [
        "clock_hz,,3500000000.0,environment N,",
        "cores,,8.0,environment N,",
        "isa,x86_64,,environment N,",
        "memory_bytes,,64.0,environment N,",
        "vendor,GenuineIntel,,environment N,",
    ];
    assert_eq!(facts(&place, "cpu"), wanted);
    let wanted = [
        "cores,,132.0,environment N,",
        "device,Acme GPU,,environment N,",
        "instance,Acme p5,,environment N,",
        "isa,sm_90,,environment N,",
        "memory_bytes,,1000.0,environment N,",
        "vendor,NVIDIA,,environment N,",
    ];
    assert_eq!(facts(&place, "gpu"), wanted);
}

#[test]
fn invalid_facts_are_rejected() {
    let place = Place::new();
    place.write("k80/a.json", log(1, 2));
    place.ok(&["ingest", "-q", "k80"]);
    let source = ["--source", "x"];
    for (args, message) in [
        (
            ["set", "k80", "--cores", "-4"],
            "`-4` is not a value of cores, expected a whole number above 0",
        ),
        (
            ["set", "k80", "--bandwidth", "240Gb/s"],
            "expected a number above 0 such as 1555GB/s or 1.555e12",
        ),
        (
            ["set", "k80", "--vendor", " "],
            "vendor needs one line of at most 1000 characters",
        ),
    ] {
        let args = [["platform"].as_slice(), &args, &source].concat();
        let ran = place.tsql(&args);
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(message), "{args:?}: {}", ran.stderr);
    }
    for (args, message) in [
        (
            vec!["unset", "k80", "core"],
            "no fact named `core`\nhint: did you mean `cores`?",
        ),
        (
            vec!["unset", "k80", "cores"],
            "cores of platform `k80` was not set\nhint: `tsql platform show k80`",
        ),
        (
            vec!["show", "k8"],
            "no platform named `k8`\nhint: there are k80",
        ),
        (
            vec!["set", "k80", "--source", "x"],
            "no fact to set\nhint: --peak-flops",
        ),
        (vec!["set", "k80", "--cores", "4"], "--source"),
    ] {
        let ran = place.tsql(&[&["platform"], args.as_slice()].concat());
        assert_ne!(ran.code, Some(0), "{args:?}");
        assert!(ran.stderr.contains(message), "{args:?}: {}", ran.stderr);
    }
    assert_eq!(place.rows("SELECT count(*) FROM platform_facts"), ["0"]);
    let later = set(&place, "h100", &["--vendor", "NVIDIA", "--source", "x"]);
    assert_eq!(
        later,
        "platform h100: set vendor\nnote: the store has no records of platform h100\n"
    );
    let listed = place.ok(&["platform", "list", "--format", "csv"]).stdout;
    let names: Vec<&str> = listed
        .lines()
        .filter_map(|row| row.split(',').next())
        .collect();
    assert_eq!(names, ["platform", "h100", "k80"]);
}

/// A task of 24 operations over 64 bytes in 250 µs, see the test of networks.
#[test]
fn queries_of_bounds_read_the_facts() {
    let place = Place::new();
    place.write("info/((net,[(1,3)]),cuda).task.pkl", NETWORK);
    let line = "{\"i\": [[\"[\\\"k\\\", 4]\", \"cuda\", [1, 2, 3, 4, 5, 6, 7, 8], \"\", 2, []], [[], [[\"SP\", 2, 0, 8, [2], 1]]]], \
        \"r\": [[0.00025], 0, 1.5, 1697658022], \"v\": \"v0.6\"}\n";
    place.write("gpu/log.json", line);
    for folder in ["info", "gpu"] {
        place.ok(&["ingest", "-q", folder]);
    }
    let query = |args: &[&str]| {
        let rows = place.ok(&[&["queries"], args, &["--format", "jsonl"]].concat());
        let rows = rows.stdout.lines().map(str::to_owned);
        rows.collect::<Vec<_>>()
    };
    let none = query(&["task-bounds"]);
    let reason =
        "no peak_flop_per_s and bandwidth_bytes_per_s of the platform: see `tsql platform set`";
    assert_eq!(none.len(), 1);
    assert!(none[0].contains(reason), "{none:?}");
    assert!(query(&["roofline"])[0].contains("best reached"));
    set(
        &place,
        "gpu",
        &["--peak-flops", "10GFLOP/s", "--source", "x"],
    );
    let half = query(&["task-bounds"]);
    assert!(
        half[0].contains("\"no bandwidth_bytes_per_s of the platform"),
        "{half:?}"
    );
    set(&place, "gpu", &["--bandwidth", "5GB/s", "--source", "x"]);
    // The parameters of another run of the same query.
    for name in ["task-bounds", "roofline"] {
        let stated = query(&[name]);
        let given = query(&[name, "peak=10", "bandwidth=5"]);
        assert_eq!(stated, given, "{name}");
    }
    let row = &query(&["task-bounds"])[0];
    // 64 bytes at 5 GB/s take longer than 24 operations at 10 GFLOPS.
    assert!(row.contains("\"bound_ns\":12.8"), "{row}");
    assert!(row.contains("\"reason\":null"), "{row}");
    let roof = query(&["roofline"]);
    assert!(roof[0].contains("10.0 GFLOPS, 5.0 GB/s\""), "{roof:?}");
    let other = query(&["roofline", "peak=20"]);
    assert!(other[0].contains("20.0 GFLOPS, 5.0 GB/s\""), "{other:?}");
    let beside = query(&["gflops-beside-peak"]);
    assert!(beside[0].contains("\"peak_gflops\":10.0"), "{beside:?}");
}

#[test]
#[ignore = "full tier"]
fn a_lost_file_names_the_lost_facts() {
    let place = Place::new();
    place.write("k80/a.json", log(1, 4));
    place.ok(&["ingest", "-q", "k80"]);
    set(&place, "k80", &["--cores", "13", "--source", "x"]);
    let mut files = files_below(&place.path().join(".tsql/platform_facts"));
    files.retain(|path| has_extension(path, "parquet"));
    assert_eq!(files.len(), 1);
    std::fs::remove_file(&files[0]).unwrap();
    let ran = place.tsql(&["platform", "list"]);
    let name = files[0].file_name().unwrap().to_str().unwrap();
    assert_ne!(ran.code, Some(0));
    assert!(ran.stderr.contains(name), "{}", ran.stderr);
    let checked = place.tsql(&["check"]);
    let lost = "1 rows of platform_facts are permanently lost";
    assert!(checked.stderr.contains(lost), "{}", checked.stderr);
    let repaired = place.ok(&["check", "--repair"]);
    assert!(
        repaired
            .stderr
            .contains("permanently lost: 1 rows of platform_facts\n"),
        "{}",
        repaired.stderr
    );
    assert_eq!(facts(&place, "k80"), ["cores,,4.0,environment N,"]);
    set(&place, "k80", &["--cores", "13", "--source", "x"]);
    assert_eq!(facts(&place, "k80")[0].split(',').nth(2), Some("13.0"));
    place.assert_sound(&["k80/a.json"]);
}
