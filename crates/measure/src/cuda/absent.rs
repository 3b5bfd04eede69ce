//! Placeholder for builds without the `cuda` feature: a backend without devices.

use std::ffi::{OsStr, OsString};

use crate::device::{Backend, Device, ServeResult, Setup};
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

    fn serve(&self, _: &OsStr, _: &[OsString]) -> Option<ServeResult> {
        None
    }

    fn open(&self, _: u32, _: &Setup<'_>) -> Result<Box<dyn Device>> {
        Err(Error::Missing(ABSENT.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::RunnerOptions;

    #[test]
    fn the_missing_feature_is_named() {
        assert!(Cuda.describe().join("\n").contains("does not support CUDA"));
        let folder = std::path::Path::new("/nowhere");
        let setup = Setup {
            command: &[],
            scratch: folder,
            options: RunnerOptions::default(),
        };
        let error = Cuda.open(0, &setup).err().unwrap();
        assert!(error.to_string().contains("does not support CUDA"));
    }
}
