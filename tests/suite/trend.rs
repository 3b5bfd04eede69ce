//! `tsql trend`, `change_points` and `noise_floors()`: a history of nights with known changes.

use serde_json::{Value, json};

use crate::support::Place;

/// Seconds of 2026-11-01.
const FIRST: u64 = 1_793_491_200;
const DAY: u64 = 86_400;

const NIGHTS: u32 = 30;
const PROGRAMS: u32 = 5;

/// First night of a slow-down of program 1, and of all programs.
const PROGRAM_NIGHT: u32 = 10;
const MACHINE_NIGHT: u32 = 20;

/// Deviation of a run: up to 0.4 % either way, the same in each execution.
fn deviation(program: u32, night: u32) -> f64 {
    let step = (program * 7 + night * 13 + program * night) % 11;
    1.0 + 0.0008 * (f64::from(step) - 5.0)
}

fn night_lines(night: u32) -> String {
    let mut lines = String::new();
    for program in 0..PROGRAMS {
        let mut ns = 50_000.0 * deviation(program, night);
        if program == 1 && night >= PROGRAM_NIGHT {
            ns *= 1.1;
        }
        if night >= MACHINE_NIGHT {
            ns *= 1.05;
        }
        let line = json!({
            "workload_key": [format!("op{program}"), program],
            "steps": {"TILE": program},
            "measured_at": FIRST + DAY * u64::from(night) + u64::from(program),
            "repeats_ns": [ns * 0.999, ns, ns * 1.001],
        });
        lines += &(line.to_string() + "\n");
    }
    lines
}

/// A store with a file for each night.
fn nights() -> Place {
    let place = Place::new();
    for night in 0..NIGHTS {
        place.write(&format!("in/k80/n{night:02}.jsonl"), night_lines(night));
    }
    place.ok(&["ingest", "in"]);
    place
}

fn trend_json(place: &Place, args: &[&str]) -> Value {
    let ran = place.ok(&[&["trend", "--format", "json"], args].concat());
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr))
}

#[test]
fn changes_of_the_machine_are_marked() {
    let place = nights();
    let found = trend_json(&place, &["--by", "source"]);
    assert_eq!(
        (&found["series"], &found["places"]),
        (&json!(5), &json!(30))
    );
    let changes = found["changes"].as_array().unwrap();
    let name = |night: u32| format!("n{night:02}.jsonl");
    let of_program = |change: &&Value| change["is_machine"] == json!(false);
    let own: Vec<&Value> = changes.iter().filter(of_program).collect();
    let [own] = own[..] else { panic!("{found:#}") };
    assert_eq!(own["workload_key"], r#"["op1", 1]"#);
    assert!(
        own["place"]
            .as_str()
            .unwrap()
            .ends_with(&name(PROGRAM_NIGHT)),
        "{own}"
    );
    assert!(
        own["previous"]
            .as_str()
            .unwrap()
            .ends_with(&name(PROGRAM_NIGHT - 1))
    );
    assert!(
        (own["change"].as_f64().unwrap() - 0.1).abs() < 0.005,
        "{own}"
    );
    let of_machine = changes.iter().filter(|change| !of_program(change));
    assert_eq!(of_machine.count(), 5, "{found:#}");
    let event = &found["events"][0];
    assert_eq!(
        (&event["changed"], &event["is_machine"]),
        (&json!(5), &json!(true))
    );
    assert!(
        event["place"]
            .as_str()
            .unwrap()
            .ends_with(&name(MACHINE_NIGHT))
    );

    // Days are the default, because the store has times and no commits.
    let found = trend_json(&place, &["--last", "12", "--where", "platform = 'k80'"]);
    assert_eq!(found["order"], "day");
    let places = found["changes"].as_array().unwrap().iter();
    assert!(places.clone().all(|change| change["place"] == "2026-11-21"));
    assert_eq!(places.count(), 5);
}

#[test]
fn a_gate_over_the_last_runs_fails_for_programs_only() {
    let place = nights();
    let run = |args: &[&str]| {
        let ran = place.tsql(&[&["trend", "--fail-on-regression", "5%"], args].concat());
        (ran.code, ran.stderr)
    };
    let (code, message) = run(&[]);
    assert_eq!(code, Some(3), "{message}");
    assert!(
        message.contains("searched 5 programs over 30 places by day"),
        "{message}"
    );
    assert_eq!(run(&["--last", "15"]).0, Some(0));
    // The machine's event hides no change of its own.
    let (code, message) = run(&["--by", "commit"]);
    assert_eq!(code, Some(4));
    assert!(
        message.contains("no timed records have the label `commit`"),
        "{message}"
    );
    let (code, message) = run(&["--where", "line < 0"]);
    assert_eq!(code, Some(4), "{message}");
    let ran = place.tsql(&["trend", "--plot", "x.gif"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    place.ok(&["trend", "--plot", "history.svg"]);
    let drawn = String::from_utf8(place.read("history.svg")).unwrap();
    assert!(drawn.contains("level") && drawn.contains("op1"), "{drawn}");
}

#[test]
fn commits_are_ordered_by_their_first_record() {
    let place = Place::new();
    // Names in another order than the times.
    for night in 0..8 {
        let label = format!("commit=c{}", 9 - night);
        let stream = format!("s{night}");
        let args = [
            "append",
            "--stream",
            &stream,
            "--platform",
            "k80",
            "--input-format",
            "measured",
            "--label",
            &label,
        ];
        let lines = night_lines(PROGRAM_NIGHT - 4 + night);
        let ran = place.tsql_with_input(&args, lines.as_bytes());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    }
    let found = trend_json(&place, &[]);
    let [change] = &found["changes"].as_array().unwrap()[..] else {
        panic!("{found:#}")
    };
    assert_eq!(found["order"], "commit");
    assert_eq!(
        (&change["previous"], &change["place"]),
        (&json!("c6"), &json!("c5"))
    );
    let table = place.ok(&["trend", "--events", "--format", "csv"]).stdout;
    assert_eq!(
        table,
        "place,platform,changed,programs,is_machine\nc5,k80,1,5,false\n"
    );
}

#[test]
fn sql_finds_the_same_points() {
    let place = nights();
    let sql = "SELECT point.position, round(point.change, 2) FROM \
               (SELECT unnest(change_points(runtime_ns ORDER BY measured_at)) AS point FROM records \
               GROUP BY graph_id HAVING max(runtime_ns) > 57000)";
    assert_eq!(place.rows(sql), ["11,0.1", "21,0.05"]);
    let sql = "SELECT len(list_change_points([5, 5.1, 4.9, NULL, 5, 6, 6.1, 6, 5.9])), \
               list_change_points([5, 5.1, 4.9, NULL, 5, 6, 6.1, 6, 5.9])[1].position, \
               len(list_change_points([1, 1, 1, 1, 1.5, 1.5, 1.5, 1.5], 0.6)), list_change_points(NULL)";
    assert_eq!(place.rows(sql), ["1,6,0,"]);
    let ran = place.tsql(&["SELECT list_change_points([1, 2], -1)"]);
    assert!(
        ran.stderr.contains("expected a fraction of at least 0"),
        "{}",
        ran.stderr
    );
}

#[test]
fn noise_floors_are_a_table() {
    let place = Place::new();
    place.ok(&["init"]);
    assert_eq!(place.rows("SELECT * FROM noise_floors()").len(), 0);
    for night in 0..2 {
        let mut lines = String::new();
        for program in 0..25_u32 {
            let ns = 50_000.0 * deviation(program, night);
            let line = json!({
                "workload_key": ["op", program],
                "steps": {},
                "measured_at": FIRST + 3600 * u64::from(night) + u64::from(program),
                "repeats_ns": [ns],
            });
            lines += &(line.to_string() + "\n");
        }
        place.write(&format!("in/k80/r{night}.jsonl"), lines);
    }
    place.ok(&["ingest", "in"]);
    let floors = "SELECT platform, duration_from_ns, pairs, day_pairs, sigma BETWEEN 0.001 AND 0.01, \
                  CAST(newest_pair_at AS DATE) FROM noise_floors() ORDER BY duration_from_ns NULLS LAST";
    assert_eq!(
        place.rows(floors),
        [
            "k80,31622.776601683792,25,0,true,2026-11-01",
            "k80,,25,0,true,2026-11-01"
        ]
    );
    assert_eq!(place.rows("SELECT count(*) FROM noise_floors('t4')"), ["0"]);
    let joined = "SELECT count(*) FROM records AS r JOIN noise_floors('k80') AS f ON f.platform = r.platform \
                  AND f.duration_from_ns IS NULL";
    assert_eq!(place.rows(joined), ["50"]);
    let ran = place.tsql(&["SELECT * FROM noise_floors(3)"]);
    assert!(
        ran.stderr.contains("expected the name of a platform"),
        "{}",
        ran.stderr
    );
    let shown = place
        .ok(&["queries", "noise-floor", "--format", "csv"])
        .stdout;
    assert!(shown.starts_with("platform,duration_from_ns,"), "{shown}");
    assert_eq!(shown.lines().count(), 3);
}
