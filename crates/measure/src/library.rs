#![expect(unsafe_code, reason = "loads and calls foreign code")]
//! A kernel in a loaded shared library.

use std::ffi::c_void;
use std::path::Path;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use nix::libc;

use super::shim;

/// The function that the shim exports.
type Entry = unsafe extern "C" fn(*const *mut c_void);

/// A loaded kernel. It is never unloaded: threads that it started may still run its code.
pub(super) struct LoadedKernel {
    entry: Entry,
    _library: std::mem::ManuallyDrop<Library>,
}

/// Reason why a library cannot be loaded.
#[derive(Debug)]
pub(super) enum LoadError {
    /// The dynamic linker failed: a symbol or a library is missing.
    Dlopen(String),
    MissingSymbol(String),
    /// The file system does not allow executable code.
    NotExecutable(String),
}

impl LoadedKernel {
    /// Loads a compiled library, which runs its initialisers.
    pub(super) fn load(path: &Path) -> Result<Self, LoadError> {
        // SAFETY: foreign code offers no guarantee; this process exists to contain its effects.
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

    /// Calls the kernel with one pointer per argument, to its buffer or to the eight bytes of its scalar.
    pub(super) fn call(&self, arguments: &[*mut c_void]) {
        // SAFETY: the shim reads one pointer per argument of the trial, and each refers to memory of the
        // declared size. Other effects of the kernel end only this process.
        unsafe { (self.entry)(arguments.as_ptr()) }
    }
}

/// Ends the process without running exit handlers of the kernel.
pub(super) fn exit_immediately(code: i32) -> ! {
    // SAFETY: the call does not return and runs no code of this process.
    unsafe { libc::_exit(code) }
}
