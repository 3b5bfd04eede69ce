//! `tsql measure doctor`, `env` and `devices`: this machine.

use std::io::Write as _;

use clap::Args;
use tsql_dataset::trials;
use tsql_measure::doctor::{Level, format_table};

use crate::outcome::{DONE, Failure, PARTLY};

/// Check this machine for causes of unreliable timings, with remedies
#[derive(Args, Debug)]
pub(super) struct Doctor {}

/// Show the description of this machine that is stored with every record
///
/// It contains no host name, user, serial number or address.
#[derive(Args, Debug)]
pub(super) struct Env {}

/// List the devices for kernels, and missing requirements of the others
#[derive(Args, Debug)]
pub(super) struct Devices {}

pub(super) fn doctor(_: Doctor) -> Result<u8, Failure> {
    let findings = trials::run_doctor();
    let mut out = std::io::stdout().lock();
    for line in format_table(&findings) {
        let _ = writeln!(out, "{line}");
    }
    let warns = findings
        .iter()
        .any(|finding| finding.level == Level::Warning);
    Ok(if warns { PARTLY } else { DONE })
}

pub(super) fn env(_: Env) -> Result<u8, Failure> {
    let text = trials::machine_json();
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
    for line in trials::describe_devices() {
        let _ = writeln!(out, "{line}");
    }
    Ok(DONE)
}
