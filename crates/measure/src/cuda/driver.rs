//! The parts of the CUDA driver API needed for measuring: devices, memory, modules, launches and events.
//!
//! All driver calls are in this module, behind types that free their resources. cudarc loads the library at
//! the first call and panics if the library or a function is missing. Therefore [`Driver::open`] checks all
//! of them first, and everything else starts from a [`Driver`].
#![expect(
    unsafe_code,
    reason = "the driver is a C library; every call into it is in this file"
)]

use std::ffi::{CStr, CString, c_int, c_uint, c_void};

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys;

use super::code::Code;
use crate::trial::Launch;

pub(super) use sys::CUdevice_attribute as DeviceAttribute;
pub(super) use sys::CUfunction_attribute as FunctionAttribute;

/// Driver functions used below.
const REQUIRED_FUNCTIONS: &[&str] = &[
    "cuInit",
    "cuDriverGetVersion",
    "cuDeviceGetCount",
    "cuDeviceGet",
    "cuDeviceGetName",
    "cuDeviceTotalMem_v2",
    "cuDeviceGetAttribute",
    "cuDeviceGetUuid_v2",
    "cuDeviceGetPCIBusId",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxSetCurrent",
    "cuStreamCreate",
    "cuStreamSynchronize",
    "cuStreamDestroy_v2",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemsetD8Async",
    "cuModuleLoadData",
    "cuModuleGetFunction",
    "cuModuleUnload",
    "cuFuncGetAttribute",
    "cuFuncSetAttribute",
    "cuFuncGetParamInfo",
    "cuLaunchKernel",
    "cuEventCreate",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuEventElapsedTime_v2",
    "cuEventDestroy_v2",
];

/// Maximum bytes of kernel parameters (CUDA C++ Programming Guide).
const MAX_PARAMETERS: usize = 32_764;

impl From<DriverError> for Code {
    // Not the error's `Display`, which calls a driver function that can be missing.
    fn from(error: DriverError) -> Self {
        Self(error.0 as u32)
    }
}

/// Reason why the driver is unavailable.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DriverUnavailable {
    Library,
    Function(&'static str),
    Start(Code),
}

/// The loaded and initialized driver.
#[derive(Clone, Copy)]
pub(super) struct Driver(());

impl Driver {
    pub(super) fn open() -> Result<Self, DriverUnavailable> {
        // SAFETY: loading the driver runs its initializers, as every CUDA program does.
        if !unsafe { sys::is_culib_present() } {
            return Err(DriverUnavailable::Library);
        }
        // SAFETY: as above; the library was found just before.
        let library = unsafe { sys::culib() };
        for &name in REQUIRED_FUNCTIONS {
            // SAFETY: this only tests whether the symbol exists; it is not called as this type.
            let found = unsafe { library.get::<unsafe extern "C" fn()>(name) };
            if found.is_err() {
                return Err(DriverUnavailable::Function(name));
            }
        }
        result::init().map_err(|error| DriverUnavailable::Start(error.into()))?;
        Ok(Self(()))
    }

    /// CUDA version that the driver supports: 13000 is 13.0.
    pub(super) fn version(self) -> Result<u32, Code> {
        let mut version: c_int = 0;
        // SAFETY: `version` outlives the call.
        unsafe { sys::cuDriverGetVersion(&raw mut version) }.result()?;
        Ok(version.unsigned_abs())
    }

    pub(super) fn device_count(self) -> Result<u32, Code> {
        Ok(result::device::get_count()?.unsigned_abs())
    }

    pub(super) fn device(self, ordinal: u32) -> Result<Device, Code> {
        let ordinal = c_int::try_from(ordinal).map_err(|_| Code(101))?;
        let handle = result::device::get(ordinal)?;
        Ok(Device { handle })
    }
}

/// A GPU.
#[derive(Clone, Copy)]
pub(super) struct Device {
    handle: sys::CUdevice,
}

impl Device {
    pub(super) fn name(self) -> Result<String, Code> {
        Ok(result::device::get_name(self.handle)?)
    }

    pub(super) fn memory_bytes(self) -> Result<u64, Code> {
        // SAFETY: the handle came from the driver.
        let bytes = unsafe { result::device::total_mem(self.handle) }?;
        Ok(u64::try_from(bytes).unwrap_or(u64::MAX))
    }

    pub(super) fn attribute(self, attribute: DeviceAttribute) -> Result<u32, Code> {
        // SAFETY: the handle came from the driver.
        let value = unsafe { result::device::get_attribute(self.handle, attribute) }?;
        Ok(u32::try_from(value).unwrap_or(0))
    }

    pub(super) fn uuid(self) -> Result<[u8; 16], Code> {
        let uuid = result::device::get_uuid(self.handle)?;
        Ok(uuid.bytes.map(|byte| {
            let [byte] = byte.to_ne_bytes();
            byte
        }))
    }

    /// PCI bus address, e.g. `0000:19:00.0`. NVML identifies the GPU by it, too.
    pub(super) fn bus_id(self) -> Result<String, Code> {
        let mut text = [0_u8; 32];
        // SAFETY: `text` has the stated length.
        unsafe { sys::cuDeviceGetPCIBusId(text.as_mut_ptr().cast(), 32, self.handle) }.result()?;
        let text = CStr::from_bytes_until_nul(&text).map_err(|_| Code(999))?;
        Ok(text.to_string_lossy().into_owned())
    }
}

/// A device's context, current on this thread, with the stream that everything runs on.
pub(super) struct Context {
    device: sys::CUdevice,
    stream: sys::CUstream,
}

impl Context {
    pub(super) fn new(device: Device) -> Result<Self, Code> {
        let device = device.handle;
        // SAFETY: the handle came from the driver; the context is released in `drop`.
        let context = unsafe { result::primary_ctx::retain(device) }?;
        // From this point `drop` releases the context, even if the next steps fail.
        let mut opened = Self {
            device,
            stream: std::ptr::null_mut(),
        };
        // SAFETY: the context is alive.
        unsafe { result::ctx::set_current(context) }?;
        opened.stream = result::stream::create(result::stream::StreamKind::NonBlocking)?;
        Ok(opened)
    }

    pub(super) fn allocate(&self, bytes: usize) -> Result<Buffer<'_>, Code> {
        // SAFETY: a context is current; the memory is freed in `drop`.
        let address = unsafe { result::malloc_sync(bytes.max(1)) }?;
        Ok(Buffer {
            address,
            bytes,
            context: self,
        })
    }

    /// Loads a CUBIN.
    pub(super) fn load(&self, image: &[u8]) -> Result<Module<'_>, Code> {
        // The driver treats any other content as NUL-terminated text.
        if !image.starts_with(b"\x7fELF") {
            return Err(Code::INVALID_IMAGE);
        }
        // SAFETY: the driver reads a CUBIN's length from its ELF headers; the bytes are a complete file
        // written by NVRTC.
        let handle = unsafe { result::module::load_data(image.as_ptr().cast()) }?;
        Ok(Module {
            handle,
            context: self,
        })
    }

    pub(super) fn event(&self) -> Result<Event<'_>, Code> {
        let handle = result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT)?;
        Ok(Event {
            handle,
            context: self,
        })
    }

    /// Waits for all work on the stream.
    pub(super) fn synchronize(&self) -> Result<(), Code> {
        // SAFETY: the stream lives as long as `self`.
        Ok(unsafe { result::stream::synchronize(self.stream) }?)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // After a sticky error these calls fail. The process ends soon, so errors are ignored.
        if !self.stream.is_null() {
            // SAFETY: nothing that runs on the stream outlives the context.
            let _ = unsafe { result::stream::destroy(self.stream) };
        }
        // SAFETY: retained in `new`.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

/// Memory of the device.
pub(super) struct Buffer<'c> {
    address: sys::CUdeviceptr,
    bytes: usize,
    context: &'c Context,
}

impl Buffer<'_> {
    /// Copies `bytes` to the device and waits for completion.
    pub(super) fn upload(&self, bytes: &[u8]) -> Result<(), Code> {
        if bytes.len() > self.bytes {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: source and destination have the same length and live until the copy is complete.
        unsafe { result::memcpy_htod_async(self.address, bytes, self.context.stream) }?;
        self.context.synchronize()
    }

    /// Copies the buffer to the host and waits for completion.
    pub(super) fn download(&self) -> Result<Vec<u8>, Code> {
        let mut bytes = vec![0; self.bytes];
        // SAFETY: source and destination have the same length and live until the copy is complete.
        unsafe { result::memcpy_dtoh_async(&mut bytes, self.address, self.context.stream) }?;
        self.context.synchronize()?;
        Ok(bytes)
    }

    /// Sets all bytes to `byte`, asynchronously.
    pub(super) fn fill(&self, byte: u8) -> Result<(), Code> {
        // SAFETY: the memory has this length; a later free waits for earlier work.
        Ok(
            unsafe {
                result::memset_d8_async(self.address, byte, self.bytes, self.context.stream)
            }?,
        )
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        // SAFETY: allocated in `allocate` and freed once. An error means a corrupted context.
        let _ = unsafe { result::free_sync(self.address) };
    }
}

/// A loaded CUBIN.
pub(super) struct Module<'c> {
    handle: sys::CUmodule,
    context: &'c Context,
}

impl Module<'_> {
    /// Returns the kernel `entry`, or [`Code::NOT_FOUND`].
    pub(super) fn function(&self, entry: &str) -> Result<Function<'_>, Code> {
        let entry = CString::new(entry).map_err(|_| Code::NOT_FOUND)?;
        // SAFETY: the module stays loaded while `self` lives.
        let handle = unsafe { result::module::get_function(self.handle, entry) }?;
        Ok(Function {
            handle,
            context: self.context,
        })
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        // SAFETY: loaded in `load`, unloaded once.
        let _ = unsafe { result::module::unload(self.handle) };
    }
}

/// A kernel.
pub(super) struct Function<'m> {
    handle: sys::CUfunction,
    context: &'m Context,
}

impl Function<'_> {
    pub(super) fn attribute(&self, attribute: FunctionAttribute) -> Result<u32, Code> {
        // SAFETY: the function's module is loaded.
        let value = unsafe { result::function::get_function_attribute(self.handle, attribute) }?;
        Ok(u32::try_from(value).unwrap_or(0))
    }

    /// Allows launches with up to `bytes` of dynamic shared memory; required above 48 KiB.
    pub(super) fn set_max_shared_bytes(&self, bytes: u32) -> Result<(), Code> {
        let attribute = FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let bytes = c_int::try_from(bytes).map_err(|_| Code::INVALID_VALUE)?;
        // SAFETY: the function's module is loaded.
        Ok(unsafe { result::function::set_function_attribute(self.handle, attribute, bytes) }?)
    }

    /// Size of each parameter in bytes, in order.
    pub(super) fn parameters(&self) -> Result<Vec<usize>, Code> {
        let mut sizes = Vec::new();
        while sizes.len() < MAX_PARAMETERS {
            let (mut offset, mut size) = (0, 0);
            // SAFETY: the function's module is loaded, and both numbers outlive the call.
            let code = unsafe {
                sys::cuFuncGetParamInfo(self.handle, sizes.len(), &raw mut offset, &raw mut size)
            };
            match code.result().map_err(Code::from) {
                Ok(()) => sizes.push(size),
                // Result for an index after the last parameter.
                Err(Code::INVALID_VALUE) => break,
                Err(code) => return Err(code),
            }
        }
        Ok(sizes)
    }

    /// Binds arguments. The caller must have compared their sizes with [`Function::parameters`].
    pub(super) fn call<'b>(&'b self, shape: Launch, parameters: &[Parameter<'b>]) -> Call<'b> {
        let values = parameters.iter().map(|parameter| match parameter {
            Parameter::Buffer(buffer) => buffer.address,
            Parameter::Scalar { bits, .. } => *bits,
        });
        let mut values: Vec<u64> = values.collect();
        let pointers = values.iter_mut().map(|value| (&raw mut *value).cast());
        Call {
            pointers: pointers.collect(),
            _values: values,
            function: self,
            shape,
        }
    }
}

/// An argument of a kernel.
pub(super) enum Parameter<'b> {
    Buffer(&'b Buffer<'b>),
    /// A value in the first bytes of `bits`.
    Scalar {
        bits: u64,
        bytes: usize,
    },
}

impl Parameter<'_> {
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Buffer(_) => size_of::<sys::CUdeviceptr>(),
            Self::Scalar { bytes, .. } => *bytes,
        }
    }
}

/// A kernel with its arguments, ready to launch.
pub(super) struct Call<'b> {
    function: &'b Function<'b>,
    shape: Launch,
    /// Pointers into `_values`, whose heap address does not change.
    pointers: Vec<*mut c_void>,
    _values: Vec<u64>,
}

impl Call<'_> {
    /// Launches the kernel asynchronously. Later calls report errors of the kernel.
    pub(super) fn launch(&mut self) -> Result<(), Code> {
        let triple = |[x, y, z]: [u32; 3]| -> (c_uint, c_uint, c_uint) { (x, y, z) };
        // SAFETY: there is one pointer for each parameter of the kernel, to a value of the parameter's
        // size. The buffers among them outlive `self`. The kernel itself can only access device memory.
        Ok(unsafe {
            result::launch_kernel(
                self.function.handle,
                triple(self.shape.grid),
                triple(self.shape.block),
                self.shape.shared_bytes,
                self.function.context.stream,
                &mut self.pointers,
            )
        }?)
    }
}

/// A timestamp on the device's clock, with a resolution of about 0.5 µs.
pub(super) struct Event<'c> {
    handle: sys::CUevent,
    context: &'c Context,
}

impl Event<'_> {
    /// Records the timestamp after all earlier work on the stream.
    pub(super) fn record(&self) -> Result<(), Code> {
        // SAFETY: event and stream are alive.
        Ok(unsafe { result::event::record(self.handle, self.context.stream) }?)
    }

    /// Waits until the timestamp is recorded.
    pub(super) fn synchronize(&self) -> Result<(), Code> {
        // SAFETY: the event is alive.
        Ok(unsafe { result::event::synchronize(self.handle) }?)
    }

    /// Nanoseconds between two recorded events.
    pub(super) fn nanoseconds_since(&self, earlier: &Event<'_>) -> Result<f64, Code> {
        // SAFETY: both events are alive, on the same stream, with timing.
        let milliseconds = unsafe { result::event::elapsed(earlier.handle, self.handle) }?;
        Ok(f64::from(milliseconds) * 1e6)
    }
}

impl Drop for Event<'_> {
    fn drop(&mut self) {
        // SAFETY: created in `event`, destroyed once.
        let _ = unsafe { result::event::destroy(self.handle) };
    }
}
