//! What NVML, the driver's management library, tells of a GPU: clocks, throttling, who else is on
//! it, and facts that the driver does not tell. It is only read; no clock or limit is ever set.

use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::Clock;
use nvml_wrapper::{Device, Nvml};
use serde_json::{Value, json};

use crate::launches::Condition;

/// Reasons for low clocks that spoil a timing. The power cap is none: a busy GPU is often at it.
const THROTTLED: ThrottleReasons = ThrottleReasons::HW_SLOWDOWN
    .union(ThrottleReasons::SW_THERMAL_SLOWDOWN)
    .union(ThrottleReasons::HW_THERMAL_SLOWDOWN)
    .union(ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN);

/// NVML, where it is installed.
pub(crate) struct Monitor(Option<Nvml>);

impl Monitor {
    pub(crate) fn open() -> Self {
        Self(Nvml::init().ok())
    }

    /// `580.82.07`
    pub(super) fn driver_version(&self) -> Option<String> {
        self.0.as_ref()?.sys_driver_version().ok()
    }

    /// The GPU at `bus_id`; tells nothing where NVML does not know it.
    pub(crate) fn gpu(&self, bus_id: &str) -> Gpu<'_> {
        let device = self.0.as_ref();
        Gpu(device.and_then(|nvml| nvml.device_by_pci_bus_id(bus_id).ok()))
    }
}

/// A GPU, as NVML knows it.
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

    /// Another process computes on it. To be asked while this one has a context: that one is not
    /// counted, and cannot be told by its number, which differs inside a container.
    pub(crate) fn is_shared(&self) -> bool {
        let processes = self.0.as_ref().map(Device::running_compute_processes);
        processes.is_some_and(|processes| processes.is_ok_and(|all| all.len() > 1))
    }

    /// What stays as it is: a part of the environment. `null` is what nobody tells.
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
