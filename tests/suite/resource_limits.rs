//! Limits of resources: thousands of files and terms, and more rows than fit in memory.

use std::fmt::Write as _;

use crate::support::Place;

/// Writes many files of one line each. Every tenth file is a copy.
fn many_files(place: &Place, count: u32) {
    for file in 0..count {
        let number = file - u32::from(file % 10 == 9);
        let line = format!(
            "{{\"workload_key\": [\"mm\", {}], \"steps\": {{\"TILE\": {number}}}, \"repeats_ns\": [{number}.5, 9]}}\n",
            number % 7
        );
        place.write(&format!("p/{file:05}.jsonl"), line);
    }
}

/// One query per file would take minutes, and rows of all files gigabytes.
#[test]
#[ignore = "full tier"]
fn thousands_of_files_are_stored_checked_and_exported() {
    let place = Place::new();
    many_files(&place, 3000);
    // A grown file, with a copy of its older state under another name.
    let grown = |lines: u32| {
        (0..lines).fold(String::new(), |mut text, line| {
            let steps = format!("{{\"workload_key\": [\"mm\", 1], \"steps\": {{\"T\": {line}}}, \"repeats_ns\": [8]}}");
            writeln!(text, "{steps}").unwrap();
            text
        })
    };
    place.write("p/grown.jsonl", grown(300));
    place.ok(&["ingest", "-q", "p"]);
    place.write("p/grown.jsonl", grown(700));
    place.write("p/older.jsonl", grown(300));
    place.write("p/newer.jsonl", grown(700));
    place.ok(&["ingest", "-q", "p"]);
    assert_eq!(place.rows("SELECT count(*) FROM files"), ["3003"]);
    let checked = place.ok(&["check"]);
    assert!(
        checked.stderr.contains(" 3003 sources of "),
        "{}",
        checked.stderr
    );
    place.ok(&["optimize"]);
    place.assert_sound(&[
        "p/00000.jsonl",
        "p/00008.jsonl",
        "p/00009.jsonl",
        "p/02999.jsonl",
        "p/grown.jsonl",
    ]);
    for (name, lines) in [("older", 300), ("newer", 700)] {
        let back = place.read(&format!("back/p/{name}.jsonl"));
        assert_eq!(back, grown(lines).as_bytes(), "{name}");
    }
}

/// 2,000 files are ingested and checked within 500 MB.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "full tier"]
fn thousands_of_files_need_little_memory() {
    let place = Place::new();
    many_files(&place, 2000);
    let script = "ulimit -d 500000; exec \"$0\" \"$@\"";
    for args in [&["ingest", "-q", "p"][..], &["check"]] {
        let ran = std::process::Command::new("sh")
            .args(["-c", script, env!("CARGO_BIN_EXE_tsql")])
            .args(args)
            .current_dir(place.path())
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{args:?}: {stderr}");
    }
}

/// Deep SQL of programs runs or is rejected with an error message. The process never aborts.
#[test]
#[ignore = "full tier"]
fn deep_sql_runs_or_is_rejected() {
    let place = Place::new();
    place.write(
        "p/a.jsonl",
        "{\"workload_key\": \"mm\", \"steps\": {}, \"repeats_ns\": [9]}\n".repeat(20),
    );
    place.ok(&["ingest", "-q", "p"]);
    let chain = |word: &str, count: usize, term: &dyn Fn(usize) -> String| {
        let terms: Vec<String> = (0..count).map(term).collect();
        terms.join(word)
    };
    let counted = |condition: String| format!("SELECT count(*) FROM records WHERE {condition}");
    let equal = |n: usize| format!("line = {n}");
    let pair = |n: usize| format!("(line = {n} AND platform <> 'x{n}')");
    let one = |_: usize| "1".to_owned();
    for (sql, wanted) in [
        (counted(chain(" OR ", 8000, &equal)), "20"),
        (
            counted(format!("NOT ({})", chain(" OR ", 8000, &equal))),
            "0",
        ),
        (counted(chain(" OR ", 2000, &pair)), "20"),
        (counted(format!("NOT ({})", chain(" OR ", 500, &pair))), "0"),
        (
            counted(chain(" AND ", 8000, &|n| format!("line <> {}", n + 3))),
            "2",
        ),
        (format!("SELECT {}", chain(" + ", 450, &one)), "450"),
        (
            format!("SELECT {}1{}", "abs(".repeat(40), ")".repeat(40)),
            "1",
        ),
        (
            format!(
                "SELECT count(*) FROM ({})",
                chain(" UNION ALL ", 300, &|n| format!("SELECT {n}"))
            ),
            "300",
        ),
    ] {
        place.write("q.sql", &sql);
        let ran = place.tsql(&["-f", "q.sql"]);
        assert_eq!(ran.code, Some(0), "{}: {}", &sql[..50], ran.stderr);
        assert_eq!(ran.stdout.lines().last(), Some(wanted), "{}", &sql[..50]);
    }
    for (sql, wanted) in [
        (
            format!("SELECT {}", chain(" + ", 50_000, &one)),
            "more than 500 nested operators",
        ),
        (
            format!("SELECT {}", chain(" || ", 5000, &one)),
            "concat(a, b, ...)",
        ),
        (
            chain(" UNION ", 5000, &|n| format!("SELECT {n}")),
            "5000 queries in one UNION",
        ),
        (
            counted(chain(" OR ", 30_000, &pair)),
            "hint: use `x IN (...)`",
        ),
        (
            format!("SELECT {}1{}", "(".repeat(5000), ")".repeat(5000)),
            "nested too deeply",
        ),
        (
            format!("SELECT 1{}", "::int".repeat(30_000)),
            "more than 500 nested operators",
        ),
    ] {
        place.write("q.sql", &sql);
        let ran = place.tsql(&["-f", "q.sql"]);
        assert_eq!(ran.code, Some(1), "{}: {}", &sql[..50], ran.stderr);
        assert!(
            ran.stderr.contains(wanted),
            "{}: {}",
            &sql[..50],
            ran.stderr
        );
    }
}

/// Joins, sorts, groups and windows of more rows than fit use temporary files, or fail with an error message.
#[test]
#[ignore = "full tier"]
fn queries_respect_their_memory_limit() {
    let place = Place::new();
    let rows = "SELECT unnest(range(0, 200000)) AS x";
    let a = format!(
        "WITH a AS (SELECT x, x % 1000 AS y, 'text ' || x AS t FROM ({rows})), b AS (SELECT x, 2 * x AS z FROM ({rows}))"
    );
    for (query, wanted) in [
        (
            "SELECT count(*), sum(z) FROM a JOIN b ON a.x = b.x",
            "200000,39999800000",
        ),
        (
            "SELECT count(*), sum(z) FROM a LEFT JOIN b ON a.x = b.z",
            "200000,9999900000",
        ),
        (
            "SELECT count(*), count(z) FROM a FULL JOIN b ON a.x = b.z",
            "300000,200000",
        ),
        (
            "SELECT count(*) FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.z = a.x)",
            "100000",
        ),
        (
            "SELECT count(*), max(t) FROM (SELECT t FROM a ORDER BY t DESC LIMIT 150000)",
            "150000,text 99999",
        ),
        (
            "SELECT count(*), max(n) FROM (SELECT t, count(*) AS n FROM a GROUP BY t)",
            "200000,1",
        ),
        (
            "SELECT max(r) FROM (SELECT row_number() OVER (PARTITION BY y ORDER BY t) AS r FROM a)",
            "200",
        ),
    ] {
        let sql = format!("{a} {query}");
        for (limit, must) in [("64MB", true), ("24MB", false), ("200kB", false)] {
            let ran = place.tsql(&["--memory-limit", limit, &sql]);
            match ran.code {
                Some(0) => assert_eq!(ran.stdout.lines().nth(1), Some(wanted), "{query}"),
                code => {
                    assert_eq!((code, must), (Some(1), false), "{query}: {}", ran.stderr);
                    let hint = "hint: --memory-limit SIZE";
                    assert!(ran.stderr.contains(hint), "{query}: {}", ran.stderr);
                }
            }
        }
    }
}
