//! Placeholder for builds without the `cuda` feature: a backend without devices.

use std::ffi::{OsStr, OsString};

use crate::device::{AppState, Backend, Device, Setup};
use crate::error::{Error, Result};
use crate::trial::Language;

/// Message for requests that need CUDA.
const ABSENT: &str =
    "this build of tsql does not support CUDA\nhint: use a build with the feature `cuda`";

/// The CUDA backend, without devices.
#[derive(Debug)]
pub(crate) struct Cuda;

impl Backend for Cuda {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn noun(&self) -> &'static str {
        "a GPU"
    }

    fn is_numbered(&self) -> bool {
        true
    }

    fn runs(&self, language: Language) -> bool {
        language == Language::Cuda
    }

    fn compiler(&self, _: Language) -> Result<String> {
        Ok("nvrtc".to_owned())
    }

    fn describe(&self) -> Vec<String> {
        vec![ABSENT.to_owned()]
    }

    fn facts(&self) -> Vec<serde_json::Value> {
        Vec::new()
    }

    fn serve(&self, _: &OsStr, _: &[OsString]) -> Option<AppState> {
        None
    }

    fn open(&self, _: u32, _: &Setup<'_>) -> Result<Box<dyn Device>> {
        Err(Error::Missing(ABSENT.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::Options;

    #[test]
    fn what_is_missing_is_cuda() {
        assert!(Cuda.describe().join("\n").contains("does not support CUDA"));
        let folder = std::path::Path::new("/nowhere");
        let setup = Setup {
            command: &[],
            scratch: folder,
            options: Options::default(),
        };
        let refused = Cuda.open(0, &setup).err().unwrap();
        assert!(refused.to_string().contains("does not support CUDA"));
    }
}
