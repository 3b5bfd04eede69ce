#![expect(unsafe_code, reason = "loads and calls foreign code")]
//! A kernel as a loaded library.

use std::ffi::c_void;
use std::path::Path;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use nix::libc;

use super::shim;

/// The function that the shim exports.
type Entry = unsafe extern "C" fn(*const *mut c_void);

/// A loaded kernel. It is never unloaded: threads that it started may still run its code.
pub(super) struct Kernel {
    entry: Entry,
    _library: std::mem::ManuallyDrop<Library>,
}

/// Why a library cannot be used.
#[derive(Debug)]
pub(super) enum LoadError {
    /// The loader refused it: a symbol or a library that it needs is missing.
    Dlopen(String),
    MissingSymbol(String),
    /// The file system does not allow code to be loaded from it.
    NotExecutable(String),
}

impl Kernel {
    /// Loads the library that the compiler made; that runs the library's initialisers.
    pub(super) fn load(path: &Path) -> Result<Self, LoadError> {
        // SAFETY: none can be given for foreign code; this process exists to bear what it does.
        let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
        let library = library.map_err(|error| {
            let reason = error.to_string();
            if reason.contains("failed to map segment") {
                LoadError::NotExecutable(reason)
            } else {
                LoadError::Dlopen(reason)
            }
        })?;
        // SAFETY: the shim defines the symbol with the type `Entry`.
        let entry = unsafe { library.get::<Entry>(shim::ENTRY) };
        let entry = *entry.map_err(|error| LoadError::MissingSymbol(error.to_string()))?;
        Ok(Self {
            entry,
            _library: std::mem::ManuallyDrop::new(library),
        })
    }

    /// Calls the kernel: one pointer for each argument, to the buffer or to the scalar's eight bytes.
    pub(super) fn call(&self, arguments: &[*mut c_void]) {
        // SAFETY: the shim reads as many pointers as the trial has arguments, which is how many there are,
        // and each points to memory of the declared size. What the kernel does beyond that ends this process.
        unsafe { (self.entry)(arguments.as_ptr()) }
    }
}

/// Ends the process without running what the kernel left to be run at its exit.
pub(super) fn exit_at_once(code: i32) -> ! {
    // SAFETY: the call does not return and runs no code of this process.
    unsafe { libc::_exit(code) }
}
