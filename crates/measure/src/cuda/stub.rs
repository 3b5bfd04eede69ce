//! Test replacement of a GPU: a driver that computes on the host. The worker is this test program.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;

use super::compiler::Cubin;
use super::probe::probe;
use super::serve::serve;
use crate::trial::{
    Argument, Cache, Check, Dtype, Init, Language, Launch, Metric, Program, Role, Settings, Source,
    Trial, Value,
};
use crate::values::fill;

const SOURCE: &str = include_str!("stub/libcuda.c");

/// A directory with the stub as `libcuda.so.1`. With `old` it lacks a function introduced in CUDA 12.8.
fn build_driver(old: bool) -> &'static Path {
    static CURRENT: OnceLock<TempDir> = OnceLock::new();
    static OLD: OnceLock<TempDir> = OnceLock::new();
    let directory = if old { &OLD } else { &CURRENT };
    let directory = directory.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        let source = directory.path().join("libcuda.c");
        fs::write(&source, SOURCE).unwrap();
        let flags: &[&str] = if old { &["-DOLD"] } else { &[] };
        let status = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-w", "-o"])
            .arg(directory.path().join("libcuda.so.1"))
            .arg(&source)
            .args(flags)
            .status();
        assert!(status.unwrap().success());
        directory
    });
    directory.path()
}

/// Command line of the hidden command, with the stub driver and its settings.
pub(super) fn command(settings: &[(&str, &str)]) -> Vec<OsString> {
    with_library_path(build_driver(false), settings)
}

/// The same command with an old driver.
pub(super) fn old_command() -> Vec<OsString> {
    with_library_path(build_driver(true), &[])
}

/// The same command with the driver of this machine.
pub(super) fn real_command() -> Vec<OsString> {
    let me = env::current_exe().unwrap();
    let (_, module) = module_path!().split_once("::").unwrap();
    let name = format!("{module}::stand_in");
    let flags = [&name, "--exact", "--ignored", "--nocapture"];
    let flags = flags.into_iter().map(OsString::from);
    [me.into_os_string()].into_iter().chain(flags).collect()
}

fn with_library_path(directory: &Path, settings: &[(&str, &str)]) -> Vec<OsString> {
    let path = format!("LD_LIBRARY_PATH={}", directory.display());
    let settings = settings
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    ["env".to_owned(), path]
        .into_iter()
        .chain(settings)
        .map(OsString::from)
        .chain(real_command())
        .collect()
}

/// Not a test: the hidden command, in a process started by another test.
#[test]
#[ignore = "it is started by other tests, with a mode behind its name"]
fn stand_in() {
    let arguments: Vec<_> = env::args_os().collect();
    let flags = arguments.iter().position(|word| word == "--nocapture");
    let Some(mode) = flags.and_then(|index| arguments.get(index + 1..)) else {
        return;
    };
    let mode: Vec<_> = mode.iter().map(OsString::as_os_str).collect();
    if mode == [OsStr::new("probe")] {
        let sentences = serde_json::to_string(&probe().describe()).unwrap();
        // `println!` is forbidden by a lint.
        fs::write("/dev/stdout", format!("\nprobe:{sentences}\n")).unwrap();
    } else if mode
        .first()
        .is_some_and(|word| *word == "compile" || *word == "run")
    {
        serve(&mode).unwrap();
    }
}

/// A CUBIN for the stub, which only checks its first bytes.
pub(super) fn cubin() -> Cubin {
    Cubin {
        bytes: b"\x7fELF and so on".to_vec(),
        cost_s: 0.5,
    }
}

/// Trial of `y = 2 * x` with 1000 elements and one of the stub's kernels, with cold caches and few repeats.
pub(super) fn trial(entry: &str) -> Trial {
    let program = |language, name: &str, text: &str| Program {
        language,
        sources: vec![Source {
            name: name.to_owned(),
            text: text.to_owned(),
        }],
        entry: entry.to_owned(),
        flags: Vec::new(),
    };
    let buffer = |name: &str, role| Argument::Buffer {
        name: name.to_owned(),
        dtype: Dtype::F32,
        shape: vec![N],
        role,
        init: INIT,
    };
    let n = Argument::Scalar {
        name: "n".to_owned(),
        dtype: Dtype::I32,
        value: Value::Integer(N.cast_signed()),
    };
    Trial {
        name: "scale".to_owned(),
        program: program(Language::Cuda, "scale.cu", KERNEL),
        params: [("N".to_owned(), N.cast_signed())].into(),
        config: [("FACTOR".to_owned(), 2)].into(),
        arguments: vec![buffer("x", Role::In), buffer("y", Role::Out), n],
        launch: Some(Launch {
            grid: [4, 1, 1],
            block: [256, 1, 1],
            shared_bytes: 0,
        }),
        check: Some(Check {
            reference: program(Language::C, "scale.c", ""),
            rtol: 1e-6,
            atol: 0.0,
            metric: Metric::RelL2,
        }),
        settings: Settings {
            cache: Cache::Cold,
            repeat: 10,
            max_repeat: 100,
            min_repeat_ms: 10.0,
            max_time_s: 0.5,
            timeout_run_s: 20.0,
            ..Settings::default()
        },
        seed: 7,
    }
}

const N: u64 = 1000;
const INIT: Init = Init::Uniform {
    low: -0.5,
    high: 0.5,
};

/// Source of the trial, used with NVRTC.
const KERNEL: &str = r#"
extern "C" __global__ void scale(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) y[i] = FACTOR * x[i];
}"#;

/// File with the expected output of [`trial`].
pub(super) fn reference(directory: &TempDir) -> PathBuf {
    let mut bytes = vec![0; 4000];
    fill(Dtype::F32, INIT, 7, 0, &mut bytes);
    let doubled = bytes.chunks_exact(4).map(|element| {
        let element: [u8; 4] = element.try_into().unwrap();
        (2.0 * f32::from_ne_bytes(element)).to_ne_bytes()
    });
    let path = directory.path().join("reference");
    std::fs::write(&path, doubled.flatten().collect::<Vec<u8>>()).unwrap();
    path
}
