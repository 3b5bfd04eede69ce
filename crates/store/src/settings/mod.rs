//! Settings of a session that a scan obeys.

pub(crate) mod rule_switches;
pub(crate) mod verify_settings;
