//! Much of everything: thousands of files, of terms, of rows beyond the memory that may be taken.

use std::fmt::Write as _;

use crate::support::Place;

/// One line in each of many files, of which every tenth is a copy.
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

/// A question for each file took minutes, and rows for each of them gigabytes.
#[test]
fn thousands_of_files_are_stored_checked_and_given_back() {
    let place = Place::new();
    many_files(&place, 3000);
    // One that grew, of which an older state has another name.
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

/// In as much memory as a tenth of these files took before.
#[cfg(target_os = "linux")]
#[test]
fn thousands_of_files_take_little_memory() {
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
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{args:?}: {said}");
    }
}

/// What programs write: answered, or refused with a sentence, never a broken-off process.
#[test]
fn deep_sql_is_answered_or_refused() {
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
            "more than 500 operators",
        ),
        (
            format!("SELECT {}", chain(" || ", 5000, &one)),
            "concat(a, b, ...)",
        ),
        (
            chain(" UNION ", 5000, &|n| format!("SELECT {n}")),
            "5000 queries in one UNION",
        ),
        (counted(chain(" OR ", 30_000, &pair)), "hint: `x IN (...)`"),
        (
            format!("SELECT {}1{}", "(".repeat(5000), ")".repeat(5000)),
            "nests too deep",
        ),
        (
            format!("SELECT 1{}", "::int".repeat(30_000)),
            "more than 500 operators",
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

/// Joins, sorts, groups and windows of more rows than fit: temporary files, or a sentence.
#[test]
fn questions_keep_within_their_memory() {
    let place = Place::new();
    let rows = "SELECT unnest(range(0, 200000)) AS x";
    let a = format!(
        "WITH a AS (SELECT x, x % 1000 AS y, 'text ' || x AS t FROM ({rows})), b AS (SELECT x, 2 * x AS z FROM ({rows}))"
    );
    for (question, wanted) in [
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
        let sql = format!("{a} {question}");
        for (limit, must) in [("64MB", true), ("24MB", false), ("200kB", false)] {
            let ran = place.tsql(&["--memory-limit", limit, &sql]);
            match ran.code {
                Some(0) => assert_eq!(ran.stdout.lines().nth(1), Some(wanted), "{question}"),
                code => {
                    assert_eq!((code, must), (Some(1), false), "{question}: {}", ran.stderr);
                    let hint = "hint: --memory-limit SIZE";
                    assert!(ran.stderr.contains(hint), "{question}: {}", ran.stderr);
                }
            }
        }
    }
}
