//! `tsql measure doctor`, `env` and `devices`: what is known of this machine.

use std::io::Write as _;

use clap::Args;
use tsql_measure::doctor::{Level, lines};

use crate::cli::outcome::{DONE, Failure, PARTLY};
use crate::trials;

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

pub(super) fn doctor(_: Doctor) -> Result<u8, Failure> {
    let findings = trials::doctor();
    let mut out = std::io::stdout().lock();
    for line in lines(&findings) {
        let _ = writeln!(out, "{line}");
    }
    let warns = findings
        .iter()
        .any(|finding| finding.level == Level::Warning);
    Ok(if warns { PARTLY } else { DONE })
}

pub(super) fn env(_: Env) -> Result<u8, Failure> {
    let text = trials::machine();
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
    for line in trials::devices() {
        let _ = writeln!(out, "{line}");
    }
    Ok(DONE)
}
