//! What a build without CUDA has in its place: it finds no device, and refuses kernels for one.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use serde_json::Value;

use crate::error::{Error, Result};
use crate::trial::{Outcome, Trial};

/// What is told wherever CUDA is asked for.
const ABSENT: &str =
    "this build of tsql has no CUDA\nhint: one with the feature `cuda` times kernels on GPUs";

fn absent<T>() -> Result<T> {
    Err(Error::Usage(ABSENT.to_owned()))
}

/// What there is, and what is missing: CUDA itself.
pub struct Probe {
    /// None.
    pub devices: Vec<DeviceFacts>,
    /// Version of NVRTC: none.
    pub nvrtc: Option<String>,
    /// What is missing, one or two lines each (the second is a `hint: `).
    pub missing: Vec<String>,
}

/// A device.
pub struct DeviceFacts {
    /// Its number for the driver.
    pub ordinal: u32,
    /// As the driver says it.
    pub name: String,
    /// `sm_90`.
    pub architecture: String,
    /// Its part of the environment.
    pub facts: Value,
}

impl Probe {
    /// All of it in lines for a reader.
    pub fn sentences(&self) -> Vec<String> {
        self.missing.clone()
    }

    /// Nothing can be compiled or timed here.
    pub fn is_ready(&self) -> bool {
        false
    }
}

/// Finds nothing.
pub fn probe() -> Probe {
    Probe {
        devices: Vec::new(),
        nvrtc: None,
        missing: vec![ABSENT.to_owned()],
    }
}

/// A kernel for one architecture; there is none.
#[derive(Clone, Copy, Debug)]
pub struct Cubin {
    /// Seconds that compiling took.
    pub cost_s: f64,
}

/// Compiles trials; there is none.
pub enum Compiler {}

impl Compiler {
    /// Refuses.
    ///
    /// # Errors
    /// [`Error::Usage`], always.
    pub fn new(_: &[OsString], _: &Probe, _: bool) -> Result<Self> {
        absent()
    }

    /// Is never called.
    ///
    /// # Errors
    /// None.
    pub fn compile(&self, _: &Trial, _: &str) -> Result<Result<Cubin, Outcome>> {
        match *self {}
    }
}

/// A process with a context on a device; there is none.
pub enum Worker {}

impl Worker {
    /// Refuses.
    ///
    /// # Errors
    /// [`Error::Usage`], always.
    pub fn start(_: &[OsString], _: u32) -> Result<Self> {
        absent()
    }

    /// Is never called.
    ///
    /// # Errors
    /// None.
    pub fn run(&mut self, _: &Trial, _: &Cubin, _: Option<&Path>) -> Result<Outcome> {
        match *self {}
    }
}

/// Refuses to serve.
///
/// # Errors
/// [`Error::Usage`], always.
pub fn serve(_: &[&OsStr]) -> Result<()> {
    absent()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_cuda() {
        let probe = probe();
        assert!(!probe.is_ready());
        assert!(probe.sentences().join("\n").contains("has no CUDA"));
        assert!(Worker::start(&[], 0).is_err() && serve(&[]).is_err());
    }
}
