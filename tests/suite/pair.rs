//! `tsql measure pair` and `tsql gate`: commands whose times are known.

use serde_json::Value;

use crate::support::{Place, Ran};

/// Prints records of six programs with a scatter of up to 0.4 % that the number of the run determines. The first argument
/// is the slow-down of program 2, the second the scatter of program 3 in percent.
const BENCH: &str = r#"n=$(cat count 2>/dev/null || echo 0); echo $((n+1)) > count
if [ -n "$TSQL_PROGRAMS" ]; then wc -l < "$TSQL_PROGRAMS" >> listed; fi
echo "$TSQL_SIDE" >> sides
echo "talk on the side"
awk -v n="$n" -v slow="$1" -v scatter="$2" 'BEGIN {
  for (p = 0; p < 6; p++) {
    d = ((p * 7 + n * 13 + p * n) % 11 - 5) * 0.0008
    if (p == 3) d += ((n * 5 + 3) % 7 - 3) * scatter / 100
    t = 50000 * (1 + d); if (p == 2) t *= slow
    printf "{\"workload_key\": [\"op%d\"], \"steps\": {\"T\": 1}, \"build\": \"%s\", \"repeats_ns\": [%.1f]}\n", p, slow, t
  }
}'"#;

fn place() -> Place {
    let place = Place::new();
    place.write("bench.sh", BENCH);
    place
}

fn pair(place: &Place, args: &[&str]) -> Ran {
    place.tsql(
        &[
            &["measure", "pair", "--platform", "k80", "--format", "json"],
            args,
        ]
        .concat(),
    )
}

fn gate(place: &Place, args: &[&str]) -> Ran {
    place.tsql(&[&["gate", "--platform", "k80", "--format", "json"], args].concat())
}

fn report(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr))
}

fn verdicts(report: &Value) -> Vec<&str> {
    let programs = report["programs"].as_array().unwrap().iter();
    let mut words: Vec<&str> = programs
        .map(|program| program["verdict"].as_str().unwrap())
        .collect();
    words.sort_unstable();
    words
}

#[test]
fn equal_builds_are_the_same() {
    let place = place();
    let sides = ["sh bench.sh 1 0", "sh bench.sh 1 0"];
    let ran = pair(
        &place,
        &[
            &sides[..],
            &["--fail-on-regression", "2%", "--fail-on-unclear"],
        ]
        .concat(),
    );
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let found = report(&ran);
    assert_eq!(verdicts(&found), ["same"; 6]);
    assert_eq!(found["runs"].as_array().unwrap().len(), 16);
    let schedule = String::from_utf8(place.read("sides")).unwrap();
    let schedule: String = schedule.lines().map(|side| &side[..1]).collect();
    assert_eq!(schedule, "bhhbhbbhbhhbhbbh");
    // The schedule is in the store, too.
    let sql = "SELECT side.value, min(CAST(block.value AS INT)), count(DISTINCT position.value), count(DISTINCT pair.value) \
               FROM labels AS side JOIN labels AS block ON block.source_id = side.source_id AND block.key = 'block' \
               JOIN labels AS position ON position.source_id = side.source_id AND position.key = 'position' \
               JOIN labels AS pair ON pair.source_id = side.source_id AND pair.key = 'pair' \
               WHERE side.key = 'side' GROUP BY 1 ORDER BY 1";
    assert_eq!(place.rows(sql), ["base,1,4,1", "head,1,4,1"]);
    assert_eq!(place.rows("SELECT count(*) FROM records"), ["96"]);
}

#[test]
fn a_slow_build_is_found_although_its_configurations_differ() {
    let place = place();
    let sides = ["sh bench.sh 1 0", "sh bench.sh 1.1 0"];
    let ran = pair(
        &place,
        &[&sides[..], &["--fail-on-regression", "5%"]].concat(),
    );
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    let found = report(&ran);
    let worst = &found["programs"][0];
    assert_eq!(
        (&worst["workload_key"], &worst["verdict"]),
        (&Value::from("[\"op2\"]"), &Value::from("slower"))
    );
    assert!(
        (worst["change"].as_f64().unwrap() - 0.1).abs() < 0.01,
        "{worst}"
    );
    assert_eq!(
        place.rows("SELECT count(DISTINCT config_id) FROM records"),
        ["12"]
    );
    assert!(ran.stderr.contains("1 slower, 5 same"), "{}", ran.stderr);
}

/// Checks the comment and the JUnit file of a gate with six programs, of which one is slower by 6 %.
fn assert_slower_program_is_reported(place: &Place) {
    let text = |name: &str| String::from_utf8(place.read(name)).unwrap();
    let comment = text("comment.md");
    let lines: Vec<&str> = comment.lines().collect();
    assert_eq!(
        lines[..4],
        [
            "<!-- tsql-compare -->",
            "## head against base",
            "",
            "**Regression**: 1 of 6 pairs slower by more than 2.0 %."
        ]
    );
    let row = lines.iter().find(|line| line.contains("op2")).unwrap();
    assert!(row.contains("| +6.") || row.contains("| +5.9"), "{row}");
    assert!(comment.contains("The same (5)"), "{comment}");
    assert!(!comment.contains("noise floor"), "{comment}");
    let junit = text("gate.xml");
    assert!(
        junit.contains(
            "name=\"head against base\" tests=\"6\" failures=\"1\" errors=\"0\" skipped=\"0\""
        ),
        "{junit}"
    );
    assert!(
        junit.contains("<failure type=\"slower\" message=\"slower by +"),
        "{junit}"
    );
}

#[test]
#[ignore = "full tier"]
fn a_gate_measures_until_all_programs_are_decided() {
    let place = place();
    let ran = gate(&place, &["sh bench.sh 1 0", "sh bench.sh 1 0"]);
    assert_eq!(
        (ran.code, report(&ran)["looks"].as_u64()),
        (Some(0), Some(1)),
        "{}",
        ran.stderr
    );
    let documents = [
        "--format",
        "github",
        "-o",
        "comment.md",
        "--junit",
        "gate.xml",
    ];
    let slower = ["sh bench.sh 1 0", "sh bench.sh 1.06 0"];
    let ran = place.tsql(&[&["gate", "--platform", "k80"], &documents[..], &slower].concat());
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert_slower_program_is_reported(&place);
    // The noisy program stays undecided to the end, and is the only one that is listed.
    let ran = gate(&place, &["sh bench.sh 1 5", "sh bench.sh 1 5"]);
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    let found = report(&ran);
    assert_eq!(
        verdicts(&found),
        ["same", "same", "same", "same", "same", "unclear"]
    );
    assert_eq!(
        (
            found["looks"].as_u64(),
            found["runs"].as_array().unwrap().len()
        ),
        (Some(4), 48)
    );
    let listed = String::from_utf8(place.read("listed")).unwrap();
    assert!(listed.lines().all(|count| count.trim() == "1"), "{listed}");
    let ran = gate(
        &place,
        &[
            "sh bench.sh 1 5",
            "sh bench.sh 1 5",
            "--budget",
            "1ms",
            "--allow-unclear",
        ],
    );
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(report(&ran)["is_out_of_budget"], true);
}

#[test]
fn failures_never_pass() {
    let place = place();
    // A command that fails ends the schedule, and its records stay.
    let ran = gate(&place, &["sh bench.sh 1 0", "sh bench.sh 1 0; exit 3"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr
            .contains("head ended with exit code 3 in block 1"),
        "{}",
        ran.stderr
    );
    assert_eq!(place.rows("SELECT count(*) FROM records"), ["12"]);
    // Nothing compared.
    let ran = gate(&place, &["true", "true"]);
    assert_eq!(ran.code, Some(4));
    assert!(
        ran.stderr.contains("no program was timed by both sides"),
        "{}",
        ran.stderr
    );
    // A program that fails in head only.
    let failing = r#"echo '{"workload_key": ["op0"], "steps": {"T": 1}, "error_no": 4}'"#;
    let working = r#"echo '{"workload_key": ["op0"], "steps": {"T": 1}, "repeats_ns": [5]}'"#;
    let ran = gate(&place, &[working, failing]);
    assert_eq!(
        (ran.code, verdicts(&report(&ran))),
        (Some(3), vec!["failed"]),
        "{}",
        ran.stderr
    );
    // A program that head does not time, beside one that is the same.
    let other = working.replace("op0", "op1");
    let both = format!("{working}; {other}");
    let ran = gate(&place, &[&both, working]);
    let words = report(&ran);
    assert_eq!(
        (ran.code, verdicts(&words)),
        (Some(4), vec!["missing", "same"]),
        "{}",
        ran.stderr
    );
    assert_eq!(words["looks"], 1, "more blocks do not decide it");
    let ran = pair(&place, &[working, working, "--blocks", "3"]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains("3 blocks, expected at least 4"),
        "{}",
        ran.stderr
    );
}
