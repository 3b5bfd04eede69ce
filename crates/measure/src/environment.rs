//! What of the user's environment the processes get that build and run kernels: where things are found.
//!
//! A list of what they get, and none of what they do not: tokens and keys have any name.

use std::env;
use std::ffi::OsString;
use std::process::Command;

/// For all of them.
const KEPT: &[&str] = &["PATH", "LD_LIBRARY_PATH"];

/// For compilers: where they search, and what toolchains of conda, Nix and Apple's kind are made of.
const OF_COMPILERS: &[&str] = &[
    "COMPILER_PATH",
    "CPATH",
    "CPLUS_INCLUDE_PATH",
    "C_INCLUDE_PATH",
    "GCC_EXEC_PREFIX",
    "HOME",
    "LIBRARY_PATH",
    "SDKROOT",
];

/// Beginnings of those, too.
const OF_TOOLCHAINS: &[&str] = &["CONDA_", "NIX_"];

/// For CUDA's libraries and driver.
const OF_CUDA: &[&str] = &["HOME", "TMPDIR", "TSQL_NVRTC_DIR"];

/// Beginnings of those, too.
const OF_DEVICES: &[&str] = &["CUDA_", "NVIDIA_"];

/// Words in the names of variables that hold secrets.
const SECRET: &[&str] = &["KEY", "PASS", "SECRET", "TOKEN"];

/// Who gets it.
#[derive(Clone, Copy, Debug)]
pub(super) enum For {
    Kernels,
    Compilers,
    #[cfg_attr(
        not(feature = "cuda"),
        expect(dead_code, reason = "such a build starts no worker for CUDA")
    )]
    Cuda,
}

/// Gives `command` its share of the environment, and nothing else.
pub(super) fn give(command: &mut Command, whom: For) {
    let (names, beginnings): (&[&str], &[&str]) = match whom {
        For::Kernels => (&[], &[]),
        For::Compilers => (OF_COMPILERS, OF_TOOLCHAINS),
        For::Cuda => (OF_CUDA, OF_DEVICES),
    };
    let is_kept = |(name, _): &(OsString, OsString)| {
        let Some(name) = name.to_str() else {
            return false;
        };
        let begins = beginnings.iter().any(|with| name.starts_with(with));
        let secret = SECRET.iter().any(|word| name.contains(word));
        KEPT.contains(&name) || names.contains(&name) || (begins && !secret)
    };
    command.env_clear().envs(env::vars_os().filter(is_kept));
}
