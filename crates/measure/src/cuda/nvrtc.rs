//! NVRTC, NVIDIA's compiler as a library: compiles CUDA C to a CUBIN or returns the compiler's log.
//!
//! It is opened by path rather than by name, because a machine often has several versions. It needs no GPU.
#![expect(
    unsafe_code,
    reason = "NVRTC is a C library; every call into it is in this file"
)]

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::mem::ManuallyDrop;
use std::path::Path;

use libloading::Library;

use super::library::Toolkit;
use crate::trial::Source;

type Program = *mut c_void;
type Status = c_uint;

type Version = unsafe extern "C" fn(*mut c_int, *mut c_int) -> Status;
type Count = unsafe extern "C" fn(*mut c_int) -> Status;
type Create = unsafe extern "C" fn(
    *mut Program,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> Status;
type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> Status;
type Size = unsafe extern "C" fn(Program, *mut usize) -> Status;
type Copy = unsafe extern "C" fn(Program, *mut c_char) -> Status;
type Destroy = unsafe extern "C" fn(*mut Program) -> Status;

/// Resolved functions of NVRTC (`nvrtc.h`).
pub(super) struct Nvrtc {
    version: Version,
    count_architectures: Count,
    architectures: Count,
    create: Create,
    compile: Compile,
    log_bytes: Size,
    log: Copy,
    cubin_bytes: Size,
    cubin: Copy,
    destroy: Destroy,
    /// Never unloaded: NVRTC has threads and exit handlers that would outlive it.
    _library: ManuallyDrop<Library>,
}

/// Failed compilation: an `nvrtcResult` code and the compiler's log.
#[derive(Debug)]
pub(super) struct CompileFailure {
    pub(super) status: u32,
    pub(super) log: String,
}

/// Message of the dynamic linker if a function cannot be resolved.
type LoadFailure = String;

impl Nvrtc {
    /// Opens the library.
    ///
    /// Its built-in functions are opened first, because NVRTC loads them by name and then finds the loaded
    /// library.
    pub(super) fn open(toolkit: &Toolkit) -> Result<Self, LoadFailure> {
        for path in &toolkit.builtins {
            // SAFETY: the library's initializers only set up its own data.
            let library = unsafe { Library::new(path) }.map_err(|error| error.to_string())?;
            std::mem::forget(library);
        }
        Self::resolve(&toolkit.library)
    }

    fn resolve(path: &Path) -> Result<Self, LoadFailure> {
        // SAFETY: as for the built-in functions.
        let library = unsafe { Library::new(path) }.map_err(|error| error.to_string())?;
        // SAFETY: the types are those of `nvrtc.h`, unchanged since CUDA 11.1.
        let nvrtc = unsafe {
            Self {
                version: resolve_function(&library, "nvrtcVersion")?,
                count_architectures: resolve_function(&library, "nvrtcGetNumSupportedArchs")?,
                architectures: resolve_function(&library, "nvrtcGetSupportedArchs")?,
                create: resolve_function(&library, "nvrtcCreateProgram")?,
                compile: resolve_function(&library, "nvrtcCompileProgram")?,
                log_bytes: resolve_function(&library, "nvrtcGetProgramLogSize")?,
                log: resolve_function(&library, "nvrtcGetProgramLog")?,
                cubin_bytes: resolve_function(&library, "nvrtcGetCUBINSize")?,
                cubin: resolve_function(&library, "nvrtcGetCUBIN")?,
                destroy: resolve_function(&library, "nvrtcDestroyProgram")?,
                _library: ManuallyDrop::new(library),
            }
        };
        Ok(nvrtc)
    }

    /// Major and minor number.
    pub(super) fn version(&self) -> Option<(i32, i32)> {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both numbers outlive the call.
        let status = unsafe { (self.version)(&raw mut major, &raw mut minor) };
        (status == 0).then_some((major, minor))
    }

    /// Supported architectures as numbers: 90 is `sm_90`.
    pub(super) fn architectures(&self) -> Vec<c_int> {
        let mut count = 0;
        // SAFETY: `count` outlives the call.
        let status = unsafe { (self.count_architectures)(&raw mut count) };
        let mut numbers = vec![0; usize::try_from(count).unwrap_or(0)];
        // SAFETY: the vector has space for the reported count.
        if status != 0 || unsafe { (self.architectures)(numbers.as_mut_ptr()) } != 0 {
            numbers.clear();
        }
        numbers
    }

    /// Compiles the first of `sources`; the others are its headers.
    pub(super) fn compile(
        &self,
        sources: &[Source],
        options: &[String],
    ) -> Result<Vec<u8>, CompileFailure> {
        let (source, headers) = sources
            .split_first()
            .ok_or_else(|| CompileFailure::invalid_input("there is no source"))?;
        let text = c_string(&source.text)?;
        let name = c_string(&source.name)?;
        let texts = c_strings(headers.iter().map(|header| &header.text))?;
        let names = c_strings(headers.iter().map(|header| &header.name))?;
        let options = c_strings(options.iter())?;
        let (text_pointers, name_pointers) = (pointers(&texts), pointers(&names));

        let mut program = std::ptr::null_mut();
        // SAFETY: all strings are NUL-terminated and live until the program is destroyed below; there are
        // as many texts as names.
        let status = unsafe {
            (self.create)(
                &raw mut program,
                text.as_ptr(),
                name.as_ptr(),
                count(&text_pointers),
                text_pointers.as_ptr(),
                name_pointers.as_ptr(),
            )
        };
        if status != 0 {
            return Err(CompileFailure {
                status,
                log: String::new(),
            });
        }
        let option_pointers = pointers(&options);
        // SAFETY: the program was created above; the options are NUL-terminated and outlive the call.
        let status =
            unsafe { (self.compile)(program, count(&option_pointers), option_pointers.as_ptr()) };
        let cubin = if status == 0 {
            self.read_output(program, self.cubin_bytes, self.cubin)
        } else {
            Err(status)
        };
        let log = self.read_output(program, self.log_bytes, self.log);
        // SAFETY: the program is destroyed once and not used afterwards.
        unsafe { (self.destroy)(&raw mut program) };
        cubin.map_err(|status| {
            let log = log.unwrap_or_default();
            let log = String::from_utf8_lossy(&log);
            let log = log.trim_end_matches('\0').to_owned();
            CompileFailure { status, log }
        })
    }

    /// Reads an output of the program: its length, then its bytes.
    fn read_output(&self, program: Program, bytes: Size, copy: Copy) -> Result<Vec<u8>, Status> {
        let mut length = 0;
        // SAFETY: the program is alive, and `length` outlives the call.
        let status = unsafe { bytes(program, &raw mut length) };
        if status != 0 {
            return Err(status);
        }
        let mut content = vec![0_u8; length];
        // SAFETY: the buffer has the reported length.
        let status = unsafe { copy(program, content.as_mut_ptr().cast()) };
        if status == 0 {
            Ok(content)
        } else {
            Err(status)
        }
    }
}

impl CompileFailure {
    fn invalid_input(reason: &str) -> Self {
        Self {
            status: 3,
            log: format!("error: {reason}"),
        }
    }
}

/// # Safety
///
/// `T` is the C type of the function.
unsafe fn resolve_function<T: std::marker::Copy>(
    library: &Library,
    name: &str,
) -> Result<T, LoadFailure> {
    // SAFETY: guaranteed by the caller.
    let symbol = unsafe { library.get::<T>(name) };
    symbol
        .map(|symbol| *symbol)
        .map_err(|error| error.to_string())
}

fn c_string(text: &str) -> Result<CString, CompileFailure> {
    CString::new(text)
        .map_err(|_| CompileFailure::invalid_input("a source or a flag holds a zero byte"))
}

fn c_strings<'a>(texts: impl Iterator<Item = &'a String>) -> Result<Vec<CString>, CompileFailure> {
    texts.map(|text| c_string(text)).collect()
}

/// A C array of the strings.
fn pointers(texts: &[CString]) -> Vec<*const c_char> {
    texts.iter().map(|text| text.as_ptr()).collect()
}

fn count(pointers: &[*const c_char]) -> c_int {
    c_int::try_from(pointers.len()).unwrap_or(0)
}
