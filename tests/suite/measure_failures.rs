//! Kernels with every kind of failure: TVM's error numbers, without effects on other trials.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::measure::measuring;
use crate::support::Place;

const HEAD: &str = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\
    #include <unistd.h>\n#include <sys/socket.h>\n#include <sys/types.h>\n";

/// Returns a kernel that writes twice `A` into `C`, after the statement `extra`.
pub(crate) fn kernel(extra: &str) -> String {
    format!(
        "{HEAD}void twice(const float *A, float *C, long n) {{ {extra}\n for (long i = 0; i < n; i++) C[i] = 2 * A[i]; }}\n"
    )
}

fn program(language: &str, text: &str) -> Value {
    let name = if language == "c" {
        "twice.c"
    } else {
        "twice.cpp"
    };
    json!({"language": language, "source": name, "text": text, "entry": "twice", "flags": ["-O2"]})
}

/// Returns a manifest. Its sources contain their text until `write_source`.
pub(crate) fn trial(language: &str, text: &str) -> Value {
    let buffer = |name: &str, role: &str| json!({"kind": "buffer", "name": name, "dtype": "f32", "shape": ["N"], "role": role});
    let mut input = buffer("A", "in");
    input["init"] = json!("uniform(-1, 1)");
    let mut program = program(language, text);
    program["name"] = json!("twice");
    json!({
        "program": program,
        "workload": [{"params": {"N": 1000}}],
        "space": {"TILE": [8]},
        "arg": [input, buffer("C", "out"), {"kind": "scalar", "name": "n", "dtype": "i64", "value": "N"}],
        "check": {"reference": self::program("c", &kernel("")), "rtol": 1e-5, "atol": 0.0, "metric": "rel_l2"},
        "measure": {"timeout_run_s": 2.0, "timeout_build_s": 20.0, "max_time_s": 1.0, "min_repeat_ms": 1.0}
    })
}

/// Writes the sources of a program beside the manifest.
fn write_source(place: &Place, program: &mut Value, name: &str) {
    let text = program.as_object_mut().unwrap().remove("text").unwrap();
    let file = program["source"].as_str().unwrap().to_owned();
    let file = format!("{name}{file}");
    place.write(&file, text.as_str().unwrap());
    program["source"] = json!(file);
}

pub(crate) struct Measured {
    pub(crate) success: bool,
    active: Value,
    pub(crate) outcomes: Vec<Value>,
    pub(crate) stderr: String,
    seconds: f64,
    left: usize,
}

pub(crate) fn run(trial: &Value, options: &[&str]) -> Measured {
    let place = Place::new();
    let mut manifest = trial.clone();
    write_source(&place, &mut manifest["program"], "");
    if !manifest["check"].is_null() {
        write_source(&place, &mut manifest["check"]["reference"], "reference_");
    } else {
        manifest.as_object_mut().unwrap().remove("check");
    }
    place.write("twice.json", manifest.to_string());
    std::fs::create_dir(place.path().join("scratch")).unwrap();
    let began = Instant::now();
    let args = ["measure", "run", "twice.json", "--search", "grid", "--json"];
    let output = measuring(&place, &[&args[..], options].concat())
        .output()
        .unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let events: Vec<Value> = stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let named = |name: &'static str| events.iter().filter(move |event| event["event"] == name);
    Measured {
        active: named("started")
            .next()
            .map(|event| event["limits"].clone())
            .unwrap_or_default(),
        outcomes: named("measured").cloned().collect(),
        success: output.status.success(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        seconds: began.elapsed().as_secs_f64(),
        left: std::fs::read_dir(place.path().join("scratch"))
            .unwrap()
            .count(),
    }
}

pub(crate) fn outcome(trial: &Value, options: &[&str]) -> Value {
    let ran = run(trial, options);
    // The exit code is 1 if all trials failed.
    let failed = ran.outcomes[0]["error_no"] != 0;
    assert_eq!(ran.success, !failed, "{}", ran.stderr);
    assert_eq!(ran.left, 0, "files are left in the scratch folder");
    ran.outcomes[0].clone()
}

fn assert_failed(text: &str, error_no: i64, message: &str) -> Value {
    let outcome = outcome(&trial("c", text), &[]);
    assert_eq!(outcome["error_no"], error_no, "{outcome}");
    let reported = outcome["error_message"].as_str().unwrap();
    assert!(reported.starts_with(message), "{reported}");
    assert_eq!(outcome["repeats"], 0);
    assert!(outcome["all_cost_s"].as_f64().unwrap() > 0.0);
    outcome
}

pub(crate) fn has(ran: &Measured, name: &str) -> bool {
    ran.active.as_array().unwrap().contains(&json!(name))
}

#[test]
fn a_correct_kernel_has_repeats() {
    let outcome = outcome(&trial("c", &kernel("")), &[]);
    assert_eq!(outcome["error_no"], 0, "{outcome}");
    assert!(outcome["repeats"].as_u64().unwrap() >= 10);
    assert_eq!(outcome["check_error"], 0.0);
    assert!(outcome["number"].as_u64().unwrap() > 10);
}

#[test]
#[ignore = "full tier"]
fn a_cxx_entry_needs_no_extern_c() {
    let plain = kernel("");
    let external = plain.replace("void twice", "extern \"C\" void twice");
    let overloaded = format!(
        "namespace k {{ template <int T> {} }}",
        plain.replace(HEAD, "")
    );
    for (text, entry) in [
        (plain, "twice"),
        (external, "twice"),
        (overloaded, "k::twice<TILE>"),
    ] {
        let mut trial = trial("c++", &text);
        trial["program"]["entry"] = json!(entry);
        assert_eq!(outcome(&trial, &[])["error_no"], 0, "{text}");
    }
}

#[test]
fn a_syntax_error_is_a_compile_error_with_the_compilers_first_line() {
    assert_failed("void twice(float *A) { int x = ; }\n", 2, "cc: twice.c:1:");
}

#[test]
fn a_missing_entry_differs_from_a_missing_library_symbol() {
    assert_failed("void other(void) {}\n", 2, "missing_symbol: ");
    let undefined = kernel("extern void nowhere(void); nowhere();");
    assert_failed(&undefined, 2, "dlopen: ");
    let mut trial = trial("c", &kernel(""));
    trial["program"]["flags"] = json!(["-lno_such_library"]);
    let outcome = outcome(&trial, &[]);
    assert!(
        outcome["error_message"]
            .as_str()
            .unwrap()
            .starts_with("link: "),
        "{outcome}"
    );
}

#[test]
#[ignore = "full tier"]
fn a_compiler_that_does_not_end_is_killed() {
    // Each level includes itself twice, which no compiler finishes.
    let text = "#if __INCLUDE_LEVEL__ < 60\n#include \"twice.c\"\n#include \"twice.c\"\n#endif\n";
    let mut trial = trial("c", text);
    trial["measure"]["timeout_build_s"] = json!(0.5);
    let began = Instant::now();
    assert_eq!(outcome(&trial, &[])["error_no"], 6);
    assert!(began.elapsed() < Duration::from_secs(40));
}

#[test]
fn unwritten_outputs_are_wrong() {
    assert_failed(
        &kernel("return;"),
        5,
        "unwritten: 1000 of 1000 elements of `C`",
    );
    let mut unchecked = trial("c", &kernel("return;"));
    unchecked["check"] = Value::Null;
    assert_eq!(outcome(&unchecked, &[])["error_no"], 5);
}

#[test]
fn a_wrong_result_is_found_before_and_after_timing() {
    let wrong = assert_failed(
        &kernel("for (long i = 0; i < n; i++) C[i] = A[i]; return;"),
        5,
        "rel_err=",
    );
    assert!((wrong["check_error"].as_f64().unwrap() - 0.5).abs() < 1e-6);
    let later = "static int calls; if (calls++ > 3) { memset(C, 0, n * 4); return; }";
    assert_failed(&kernel(later), 5, "rel_err=1.000e0");
}

#[test]
fn a_modified_input_is_detected() {
    assert_failed(&kernel("((float *)A)[7] = 0;"), 5, "input_changed: ");
}

#[test]
fn out_of_bounds_writes_are_detected_near_and_far() {
    assert_failed(
        &kernel("C[n] = 1;"),
        4,
        "out_of_bounds: the kernel wrote behind `C`",
    );
    assert_failed(
        &kernel("C[n + 24] = 1;"),
        4,
        "signal:11: SIGSEGV in the checked call",
    );
    assert_failed(&kernel("C[-1] = 1;"), 4, "signal:11: SIGSEGV");
}

#[test]
fn a_crash_reports_its_signal() {
    assert_failed(&kernel("*(volatile int *)0 = 1;"), 4, "signal:11: SIGSEGV");
    assert_failed(&kernel("abort();"), 4, "signal:6: SIGABRT");
}

#[test]
#[ignore = "full tier"]
fn an_endless_loop_is_killed_at_the_limit() {
    for options in [&[][..], &["--no-realtime"]] {
        let began = Instant::now();
        let looping = trial("c", &kernel("for (volatile int go = 1; go;) {}"));
        let outcome = outcome(&looping, options);
        assert_eq!(outcome["error_no"], 7, "{outcome}");
        assert!(outcome["all_cost_s"].as_f64().unwrap() < 12.0, "{outcome}");
        assert!(began.elapsed() < Duration::from_secs(40));
    }
    // An endless loop only during the timing, when the kernel has a core alone.
    let later = trial(
        "c",
        &kernel("static int calls; if (calls++) for (volatile int go = 1; go;) {}"),
    );
    let outcome = outcome(&later, &[]);
    assert_eq!(
        outcome["error_message"],
        "timeout: killed after 2 s while timing"
    );
    assert!(outcome["all_cost_s"].as_f64().unwrap() < 12.0, "{outcome}");
}

#[test]
#[ignore = "full tier"]
fn endless_allocation_fails_in_its_own_process() {
    let allocate =
        "for (;;) { void *p = malloc(64 << 20); if (!p) abort(); memset(p, 1, 64 << 20); }";
    let text = format!(
        "#include <vector>\n{}",
        kernel("std::vector<char> v; for (;;) v.resize(v.size() + (64 << 20));")
    );
    let cases = [
        ("c", kernel(allocate), "signal:6: SIGABRT"),
        ("c++", text, "oom: SIGABRT"),
    ];
    for (language, text, message) in cases {
        let mut trial = trial(language, &text);
        // A write to a gigabyte needs time on a busy machine.
        trial["measure"]["timeout_run_s"] = json!(20.0);
        let outcome = outcome(&trial, &[]);
        assert_eq!(outcome["error_no"], 4, "{outcome}");
        assert!(
            outcome["error_message"]
                .as_str()
                .unwrap()
                .starts_with(message),
            "{outcome}"
        );
    }
}

#[test]
fn arguments_larger_than_the_memory_are_out_of_memory() {
    // More than the memory of this machine, and on large machines more than a manifest may request.
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap();
    let total = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"));
    let total_kib: u64 = total
        .unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap();
    let mut large = trial("c", &kernel(""));
    large["check"] = Value::Null;
    large["arg"][1]["shape"] = json!([total_kib << 8]);
    let ran = run(&large, &[]);
    if total_kib > 16 << 20 {
        assert!(ran.stderr.contains("size: buffers of"), "{}", ran.stderr);
        return;
    }
    let message = ran.outcomes[0]["error_message"].as_str().unwrap();
    assert!(message.starts_with("oom: "), "{message}");
}

#[test]
fn ending_the_process_is_a_failure() {
    assert_failed(&kernel("exit(0);"), 4, "exit:0: ");
    assert_failed(&kernel("_exit(3);"), 4, "exit:3: ");
}

#[test]
fn kernel_output_is_ignored() {
    let noisy = kernel("printf(\"{\\\"done\\\": 1}\\n\"); fflush(stdout); write(1, \"{}\\n\", 3);");
    assert_eq!(outcome(&trial("c", &noisy), &[])["error_no"], 0);
}

#[test]
fn standard_input_is_empty() {
    let reading = kernel("char c; if (read(0, &c, 1) != 0) abort();");
    assert_eq!(outcome(&trial("c", &reading), &[])["error_no"], 0);
}

#[test]
fn the_sandbox_denies_network_programs_and_files() {
    let ran = run(&trial("c", &kernel("")), &[]);
    if !has(&ran, "seccomp") || !has(&ran, "landlock") {
        eprintln!("skipped: this kernel has {} only", ran.active);
        return;
    }
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("file");
    let denied = format!(
        "if (socket(AF_INET, SOCK_STREAM, 0) >= 0) exit(31); if (fork() >= 0) exit(32);\n\
         execl(\"/bin/true\", \"true\", (char *)0); if (system(\"true\") == 0) exit(33);\n\
         if (fopen(\"{}\", \"w\")) exit(34); if (setsid() >= 0) exit(35);\n\
         FILE *own = fopen(\"own\", \"w\"); if (!own) exit(36); fclose(own);",
        file.display()
    );
    let outcome = outcome(&trial("c", &kernel(&denied)), &[]);
    assert_eq!(outcome["error_no"], 0, "{outcome}");
    assert!(!file.exists());
}

#[test]
fn network_programs_and_files_are_allowed_without_the_sandbox() {
    let allowed = kernel("int s = socket(AF_INET, SOCK_STREAM, 0); if (s < 0) exit(31); close(s);");
    assert_eq!(
        outcome(&trial("c", &allowed), &["--no-sandbox"])["error_no"],
        0
    );
}

#[test]
#[ignore = "full tier"]
fn children_of_a_kernel_do_not_outlive_it() {
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("pid");
    let forking = format!(
        "static int calls; if (!calls++) {{ pid_t p = fork(); if (p == 0) for (;;) pause();\n\
         FILE *f = fopen(\"{}\", \"w\"); fprintf(f, \"%d\", p); fclose(f); }}",
        file.display()
    );
    for ending in ["", "for (;;) pause();", "abort();"] {
        let mut trial = trial("c", &kernel(&format!("{forking} {ending}")));
        trial["measure"]["timeout_run_s"] = json!(1.0);
        let began = Instant::now();
        outcome(&trial, &["--no-sandbox"]);
        assert!(began.elapsed() < Duration::from_secs(40));
        let child = std::fs::read_to_string(&file).unwrap();
        std::thread::sleep(Duration::from_millis(200));
        let stat = std::fs::read_to_string(Path::new("/proc").join(&child).join("stat"));
        assert!(
            stat.map_or(true, |stat| stat.contains(") Z ")),
            "child {child} runs"
        );
    }
}

#[test]
fn one_process_per_trial_and_one_reference_for_all() {
    let mut trial = trial("c", &kernel("if (TILE == 9) *(volatile int *)0 = 1;"));
    trial["space"]["TILE"] = json!([8, 9, 10]);
    let ran = run(&trial, &[]);
    let numbers: Vec<&Value> = ran
        .outcomes
        .iter()
        .map(|outcome| &outcome["error_no"])
        .collect();
    assert_eq!(numbers, [0, 4, 0]);
    assert!(ran.seconds < 30.0);
}

#[test]
fn a_reference_that_fails_is_not_a_record() {
    for text in ["*(volatile int *)0 = 1;", "return;", "syntax error"] {
        let mut trial = trial("c", &kernel(""));
        trial["check"]["reference"] = program("c", &kernel(text));
        let ran = run(&trial, &[]);
        assert!(!ran.success);
        assert!(
            ran.stderr.contains("the reference of `twice` failed: "),
            "{}",
            ran.stderr
        );
        assert_eq!(ran.left, 0);
    }
}

#[test]
fn threads_and_in_place_kernels_are_timed_too() {
    let text = "void twice(float *A, float *C, long n) {\n#pragma omp parallel for\n for (long i = 0; i < n; i++) C[i] += A[i]; }";
    let mut trial = trial("c", text);
    trial["program"]["flags"] = json!(["-O2", "-fopenmp"]);
    trial["check"]["reference"] = program("c", text);
    trial["arg"][1]["role"] = json!("inout");
    trial["measure"]["threads"] = json!(2);
    trial["measure"]["cache"] = json!("cold");
    // Threads wait for each other while other processes use the cores.
    trial["measure"]["timeout_run_s"] = json!(20.0);
    let outcome = outcome(&trial, &[]);
    assert_eq!(outcome["error_no"], 0, "{outcome}");
    assert_eq!(outcome["number"], 1);
}
