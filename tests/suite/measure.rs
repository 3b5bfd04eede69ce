//! `tsql measure`: records from manifests and templates, repeated, interrupted and killed runs.

use std::collections::HashSet;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::support::{Place, files_below, has_extension, wanted};

/// A secret in the environment of every command that measures.
pub(crate) const PLANTED: &str = "planted-secret";

/// Returns a command that finds compilers. Its journals and builds are in the folder of the place.
pub(crate) fn measuring(place: &Place, args: &[&str]) -> Command {
    let mut command = place.command(args);
    let scratch = place.path().join("scratch");
    std::fs::create_dir_all(&scratch).unwrap();
    command
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("TSQL_STATE", place.path().join("state"))
        // Kernels and compilers must not see these variables.
        .env("AWS_SECRET_ACCESS_KEY", PLANTED)
        .env("TMPDIR", scratch);
    command
}

/// Writes a manifest of a fast kernel with 40 configurations.
fn quick(place: &Place) {
    place.write(
        "add.c",
        "void add(const int *a, int *b) { for (int i = 0; i < N; i++) b[i] = a[i] + K * L - K * L; }\n",
    );
    place.write(
        "add.toml",
        r#"
[program]
name = "add"
language = "c"
source = "add.c"
entry = "add"

[[workload]]
params = { N = [64, 128] }
flops = "N"

[[arg]]
name = "a"
kind = "buffer"
dtype = "i32"
shape = ["N"]
role = "in"
init = "uniform(-9, 9)"

[[arg]]
name = "b"
kind = "buffer"
dtype = "i32"
shape = ["N"]
role = "out"

[space]
K = { range = [1, 5, 1] }
L = { range = [1, 8, 1] }
constraints = ["K * L != 6"]

[measure]
repeat = 2
max_repeat = 4
min_repeat_ms = 0.02
max_time_s = 0.05
"#,
    );
}

fn ran(place: &Place, args: &[&str]) -> (Option<i32>, String, String) {
    let output = measuring(place, args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

const COUNTED: &str =
    "SELECT count(*), count(DISTINCT concat(graph_id, ' ', config_id)) FROM records";

#[test]
#[ignore = "full tier"]
fn a_manifest_becomes_records_once() {
    let place = Place::new();
    quick(&place);
    let run = [
        "measure",
        "run",
        "add.toml",
        "--platform",
        "here",
        "--skip-existing",
        "--trials",
    ];
    let with = |trials| [&run[..], &[trials]].concat();
    let (code, _, stderr) = ran(&place, &with("10"));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(
        stderr.contains("10 trials, 0 failed, 10 configurations new"),
        "{stderr}"
    );
    assert!(
        stderr.contains("best of [\"add\", {\"N\": 64}]: "),
        "{stderr}"
    );
    assert_eq!(place.rows(COUNTED), ["10,10"]);
    // 2 workloads of 40 configurations. The constraint excludes 3 of each.
    let (code, _, stderr) = ran(&place, &with("1000"));
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(place.rows(COUNTED), ["74,74"]);
    let (_, _, stderr) = ran(&place, &with("1000"));
    assert!(stderr.contains("0 trials"), "{stderr}");
    // Another source text is another program.
    let manifest = String::from_utf8(place.read("add.toml")).unwrap();
    place.write("add.toml", manifest.replace("repeat = 2", "repeat = 3"));
    ran(&place, &with("4"));
    assert_eq!(place.rows(COUNTED), ["78,74"]);
    let sql = "SELECT DISTINCT dataset, platform, workload_name, target, status, runtime_ns > 0, cpu_ns IS NOT NULL, \
        repeat_count > 0, machine LIKE '%architecture%', settings LIKE '%\"repeat\": %', program LIKE '%add.c%' \
        FROM records JOIN graphs USING (graph_id) JOIN environments USING (environment_id)";
    let rows = place.rows(&sql.replace("DISTINCT dataset", "DISTINCT records.dataset"));
    assert_eq!(
        rows,
        ["measured,here,add,c,ok,true,true,true,true,true,true"]
    );
    assert_eq!(place.rows("SELECT sum(verbatim_count) FROM sources"), ["0"]);
    place.ok(&["check"]);
}

#[test]
#[ignore = "full tier"]
fn records_are_measured_again_and_compared() {
    let place = Place::new();
    quick(&place);
    let (code, _, stderr) = ran(&place, &["measure", "run", "add.toml", "--trials", "6"]);
    assert_eq!(code, Some(0), "{stderr}");
    // The store contains everything that a repetition needs.
    std::fs::remove_file(place.path().join("add.toml")).unwrap();
    std::fs::remove_file(place.path().join("add.c")).unwrap();
    let again = [
        "measure",
        "repeat",
        "--where",
        "error_no = 0",
        "--limit",
        "5",
        "--change",
        "900%",
        "--trust",
    ];
    let (code, stdout, stderr) = ran(&place, &again);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(lines.len(), 6, "{stdout}");
    assert!(lines[0].starts_with("verdict,change"));
    assert!(lines[1].contains(r#""[""add"", {""N"": "#), "{stdout}");
    assert!(
        stderr.contains("5 records measured again, 0 differ"),
        "{stderr}"
    );
    assert_eq!(
        place.rows("SELECT count(*), count(DISTINCT environment_id) FROM records"),
        ["11,1"]
    );
    let (code, stdout, stderr) = ran(&place, &[&again[..], &["--json"]].concat());
    assert_eq!(code, Some(0), "{stderr}");
    let events: Vec<Value> = stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let compared: Vec<&Value> = events
        .iter()
        .filter(|event| event["event"] == "compared")
        .collect();
    assert_eq!(compared.len(), 5, "{stdout}");
    assert!(
        compared
            .iter()
            .all(|event| event["old_ns"].as_f64() > Some(0.0) && event["p"].is_number()),
        "{stdout}"
    );
    let nothing = ran(&place, &["measure", "repeat", "--where", "error_no = 7"]);
    assert_eq!(nothing.0, Some(2), "{}", nothing.2);
    assert!(
        nothing
            .2
            .contains("no selected record can be measured again"),
        "{}",
        nothing.2
    );
}

#[test]
fn an_interrupted_run_stores_its_measurements() {
    let place = Place::new();
    quick(&place);
    let mut child = measuring(
        &place,
        &["measure", "run", "add.toml", "--search", "grid", "--json"],
    )
    .stdout(Stdio::piped())
    .stderr(Stdio::null())
    .spawn()
    .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut reported = 0;
    while reported < 5 {
        reported += usize::from(lines.next().unwrap().unwrap().contains("\"measured\""));
    }
    let killed = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(killed.success());
    reported += lines
        .map_while(Result::ok)
        .filter(|line| line.contains("\"measured\""))
        .count();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(reported < 74, "it was stopped");
    assert_eq!(
        place.rows("SELECT count(*) FROM records"),
        [reported.to_string()]
    );
    let journals = std::fs::read_dir(place.path().join("state/journals")).unwrap();
    assert_eq!(journals.count(), 0);
}

/// Reported measurements are in the store once after kills at any moment. `TSQL_TEST_KILLS` runs more kills after more
/// measurements.
#[test]
#[ignore = "full tier"]
fn killed_runs_lose_no_finished_measurement() {
    let rounds = usize::try_from(wanted("TSQL_TEST_KILLS", 4)).unwrap();
    let most_events = if rounds > 6 { 80 } else { 14 };
    let place = Place::new();
    quick(&place);
    let manifest = String::from_utf8(place.read("add.toml")).unwrap();
    place.write("add.toml", manifest.replace("[1, 8, 1]", "[1, 800, 1]"));
    place.ok(&["init", "--store", ".tsql"]);
    let mut reported = HashSet::new();
    let mut kills = 0;
    let args = [
        "measure",
        "run",
        "add.toml",
        "--search",
        "random",
        "--json",
        "--skip-existing",
        "--platform",
        "here",
        "--commit-every",
        "100ms",
    ];
    for round in 0..rounds {
        let seed = usize::to_string(&round);
        let mut child = measuring(&place, &[&args[..], &["--seed", &seed]].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // A random moment between the start and the end of the measurements, also between two events.
        let events = fastrand::usize(1..most_events);
        for line in lines.by_ref().take(events).map_while(Result::ok) {
            remember(&line, &mut reported);
        }
        std::thread::sleep(Duration::from_millis(fastrand::u64(0..60)));
        kills += usize::from(child.kill().is_ok());
        for line in lines.map_while(Result::ok) {
            remember(&line, &mut reported);
        }
        child.wait().unwrap();
    }
    assert_eq!(kills, rounds);
    let (code, _, stderr) = ran(&place, &["measure", "resume"]);
    assert_eq!(code, Some(0), "{stderr}");
    let rows = place.rows(COUNTED);
    let counts: Vec<usize> = rows[0]
        .split(',')
        .map(|count| count.parse().unwrap())
        .collect();
    let [records, distinct] = counts[..] else {
        panic!("{rows:?}")
    };
    // Each kill may leave one more finished measurement that was not reported.
    assert!(
        distinct >= reported.len() && distinct <= reported.len() + kills,
        "{distinct} of {}",
        reported.len()
    );
    assert_eq!(records, distinct, "none is there twice");
    let stored: HashSet<String> = place
        .rows("SELECT workload_key || steps FROM records JOIN graphs USING (graph_id) JOIN configurations USING (graph_id, config_id)")
        .into_iter()
        .map(|row| row.trim_matches('"').replace("\"\"", "\""))
        .collect();
    assert!(
        reported.is_subset(&stored),
        "{:?}",
        reported.difference(&stored)
    );
    eprintln!(
        "{kills} kills, {} measurements reported, {records} stored",
        reported.len()
    );
    place.ok(&["check"]);
}

fn remember(line: &str, reported: &mut HashSet<String>) {
    let Ok(event) = serde_json::from_str::<Value>(line) else {
        return;
    };
    if event["event"] == "measured" {
        let text = |key: &str| event[key].as_str().unwrap().to_owned();
        reported.insert(text("workload_key") + &text("steps"));
    }
}

#[test]
fn records_of_another_program_are_stored_as_they_arrive() {
    let place = Place::new();
    let script = r#"
echo starting
echo '{"workload_key": ["mm", 8], "steps": {"t": 1}, "repeats_ns": [5, 7]}'
echo '{"no": "record"}'
echo '{"workload_key": ["mm", 8], "steps": {"t": 2}, "error_no": 4}'
exit 3
"#;
    place.write("tune.sh", script);
    let (code, _, stderr) = ran(
        &place,
        &["measure", "exec", "--platform", "p", "--", "sh", "tune.sh"],
    );
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("starting\n"), "{stderr}");
    assert!(stderr.contains(":2: unknown key `no`"), "{stderr}");
    assert!(
        stderr.contains("the command ended with exit status: 3; its records are stored"),
        "{stderr}"
    );
    assert_eq!(
        place.rows("SELECT status, runtime_ns FROM records ORDER BY line"),
        ["ok,6.0", "failed,"]
    );
    let log = crate::support::log(1, 4);
    place.write("lines.json", &log);
    let script = "echo old >> tuned.json; while read -r line; do echo \"$line\" >> tuned.json; done < lines.json";
    place.write("tune.sh", script);
    place.write("tuned.json", "{\"i\": older\n");
    let args = [
        "measure",
        "exec",
        "--platform",
        "q",
        "--input-format",
        "tenset",
        "--log",
        "tuned.json",
        "--",
        "sh",
        "tune.sh",
    ];
    let (code, _, stderr) = ran(&place, &args);
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(
        place.rows("SELECT count(*) FROM records WHERE platform = 'q'"),
        ["4"]
    );
    let (code, _, stderr) = ran(
        &place,
        &[
            "measure",
            "exec",
            "--platform",
            "p",
            "--",
            "no-such-program",
        ],
    );
    assert_eq!(code, Some(2));
    assert!(stderr.contains("no-such-program: No such file"), "{stderr}");
}

#[test]
#[ignore = "full tier"]
fn small_files_of_many_commits_are_merged() {
    let place = Place::new();
    let script = "for i in $(seq 70); do echo '{\"workload_key\": \"k\", \"steps\": ['$i'], \"runtime_ns\": 5}'; done";
    place.write("tune.sh", script);
    let args = [
        "measure",
        "exec",
        "--platform",
        "p",
        "--commit-records",
        "1",
        "--",
        "sh",
        "tune.sh",
    ];
    let (code, _, stderr) = ran(&place, &args);
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(place.rows(COUNTED), ["70,70"]);
    assert!(place.ok(&["history"]).stdout.contains("OPTIMIZE"));
    place.ok(&["check"]);
}

#[test]
fn templates_are_shown_and_written() {
    let place = Place::new();
    let (_, listed, _) = ran(&place, &["measure", "template", "list"]);
    assert_eq!(listed.lines().count(), 16, "{listed}");
    let (_, shown, _) = ran(&place, &["measure", "template", "show", "softmax"]);
    assert!(shown.contains("name = \"softmax_f32\""), "{shown}");
    let (code, _, stderr) = ran(
        &place,
        &["measure", "template", "init", "transpose", "mine"],
    );
    assert_eq!(code, Some(0), "{stderr}");
    let args = ["measure", "run", "mine/transpose.toml", "--dry-run"];
    let (code, _, stderr) = ran(&place, &args);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(
        stderr.contains("at most 100 trials, the first ones:"),
        "{stderr}"
    );
    let (code, _, stderr) = ran(&place, &["measure", "run", "matmull"]);
    assert_eq!(code, Some(2));
    assert!(
        stderr.contains("no template named `matmull`\nhint: did you mean `matmul`?"),
        "{stderr}"
    );
}

#[test]
fn the_machine_is_described_without_names() {
    let place = Place::new();
    let (code, devices, stderr) = ran(&place, &["measure", "devices"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(devices.contains("cpu      "), "{devices}");
    let (code, doctor, stderr) = ran(&place, &["measure", "doctor"]);
    assert!(matches!(code, Some(0 | 1)), "{stderr}");
    assert!(doctor.contains("compiler"), "{doctor}");
    let (_, machine, _) = ran(&place, &["measure", "env"]);
    let machine: Value = serde_json::from_str(&machine).unwrap();
    assert!(
        machine["processor"]["architecture"].is_string(),
        "{machine}"
    );
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    assert!(
        !machine.to_string().contains(&format!("{:?}", host.trim())),
        "no host name"
    );
    // Without a compiler the run fails, and nothing is stored.
    quick(&place);
    let output = measuring(&place, &["measure", "run", "add.toml"])
        .env("PATH", place.path())
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("hint: "), "{stderr}");
    assert!(!place.path().join(".tsql").exists());
}

/// Returns the seed of a run and the configurations that it measured.
fn seed_and_steps(place: &Place, options: &[&str]) -> (Value, Vec<String>) {
    let args = ["measure", "run", "add.toml", "--json", "--trials", "6"];
    let (code, stdout, stderr) = ran(place, &[&args[..], options].concat());
    assert_eq!(code, Some(0), "{stderr}");
    let mut seed = Value::Null;
    let mut steps = Vec::new();
    for line in stdout.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        if event["event"] == "started" {
            seed = event["seed"].clone();
        }
        if event["event"] == "measured" {
            steps.push(event["steps"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(steps.len(), 6);
    (seed, steps)
}

#[test]
#[ignore = "full tier"]
fn runs_explore_and_a_seed_repeats_them() {
    let place = Place::new();
    quick(&place);
    let random = ["--search", "random"];
    let (seed, first) = seed_and_steps(&place, &random);
    let others: Vec<Vec<String>> = (0..3).map(|_| seed_and_steps(&place, &random).1).collect();
    assert!(others.iter().any(|other| *other != first), "{first:?}");
    let seed = seed.as_u64().unwrap().to_string();
    let again = seed_and_steps(&place, &[&random[..], &["--seed", &seed]].concat());
    assert_eq!(again.1, first);
    assert_eq!(again.0.to_string(), seed);
    // The text output contains the seed, too. A new seed is no new environment.
    let (_, _, stderr) = ran(&place, &["measure", "run", "add.toml", "--trials", "1"]);
    assert!(
        stderr.contains("seed ") && stderr.contains("`--seed "),
        "{stderr}"
    );
    assert_eq!(
        place.rows("SELECT count(DISTINCT environment_id) FROM records"),
        ["1"]
    );
}

#[test]
fn a_run_with_only_failures_exits_with_code_1() {
    let place = Place::new();
    quick(&place);
    let fine = String::from_utf8(place.read("add.c")).unwrap();
    let args = [
        "measure", "run", "add.toml", "--search", "grid", "--trials", "4",
    ];
    place.write("add.c", "#error never\n");
    let (code, _, stderr) = ran(&place, &args);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("4 trials, 4 failed"), "{stderr}");
    // A search may contain failures.
    place.write(
        "add.c",
        format!("#if K == 1 && L == 1\n#error now\n#endif\n{fine}"),
    );
    let (code, _, stderr) = ran(&place, &args);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("4 trials, 2 failed"), "{stderr}");
}

#[test]
#[ignore = "full tier"]
fn the_same_kernel_with_another_build_is_another_configuration() {
    let place = Place::new();
    quick(&place);
    let manifest = String::from_utf8(place.read("add.toml")).unwrap();
    let args = [
        "measure", "run", "add.toml", "--search", "grid", "--trials", "2",
    ];
    for flag in ["-O0", "-O2"] {
        let flags = format!("entry = \"add\"\nflags = [\"{flag}\"]");
        place.write("add.toml", manifest.replace("entry = \"add\"", &flags));
        let (code, _, stderr) = ran(&place, &args);
        assert_eq!(code, Some(0), "{stderr}");
    }
    assert_eq!(
        place.rows("SELECT count(*), count(DISTINCT config_id), count(DISTINCT steps), count(DISTINCT program), \
            count(DISTINCT build) FROM configurations"),
        ["4,4,1,1,2"]
    );
    let built = "SELECT DISTINCT regexp_replace(program, '@.*', ''), right(build, 4) AS flag FROM configurations ORDER BY flag";
    assert_eq!(place.rows(built), ["add, -O0", "add, -O2"]);
    assert_eq!(place.rows("SELECT sum(verbatim_count) FROM sources"), ["0"]);
    place.ok(&["check"]);
}

#[test]
#[ignore = "full tier"]
fn records_of_another_machine_are_compared_with_a_warning() {
    let place = Place::new();
    quick(&place);
    let args = [
        "measure", "run", "add.toml", "--search", "grid", "--trials", "4",
    ];
    let (code, _, stderr) = ran(&place, &args);
    assert_eq!(code, Some(0), "{stderr}");
    let repeat = |platform: &str, more: &[&str]| {
        let predicate = format!("platform = '{platform}'");
        let args = [
            "measure", "repeat", "--trust", "--change", "900%", "--where", &predicate,
        ];
        ran(&place, &[&args[..], more].concat())
    };
    let here = &place.rows("SELECT DISTINCT platform FROM records")[0];
    assert!(
        here.contains(|c: char| c.is_ascii_digit()),
        "{here} names many machines"
    );
    let (_, stdout, stderr) = repeat(here, &[]);
    assert!(
        !stderr.contains("warning") && !stdout.contains("other"),
        "{stderr}{stdout}"
    );
    // The same records as from another machine.
    place.ok(&["export", "--to", "back"]);
    let mut lines = String::new();
    let exported = files_below(&place.path().join("back"));
    for file in exported.iter().filter(|path| has_extension(path, "jsonl")) {
        lines.push_str(&std::fs::read_to_string(file).unwrap());
    }
    let cores = lines.find("\"cores\": ").unwrap() + "\"cores\": ".len();
    let end = cores + lines[cores..].find(',').unwrap();
    let here_cores = format!("\"cores\": {},", &lines[cores..end]);
    let lines = lines.replace(&here_cores, "\"cores\": 97,");
    place.write("there/lines.jsonl", lines);
    place.ok(&["ingest", "there", "--platform", "there"]);
    let (code, stdout, stderr) = repeat("there", &[]);
    assert!(matches!(code, Some(0 | 1)), "{stderr}");
    assert!(
        stderr.contains("warning: ") && stderr.contains("cores was `"),
        "{stderr}"
    );
    assert!(stderr.contains(" 97 "), "{stderr}");
    assert!(stderr.contains(" from another machine"), "{stderr}");
    let (head, rows) = stdout.split_once('\n').unwrap();
    assert!(head.ends_with(",machine_differences"), "{head}");
    for row in rows.lines() {
        assert!(
            row.contains(" (other machine)") && row.ends_with("cores"),
            "{row}"
        );
    }
    let (_, stdout, _) = repeat("there", &["--json"]);
    let last: Value = serde_json::from_str(stdout.lines().last().unwrap()).unwrap();
    assert!(
        last["verdict"]
            .as_str()
            .unwrap()
            .ends_with("(other machine)"),
        "{last}"
    );
    assert!(
        last["machine_differences"][0]
            .as_str()
            .unwrap()
            .contains("97"),
        "{last}"
    );
}
