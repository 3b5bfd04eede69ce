//! Environment variables passed to the processes that build and run kernels.
//!
//! This is a list of allowed variables, because tokens and keys can have any name.

use std::env;
use std::ffi::OsString;
use std::process::Command;

/// Variables for all processes.
const COMMON_VARIABLES: &[&str] = &["PATH", "LD_LIBRARY_PATH"];

/// Variables for compilers: search paths, and those of the toolchains of conda, Nix and Apple.
const COMPILER_VARIABLES: &[&str] = &[
    "COMPILER_PATH",
    "CPATH",
    "CPLUS_INCLUDE_PATH",
    "C_INCLUDE_PATH",
    "GCC_EXEC_PREFIX",
    "HOME",
    "LIBRARY_PATH",
    "SDKROOT",
];

/// Prefixes of further variables for compilers.
const TOOLCHAIN_PREFIXES: &[&str] = &["CONDA_", "NIX_"];

/// Variables for CUDA's libraries and driver.
const CUDA_VARIABLES: &[&str] = &["HOME", "TMPDIR", "TSQL_NVRTC_DIR"];

/// Prefixes of further variables for CUDA.
const CUDA_PREFIXES: &[&str] = &["CUDA_", "NVIDIA_"];

/// Words in names of variables that contain secrets.
const SECRET_WORDS: &[&str] = &["KEY", "PASS", "SECRET", "TOKEN"];

/// Kind of process that receives the variables.
#[derive(Clone, Copy, Debug)]
pub(super) enum ProcessKind {
    Kernels,
    Compilers,
    #[cfg_attr(
        not(feature = "cuda"),
        expect(dead_code, reason = "such a build starts no worker for CUDA")
    )]
    Cuda,
}

/// Sets the environment of `command` to the variables allowed for its kind, and nothing else.
pub(super) fn set_environment(command: &mut Command, kind: ProcessKind) {
    let (names, prefixes): (&[&str], &[&str]) = match kind {
        ProcessKind::Kernels => (&[], &[]),
        ProcessKind::Compilers => (COMPILER_VARIABLES, TOOLCHAIN_PREFIXES),
        ProcessKind::Cuda => (CUDA_VARIABLES, CUDA_PREFIXES),
    };
    let is_inherited = |(name, _): &(OsString, OsString)| {
        let Some(name) = name.to_str() else {
            return false;
        };
        let has_prefix = prefixes.iter().any(|prefix| name.starts_with(prefix));
        let is_secret = SECRET_WORDS.iter().any(|word| name.contains(word));
        COMMON_VARIABLES.contains(&name) || names.contains(&name) || (has_prefix && !is_secret)
    };
    command
        .env_clear()
        .envs(env::vars_os().filter(is_inherited));
}
