//! Description of this machine.

use tsql_measure::backends::{self, BACKENDS};
use tsql_measure::conditions::Conditions;
use tsql_measure::device::hardware_slug;
use tsql_measure::doctor::{self, Finding};
use tsql_measure::machine::Machine;

/// JSON object about this machine, which is stored with every record. It has no host name, user, serial
/// number or address.
pub fn machine_json() -> String {
    backends::describe_machine().to_json()
}

/// Checks for conditions of this machine that distort timings, with remedies.
pub fn run_doctor() -> Vec<Finding> {
    let scratch = std::env::temp_dir();
    doctor::examine(&backends::describe_machine(), &Conditions::now(), &scratch)
}

/// Human-readable lines about available devices and missing parts.
pub fn describe_devices() -> Vec<String> {
    let lines = BACKENDS.iter().flat_map(|backend| backend.describe());
    lines.collect()
}

/// Default platform of records: a short name of the device, or of this machine's processor.
pub fn platform_of_device(device: Option<&str>) -> String {
    device.map_or_else(|| backends::platform(&Machine::read()), hardware_slug)
}
