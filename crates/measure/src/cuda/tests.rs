//! Integration tests: probe messages, complete jobs with the stub driver, real compilations if NVRTC is
//! available, real launches if there is a GPU.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::compiler::{Compiler, Cubin};
use super::job::CudaJob;
use super::probe::{Probe, probe};
use super::stub;
use super::worker::Worker;
use crate::manifest::Manifest;
use crate::search::{Search, SearchStrategy};
use crate::templates;
use crate::trial::{Cache, Language, Outcome, Source, Trial};

fn sentences(command: &[OsString]) -> String {
    let output = Command::new(&command[0])
        .args(&command[1..])
        .arg("probe")
        .output();
    let output = output.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let line = text.lines().find_map(|line| line.strip_prefix("probe:"));
    let sentences: Vec<String> = serde_json::from_str(line.unwrap()).unwrap();
    sentences.join("\n")
}

#[test]
fn a_probe_reports_devices_and_gaps_and_never_panics() {
    let report = sentences(&stub::command(&[]));
    assert!(report.contains("cuda:0 Stub GPU, sm_90, 132 multiprocessors, 1024 MiB, L2 1 MiB"));
    assert!(report.contains("the driver supports CUDA 13.0"));
    let report = sentences(&stub::command(&[("STUB_INIT", "100")]));
    assert!(report.contains("the CUDA driver finds no GPU\nhint: "));
    let report = sentences(&stub::command(&[("STUB_INIT", "803")]));
    assert!(
        report.contains("error `803: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH`"),
        "{report}"
    );
    let report = sentences(&stub::command(&[("STUB_DEVICES", "0")]));
    assert!(report.contains("the CUDA driver finds no GPU"));
    let report = sentences(&stub::old_command());
    let reason = "the CUDA driver is too old: it has no function `cuEventElapsedTime_v2`\nhint: install driver 570";
    assert!(report.contains(reason), "{report}");
}

#[test]
fn a_probe_of_this_machine_never_panics() {
    let nowhere = [OsString::from("env"), "TSQL_NVRTC_DIR=/nowhere".into()];
    let command: Vec<_> = nowhere.into_iter().chain(stub::real_command()).collect();
    let report = sentences(&command);
    assert!(
        report.contains("NVRTC, CUDA's compiler library, is not found; looked in `/nowhere/lib64`")
    );
}

/// Runs trials in sequence on a worker with the stub driver and these settings.
fn outcomes(settings: &[(&str, &str)], trials: &[Trial]) -> Vec<Outcome> {
    let directory = tempfile::tempdir().unwrap();
    let reference = stub::reference(&directory);
    let mut worker = Worker::start(&stub::command(settings), 0).unwrap();
    let run = |trial| worker.run(trial, &stub::cubin(), Some(&reference)).unwrap();
    trials.iter().map(run).collect()
}

fn failure(outcome: &Outcome) -> (i16, &str) {
    assert!(outcome.repeats.is_empty() && outcome.all_cost_s > 0.5);
    (outcome.error_no, outcome.error_message.as_deref().unwrap())
}

fn without_error(outcome: &Outcome) {
    assert_eq!((outcome.error_no, &outcome.error_message), (0, &None));
    assert_eq!(outcome.check_error, Some(0.0));
    assert!(outcome.repeats.iter().all(|repeat| repeat.cpu_ns.is_none()));
    assert!(outcome.all_cost_s > 0.5);
}

#[test]
fn a_right_kernel_is_timed_cold_warm_and_in_batches() {
    let with = |cache| {
        let mut trial = stub::trial("scale");
        trial.settings.cache = cache;
        trial
    };
    let slow = [("STUB_KERNEL_US", "200")];
    let [cold, warm] = &outcomes(&slow, &[with(Cache::Cold), with(Cache::Warm)])[..] else {
        panic!("two trials have two outcomes");
    };
    without_error(cold);
    without_error(warm);
    assert_eq!((cold.number, warm.number > 1), (1, true));
    for outcome in [cold, warm] {
        assert!(!outcome.repeats.is_empty() && !outcome.flags.contains(&"batched".to_owned()));
        assert!(outcome.repeats.iter().all(|repeat| repeat.wall_ns >= 200e3));
    }
    let batched = &outcomes(&[], &[with(Cache::Cold)])[0];
    without_error(batched);
    assert!(batched.number > 64 && batched.flags.contains(&"batched".to_owned()));
}

#[test]
fn wrong_results_are_found() {
    let wrong = &outcomes(&[], &[stub::trial("wrong"), stub::trial("silent")]);
    assert!(matches!(failure(&wrong[0]), (5, kind) if kind.starts_with("rel_err")));
    assert_eq!(
        wrong[0].check_error.map(|error| (error * 100.0).round()),
        Some(50.0)
    );
    assert!(
        matches!(failure(&wrong[1]), (5, kind) if kind == "unwritten: nothing was written to `y`")
    );
}

#[test]
fn a_sticky_error_is_named_and_replaces_the_worker() {
    let trials = [stub::trial("fault"), stub::trial("scale")];
    for (code, name) in [
        ("700", "cuda:700: CUDA_ERROR_ILLEGAL_ADDRESS"),
        ("719", "cuda:719: CUDA_ERROR_LAUNCH_FAILED"),
    ] {
        let outcomes = outcomes(&[("STUB_LAUNCH", code)], &trials);
        assert_eq!(failure(&outcomes[0]), (4, name));
        without_error(&outcomes[1]);
    }
    // The same error during timing.
    let outcomes = outcomes(&[("STUB_GOOD_LAUNCHES", "50")], &trials);
    assert_eq!(failure(&outcomes[0]).0, 4);
    without_error(&outcomes[1]);
}

#[test]
fn driver_rejections_are_outcomes() {
    let trials = [stub::trial("fault"), stub::trial("scale")];
    let rejected = outcomes(&[("STUB_LAUNCH", "701")], &trials);
    let expected = (4, "cuda:701: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES");
    assert_eq!(failure(&rejected[0]), expected);
    without_error(&rejected[1]);
    let full = outcomes(&[("STUB_MEMORY", "3999")], &trials[1..]);
    assert_eq!(failure(&full[0]), (4, "oom: 2: CUDA_ERROR_OUT_OF_MEMORY"));
    let missing = outcomes(&[], &[stub::trial("absent")]);
    assert!(matches!(failure(&missing[0]), (3, kind) if kind.starts_with("missing_symbol: ")));
}

#[test]
fn a_launch_out_of_bounds_is_reported_and_not_tried() {
    let shaped = |block, shared_bytes| {
        let mut trial = stub::trial("scale");
        let launch = trial.launch.as_mut().unwrap();
        (launch.block, launch.shared_bytes) = (block, shared_bytes);
        trial
    };
    let trials = [
        shaped([1024, 2, 1], 0),
        shaped([513, 1, 1], 0),
        shaped([256, 1, 1], 232_449),
        shaped([256, 1, 1], 232_448),
    ];
    let outcomes = outcomes(&[("STUB_KERNEL_THREADS", "512")], &trials);
    for (outcome, size) in outcomes.iter().zip(["`2048`", "`513`", "`232449` bytes"]) {
        let (error_no, message) = failure(outcome);
        assert!(
            error_no == 1 && message.starts_with("launch_bounds: "),
            "{message}"
        );
        assert!(message.contains(size), "{message}");
    }
    // Above 48 KiB the stub, like the driver, only launches kernels that opted in.
    without_error(&outcomes[3]);
}

#[test]
fn wrong_arguments_are_reported_and_not_launched() {
    let mut fewer = stub::trial("scale");
    fewer.arguments.pop();
    let mut narrow = stub::trial("scale");
    narrow.arguments.swap(1, 2);
    let outcomes = outcomes(&[], &[fewer, narrow]);
    let expected = (
        3,
        "signature: the kernel takes `3` arguments, the trial has 2",
    );
    assert_eq!(failure(&outcomes[0]), expected);
    let expected = (
        3,
        "signature: argument 2 has `8` bytes in the kernel, 4 in the trial",
    );
    assert_eq!(failure(&outcomes[1]), expected);
}

#[test]
fn a_kernel_that_hangs_or_crashes_costs_its_own_trial_only() {
    let mut hang = stub::trial("hang");
    hang.settings.timeout_run_s = 1.0;
    let trials = [
        hang,
        stub::trial("scale"),
        stub::trial("crash"),
        stub::trial("scale"),
        stub::trial("chatty"),
    ];
    let outcomes = outcomes(&[], &trials);
    assert!(matches!(failure(&outcomes[0]), (7, kind) if kind.starts_with("timeout: ")));
    assert!((1.5..10.0).contains(&outcomes[0].all_cost_s));
    assert!(matches!(failure(&outcomes[2]), (4, kind) if kind.starts_with("signal:11")));
    // Output of a kernel, even without a line feed, does not mix with the replies.
    for done in [1, 3, 4] {
        without_error(&outcomes[done]);
    }
}

#[test]
fn faults_of_the_machine_are_errors() {
    let start_error = |settings: &[(&str, &str)]| {
        let worker = Worker::start(&stub::command(settings), 0);
        worker.err().unwrap().to_string()
    };
    assert!(
        start_error(&[("STUB_INIT", "100")]).starts_with("cuda:0: the CUDA driver finds no GPU")
    );
    let message = start_error(&[("STUB_CONTEXT", "46")]);
    assert_eq!(
        message,
        "cuda:0: no context: error `46: CUDA_ERROR_DEVICE_UNAVAILABLE`"
    );
    let no_program = Worker::start(&["/nowhere/tsql".into()], 0).err().unwrap();
    assert!(no_program.to_string().contains("/nowhere/tsql"));

    let lost = [("STUB_LAUNCH", "214")];
    let mut worker = Worker::start(&stub::command(&lost), 0).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let reference = stub::reference(&directory);
    let (fault, good) = (stub::trial("fault"), stub::trial("scale"));
    let error = worker
        .run(&fault, &stub::cubin(), Some(&reference))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "cuda:0: error `214: CUDA_ERROR_ECC_UNCORRECTABLE`"
    );
    let error = worker.run(&good, &stub::cubin(), None).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("the reference outputs are missing")
    );
}

#[test]
fn a_worker_whose_parent_is_gone_ends_even_when_the_kernel_does_not() {
    let directory = tempfile::tempdir().unwrap();
    let cubin = directory.path().join("cubin");
    std::fs::write(&cubin, stub::cubin().bytes).unwrap();
    let job = CudaJob {
        trial: stub::trial("hang"),
        cubin,
        reference: Some(stub::reference(&directory)),
    };
    let command = stub::command(&[]);
    let mut process = Command::new(&command[0])
        .args(&command[1..])
        .args(["run", "0"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let line = serde_json::to_string(&job).unwrap();
    writeln!(process.stdin.take().unwrap(), "{line}").unwrap();
    let began = Instant::now();
    while process.try_wait().unwrap().is_none() {
        if began.elapsed() > Duration::from_secs(10) {
            process.kill().unwrap();
            panic!("it still runs");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(began.elapsed() > Duration::from_secs(1));
}

/// Probe and compiler of this machine; prints a message if NVRTC is missing.
#[expect(clippy::print_stderr, reason = "a test that is skipped says why")]
fn with_nvrtc(test: &str) -> Option<(Probe, Compiler)> {
    let probe = probe();
    let compiler = Compiler::new(&stub::real_command(), &probe, true);
    match compiler {
        Ok(compiler) => Some((probe, compiler)),
        Err(reason) => {
            eprintln!("skipped {test}: {reason}");
            None
        }
    }
}

fn compile(compiler: &Compiler, trial: &Trial, architecture: &str) -> Result<Cubin, Outcome> {
    compiler.compile(trial, architecture).unwrap()
}

#[test]
fn nvrtc_makes_a_cubin_of_the_architecture_with_the_entry() {
    let Some((_, compiler)) = with_nvrtc("compiling") else {
        return;
    };
    for (architecture, number) in [("sm_90", 90), ("sm_75", 75)] {
        let cubin = compile(&compiler, &stub::trial("scale"), architecture).unwrap();
        assert!(cubin.bytes.starts_with(b"\x7fELF") && cubin.cost_s > 0.0);
        let text = String::from_utf8_lossy(&cubin.bytes);
        assert!(text.contains("scale") && text.contains(".text.scale"));
        // `e_flags` of the ELF header has the number in its second byte, in its first before CUDA 13.
        assert!(cubin.bytes[0x30..0x32].contains(&number), "{architecture}");
    }
}

#[test]
fn every_template_compiles() {
    let Some((_, compiler)) = with_nvrtc("templates") else {
        return;
    };
    for template in templates::list() {
        let read_source = |source: &str| template.source(source);
        let manifest = Manifest::parse(template.manifest, "template.toml", &read_source).unwrap();
        if manifest.language() != Language::Cuda {
            continue;
        }
        let (space, workload) = (manifest.space().clone(), &manifest.workloads()[0]);
        let params = workload.params.clone();
        let search = Search::new(SearchStrategy::Random, space, params, 5, &HashSet::new());
        for (config, architecture) in search.zip(["sm_75", "sm_90"]) {
            let trial = manifest.trial(&workload.params, &config, 0).unwrap();
            let cubin = compile(&compiler, &trial, architecture);
            assert!(cubin.is_ok(), "{} {config:?}: {cubin:?}", template.name);
        }
    }
}

#[test]
fn headers_flags_and_macros_reach_the_compiler() {
    let Some((_, compiler)) = with_nvrtc("headers and flags") else {
        return;
    };
    let source = |name: &str, text: &str| Source {
        name: name.to_owned(),
        text: text.to_owned(),
    };
    let mut trial = stub::trial("scale");
    trial.program.flags = vec!["--define-macro=FROM_FLAG=1".to_owned()];
    trial.program.sources = vec![
        source(
            "scale.cu",
            "#include \"twice.h\"\nstatic_assert(N == 1000 && FROM_FLAG == 1);\n\
             extern \"C\" __global__ void scale(const float *x, float *y, int n) { *y = twice(*x); }",
        ),
        source(
            "twice.h",
            "__device__ float twice(float x) { return FACTOR * x; }",
        ),
    ];
    compile(&compiler, &trial, "sm_90").unwrap();
    trial.config.insert("FACTOR".to_owned(), 3);
    trial.params.insert("N".to_owned(), 999);
    let failed = compile(&compiler, &trial, "sm_90").unwrap_err();
    assert!(failed.error_message.unwrap().contains("static assertion"));
}

#[test]
fn nvrtc_errors_are_quoted() {
    let Some((_, compiler)) = with_nvrtc("compile errors") else {
        return;
    };
    let compile_error = |text: &str, flag: &str| {
        let mut trial = stub::trial("scale");
        text.clone_into(&mut trial.program.sources[0].text);
        trial.program.flags.extend(
            [flag.to_owned()]
                .into_iter()
                .filter(|flag| !flag.is_empty()),
        );
        let outcome = compile(&compiler, &trial, "sm_90").unwrap_err();
        assert!(outcome.error_no == 3 && outcome.all_cost_s > 0.0);
        outcome.error_message.unwrap()
    };
    let kernel = |body: &str| format!("extern \"C\" __global__ void scale(float *x) {{ {body} }}");
    let undefined = compile_error(&kernel("*x = y;"), "");
    assert_eq!(
        undefined,
        "nvrtc: scale.cu(1): error: identifier \"y\" is undefined"
    );
    let missing = compile_error("#include <no/such.h>\n", "");
    assert!(
        missing.starts_with("nvrtc: scale.cu(1): catastrophic error: cannot open source"),
        "{missing}"
    );
    let shared =
        "__shared__ float s[99999]; s[threadIdx.x] = *x; __syncthreads(); *x = s[threadIdx.x ^ 1];";
    let shared = compile_error(&kernel(shared), "");
    assert!(shared.starts_with("ptxas: ptxas error") && shared.contains("too much shared data"));
    let flag = compile_error(&kernel(""), "-O9");
    assert!(
        flag.starts_with("nvrtc: nvrtc: error: unrecognized option"),
        "{flag}"
    );
}

#[test]
fn a_trial_goes_from_source_to_timings() {
    let Some((probe, _)) = with_nvrtc("source to timings") else {
        return;
    };
    let command = stub::command(&[]);
    let compiler = Compiler::new(&command, &probe, true).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let reference = stub::reference(&directory);
    let mut worker = Worker::start(&command, 0).unwrap();
    let trial = stub::trial("scale");
    let cubin = compile(&compiler, &trial, "sm_90").unwrap();
    let outcome = worker.run(&trial, &cubin, Some(&reference)).unwrap();
    assert_eq!((outcome.error_no, outcome.check_error), (0, Some(0.0)));
    assert!(!outcome.repeats.is_empty() && outcome.all_cost_s > cubin.cost_s);
}

#[test]
fn a_compilation_that_takes_too_long_is_ended() {
    let Some((_, compiler)) = with_nvrtc("the build's limit") else {
        return;
    };
    let mut trial = stub::trial("scale");
    trial.settings.timeout_build_s = 0.001;
    let outcome = compile(&compiler, &trial, "sm_90").unwrap_err();
    assert!(matches!(outcome, Outcome { error_no: 6, .. }));
    assert!((0.001..5.0).contains(&outcome.all_cost_s));
}

#[test]
fn an_architecture_that_nvrtc_does_not_know_is_a_fault() {
    let Some((_, compiler)) = with_nvrtc("unknown architectures") else {
        return;
    };
    let error = compiler
        .compile(&stub::trial("scale"), "sm_35")
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("does not compile for `sm_35`, only for sm_")
    );
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that is skipped says why")]
fn a_real_gpu_times_a_right_kernel_and_finds_a_wrong_one() {
    let Some((probe, compiler)) = with_nvrtc("a real GPU") else {
        return;
    };
    let Some(device) = probe.devices.first() else {
        eprintln!("skipped a real GPU: {}", probe.missing.join("\n"));
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let reference = stub::reference(&directory);
    let mut worker = Worker::start(&stub::real_command(), device.ordinal).unwrap();
    let mut trial = stub::trial("scale");
    for cache in [Cache::Cold, Cache::Warm] {
        trial.settings.cache = cache;
        let cubin = compile(&compiler, &trial, &device.architecture).unwrap();
        let outcome = worker.run(&trial, &cubin, Some(&reference)).unwrap();
        without_error(&outcome);
        assert!(
            outcome
                .repeats
                .iter()
                .all(|repeat| (500.0..1e6).contains(&repeat.wall_ns))
        );
    }
    trial.config.insert("FACTOR".to_owned(), 3);
    let cubin = compile(&compiler, &trial, &device.architecture).unwrap();
    let outcome = worker.run(&trial, &cubin, Some(&reference)).unwrap();
    assert_eq!(outcome.error_no, 5);
    "extern \"C\" __global__ void scale(const float *x, float *y, int n) { *(int *)8 = n; }"
        .clone_into(&mut trial.program.sources[0].text);
    let cubin = compile(&compiler, &trial, &device.architecture).unwrap();
    let outcome = worker.run(&trial, &cubin, Some(&reference)).unwrap();
    let message = outcome.error_message.unwrap();
    assert_eq!(message, "cuda:700: CUDA_ERROR_ILLEGAL_ADDRESS");
    let good = stub::trial("scale");
    let cubin = compile(&compiler, &good, &device.architecture).unwrap();
    without_error(&worker.run(&good, &cubin, Some(&reference)).unwrap());
}
