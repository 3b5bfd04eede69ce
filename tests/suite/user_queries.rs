//! Values of parameters `$NAME` in queries, and query files of the user.

use crate::support::{Place, log};

/// Returns the rows of a query with parameter values.
fn rows(place: &Place, set: &[&str], sql: &str) -> String {
    let set = set.iter().flat_map(|set| ["--set", set]);
    let args: Vec<&str> = set
        .chain(["--sample", "--format", "csv", "-c", sql])
        .collect();
    place.ok(&args).stdout
}

#[test]
#[ignore = "full tier"]
fn values_are_typed_and_never_sql() {
    let place = Place::new();
    let count = "SELECT count(*) AS n FROM records WHERE platform = $platform";
    assert_eq!(rows(&place, &["platform=epyc-1t"], count), "n\n240\n");
    // Quotes are part of the value.
    for odd in ["platform=x' OR '1'='1", "platform=", "platform='epyc-1t'"] {
        assert_eq!(rows(&place, &[odd], count), "n\n0\n", "{odd}");
    }
    assert_eq!(
        rows(&place, &["platform=x", "platform=epyc-1t"], count),
        "n\n240\n"
    );
    let line = "SELECT count(*) AS n FROM records WHERE line <= $most AND platform = $platform";
    let written = line
        .replace("$most", "10")
        .replace("$platform", "'epyc-1t'");
    assert_eq!(
        rows(&place, &["most=10", "platform=epyc-1t"], line),
        rows(&place, &[], &written)
    );
    // Types follow from the compared column: numbers stay numbers, and numeric text stays text.
    assert_eq!(rows(&place, &["x=1e3"], "SELECT $x AS x"), "x\n1000.0\n");
    assert_eq!(
        rows(&place, &["x=007"], "SELECT concat('a', $x) AS x"),
        "x\na7\n"
    );
    assert_eq!(
        rows(
            &place,
            &["k=2"],
            "SELECT line FROM records ORDER BY line LIMIT $k"
        )
        .lines()
        .count(),
        3
    );
    assert_eq!(
        rows(&place, &["a=1", "b=2"], "SELECT $a AS a; SELECT $b AS b"),
        "a\n1\nb\n2\n"
    );
    for (set, sql, wanted) in [
        (
            &["most=x"][..],
            "SELECT 1 FROM records WHERE line < $most",
            "`x` is not a value of most, expected Int64",
        ),
        (&[], "SELECT $x", "`$x` has no value\nhint: --set x=VALUE"),
        (
            &["platfrom=x"],
            count,
            "no parameter named `platfrom`\nhint: did you mean `platform`?",
        ),
        (&["x=1"], "SELECT 1", "the query has no `$x`"),
        (&["x"], "SELECT $x", "expected NAME=VALUE"),
    ] {
        let set = set.iter().flat_map(|set| ["--set", set]);
        let args: Vec<&str> = set.chain(["--sample", "-c", sql]).collect();
        let ran = place.tsql(&args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{sql}");
        assert!(ran.stderr.contains(wanted), "{sql}: {}", ran.stderr);
    }
}

#[test]
fn queries_of_folders_are_listed() {
    let place = Place::new();
    place.write("logs/p/a.json", log(1, 5));
    place.write(
        "queries/slowest.sql",
        "-- My slowest.\n-- parameter k = 2 : how many\n-- platform on : where\nSELECT line FROM records WHERE platform = $on ORDER BY runtime_ns DESC LIMIT $k;\n",
    );
    place.write(
        "queries/sources.sql",
        "-- Mine, not the one that comes along.\nSELECT 'mine' AS whose",
    );
    place.write(
        "elsewhere/other.sql",
        "-- Of no rows.\n-- needs runs : benchmark runs\nSELECT 1 AS one WHERE false",
    );
    place.write(
        "elsewhere/slowest.sql",
        "-- Beside the store is later.\nSELECT 'named' AS whose",
    );
    place.ok(&["ingest", "-q", "logs"]);
    let list = place.ok(&["queries", "--format", "csv"]).stdout;
    let line = |start: &str| list.lines().find(|line| line.starts_with(start)).unwrap();
    assert!(
        line("slowest,").starts_with("slowest,My slowest.,k=2 on,"),
        "{list}"
    );
    assert!(line("sources,").contains("Mine, not"), "{list}");
    assert!(line("slowest,").ends_with("queries/slowest.sql"), "{list}");
    assert_eq!(place.ok(&["queries", "slowest"]).stdout.lines().count(), 3);
    assert_eq!(
        place
            .ok(&["queries", "slowest", "--set", "k=4"])
            .stdout
            .lines()
            .count(),
        5
    );
    assert_eq!(place.ok(&["queries", "sources"]).stdout, "whose\nmine\n");
    let with = |args: &[&str]| {
        let mut command = place.command(args);
        command.env("TSQL_QUERIES", place.path().join("elsewhere"));
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        )
    };
    assert_eq!(with(&["queries", "slowest"]).1, "whose\nnamed\n");
    let (code, rows, why) = with(&["queries", "other"]);
    assert_eq!((code, rows.as_str()), (Some(0), "one\n"));
    assert_eq!(
        why,
        "note: no result, because the store has no benchmark runs\n"
    );
    // An error in a query file is marked.
    place.write(
        "elsewhere/wrong.sql",
        "-- Wrong.\nSELECT nothing FROM records",
    );
    let (code, _, why) = with(&["queries", "wrong"]);
    assert_eq!(code, Some(1));
    assert!(
        why.contains("line 2: SELECT nothing FROM records\n                 ^^^^^^^"),
        "{why}"
    );
}

/// Expected results of these built-in queries on records are counted by hand.
#[test]
fn results_of_built_in_queries_match_hand_counts() {
    let place = Place::new();
    let run = |args: &[&str]| {
        let args = [&["queries"], args, &["--format", "csv", "--sample"]].concat();
        place.ok(&args).stdout
    };
    // Both platforms measured the same 230 programs of five graphs.
    let coverage = run(&["platform-coverage"]);
    assert_eq!(
        coverage.lines().nth(1),
        Some("tenset,epyc-1t,5,100.0,218,100.0,0"),
        "{coverage}"
    );
    let convergence = run(&["search-convergence", "--set", "min_trials=1"]);
    assert!(convergence.lines().count() > 5, "{convergence}");
    for line in convergence.lines().skip(1) {
        // Trials until 20, 10, 5, 1 percent and the best: a smaller distance never has fewer trials.
        let trials: Vec<u32> = line
            .rsplit(',')
            .take(5)
            .map(|n| n.parse().unwrap())
            .collect();
        assert!(trials.is_sorted_by(|a, b| a >= b), "{line}");
    }
    let all: u64 = run(&["sketch-distribution", "--set", "limit=1000"])
        .lines()
        .skip(1)
        .filter(|line| line.contains(",1,"))
        .count() as u64;
    assert!(all >= 5, "one best sketch for each graph");
}
