//! Formats that are JSON documents.

use super::*;

const HEADER: &str = r#"{
"device_name": "Toy 9000",
"kernel_name": "saxpy",
"problem_size": 1024,
"tune_params_keys": ["bx", "mode"],
"tune_params": {"bx": [32, 64], "mode": ["x", true]},
"cache": {
"#;
const ENTRIES: [&str; 3] = [
    r#""32,x": {"bx": 32, "mode": "x", "nvml_power": 50.5, "time": 1.5e-1, "times": [0.1, 0.2], "compile_time": 7, "timestamp": "t1"}"#,
    r#""32,True": {"bx": 32, "mode": true, "time": "CompilationFailedConfig", "compile_time": 3.0}"#,
    r#""64,x": {"bx": 64, "mode": "x", "compile_time": 2.5, "__error__": "RuntimeFailedConfig"}"#,
];

fn cache(entries: &[&str], end: &str) -> File {
    let text = format!("{HEADER}{}{end}", entries.join(",\n"));
    let file = read(&text, Format::KernelTunerCache);
    for trial in &file.trials {
        assert!(entries.contains(&text_of(&text, trial)));
    }
    file
}

#[test]
fn failures_of_a_cache_never_become_times() {
    let file = cache(&ENTRIES, "\n}\n}");
    assert_eq!(file.document.end, End::Closed);
    assert_eq!(seconds(&file), [Some(1.5e-4), None, None]);
    assert_eq!(failure(&file.trials[1]), Some(FailureKind::CompileDevice));
    assert_eq!(failure(&file.trials[2]), Some(FailureKind::Runtime));
    assert_eq!(metric(&file.trials[1], "compile_time"), Some(3.0));
    assert_eq!(
        configuration(&file.trials[1]),
        r#"{"bx": 32, "mode": true}"#
    );
    assert_eq!(
        file.trials[0].time.as_ref().unwrap().number.text(),
        "1.5e-1"
    );
    assert_eq!(file.trials[0].metrics[0].name, "nvml_power");
    assert_eq!(file.trials[0].line, 8);
    assert_eq!(file.document.space.unwrap().cartesian(), 4);
}

#[test]
fn a_cache_may_be_open() {
    for end in [",", ",\n", "", "\n"] {
        let file = cache(&ENTRIES, end);
        assert_eq!(
            (file.document.end, file.trials.len()),
            (End::Open, 3),
            "{end:?}"
        );
        assert_eq!(file.rejected, Vec::<String>::new());
    }
}

#[test]
fn a_cut_cache_gives_its_complete_entries() {
    let text = format!("{HEADER}{}", ENTRIES.join(",\n"));
    let first = HEADER.len() + ENTRIES[0].len();
    for length in HEADER.len() + 1..text.len() {
        let part = text.get(..length).unwrap();
        let file = read_with(part, Format::KernelTunerCache, ReadOptions::default());
        let complete =
            usize::from(length >= first) + usize::from(length >= first + 2 + ENTRIES[1].len());
        assert_eq!(file.trials.len(), complete, "{length}");
        let is_cut = file.document.end == End::Truncated;
        assert_eq!(file.rejected.len(), usize::from(is_cut), "{length}");
    }
}

#[test]
fn a_damaged_entry_is_rejected_and_the_rest_goes_on() {
    for damaged in [
        r#""64,True": {"bx": 64, "mode": true, "time": 1.0"#,
        r#""64,True": {"bx": 64, "mode": true, "time": 1.0.0}"#,
        r#""64,True": {"bx": 64, "time": 1.0}"#,
        r#""64,True": {"bx": 64, "mode": true, "time": "Broken"}"#,
        r#""64,True": {"bx": 64, "mode": true}"#,
        r#""64,True": 5"#,
        r#""32,x": {"bx": 32, "mode": "x", "time": 9.0}"#,
    ] {
        let file = cache(&[ENTRIES[0], damaged, ENTRIES[1], ENTRIES[2]], "\n}\n}");
        assert_eq!(file.trials.len(), 3, "{damaged}: {:?}", file.rejected);
        assert_eq!(file.rejected.len(), 1, "{damaged}: {:?}", file.rejected);
        assert!(file.rejected[0].starts_with("9: "), "{:?}", file.rejected);
    }
}

#[test]
fn a_score_is_no_time() {
    let text = format!(
        "{HEADER}{}\n}}\n}}",
        r#""32,x": {"bx": 32, "mode": "x", "score": -0.5, "scores": [-0.5]}"#
    );
    let text = text.replace("\"cache\"", "\"objective\": \"score\",\n\"cache\"");
    let file = read(&text, Format::KernelTunerCache);
    assert_eq!(seconds(&file), [None]);
    assert_eq!(file.trials[0].status, Status::Ok);
    assert_eq!(metric(&file.trials[0], "score"), Some(-0.5));
}

#[test]
fn times_that_are_no_numbers_are_failures() {
    for word in ["NaN", "Infinity", "-1.0"] {
        let entry = format!(r#""32,x": {{"bx": 32, "mode": "x", "time": {word}}}"#);
        let file = cache(&[&entry], "\n}\n}");
        assert_eq!(
            failure(&file.trials[0]),
            Some(FailureKind::Unknown),
            "{word}"
        );
    }
}

#[test]
fn t4_takes_its_unit_from_the_file() {
    let result = r#"{"configuration": {"n": 4}, "times": {"runtimes": [2.0], "compilation": 9}, "invalidity": "correct", "measurements": [{"name": "time", "value": 2.0, "unit": ""}], "objectives": ["time"]}"#;
    let failed = result
        .replace("correct", "timeout")
        .replace("2.0, \"unit\"", "\"InvalidConfig\", \"unit\"");
    let text = format!(
        r#"{{"metadata": {{"timeunit": "milliseconds"}}, "results": [{result}, {failed}, {{}}], "schema_version": "1.0.0"}}"#
    );
    let file = read(&text, Format::T4);
    assert_eq!(seconds(&file), [Some(0.002), None]);
    assert_eq!(failure(&file.trials[1]), Some(FailureKind::RunTimeout));
    assert_eq!(file.rejected, ["1: no `configuration`"]);
    assert_eq!(file.trials[0].graph.kernel, None);
    let without = text.replace("\"timeunit\": \"milliseconds\"", "");
    let file = read(&without, Format::T4);
    assert_eq!(
        file.trials.len(),
        1,
        "a time without a unit is no time: {:?}",
        file.rejected
    );
}

#[test]
fn ktt_indexes_the_numbers_of_several_functions() {
    let text = r#"{"Metadata": {"Device": "Toy", "KttVersion": "2.2", "TimeUnit": "Nanoseconds"}, "Results": [
{"ComputationResults": [{"CompilationData": {"RegistersCount": 8}, "Duration": 3.0, "Overhead": 1.0}, {"CompilationData": {"RegistersCount": 9}, "Duration": 4.0, "Overhead": 2.0}],
 "Configuration": [{"Name": "A", "Value": 1, "ValueType": "UnsignedInt"}], "KernelName": "k", "Status": "Ok", "TotalDuration": 7.0},
{"ComputationResults": [], "Configuration": [{"Name": "A", "Value": 2, "ValueType": "UnsignedInt"}], "KernelName": "k", "Status": "ValidationFailed", "TotalDuration": 0.0}]}"#;
    let file = read(text, Format::KttJson);
    assert_eq!(seconds(&file), [Some(7e-9), None]);
    let registers = file.trials[0]
        .metrics
        .iter()
        .filter(|metric| metric.name == "RegistersCount");
    let registers: Vec<_> = registers
        .map(|metric| (metric.index, metric.value))
        .collect();
    assert_eq!(registers, [(0, 8.0), (1, 9.0)]);
    assert_eq!(failure(&file.trials[1]), Some(FailureKind::WrongAnswer));
    let cut = text.get(..text.len() - 40).unwrap();
    let file = read(cut, Format::KttJson);
    assert_eq!((file.trials.len(), file.document.end), (1, End::Truncated));
}

#[test]
fn tokamax_keeps_empty_keys_and_number_texts() {
    let text = r#"{"{\"x\":\"f32[8]\",\"eps\":1e-6}": {"{\"block\":null}": {"compile_time_ms": 2.5, "lower_time_ms": 1, "evaluation_times_ms": [0.5, 1.5], "metadata": {}, "peak_memory_mb": 1.000001}},
"{\"x\":\"f32[9]\"}": {}, "{\"x\":\"f32[7]\"}": {"{}": {"evaluation_times_ms": []}}}"#;
    let file = read_at("toy_chip/pallas_triton_norm.json", text, Format::Tokamax);
    assert_eq!((file.empty, file.rejected.len()), (1, 1));
    assert_eq!(seconds(&file), [Some(0.001)]);
    let trial = &file.trials[0];
    assert_eq!(
        Value::Object(trial.graph.problem.clone()).to_json(),
        r#"{"x": "f32[8]", "eps": 1e-6}"#
    );
    let platform = trial.platform.as_ref().unwrap();
    assert_eq!(
        (platform.name.as_str(), platform.origin),
        ("toy_chip", Origin::Path)
    );
    assert_eq!(trial.graph.kernel.as_ref().unwrap().name, "norm");
    assert_eq!(file.document.coverage, Coverage::Winners);
}

#[test]
fn triton_times_may_be_infinite() {
    let text = r#"{"key": ["64", "fp16"], "configs_timings": [[{"kwargs": {"B": 16}, "num_warps": 4, "maxnreg": null}, [0.25, 0.2, 0.5]],
[{"kwargs": {"B": 32}, "num_warps": 8, "maxnreg": null}, [Infinity, Infinity, Infinity]], [{"kwargs": {}}, "x"]]}"#;
    let file = read_at("c/add_kernel.autotune.json", text, Format::Triton);
    assert_eq!(seconds(&file), [Some(0.25e-3), None]);
    assert_eq!(
        configuration(&file.trials[0]),
        r#"{"B": 16, "num_warps": 4, "maxnreg": null}"#
    );
    assert_eq!(
        file.trials[0].graph.kernel.as_ref().unwrap().name,
        "add_kernel"
    );
    assert_eq!(
        (metric(&file.trials[0], "time_p80"), file.rejected.len()),
        (Some(0.5), 1)
    );
}

#[test]
fn skips_of_nvbench_are_failures_only_when_unexpected() {
    let state = |extra: &str| {
        format!(
            r#"{{"device": 3, "axis_values": [{{"name": "N", "type": "int64", "value": "8"}}], {extra}}}"#
        )
    };
    let timed = state(
        r#""summaries": [{"tag": "nv/cold/time/gpu/mean", "hint": "duration", "data": [{"name": "value", "type": "float64", "value": "0.5"}]}, {"tag": "nv/x", "hint": "bytes", "data": [{"name": "value", "type": "int64", "value": "9223372036854775807"}]}], "is_skipped": false"#,
    );
    let skipped = state(r#""summaries": null, "is_skipped": true, "skip_reason": "Not wanted.""#);
    let failed = skipped.replace("Not wanted.", "Unexpected error: out of memory");
    let text = format!(
        r#"{{"devices": [{{"id": 3, "name": "Toy"}}], "benchmarks": [{{"name": "copy", "states": [{timed}, {skipped}, {failed}]}}]}}"#
    );
    let file = read(&text, Format::NvbenchJson);
    assert_eq!(seconds(&file), [Some(0.5), None, None]);
    assert!(matches!(file.trials[1].status, Status::Unmeasured { .. }));
    assert_eq!(failure(&file.trials[2]), Some(FailureKind::Runtime));
    assert_eq!(file.trials[0].metrics[0].text, "9223372036854775807");
}

#[test]
fn null_of_kernelbench_is_a_failure() {
    let text = r#"{"level1": {"1_a.py": {"mean": 1.25, "std": 0.1, "min": 1.2, "max": 1.5, "num_trials": 9, "hardware": "Toy", "device": "cuda:0"}, "2_b.py": null, "3_c.py": {"std": 1}}}"#;
    let file = read_at("r/baseline_time_eager.json", text, Format::KernelBench);
    assert_eq!(seconds(&file), [Some(1.25e-3), None]);
    assert_eq!(failure(&file.trials[1]), Some(FailureKind::Unknown));
    assert_eq!(file.rejected.len(), 1);
}

#[test]
fn documents_without_records_are_named() {
    for (text, expected) in [
        (
            r#"{"name": "d", "op_type": "gemm", "axes": {}, "inputs": {}, "outputs": {}}"#,
            NoRecords::FlashInferDefinition,
        ),
        (
            r#"{"name": "s", "definition": "d", "spec": {}, "sources": []}"#,
            NoRecords::FlashInferSolution,
        ),
        (
            r#"{"_metadata": {"v": 1}, "('op', 1)": [0, 2]}"#,
            NoRecords::FlashInferTactics,
        ),
    ] {
        assert_eq!(detect(text.as_bytes()), Detected::NoRecords(expected));
        assert!(!expected.reason().is_empty());
    }
    for text in ["", "{", "[1]", "{\"a\": 1}", "hello\nworld", "\u{0}\u{1}"] {
        assert_eq!(detect(text.as_bytes()), Detected::Unknown, "{text}");
    }
}

#[test]
fn the_path_of_t4_follows_the_rule_of_the_hub() {
    let text = r#"{"results": [{"configuration": {"x": 1}, "invalidity": "correct", "times": {},
        "measurements": [{"name": "time", "value": 2.5, "unit": "ms"}], "objectives": ["time"]}], "schema_version": "1.0.0"}"#;
    let file = read_at("hub/gemm/A100_T4.json.xz", text, Format::T4);
    let trial = &file.trials[0];
    let kernel = trial.graph.kernel.as_ref().unwrap();
    assert_eq!(
        (kernel.name.as_str(), kernel.origin),
        ("gemm", Origin::Path)
    );
    let platform = trial.platform.as_ref().unwrap();
    assert_eq!(
        (platform.name.as_str(), platform.origin),
        ("A100", Origin::Path)
    );
    let other = read_at("hub/gemm/A100.json", text, Format::T4);
    assert!(other.trials[0].platform.is_none() && other.trials[0].graph.kernel.is_none());
}

/// Generates the entries of a cache and counts the bytes that were read.
struct Endless {
    next: Vec<u8>,
    entry: u64,
    read: std::rc::Rc<std::cell::Cell<usize>>,
}

impl std::io::Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.next.is_empty() {
            self.entry += 1;
            let entry = format!(
                "\"{0},x\": {{\"bx\": {0}, \"mode\": \"x\", \"time\": 1.0}},\n",
                self.entry
            );
            self.next.extend_from_slice(entry.as_bytes());
        }
        let count = self.next.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.next[..count]);
        self.next.drain(..count);
        self.read.set(self.read.get() + count);
        Ok(count)
    }
}

#[test]
fn a_cache_is_read_entry_by_entry() {
    let read = std::rc::Rc::default();
    let input = Endless {
        next: HEADER.as_bytes().to_vec(),
        entry: 0,
        read: std::rc::Rc::clone(&read),
    };
    let input = std::io::BufReader::new(input);
    let mut reader = Reader::new(Format::KernelTunerCache, input, ReadOptions::default());
    let mut last = 0;
    for _ in 0..10_000 {
        let Some(Ok(Event::Trial(trial))) = reader.next() else {
            panic!("a trial")
        };
        last = usize::try_from(trial.bytes.end).unwrap();
        assert!(
            read.get() - last < 256 << 10,
            "{} bytes ahead",
            read.get() - last
        );
    }
    assert!(last > 256 << 10);
}
