//! CUDA C kernels: compiled by NVRTC, launched through the driver, timed by events.
//!
//! ```text
//! this process                       separate processes (hidden command of the same program)
//! probe     finds driver, devices    compile   one per kernel: NVRTC generates a CUBIN, can be killed
//! compiler  ── request ────────────▶ worker    one per device: loads CUBINs, checks and times them,
//! worker    ── job ────────────────▶           until an error corrupts its context
//! ```
//!
//! Nothing in this module panics if a library, a symbol or a device is missing; `probe` reports it.

mod bench;
mod check;
mod child;
mod code;
mod compiler;
mod device;
mod driver;
mod job;
mod library;
mod limits;
mod monitor;
mod nvrtc;
mod probe;
mod serve;
#[cfg(test)]
mod stub;
#[cfg(test)]
mod tests;
mod worker;

pub(crate) use device::Cuda;
pub(crate) use monitor::Monitor;
