//! Description of the measuring machine: facts that stay constant while it runs.
//!
//! Read from `/proc`, `/sys`, `/etc` and the processor's identification. The record is hashed and published
//! with the timings, therefore
//!
//! * it contains nothing that changes by itself: no load, temperature, current clock or free memory (see
//!   [`crate::conditions::Conditions`]);
//! * it contains nothing that identifies a person, a host or a single device: no host name, user, serial
//!   number, address or machine id;
//! * unknown values are null, never 0.

mod arm;
mod container;
mod cpu;
mod frequency;
mod memory;
mod os;
mod toolchain;
mod topology;

use serde::{Deserialize, Serialize};
use tsql_codecs::json;

pub(crate) use container::{Container, cpu_groups, parse_quota};
pub use cpu::Processor;
pub(crate) use frequency::Frequency;
pub(crate) use memory::{Memory, meminfo_bytes};
pub(crate) use os::System;
pub use toolchain::Toolchain;
pub(crate) use topology::{Topology, siblings};

use crate::fs_root::FsRoot;

/// Constant facts about a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Maker and product from the firmware; in a cloud the instance type.
    pub(crate) product: Option<String>,
    /// Identification of the processor.
    pub processor: Processor,
    pub(crate) topology: Topology,
    pub(crate) frequency: Frequency,
    pub(crate) memory: Memory,
    pub(crate) system: System,
    pub(crate) container: Container,
    /// Compiler of the host; set by the caller.
    pub toolchain: Option<Toolchain>,
    /// One object per GPU; set by the caller.
    pub gpus: Vec<serde_json::Value>,
}

impl Machine {
    /// Reads the current machine, without compiler and GPUs.
    pub fn read() -> Self {
        Self::read_at(&FsRoot::system())
    }

    /// Reads the machine whose files are below `root`.
    pub(crate) fn read_at(root: &FsRoot) -> Self {
        Self {
            product: read_product(root),
            processor: Processor::read(root),
            topology: Topology::read(root),
            frequency: Frequency::read(root),
            memory: Memory::read(root),
            system: System::read(root),
            container: Container::read(root),
            toolchain: None,
            gpus: Vec::new(),
        }
    }

    /// Canonical JSON text, which is hashed: equal for equal machines.
    pub fn to_json(&self) -> String {
        // Strings, integers and JSON values always serialize.
        let text = serde_json::to_string(self).unwrap_or_default();
        json::canonical(&text).unwrap_or_default()
    }
}

/// Maker and product, without the firmware's placeholder texts.
fn read_product(root: &FsRoot) -> Option<String> {
    const UNFILLED: [&str; 5] = [
        "to be filled",
        "default string",
        "system product name",
        "system manufacturer",
        "not specified",
    ];
    let mut words = Vec::new();
    for name in ["sys_vendor", "product_name"] {
        let filled = root
            .nonempty_text(&format!("/sys/class/dmi/id/{name}"))
            .filter(|text| {
                let text = text.to_lowercase();
                !UNFILLED.iter().any(|phrase| text.contains(phrase))
            });
        words.extend(filled);
    }
    // ARM boards have a device tree instead, with NUL-terminated strings.
    let board = || {
        root.nonempty_text("/proc/device-tree/model")
            .map(|text| text.trim_end_matches('\0').to_owned())
    };
    if words.is_empty() {
        board()
    } else {
        Some(words.join(" "))
    }
}

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod tests;
