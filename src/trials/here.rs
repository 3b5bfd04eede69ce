//! What is known of this machine.

use tsql_measure::backends::{self, BACKENDS};
use tsql_measure::conditions::Conditions;
use tsql_measure::device::short;
use tsql_measure::doctor::{self, Finding};
use tsql_measure::machine::Machine;

/// What is stored of this machine with every record: a JSON object. No host name, user, serial number or address is in it.
pub fn machine() -> String {
    backends::machine().to_json()
}

/// What would spoil timings on this machine, and what to do about it.
pub fn doctor() -> Vec<Finding> {
    let scratch = std::env::temp_dir();
    doctor::examine(&backends::machine(), &Conditions::now(), &scratch)
}

/// What kernels can be measured on, and what is missing for the rest, in lines.
pub fn devices() -> Vec<String> {
    let lines = BACKENDS.iter().flat_map(|backend| backend.sentences());
    lines.collect()
}

/// The platform that records name where nobody says: a device of this name in short, or this machine's processor.
pub fn platform(device: Option<&str>) -> String {
    device.map_or_else(|| backends::platform(&Machine::read()), short)
}
