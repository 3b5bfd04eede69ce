//! The CUDA driver, as far as measuring needs it: devices, memory, modules, launches and events.
//!
//! All calls into the driver are here, behind types that free what they hold. cudarc loads the
//! library at its first call and panics where it or a function is missing, so [`Driver::open`]
//! looks for all of them first, and everything else begins with a [`Driver`].
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

/// Functions that the calls below need.
const NEEDED: &[&str] = &[
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

/// A kernel takes 32764 bytes of parameters at most (CUDA C++ Programming Guide).
const MOST_PARAMETERS: usize = 32_764;

impl From<DriverError> for Code {
    // Not its `Display`: that calls a function of the driver, which can be missing.
    fn from(error: DriverError) -> Self {
        Self(error.0 as u32)
    }
}

/// Why there is no driver to work with.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Absent {
    Library,
    Function(&'static str),
    Start(Code),
}

/// The driver, loaded and started.
#[derive(Clone, Copy)]
pub(super) struct Driver(());

impl Driver {
    pub(super) fn open() -> Result<Self, Absent> {
        // SAFETY: loading the driver runs its initializers, as every CUDA program does.
        if !unsafe { sys::is_culib_present() } {
            return Err(Absent::Library);
        }
        // SAFETY: as above; it was found a moment ago.
        let library = unsafe { sys::culib() };
        for &name in NEEDED {
            // SAFETY: only whether the symbol is there is asked; it is not called as this type.
            let found = unsafe { library.get::<unsafe extern "C" fn()>(name) };
            if found.is_err() {
                return Err(Absent::Function(name));
            }
        }
        result::init().map_err(|error| Absent::Start(error.into()))?;
        Ok(Self(()))
    }

    /// CUDA version that it was made for: 13000 is 13.0.
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

    /// Where it sits, e.g. `0000:19:00.0`: the name that NVML knows it by, too.
    pub(super) fn bus_id(self) -> Result<String, Code> {
        let mut text = [0_u8; 32];
        // SAFETY: `text` has as many bytes as is said.
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
        // From here on `drop` releases it, also where the next steps fail.
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
        // Anything else the driver takes for a text that ends in a zero.
        if !image.starts_with(b"\x7fELF") {
            return Err(Code::INVALID_IMAGE);
        }
        // SAFETY: the driver reads a CUBIN's length from its ELF headers; the caller's bytes are a
        // whole file that NVRTC wrote.
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

    /// Waits until everything that was started is done.
    pub(super) fn synchronize(&self) -> Result<(), Code> {
        // SAFETY: the stream lives as long as `self`.
        Ok(unsafe { result::stream::synchronize(self.stream) }?)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // After a sticky error all of these fail, and the process ends soon: nothing to be done.
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
    /// Copies `bytes` to the device, and waits for it.
    pub(super) fn upload(&self, bytes: &[u8]) -> Result<(), Code> {
        if bytes.len() > self.bytes {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: both sides have the length, and live until the copy is done.
        unsafe { result::memcpy_htod_async(self.address, bytes, self.context.stream) }?;
        self.context.synchronize()
    }

    /// Copies the whole buffer to the host, and waits for it.
    pub(super) fn download(&self) -> Result<Vec<u8>, Code> {
        let mut bytes = vec![0; self.bytes];
        // SAFETY: both sides have the length, and live until the copy is done.
        unsafe { result::memcpy_dtoh_async(&mut bytes, self.address, self.context.stream) }?;
        self.context.synchronize()?;
        Ok(bytes)
    }

    /// Sets all bytes to `byte`; does not wait.
    pub(super) fn set(&self, byte: u8) -> Result<(), Code> {
        // SAFETY: the memory has this length; a later free waits for what was started before.
        Ok(
            unsafe {
                result::memset_d8_async(self.address, byte, self.bytes, self.context.stream)
            }?,
        )
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        // SAFETY: allocated in `allocate`, freed once. An error means a spoilt context.
        let _ = unsafe { result::free_sync(self.address) };
    }
}

/// A CUBIN on the device.
pub(super) struct Module<'c> {
    handle: sys::CUmodule,
    context: &'c Context,
}

impl Module<'_> {
    /// The kernel `entry`; [`Code::NOT_FOUND`] where there is none.
    pub(super) fn function(&self, entry: &str) -> Result<Function<'_>, Code> {
        let entry = CString::new(entry).map_err(|_| Code::NOT_FOUND)?;
        // SAFETY: the module is loaded as long as `self` lives.
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

    /// Allows launches with up to `bytes` of dynamic shared memory: needed above 48 KiB.
    pub(super) fn allow_shared(&self, bytes: u32) -> Result<(), Code> {
        let attribute = FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let bytes = c_int::try_from(bytes).map_err(|_| Code::INVALID_VALUE)?;
        // SAFETY: the function's module is loaded.
        Ok(unsafe { result::function::set_function_attribute(self.handle, attribute, bytes) }?)
    }

    /// Bytes of each parameter, in order.
    pub(super) fn parameters(&self) -> Result<Vec<usize>, Code> {
        let mut sizes = Vec::new();
        while sizes.len() < MOST_PARAMETERS {
            let (mut offset, mut size) = (0, 0);
            // SAFETY: the function's module is loaded, and both numbers outlive the call.
            let code = unsafe {
                sys::cuFuncGetParamInfo(self.handle, sizes.len(), &raw mut offset, &raw mut size)
            };
            match code.result().map_err(Code::from) {
                Ok(()) => sizes.push(size),
                // What it says of an index behind the last.
                Err(Code::INVALID_VALUE) => break,
                Err(code) => return Err(code),
            }
        }
        Ok(sizes)
    }

    /// Binds arguments. The caller has compared their sizes with [`Function::parameters`].
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
    /// The value's bytes come first in memory.
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
    /// Into `_values`, which stays where it is on the heap.
    pointers: Vec<*mut c_void>,
    _values: Vec<u64>,
}

impl Call<'_> {
    /// Starts the kernel; does not wait. What goes wrong in it is told by a later call.
    pub(super) fn launch(&mut self) -> Result<(), Code> {
        let triple = |[x, y, z]: [u32; 3]| -> (c_uint, c_uint, c_uint) { (x, y, z) };
        // SAFETY: the pointers lead to as many values, of the size that the kernel takes, as it
        // has parameters; the buffers among them live as long as `self`. What the kernel does is
        // confined to the device's memory.
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

/// A point in time on the device's clock, of a resolution of about 0.5 microseconds.
pub(super) struct Event<'c> {
    handle: sys::CUevent,
    context: &'c Context,
}

impl Event<'_> {
    /// Takes the time when what was started before is done.
    pub(super) fn record(&self) -> Result<(), Code> {
        // SAFETY: event and stream are alive.
        Ok(unsafe { result::event::record(self.handle, self.context.stream) }?)
    }

    /// Waits until the time is taken.
    pub(super) fn synchronize(&self) -> Result<(), Code> {
        // SAFETY: the event is alive.
        Ok(unsafe { result::event::synchronize(self.handle) }?)
    }

    /// Nanoseconds from `earlier` to this one; both have been taken.
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
