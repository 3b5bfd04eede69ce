//! Detection of CUDA: driver, devices and compiler, and messages about missing parts.
//!
//! The order is: driver library, driver initialization, devices, versions, compiler library. So the first
//! missing part is reported first. Nothing in this module panics or fails.

use serde_json::{Value, json};
use twox_hash::XxHash3_64;

use super::code::Code;
use super::driver::{Device, DeviceAttribute, Driver, DriverUnavailable};
use super::library::{SearchPaths, Toolkit};
use super::monitor::Monitor;
use super::nvrtc::Nvrtc;

/// Detected and missing parts of CUDA.
pub(crate) struct Probe {
    /// Devices in the order of their numbers.
    pub(crate) devices: Vec<DeviceFacts>,
    /// CUDA version of the driver, e.g. `13.0`.
    pub(crate) driver_cuda: Option<String>,
    /// Version of NVRTC, e.g. `13.0`.
    pub(crate) nvrtc: Option<String>,
    /// Messages about missing parts, one or two lines each (the second is a `hint: `).
    pub(crate) missing: Vec<String>,
    pub(super) toolkit: Option<Toolkit>,
}

/// Facts about a device.
pub(crate) struct DeviceFacts {
    /// Number of the device in the driver.
    pub(crate) ordinal: u32,
    /// Name in the driver, e.g. `NVIDIA H200`.
    pub(crate) name: String,
    /// `sm_90`.
    pub(crate) architecture: String,
    /// Facts for the environment of a record. The UUID is hashed.
    pub(crate) facts: Value,
}

impl Probe {
    /// Human-readable lines about all parts.
    pub(crate) fn describe(&self) -> Vec<String> {
        let devices = self.devices.iter().map(|device| {
            let DeviceFacts {
                ordinal,
                name,
                architecture,
                facts,
                ..
            } = device;
            let number = |key: &str| facts.get(key).and_then(Value::as_u64).unwrap_or(0);
            format!(
                "cuda:{ordinal} {name}, {architecture}, {} multiprocessors, {} MiB, L2 {} MiB",
                number("multiprocessors"),
                number("memory_bytes") >> 20,
                number("l2_bytes") >> 20,
            )
        });
        let driver = self.driver_cuda.iter();
        let driver = driver.map(|version| format!("the driver supports CUDA {version}"));
        let compiler = self
            .toolkit
            .iter()
            .zip(&self.nvrtc)
            .map(|(toolkit, version)| {
                let library = toolkit.library.display();
                match &toolkit.headers {
                    Some(headers) => format!(
                        "NVRTC {version} is `{library}`, with headers in `{}`",
                        headers.display()
                    ),
                    None => format!("NVRTC {version} is `{library}`, without CUDA's headers"),
                }
            });
        let missing = self.missing.iter().cloned();
        devices
            .chain(driver)
            .chain(compiler)
            .chain(missing)
            .collect()
    }

    /// Returns whether kernels can be compiled and timed.
    pub(crate) fn is_ready(&self) -> bool {
        !self.devices.is_empty() && self.toolkit.is_some()
    }
}

/// Detects all parts.
pub(crate) fn probe() -> Probe {
    let search_paths = SearchPaths::from_environment();
    let compiler = find_compiler(&search_paths.candidates());
    let nvrtc = compiler.as_ref().map(|(_, version)| version.clone());
    let mut missing = Vec::new();
    let (devices, driver_cuda) = match Driver::open() {
        Ok(driver) => find_devices(driver, nvrtc.as_deref(), &mut missing),
        Err(absent) => {
            missing.push(explain_driver_error(&absent));
            (Vec::new(), None)
        }
    };
    if compiler.is_none() {
        missing.push(format!(
            "NVRTC, CUDA's compiler library, is not found; looked in {}\nhint: `pip install \
             'nvidia-cuda-nvrtc>=13,<13.1' 'nvidia-cuda-runtime>=13,<13.1'` installs it, \
             `TSQL_NVRTC_DIR` selects its directory",
            search_paths.describe()
        ));
    }
    Probe {
        devices,
        driver_cuda,
        nvrtc,
        missing,
        toolkit: compiler.map(|(toolkit, _)| toolkit),
    }
}

/// First candidate that opens and reports its version.
fn find_compiler(candidates: &[Toolkit]) -> Option<(Toolkit, String)> {
    candidates.iter().find_map(|toolkit| {
        let (major, minor) = Nvrtc::open(toolkit).ok()?.version()?;
        Some((toolkit.clone(), format!("{major}.{minor}")))
    })
}

pub(super) fn explain_driver_error(absent: &DriverUnavailable) -> String {
    match absent {
        DriverUnavailable::Library => {
            "the CUDA driver is not installed: there is no library `libcuda.so.1`\n\
             hint: a container uses the driver of the host (`--gpus all`)"
                .to_owned()
        }
        DriverUnavailable::Function(name) => format!(
            "the CUDA driver is too old: it has no function `{name}`\nhint: install driver 570 (CUDA 12.8) \
             or a newer one"
        ),
        DriverUnavailable::Start(Code::NO_DEVICE) => "the CUDA driver finds no GPU\n\
             hint: `CUDA_VISIBLE_DEVICES` can hide them"
            .to_owned(),
        DriverUnavailable::Start(code) => format!("the CUDA driver does not start: error `{code}`"),
    }
}

fn find_devices(
    driver: Driver,
    nvrtc: Option<&str>,
    missing: &mut Vec<String>,
) -> (Vec<DeviceFacts>, Option<String>) {
    let version = driver.version().ok();
    let version = version.map(|version| format!("{}.{}", version / 1000, version % 1000 / 10));
    let monitor = Monitor::open();
    let common = json!({
        "driver_version": monitor.driver_version(),
        "driver_cuda_version": version,
        "nvrtc_version": nvrtc,
    });
    let mut devices = Vec::new();
    match driver.device_count() {
        Ok(0) => missing.push(explain_driver_error(&DriverUnavailable::Start(
            Code::NO_DEVICE,
        ))),
        Ok(count) => {
            for ordinal in 0..count {
                let device = driver.device(ordinal);
                match device.and_then(|device| describe_device(ordinal, device, &monitor, &common))
                {
                    Ok(device) => devices.push(device),
                    Err(code) => missing.push(format!("`cuda:{ordinal}` fails: error `{code}`")),
                }
            }
        }
        Err(code) => missing.push(format!("the driver does not count devices: error `{code}`")),
    }
    (devices, version)
}

fn describe_device(
    ordinal: u32,
    device: Device,
    monitor: &Monitor,
    common: &Value,
) -> Result<DeviceFacts, Code> {
    let number = |attribute| device.attribute(attribute);
    let name = device.name()?;
    let architecture = architecture(device)?;
    let gpu = monitor.gpu(&device.bus_id()?);
    let uuid = device.uuid().ok();
    let device_facts = json!({
        "name": name,
        "architecture": architecture,
        // Data sets are published, and the plain UUID would identify a machine.
        "uuid_hash": uuid.map(|uuid| format!("{:016x}", XxHash3_64::oneshot(&uuid))),
        "multiprocessors": number(DeviceAttribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        "l2_bytes": number(DeviceAttribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?,
        "memory_bytes": device.memory_bytes()?,
        "ecc": number(DeviceAttribute::CU_DEVICE_ATTRIBUTE_ECC_ENABLED)? == 1,
    });
    let parts = [device_facts, common.clone(), gpu.facts()];
    let facts = parts.into_iter().filter_map(|part| match part {
        Value::Object(part) => Some(part),
        _ => None,
    });
    Ok(DeviceFacts {
        ordinal,
        name,
        architecture,
        facts: Value::Object(facts.flatten().collect()),
    })
}

/// Real architecture of the device, e.g. `sm_90`.
fn architecture(device: Device) -> Result<String, Code> {
    let major = device.attribute(DeviceAttribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = device.attribute(DeviceAttribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    Ok(format!("sm_{major}{minor}"))
}
