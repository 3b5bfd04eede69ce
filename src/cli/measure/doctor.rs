//! `tsql measure doctor`, `env` and `devices`: what is known of this machine.

use std::io::Write as _;

use clap::Args;
use tsql_measure::cc::Compiler;
use tsql_measure::conditions::Conditions;
use tsql_measure::machine::{Machine, Toolchain};
use tsql_measure::trial::Language;
use tsql_measure::{cuda, doctor};

use crate::cli::{DONE, Failure, PARTLY};
use crate::error::Error;

/// Say what would spoil timings on this machine, and what to do about it
#[derive(Args, Debug)]
pub(super) struct Doctor {}

/// Show what is stored of this machine with every record
///
/// No host name, user, serial number or address is in it.
#[derive(Args, Debug)]
pub(super) struct Env {}

/// List what kernels can be measured on, and what is missing for the rest
#[derive(Args, Debug)]
pub(super) struct Devices {}

/// The machine with its compiler for C.
fn machine() -> Machine {
    let compiler = Compiler::find(Language::C).ok();
    let toolchain = compiler.map(|compiler| Toolchain::new(&compiler.path, &compiler.version, &[]));
    let mut machine = Machine::read();
    machine.toolchain = toolchain;
    let gpus = cuda::probe().devices;
    machine.gpus = gpus.into_iter().map(|device| device.facts).collect();
    machine
}

pub(super) fn doctor(_: Doctor) -> Result<u8, Failure> {
    let machine = machine();
    let scratch = std::env::temp_dir();
    let findings = doctor::examine(&machine, &Conditions::now(), &scratch);
    let mut out = std::io::stdout().lock();
    for line in doctor::lines(&findings) {
        let _ = writeln!(out, "{line}");
    }
    let warns = findings
        .iter()
        .any(|finding| finding.level == doctor::Level::Warning);
    Ok(if warns { PARTLY } else { DONE })
}

pub(super) fn env(_: Env) -> Result<u8, Failure> {
    let text = machine().to_json();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let mut out = std::io::stdout().lock();
    let _ = writeln!(
        out,
        "{}",
        serde_json::to_string_pretty(&value).unwrap_or(text)
    );
    Ok(DONE)
}

pub(super) fn devices(_: Devices) -> Result<u8, Failure> {
    let mut out = std::io::stdout().lock();
    let machine = Machine::read();
    let brand = machine
        .processor
        .brand
        .unwrap_or(machine.processor.architecture);
    for language in [Language::C, Language::Cxx] {
        let name = if language == Language::C { "c" } else { "c++" };
        let line = match Compiler::find(language) {
            Ok(compiler) => format!("cpu      {brand}; {name} by {}", compiler.version),
            Err(error) => format!("cpu      {brand}; no {name}: {}", Error::from(error)),
        };
        let _ = writeln!(out, "{line}");
    }
    for line in cuda::probe().sentences() {
        let _ = writeln!(out, "{line}");
    }
    Ok(DONE)
}
