//! What CUDA has here: driver, devices and compiler, and what is missing, in sentences.
//!
//! Asked in this order, so that the first thing missing is the one told: the driver's library, its
//! start, devices, versions, the compiler's library. Nothing here panics or fails.

use serde_json::{Value, json};
use twox_hash::XxHash3_64;

use super::code::Code;
use super::driver::{Absent, Device, DeviceAttribute, Driver};
use super::library::{Places, Toolkit};
use super::monitor::Monitor;
use super::nvrtc::Nvrtc;

/// What there is, and what is missing.
pub(crate) struct Probe {
    /// In the order of their numbers.
    pub(crate) devices: Vec<DeviceFacts>,
    /// CUDA version of the driver, e.g. `13.0`.
    pub(crate) driver_cuda: Option<String>,
    /// Version of NVRTC, e.g. `13.0`.
    pub(crate) nvrtc: Option<String>,
    /// What is missing, one or two lines each (the second is a `hint: `).
    pub(crate) missing: Vec<String>,
    pub(super) toolkit: Option<Toolkit>,
}

/// A device.
pub(crate) struct DeviceFacts {
    /// Its number for the driver.
    pub(crate) ordinal: u32,
    /// As the driver says it: `NVIDIA H200`.
    pub(crate) name: String,
    /// `sm_90`.
    pub(crate) architecture: String,
    /// Its part of the environment. No uuid, only a hash of it.
    pub(crate) facts: Value,
}

impl Probe {
    /// All of it in lines for a reader.
    pub(crate) fn sentences(&self) -> Vec<String> {
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
        let driver = driver.map(|version| format!("the driver is made for CUDA {version}"));
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

    /// Kernels can be compiled and timed here.
    pub(crate) fn is_ready(&self) -> bool {
        !self.devices.is_empty() && self.toolkit.is_some()
    }
}

/// Looks for everything.
pub(crate) fn probe() -> Probe {
    let places = Places::of_environment();
    let compiler = find_compiler(&places.candidates());
    let nvrtc = compiler.as_ref().map(|(_, version)| version.clone());
    let mut missing = Vec::new();
    let (devices, driver_cuda) = match Driver::open() {
        Ok(driver) => find_devices(driver, nvrtc.as_deref(), &mut missing),
        Err(absent) => {
            missing.push(explain(&absent));
            (Vec::new(), None)
        }
    };
    if compiler.is_none() {
        missing.push(format!(
            "NVRTC, CUDA's compiler library, is not found; looked in {}\nhint: `pip install \
             'nvidia-cuda-nvrtc>=13,<13.1' 'nvidia-cuda-runtime>=13,<13.1'` brings it, \
             `TSQL_NVRTC_DIR` names its directory",
            places.describe()
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

/// The first that opens and tells its version.
fn find_compiler(candidates: &[Toolkit]) -> Option<(Toolkit, String)> {
    candidates.iter().find_map(|toolkit| {
        let (major, minor) = Nvrtc::open(toolkit).ok()?.version()?;
        Some((toolkit.clone(), format!("{major}.{minor}")))
    })
}

pub(super) fn explain(absent: &Absent) -> String {
    match absent {
        Absent::Library => "the CUDA driver is not installed: there is no library `libcuda.so.1`\n\
             hint: in a container, it comes from the host (`--gpus all`)"
            .to_owned(),
        Absent::Function(name) => format!(
            "the CUDA driver is too old: it has no function `{name}`\nhint: driver 570 (CUDA 12.8) \
             or a newer one is needed"
        ),
        Absent::Start(Code::NO_DEVICE) => "the CUDA driver sees no GPU\n\
             hint: `CUDA_VISIBLE_DEVICES` can hide them"
            .to_owned(),
        Absent::Start(code) => format!("the CUDA driver does not start: error `{code}`"),
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
        Ok(0) => missing.push(explain(&Absent::Start(Code::NO_DEVICE))),
        Ok(count) => {
            for ordinal in 0..count {
                let device = driver.device(ordinal);
                match device.and_then(|device| describe(ordinal, device, &monitor, &common)) {
                    Ok(device) => devices.push(device),
                    Err(code) => missing.push(format!("`cuda:{ordinal}` fails: error `{code}`")),
                }
            }
        }
        Err(code) => missing.push(format!("the driver does not count devices: error `{code}`")),
    }
    (devices, version)
}

fn describe(
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
    let own = json!({
        "name": name,
        "architecture": architecture,
        // Data sets get published: the number itself would tell one machine from another.
        "uuid_hash": uuid.map(|uuid| format!("{:016x}", XxHash3_64::oneshot(&uuid))),
        "multiprocessors": number(DeviceAttribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        "l2_bytes": number(DeviceAttribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?,
        "memory_bytes": device.memory_bytes()?,
        "ecc": number(DeviceAttribute::CU_DEVICE_ATTRIBUTE_ECC_ENABLED)? == 1,
    });
    let parts = [own, common.clone(), gpu.facts()];
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

/// The device's real architecture: `sm_90`.
fn architecture(device: Device) -> Result<String, Code> {
    let major = device.attribute(DeviceAttribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = device.attribute(DeviceAttribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    Ok(format!("sm_{major}{minor}"))
}
