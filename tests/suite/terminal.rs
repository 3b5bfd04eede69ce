//! The shell in a terminal of 80 columns and 24 lines: what is typed, and what the screen shows.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::engines::python;
use crate::support::{Place, log};

/// Time in which anything comes on a busy machine.
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
    fn begun(place: &Place, args: &[&str], environment: &[(&str, &str)]) -> Option<Self> {
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

    fn ask(&mut self, asked: &Value) -> Value {
        writeln!(self.to, "{asked}").unwrap();
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn screen(&mut self) -> String {
        shown(&self.ask(&json!({})))
    }

    fn keys(&mut self, keys: &str) -> &mut Self {
        self.ask(&json!({ "keys": keys }));
        self
    }

    /// Waits until the screen shows a text; the screen.
    fn until(&mut self, text: &str) -> String {
        let answer = self.ask(&json!({ "until": text, "seconds": SECONDS }));
        assert_eq!(
            answer["came"],
            json!(true),
            "no {text:?}:\n{}",
            shown(&answer)
        );
        shown(&answer)
    }

    /// Waits until the cursor stands behind this prompt; the screen.
    fn prompt(&mut self, prompt: &str) -> String {
        let answer = self.ask(&json!({ "prompt": prompt, "seconds": SECONDS }));
        assert_eq!(
            answer["came"],
            json!(true),
            "no {prompt:?}:\n{}",
            shown(&answer)
        );
        shown(&answer)
    }

    /// Types a line on a clear screen, and waits for the prompt; the screen.
    fn line(&mut self, line: &str, prompt: &str) -> String {
        self.keys(CTRL_L).prompt(prompt);
        // Until it is shown, the prompt of before is there.
        let typed = self.ask(&json!({ "keys": line, "typed": line, "seconds": SECONDS }));
        assert_eq!(typed["came"], json!(true), "{line}:\n{}", shown(&typed));
        self.keys(ENTER).prompt(prompt)
    }

    /// The exit code, when it has ended.
    fn code(&mut self) -> Value {
        let answer = self.ask(&json!({ "end": SECONDS }));
        assert_eq!(
            answer["came"],
            json!(true),
            "it goes on:\n{}",
            shown(&answer)
        );
        answer["code"].clone()
    }
}

fn shown(answer: &Value) -> String {
    let lines = answer["screen"].as_array().unwrap().iter();
    let lines: Vec<&str> = lines.map(|line| line.as_str().unwrap()).collect();
    lines.join("\n").trim_end().to_owned()
}

/// A store `lab` with three records.
fn lab() -> Place {
    let place = Place::new();
    place.write("p/a.json", log(1, 3));
    place.ok(&["ingest", "-q", "--store", "lab", "p"]);
    place
}

#[test]
fn statements_span_lines_and_errors_do_not_end_the_shell() {
    let place = lab();
    let Some(mut shell) = Terminal::begun(&place, &["--store", "lab"], &[]) else {
        return;
    };
    let greeting = shell.prompt("lab@1> ");
    assert!(greeting.contains("`.help` lists commands"), "{greeting}");
    shell.keys("SELECT count(*) AS many,").keys(ENTER);
    shell.keys("  'a;b' AS text -- not yet;").keys(ENTER);
    let typed = shell.screen();
    assert!(typed.contains("    -> "), "lines are aligned:\n{typed}");
    shell.keys("FROM records;").keys(ENTER);
    let answer = shell.until("(1 row)");
    assert!(
        answer.contains("many") && answer.contains("a;b"),
        "{answer}"
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
fn a_long_question_ends_at_ctrl_c_and_the_shell_goes_on() {
    let place = Place::new();
    let Some(mut shell) = Terminal::begun(&place, &["--sample"], &[]) else {
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
        shell.ask(&json!({ "wait": 2 }));
        let begun = Instant::now();
        shell.keys(CTRL_C);
        let screen = shell.until("interrupted");
        shell.prompt("sample> ");
        assert!(begun.elapsed() < Duration::from_secs(10), "{screen}");
        let answer = shell.line("SELECT 1 + 1 AS two;", "sample> ");
        assert!(answer.contains("two") && answer.contains('2'), "{answer}");
    }
    // What was interrupted does not keep the process.
    shell.keys(CTRL_D);
    assert_eq!(shell.code(), json!(0));
}

#[test]
fn what_another_process_commits_shows_and_what_was_made_stays() {
    let place = lab();
    let Some(mut shell) = Terminal::begun(&place, &["--store", "lab"], &[]) else {
        return;
    };
    shell.prompt("lab@1> ");
    for made in [
        "CREATE VIEW mine AS SELECT line, 'seen' AS word FROM records;",
        "CREATE OR REPLACE VIEW yours AS SELECT count(*) AS n FROM mine;",
        "CREATE TABLE kept AS SELECT count(*) AS before FROM records;",
        "SET datafusion.execution.batch_size = 4321;",
    ] {
        shell.line(made, "lab@1> ");
    }
    place.write("q/b.json", log(10, 4));
    place.ok(&["ingest", "-q", "--store", "lab", "q"]);
    let sql = "SELECT n, before, 'n=' || n AS told FROM yours, kept;";
    shell.keys(CTRL_L).prompt("lab@1> ");
    shell.keys(sql).keys(ENTER);
    let answer = shell.prompt("lab@2> ");
    assert!(
        answer.contains("n=7"),
        "the view shows the commit:\n{answer}"
    );
    let kept = shell.line("SELECT 'kept=' || before AS told FROM kept;", "lab@2> ");
    assert!(kept.contains("kept=3"), "{kept}");
    let set = shell.line("SHOW datafusion.execution.batch_size;", "lab@2> ");
    assert!(set.contains("4321"), "{set}");
    shell.line("DROP VIEW yours;", "lab@2> ");
    place.write("r/c.json", log(20, 1));
    place.ok(&["ingest", "-q", "--store", "lab", "r"]);
    shell.keys(CTRL_L).prompt("lab@2> ");
    shell
        .keys("SELECT 'has=' || count(*) AS told FROM mine;")
        .keys(ENTER);
    let answer = shell.prompt("lab@3> ");
    assert!(answer.contains("has=8"), "{answer}");
    let gone = shell.line("SELECT * FROM yours;", "lab@3> ");
    assert!(gone.contains("error: "), "{gone}");
}

#[test]
fn tab_completes_names_that_fit() {
    let place = lab();
    place.write("mine.csv", "a,b\n1,2\n");
    let Some(mut shell) = Terminal::begun(&place, &["--store", "lab"], &[]) else {
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
    // Columns of the table that is named later come first, with what they mean.
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
        "types are told:\n{menu}"
    );
}

#[test]
fn what_was_typed_is_there_after_a_restart_and_for_nobody_else() {
    let place = lab();
    let environment = [("XDG_STATE_HOME", "own")];
    for round in 0..2 {
        let Some(mut shell) = Terminal::begun(&place, &["--store", "lab"], &environment) else {
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
fn the_shell_ends_with_its_terminal_also_where_that_is_ignored() {
    let place = lab();
    let ignores = [("IGNORES_HANGUP", "1")];
    let Some(mut shell) = Terminal::begun(&place, &["--store", "lab"], &ignores) else {
        return;
    };
    shell.prompt("lab@1> ");
    let process = shell.ask(&json!({}))["process"].as_u64().unwrap();
    drop(shell);
    let begun = Instant::now();
    while std::path::Path::new(&format!("/proc/{process}")).exists() {
        assert!(begun.elapsed() < Duration::from_secs(SECONDS), "it goes on");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn commands_do_what_their_help_says() {
    let place = lab();
    place.write(
        "asked.sql",
        ".mode csv\nSELECT 'from a file' AS told,\n 1 AS n;\n",
    );
    let Some(mut shell) = Terminal::begun(&place, &["--store", "lab"], &[]) else {
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
            &["error: no format `sideways`", "hint: there are table"],
        ),
        (".maxrows", &["40"]),
        (".maxrows 5", &[]),
        (".maxrows", &["5"]),
        (".maxrows all", &[]),
        (".queries", &["widest-tasks"]),
        (".queries top-k-per-graph k=1", &["config_id"]),
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
fn colours_are_shown_only_where_they_are_wanted_and_understood() {
    let place = lab();
    for (environment, is_coloured) in [
        (vec![], true),
        (vec![("NO_COLOR", "1")], false),
        (vec![("TERM", "dumb")], false),
    ] {
        let args = ["--store", "lab", "--at", "2100-01-01"];
        let Some(mut shell) = Terminal::begun(&place, &args, &environment) else {
            return;
        };
        shell.until("lab@2100-01-01T00:00:00Z> ");
        shell.keys("SELECT median(1), 'text' FROM records");
        shell.until("FROM records");
        let colours = shell.ask(&json!({}))["colours"].clone();
        let count = colours.as_array().unwrap().len();
        assert_eq!(count >= 4, is_coloured, "{environment:?}: {colours}");
        assert_eq!(count > 0, is_coloured, "{environment:?}: {colours}");
    }
}

#[test]
fn without_a_store_the_shell_says_so_and_finds_one_that_is_made() {
    let place = Place::new();
    let Some(mut shell) = Terminal::begun(&place, &[], &[]) else {
        return;
    };
    let prompt = "no store> ";
    shell.prompt(prompt);
    let answer = shell.line("SELECT 6 * 7 AS x;", prompt);
    assert!(answer.contains("42"), "{answer}");
    let none = shell.line("SELECT count(*) FROM records;", prompt);
    assert!(none.contains("error: there is no store here"), "{none}");
    place.write("p/a.json", log(1, 3));
    place.ok(&["ingest", "-q", "p"]);
    shell.keys(CTRL_L).prompt(prompt);
    shell
        .keys("SELECT 'n=' || count(*) AS told FROM records;")
        .keys(ENTER);
    let answer = shell.until("(1 row)");
    assert!(answer.contains("n=3"), "{answer}");
}

#[test]
#[cfg(unix)]
fn a_terminal_is_in_order_when_the_shell_is_asked_to_end() {
    let place = lab();
    let Some(mut shell) = Terminal::begun(&place, &["--store", "lab"], &[]) else {
        return;
    };
    shell.prompt("lab@1> ");
    let typing = shell.ask(&json!({}));
    assert_eq!(
        typing["echoes"],
        json!(false),
        "the editor echoes by itself"
    );
    let id = typing["process"].to_string();
    let sent = Command::new("kill").arg(id).status().unwrap();
    assert!(sent.success());
    assert_eq!(shell.code(), json!(143));
    assert_eq!(shell.ask(&json!({}))["echoes"], json!(true));
}
