//! The shell in a terminal of 80 columns and 24 lines: typed keys, and the screen.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::engines::python;
use crate::support::{Place, log};

/// Timeout for output on a busy machine.
const SECONDS: u64 = 60;

const TAB: &str = "\t";
const ENTER: &str = "\r";
const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";
const CTRL_L: &str = "\u{c}";
const UP: &str = "\u{1b}[A";
const ESCAPE: &str = "\u{1b}";

/// A command in a terminal.
struct Terminal {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Terminal {
    fn start(place: &Place, args: &[&str], environment: &[(&str, &str)]) -> Option<Self> {
        let python = python()?;
        let script = format!("{}/tests/python/terminal.py", env!("CARGO_MANIFEST_DIR"));
        let mut child = Command::new(python)
            .args([&script, "80", "24", env!("CARGO_BIN_EXE_tsql")])
            .args(args)
            .current_dir(place.path())
            .env_clear()
            .env("TERM", "xterm-256color")
            .env("HOME", place.path())
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let to = child.stdin.take().unwrap();
        let from = BufReader::new(child.stdout.take().unwrap());
        Some(Self { child, to, from })
    }

    fn request(&mut self, request: &Value) -> Value {
        writeln!(self.to, "{request}").unwrap();
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn screen(&mut self) -> String {
        screen_text(&self.request(&json!({})))
    }

    fn keys(&mut self, keys: &str) -> &mut Self {
        self.request(&json!({ "keys": keys }));
        self
    }

    /// Waits until the screen shows a text. Returns the screen.
    fn until(&mut self, text: &str) -> String {
        let state = self.request(&json!({ "until": text, "seconds": SECONDS }));
        assert_eq!(
            state["reached"],
            json!(true),
            "no {text:?}:\n{}",
            screen_text(&state)
        );
        screen_text(&state)
    }

    /// Waits until the cursor is behind this prompt. Returns the screen.
    fn prompt(&mut self, prompt: &str) -> String {
        let state = self.request(&json!({ "prompt": prompt, "seconds": SECONDS }));
        assert_eq!(
            state["reached"],
            json!(true),
            "no {prompt:?}:\n{}",
            screen_text(&state)
        );
        screen_text(&state)
    }

    /// Types a line on a clear screen, and waits for the prompt. Returns the screen.
    fn line(&mut self, line: &str, prompt: &str) -> String {
        self.keys(CTRL_L).prompt(prompt);
        // The previous prompt is visible until the typed text appears.
        let typed = self.request(&json!({ "keys": line, "typed": line, "seconds": SECONDS }));
        assert_eq!(
            typed["reached"],
            json!(true),
            "{line}:\n{}",
            screen_text(&typed)
        );
        self.keys(ENTER).prompt(prompt)
    }

    /// Waits for the end of the command. Returns its exit code.
    fn code(&mut self) -> Value {
        let state = self.request(&json!({ "end": SECONDS }));
        assert_eq!(
            state["reached"],
            json!(true),
            "it goes on:\n{}",
            screen_text(&state)
        );
        state["code"].clone()
    }
}

fn screen_text(state: &Value) -> String {
    let lines = state["screen"].as_array().unwrap().iter();
    let lines: Vec<&str> = lines.map(|line| line.as_str().unwrap()).collect();
    lines.join("\n").trim_end().to_owned()
}

/// Returns a store `lab` with three records.
fn lab() -> Place {
    let place = Place::new();
    place.write("p/a.json", log(1, 3));
    place.ok(&["ingest", "-q", "--store", "lab", "p"]);
    place
}

#[test]
fn statements_span_lines_and_errors_do_not_end_the_shell() {
    let place = lab();
    let Some(mut shell) = Terminal::start(&place, &["--store", "lab"], &[]) else {
        return;
    };
    let greeting = shell.prompt("lab@1> ");
    assert!(greeting.contains("`.help` lists commands"), "{greeting}");
    shell.keys("SELECT count(*) AS many,").keys(ENTER);
    shell.keys("  'a;b' AS text -- not yet;").keys(ENTER);
    let typed = shell.screen();
    assert!(typed.contains("    -> "), "lines are aligned:\n{typed}");
    shell.keys("FROM records;").keys(ENTER);
    let screen = shell.until("(1 row)");
    assert!(
        screen.contains("many") && screen.contains("a;b"),
        "{screen}"
    );
    shell.prompt("lab@1> ");

    let wrong = shell.line("SELECT nothing FROM records;", "lab@1> ");
    assert!(wrong.contains("error: "), "{wrong}");
    let going_on = shell.line("SELECT 40 + 2 AS x; SELECT 'second' AS y;", "lab@1> ");
    assert!(
        going_on.contains("42") && going_on.contains("second"),
        "{going_on}"
    );

    shell.keys(CTRL_L).prompt("lab@1> ");
    shell.keys("SELECT half").until("SELECT half");
    shell.keys(CTRL_C).prompt("lab@1> ");
    shell.keys(CTRL_D);
    assert_eq!(shell.code(), json!(0));
}

#[test]
#[ignore = "full tier"]
fn ctrl_c_cancels_a_query_and_the_shell_continues() {
    let place = Place::new();
    let Some(mut shell) = Terminal::start(&place, &["--sample"], &[]) else {
        return;
    };
    shell.prompt("sample> ");
    for long in [
        "SELECT sum(a.value * b.value) AS s FROM generate_series(1, 10000000) AS a CROSS JOIN generate_series(1, 10000000) AS b;",
        "SELECT count(*) AS s FROM generate_series(1, 100000) AS a JOIN generate_series(1, 1000000000) AS b ON a.value < b.value * 2;",
        "SELECT count(*) AS s FROM generate_series(1, 200000) AS a JOIN generate_series(1, 100000000) AS b ON a.value % 2 = b.value % 2 AND a.value + b.value < 0;",
    ] {
        shell.keys(CTRL_L).prompt("sample> ");
        shell.keys(long).keys(ENTER);
        shell.request(&json!({ "wait": 2 }));
        let start = Instant::now();
        shell.keys(CTRL_C);
        let screen = shell.until("interrupted");
        shell.prompt("sample> ");
        assert!(start.elapsed() < Duration::from_secs(10), "{screen}");
        let sum = shell.line("SELECT 1 + 1 AS two;", "sample> ");
        assert!(sum.contains("two") && sum.contains('2'), "{sum}");
    }
    // An interrupted query does not block the end of the process.
    shell.keys(CTRL_D);
    assert_eq!(shell.code(), json!(0));
}

#[test]
#[ignore = "full tier"]
fn commits_of_other_processes_are_visible_and_session_objects_remain() {
    let place = lab();
    let Some(mut shell) = Terminal::start(&place, &["--store", "lab"], &[]) else {
        return;
    };
    shell.prompt("lab@1> ");
    for statement in [
        "CREATE VIEW mine AS SELECT line, 'seen' AS word FROM records;",
        "CREATE OR REPLACE VIEW yours AS SELECT count(*) AS n FROM mine;",
        "CREATE TABLE kept AS SELECT count(*) AS before FROM records;",
        "SET datafusion.execution.batch_size = 4321;",
    ] {
        shell.line(statement, "lab@1> ");
    }
    place.write("q/b.json", log(10, 4));
    place.ok(&["ingest", "-q", "--store", "lab", "q"]);
    let sql = "SELECT n, before, 'n=' || n AS told FROM yours, kept;";
    shell.keys(CTRL_L).prompt("lab@1> ");
    shell.keys(sql).keys(ENTER);
    let screen = shell.prompt("lab@2> ");
    assert!(
        screen.contains("n=7"),
        "the view shows the commit:\n{screen}"
    );
    let stored = shell.line("SELECT 'kept=' || before AS told FROM kept;", "lab@2> ");
    assert!(stored.contains("kept=3"), "{stored}");
    let set = shell.line("SHOW datafusion.execution.batch_size;", "lab@2> ");
    assert!(set.contains("4321"), "{set}");
    shell.line("DROP VIEW yours;", "lab@2> ");
    place.write("r/c.json", log(20, 1));
    place.ok(&["ingest", "-q", "--store", "lab", "r"]);
    shell.keys(CTRL_L).prompt("lab@2> ");
    shell
        .keys("SELECT 'has=' || count(*) AS told FROM mine;")
        .keys(ENTER);
    let screen = shell.prompt("lab@3> ");
    assert!(screen.contains("has=8"), "{screen}");
    let dropped = shell.line("SELECT * FROM yours;", "lab@3> ");
    assert!(dropped.contains("error: "), "{dropped}");
}

#[test]
fn tab_completes_matching_names() {
    let place = lab();
    place.write("mine.csv", "a,b\n1,2\n");
    let Some(mut shell) = Terminal::start(&place, &["--store", "lab"], &[]) else {
        return;
    };
    shell.prompt("lab@1> ");
    for (typed, wanted) in [
        ("SELECT * FROM recor", "SELECT * FROM records"),
        ("SELECT * FROM 'mi", "SELECT * FROM 'mine.csv'"),
        ("select r.runtime_n", "select r.runtime_n"),
        (".que", ".queries "),
        (".mode verti", ".mode vertical"),
        ("SELECT geo", "SELECT geo"),
    ] {
        shell.keys(typed).until(typed);
        shell.keys(TAB);
        let screen = shell.until(wanted.trim_end());
        assert!(screen.contains(wanted.trim_end()), "{screen}");
        shell
            .keys(ESCAPE)
            .keys(CTRL_C)
            .keys(CTRL_L)
            .prompt("lab@1> ");
    }
    // Columns of the table in FROM come first, with their descriptions.
    let typed = "SELECT runtime FROM records";
    shell.keys(typed).until(typed);
    shell.keys(&"\u{1b}[D".repeat(" FROM records".len()));
    shell.keys(TAB);
    shell.until("SELECT runtime_ns FROM records");
    shell.keys(CTRL_C).keys(CTRL_L).prompt("lab@1> ");
    shell
        .keys("SELECT e FROM records")
        .keys(&"\u{1b}[D".repeat(" FROM records".len()));
    shell.keys(TAB);
    let menu = shell.until("error_message");
    assert!(
        menu.contains("Utf8") || menu.contains("Int"),
        "types are listed:\n{menu}"
    );
}

#[test]
#[ignore = "full tier"]
fn history_survives_a_restart_and_is_private() {
    let place = lab();
    let environment = [("XDG_STATE_HOME", "own")];
    for round in 0..2 {
        let Some(mut shell) = Terminal::start(&place, &["--store", "lab"], &environment) else {
            return;
        };
        shell.prompt("lab@1> ");
        if round == 0 {
            shell.keys("SELECT 'first'").keys(ENTER);
            shell.prompt("    -> ");
            shell.keys("AS told;").keys(ENTER);
            shell.prompt("lab@1> ");
            shell.line(" SELECT 'not this one' AS told;", "lab@1> ");
        } else {
            shell.keys(UP);
            let screen = shell.until("AS told;");
            assert!(screen.contains("SELECT 'first'"), "{screen}");
            assert!(!screen.contains("not this one"), "{screen}");
        }
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = place.path().join("own/tsql");
        assert!(folder.join("shell-history").is_file());
        assert_eq!(
            folder.metadata().unwrap().permissions().mode() & 0o777,
            0o700
        );
    }
}

#[test]
fn the_shell_ends_with_its_terminal_even_if_hangup_is_ignored() {
    let place = lab();
    let ignores = [("IGNORES_HANGUP", "1")];
    let Some(mut shell) = Terminal::start(&place, &["--store", "lab"], &ignores) else {
        return;
    };
    shell.prompt("lab@1> ");
    let process = shell.request(&json!({}))["process"].as_u64().unwrap();
    drop(shell);
    let start = Instant::now();
    while std::path::Path::new(&format!("/proc/{process}")).exists() {
        assert!(start.elapsed() < Duration::from_secs(SECONDS), "it goes on");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
#[ignore = "full tier"]
fn dot_commands_match_their_help() {
    let place = lab();
    place.write(
        "asked.sql",
        ".mode csv\nSELECT 'from a file' AS told,\n 1 AS n;\n",
    );
    let Some(mut shell) = Terminal::start(&place, &["--store", "lab"], &[]) else {
        return;
    };
    let prompt = "lab@1> ";
    shell.prompt(prompt);
    for (line, wanted) in [
        (".help", &[".tables", ".maxrows", "\\q"][..]),
        (".help once", &["Write the next result to a file"]),
        (".tables rec%", &["records", "(1 row)"]),
        (".schema sources", &["tsql_version", "(26 rows)"]),
        ("\\d", &["rows)"]),
        ("\\d source_segments", &["tsql_version", "(32 rows"]),
        (".timer on", &[]),
        ("SELECT 7 AS seven;", &["seven", "1 row in 0."]),
        (".timer", &["on"]),
        (".timer off", &[]),
        (".explain", &["plan"]),
        (".explain SELECT 8", &["plan", "Int64(8)"]),
        (".mode", &["table"]),
        (".mode jsonlines", &[]),
        ("SELECT 'as text' AS told;", &[r#"{"told":"as text"}"#]),
        (".read asked.sql", &["told,n", "from a file,1"]),
        (".mode", &["csv"]),
        (
            ".mode sideways",
            &["error: no format `sideways`", "expected one of table"],
        ),
        (".maxrows", &["40"]),
        (".maxrows 5", &[]),
        (".maxrows", &["5"]),
        (".maxrows all", &[]),
        (".queries", &["widest-tasks"]),
        (".queries top-k-per-graph k=1", &["times_slower_than_best"]),
        (".queries platform-sumary", &["error: ", "platform-summary"]),
        (
            ".tabels",
            &[
                "error: no command `.tabels`",
                "hint: did you mean `.tables`?",
            ],
        ),
        (".once one.parquet", &[]),
        ("SELECT 1 AS n;", &[]),
        (".output all.csv", &[]),
        ("SELECT 1 AS n;", &[]),
        ("SELECT 2 AS n;", &[]),
        (".output", &[]),
        ("SELECT 'back' AS told;", &["told", "back"]),
        (".read nothing.sql", &["error: ", "nothing.sql"]),
    ] {
        let screen = shell.line(line, prompt);
        for text in wanted {
            assert!(screen.contains(text), "{line}: no {text:?}\n{screen}");
        }
    }
    assert_eq!(place.read("all.csv"), b"n\n1\nn\n2\n");
    assert_eq!(place.rows("SELECT * FROM 'one.parquet'"), ["1"]);
    shell.keys(".quit").keys(ENTER);
    assert_eq!(shell.code(), json!(0));
}

#[test]
fn colors_are_used_only_if_enabled_and_supported() {
    let place = lab();
    for (environment, is_colored) in [
        (vec![], true),
        (vec![("NO_COLOR", "1")], false),
        (vec![("TERM", "dumb")], false),
    ] {
        let args = ["--store", "lab", "--at", "2100-01-01"];
        let Some(mut shell) = Terminal::start(&place, &args, &environment) else {
            return;
        };
        shell.until("lab@2100-01-01T00:00:00Z> ");
        shell.keys("SELECT median(1), 'text' FROM records");
        shell.until("FROM records");
        let colors = shell.request(&json!({}))["colors"].clone();
        let count = colors.as_array().unwrap().len();
        assert_eq!(count >= 4, is_colored, "{environment:?}: {colors}");
        assert_eq!(count > 0, is_colored, "{environment:?}: {colors}");
    }
}

#[test]
fn a_terminal_confirms_the_deletion_of_unlisted_files() {
    let place = lab();
    place.write(
        "lab/graphs/part-0123456789abcdef0123456789abcde1.parquet",
        "",
    );
    let file = place
        .path()
        .join("lab/graphs/part-0123456789abcdef0123456789abcde1.parquet");
    let args = ["--store", "lab", "vacuum", "--force-unlisted"];
    for (answer, is_deleted) in [("n", false), ("y", true)] {
        let Some(mut terminal) = Terminal::start(&place, &args, &[]) else {
            return;
        };
        terminal.until("[y/N]");
        terminal.keys(answer).keys(ENTER);
        assert_eq!(terminal.code(), json!(0));
        assert_eq!(file.exists(), !is_deleted, "{answer}");
    }
}

#[test]
fn the_shell_reports_a_missing_store_and_finds_a_new_one() {
    let place = Place::new();
    let Some(mut shell) = Terminal::start(&place, &[], &[]) else {
        return;
    };
    let prompt = "no store> ";
    shell.prompt(prompt);
    let screen = shell.line("SELECT 6 * 7 AS x;", prompt);
    assert!(screen.contains("42"), "{screen}");
    let none = shell.line("SELECT count(*) FROM records;", prompt);
    assert!(none.contains("error: there is no store here"), "{none}");
    place.write("p/a.json", log(1, 3));
    place.ok(&["ingest", "-q", "p"]);
    shell.keys(CTRL_L).prompt(prompt);
    shell
        .keys("SELECT 'n=' || count(*) AS told FROM records;")
        .keys(ENTER);
    let screen = shell.until("(1 row)");
    assert!(screen.contains("n=3"), "{screen}");
}

#[test]
#[cfg(unix)]
fn the_terminal_is_restored_when_the_shell_is_terminated() {
    let place = lab();
    let Some(mut shell) = Terminal::start(&place, &["--store", "lab"], &[]) else {
        return;
    };
    shell.prompt("lab@1> ");
    let typing = shell.request(&json!({}));
    assert_eq!(
        typing["echoes"],
        json!(false),
        "the editor echoes by itself"
    );
    let id = typing["process"].to_string();
    let sent = Command::new("kill").arg(id).status().unwrap();
    assert!(sent.success());
    assert_eq!(shell.code(), json!(143));
    assert_eq!(shell.request(&json!({}))["echoes"], json!(true));
}
