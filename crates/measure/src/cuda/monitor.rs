//! GPU state from NVML, the driver's management library: clocks, throttling, other processes, and facts
//! missing from the driver API. Read only: no clock or limit is changed.

use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::Clock;
use nvml_wrapper::{Device, Nvml};
use serde_json::{Value, json};

use crate::launch_timing::Condition;

/// Throttling reasons that invalidate a timing. The power cap is excluded: a busy GPU often reaches it.
const THROTTLED: ThrottleReasons = ThrottleReasons::HW_SLOWDOWN
    .union(ThrottleReasons::SW_THERMAL_SLOWDOWN)
    .union(ThrottleReasons::HW_THERMAL_SLOWDOWN)
    .union(ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN);

/// An NVML handle; empty if NVML is not installed.
pub(crate) struct Monitor(Option<Nvml>);

impl Monitor {
    pub(crate) fn open() -> Self {
        Self(Nvml::init().ok())
    }

    /// Driver version, e.g. `580.82.07`.
    pub(super) fn driver_version(&self) -> Option<String> {
        self.0.as_ref()?.sys_driver_version().ok()
    }

    /// The GPU at `bus_id`; without information if NVML does not list it.
    pub(crate) fn gpu(&self, bus_id: &str) -> Gpu<'_> {
        let device = self.0.as_ref();
        Gpu(device.and_then(|nvml| nvml.device_by_pci_bus_id(bus_id).ok()))
    }
}

/// A GPU in NVML.
pub(crate) struct Gpu<'n>(Option<Device<'n>>);

impl Gpu<'_> {
    pub(crate) fn condition(&self) -> Option<Condition> {
        let device = self.0.as_ref()?;
        Some(Condition {
            throttled: device
                .current_throttle_reasons()
                .is_ok_and(|reasons| reasons.intersects(THROTTLED)),
            sm_clock_mhz: device.clock_info(Clock::SM).ok(),
        })
    }

    /// Returns whether another process computes on the GPU.
    ///
    /// Must be called while this process has a context. That context is subtracted from the count, because
    /// its process number differs inside a container.
    pub(crate) fn is_shared(&self) -> bool {
        let processes = self.0.as_ref().map(Device::running_compute_processes);
        processes.is_some_and(|processes| processes.is_ok_and(|all| all.len() > 1))
    }

    /// Constant facts for the environment of a record. Unknown values are `null`.
    pub(super) fn facts(&self) -> Value {
        let device = self.0.as_ref();
        let clock = |clock| device.and_then(|device| device.max_clock_info(clock).ok());
        json!({
            "mig": device.and_then(|device| device.mig_mode().ok()).map(|mode| mode.current == 1),
            "persistence": device.and_then(|device| device.is_in_persistent_mode().ok()),
            "power_limit_mw": device.and_then(|device| device.enforced_power_limit().ok()),
            "max_sm_clock_mhz": clock(Clock::SM),
            "max_memory_clock_mhz": clock(Clock::Memory),
        })
    }
}
