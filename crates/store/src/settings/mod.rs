//! Session settings that scans use.

pub(crate) mod rule_switches;
pub(crate) mod verify_settings;
