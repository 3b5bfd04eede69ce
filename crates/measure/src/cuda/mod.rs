//! CUDA C kernels: compiled by NVRTC, launched through the driver, timed by events.
//!
//! ```text
//! this process                       processes of their own (hidden command of the same program)
//! probe     what is there            compile   one per kernel: NVRTC makes a CUBIN, can be killed
//! compiler  ── order ──────────────▶ worker    one per device: loads CUBINs, checks and times them,
//! worker    ── job ────────────────▶           until an error spoils its context
//! ```
//!
//! Nothing here panics where a library, a symbol or a device is missing: `probe` says what is.

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
