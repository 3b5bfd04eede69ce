//! `tsql compare` with the noise between runs: stores with repeated records whose scatter is known.

use serde_json::{Value, json};

use crate::support::Place;

/// Seconds of 2026-11-01, and of the next day.
const FIRST: u64 = 1_793_491_200;
const NEXT: u64 = FIRST + 86_400;

/// Number of programs of a run.
const PROGRAMS: u32 = 30;

/// Deviation of a run from the level of its program: up to 0.4 % either way, the same in each execution.
fn deviation(program: u32, run: u32) -> f64 {
    let step = (program * 7 + run * 13 + program * run) % 11;
    1.0 + 0.0008 * (f64::from(step) - 5.0)
}

/// Appends a run of all programs as a stream on `k80` with the label `build`. `factor` is the slowdown of a program, 0
/// for a failure.
fn append(place: &Place, stream: &str, build: &str, at: u64, factor: impl Fn(u32) -> f64) {
    append_flagged(place, stream, build, at, &[], factor);
}

fn append_flagged(
    place: &Place,
    stream: &str,
    build: &str,
    at: u64,
    flags: &[&str],
    factor: impl Fn(u32) -> f64,
) {
    let run = u32::try_from(stream.len()).unwrap() + u32::from(stream.as_bytes()[0]);
    let mut lines = String::new();
    for program in 0..PROGRAMS {
        let ns = 50_000.0 * factor(program) * deviation(program, run);
        let mut line = json!({
            "workload_key": [format!("op{program}"), program],
            "steps": {"TILE": program},
            "measured_at": at + u64::from(program),
        });
        if ns > 0.0 {
            line["repeats_ns"] = json!([ns * 0.999, ns, ns * 1.001]);
            line["flags"] = json!(flags);
        } else {
            line["error_no"] = json!(4);
        }
        lines += &(line.to_string() + "\n");
    }
    let label = format!("build={build}");
    let args = [
        "append",
        "--stream",
        stream,
        "--platform",
        "k80",
        "--input-format",
        "measured",
        "--label",
        &label,
    ];
    let ran = place.tsql_with_input(&args, lines.as_bytes());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

/// Returns a store with two runs of the build `old` on one day, from which the noise is known.
fn known_noise() -> Place {
    let place = Place::new();
    append(&place, "a", "old", FIRST, |_| 1.0);
    append(&place, "bb", "old", FIRST + 3600, |_| 1.0);
    place
}

const SIDES: [&str; 2] = ["build=old", "build=new"];

fn compare_json(place: &Place, args: &[&str]) -> Value {
    let all = [&["compare", "--format", "json"], &SIDES[..], args].concat();
    let ran = place.tsql(&all);
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr))
}

fn counts(found: &Value) -> [u64; 4] {
    ["faster", "slower", "same", "unclear"].map(|word| found["all"][word].as_u64().unwrap())
}

/// Returns the exit code and the messages of a gate at 5 %.
fn gate(place: &Place, args: &[&str]) -> (i32, String) {
    let all = [
        &["compare"],
        &SIDES[..],
        &["--fail-on-regression", "5%"],
        args,
    ]
    .concat();
    let ran = place.tsql(&all);
    (ran.code.unwrap(), ran.stderr)
}

#[test]
fn a_store_with_repeated_records_finds_the_slow_program() {
    let place = known_noise();
    append(&place, "ccc", "new", FIRST + 7200, |program| {
        if program == 17 { 1.1 } else { 1.0 }
    });
    let found = compare_json(&place, &[]);
    assert_eq!(
        counts(&found),
        [0, 1, u64::from(PROGRAMS) - 1, 0],
        "{}",
        found["floors"]
    );
    let worst = &found["regressions"][0];
    assert_eq!(worst["workload_key"], r#"["op17", 17]"#);
    assert!(
        (worst["change"].as_f64().unwrap() - 0.1).abs() < 0.01,
        "{worst}"
    );
    assert!(worst["low"].as_f64().unwrap() > 0.05 && worst["high"].as_f64().unwrap() < 0.15);
    for field in ["se", "df", "p", "p_corrected", "detectable"] {
        assert!(worst[field].as_f64().is_some(), "{field}: {worst}");
    }
    let both = ["a_runs", "b_runs", "a_days", "b_days"].map(|name| worst[name].as_u64().unwrap());
    assert_eq!(both, [2, 1, 1, 1]);
    // The noise comes from the pairs of the old build, one for each program.
    let floors = found["floors"].as_array().unwrap();
    assert_eq!(
        floors.len(),
        2,
        "the class of 31 to 100 µs, and the platform: {found}"
    );
    assert_eq!(
        (&floors[0]["pairs"], &floors[0]["half_decade"]),
        (&json!(30), &json!(9))
    );
    assert!(floors[0]["spread"].as_f64().unwrap() < 0.01);
    assert_eq!(found["floor_date"], "2026-11-01");
    assert_eq!(found["version"], 1);
    assert_eq!(found["pairs"].as_array().unwrap().len(), PROGRAMS as usize);
    let (code, messages) = gate(&place, &[]);
    assert_eq!(code, 3, "{messages}");
    assert!(
        messages.contains("regression: 1 pair slower by more than 5 %"),
        "{messages}"
    );
}

#[test]
fn a_build_is_not_slower_than_itself() {
    let place = known_noise();
    append(&place, "ccc", "new", FIRST + 7200, |_| 1.0);
    let (code, messages) = gate(&place, &["--fail-on-unclear"]);
    assert_eq!(code, 0, "{messages}");
    let found = compare_json(&place, &[]);
    assert_eq!(counts(&found)[..2], [0, 0]);
    // The interval of the mean is as wide as that of one pair, because all pairs share a run.
    let (low, high) = (&found["all"]["speedup_low"], &found["all"]["speedup_high"]);
    let (low, high) = (low.as_f64().unwrap(), high.as_f64().unwrap());
    let one = &found["pairs"][0];
    let width = one["high"].as_f64().unwrap() - one["low"].as_f64().unwrap();
    assert!(
        high - low > 0.95 * width && low < 1.0 && high > 1.0,
        "{low} to {high}, {width}"
    );
}

#[test]
fn unknown_noise_is_unclear_and_never_a_silent_pass() {
    let place = Place::new();
    append(&place, "a", "old", FIRST, |_| 1.0);
    append(&place, "bb", "new", FIRST + 3600, |_| 1.5);
    let found = compare_json(&place, &[]);
    assert_eq!(counts(&found), [0, 0, 0, u64::from(PROGRAMS)]);
    assert_eq!(found["unclear_reasons"], json!({"no_floor": PROGRAMS}));
    assert_eq!(found["all"]["speedup_low"], Value::Null);
    assert_eq!(found["unclear"][0]["reason"], "no_floor");
    let (code, messages) = gate(&place, &[]);
    assert_eq!(code, 0, "{messages}");
    assert!(messages.contains("unclear: 30 no_floor"), "{messages}");
    assert!(
        messages.contains("undecided: 30 pairs cannot show a change of 5 %"),
        "{messages}"
    );
    assert!(
        messages.contains("hint: the noise between runs is unknown"),
        "{messages}"
    );
    assert!(messages.contains("moved one way (median +50"), "{messages}");
    assert_eq!(gate(&place, &["--fail-on-unclear"]).0, 4);
    // The earlier rule is still there.
    let ranks = compare_json(&place, &["--rule", "ranks", "--of", "all"]);
    assert_eq!(
        (&ranks["rule"], &ranks["unclear_reasons"]),
        (&json!("ranks"), &json!({}))
    );
}

#[test]
#[ignore = "full tier"]
fn other_days_need_the_noise_between_days() {
    let place = known_noise();
    append(&place, "ccc", "new", NEXT, |_| 1.1);
    let found = compare_json(&place, &[]);
    assert_eq!(found["unclear_reasons"], json!({"other_day": PROGRAMS}));
    // Unchanged programs of a third build on two days.
    append(&place, "dddd", "other", FIRST + 60, |_| 1.0);
    append(&place, "eeeee", "other", NEXT + 60, |_| 1.002);
    let found = compare_json(&place, &[]);
    assert_eq!(found["unclear_reasons"], json!({}), "{}", found["floors"]);
    assert_eq!(
        counts(&found)[1],
        u64::from(PROGRAMS),
        "{}",
        found["floors"]
    );
    assert!(found["floors"][0]["day_sigma"].as_f64().is_some());
}

#[test]
#[ignore = "full tier"]
fn spoiled_runs_are_left_out_while_enough_remain() {
    let place = known_noise();
    append_flagged(
        &place,
        "ccc",
        "new",
        FIRST + 7200,
        &["busy_machine"],
        |_| 2.0,
    );
    let found = compare_json(&place, &[]);
    assert_eq!(found["unclear_reasons"], json!({"spoiled": PROGRAMS}));
    append(&place, "dddd", "new", FIRST + 9000, |_| 1.0);
    let found = compare_json(&place, &[]);
    assert_eq!(
        counts(&found),
        [0, 0, u64::from(PROGRAMS), 0],
        "{}",
        found["floors"]
    );
    // With flags that disturb nothing, the slow run counts.
    append_flagged(&place, "eeeee", "new", FIRST + 9900, &["unsteady"], |_| 2.0);
    assert_ne!(counts(&compare_json(&place, &[])), counts(&found));
}

#[test]
fn a_moved_control_program_makes_all_verdicts_unclear() {
    let place = known_noise();
    append(&place, "ccc", "new", FIRST + 7200, |_| 1.14);
    let found = compare_json(&place, &[]);
    assert_eq!(counts(&found)[1], u64::from(PROGRAMS));
    assert_eq!(found["shifts"][0]["has_moved"], true);
    let anchored = ["--anchor", "op3"];
    let found = compare_json(&place, &anchored);
    assert_eq!(found["unclear_reasons"], json!({"anchor_moved": PROGRAMS}));
    assert_eq!(found["anchors"][0]["verdict"], "slower");
    let (code, messages) = gate(&place, &anchored);
    assert_eq!(code, 0, "{messages}");
    assert!(
        messages.contains(r#"control program ["op3", 3]: slower (+"#),
        "{messages}"
    );
    assert_eq!(gate(&place, &["--anchor", "op3", "--fail-on-unclear"]).0, 4);
    let (code, messages) = gate(&place, &["--anchor", "op99"]);
    assert!(code == 2 && messages.contains("named `op99`"), "{messages}");
}

#[test]
#[ignore = "full tier"]
fn failures_and_missing_pairs_have_their_exit_codes() {
    let place = known_noise();
    append(&place, "ccc", "new", FIRST + 7200, |program| {
        if program == 5 { 0.0 } else { 1.0 }
    });
    let (code, messages) = gate(&place, &[]);
    assert!(
        code == 3 && messages.contains("1 pair newly failing"),
        "{messages}"
    );
    // All failed on both sides: nothing works that could be compared.
    let place = Place::new();
    append(&place, "a", "old", FIRST, |_| 0.0);
    append(&place, "bb", "new", FIRST + 3600, |_| 0.0);
    assert_eq!(gate(&place, &[]).0, 4);
    assert_eq!(
        place.tsql(&["compare", "build=old", "build=new"]).code,
        Some(4)
    );
    let ran = place.tsql(&["compare", "build=old", "build=old"]);
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("nothing was compared"),
        "{}",
        ran.stderr
    );
}

#[test]
fn reports_for_ci_name_the_slow_program() {
    let place = known_noise();
    append(
        &place,
        "ccc",
        "new",
        FIRST + 7200,
        |program| match program {
            17 => 1.1,
            5 => 0.0,
            _ => 1.0,
        },
    );
    let args = [
        "--format",
        "github",
        "-o",
        "comment.md",
        "--junit",
        "compared.xml",
    ];
    let (code, messages) = gate(&place, &args);
    assert_eq!(code, 3, "{messages}");
    let comment = String::from_utf8(place.read("comment.md")).unwrap();
    let lines: Vec<&str> = comment.lines().collect();
    assert_eq!(lines[0], "<!-- tsql-compare -->");
    assert_eq!(
        lines[3],
        "**Regression**: 1 of 29 pairs slower by more than 5.0 %, 1 newly failing."
    );
    for text in [
        "### Slower (1)",
        "op17",
        "### Newly failing (1)",
        "2026-11-01",
        "| k80 |",
    ] {
        assert!(comment.contains(text), "{text}: {comment}");
    }
    let xml = String::from_utf8(place.read("compared.xml")).unwrap();
    assert!(
        xml.contains("tests=\"30\" failures=\"1\" errors=\"1\" skipped=\"0\""),
        "{xml}"
    );
    let csv = place
        .tsql(&["compare", "build=old", "build=new", "--pairs", "--top", "1"])
        .stdout;
    assert!(csv.starts_with("kind,verdict,speedup,"), "{csv}");
    assert!(
        csv.contains(",reason,runs_needed,a_runs,b_runs,a_days,b_days,"),
        "{csv}"
    );
    let table = place
        .tsql(&["compare", "build=old", "build=new", "--format", "markdown"])
        .stdout;
    assert!(table.contains("| regression | slower |"), "{table}");
}

#[test]
fn the_rule_is_checked_on_the_store_itself() {
    let place = known_noise();
    let little = place.tsql(&["compare", "--self"]);
    assert_eq!(little.code, Some(4), "{}", little.stderr);
    assert!(
        little.stderr.contains("30 pairs of repeated records"),
        "{}",
        little.stderr
    );
    // Another pair of each program, on another day.
    append(&place, "ccc", "new", NEXT, |_| 1.0);
    append(&place, "dddd", "new", NEXT + 3600, |_| 1.0);
    let ran = place.ok(&["compare", "--self", "--inject", "3%,5%", "--format", "json"]);
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    let class = &found["classes"][0];
    assert_eq!(
        (&class["platform"], &class["pairs"]),
        (&json!("k80"), &json!(60))
    );
    let called = |index: usize| class["rates"][index]["slower"]["called"].as_u64().unwrap();
    assert_eq!([called(0), called(1), called(2)], [0, 60, 60], "{class}");
    let rows = place
        .ok(&[
            "compare", "--self", "k80", "--inject", "5%", "--format", "csv",
        ])
        .stdout;
    assert!(
        rows.starts_with("platform,from_ns,to_ns,pairs,injected,faster,slower,"),
        "{rows}"
    );
    assert_eq!(rows.lines().count(), 3, "{rows}");
    let wrong = place.tsql(&["compare", "--inject", "5%", "build=old", "build=new"]);
    assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
}
