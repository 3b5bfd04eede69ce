//! References of a run. Each is built once per workload and called once per seed, however many
//! configurations are compared with it.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use twox_hash::XxHash3_128;

use super::cc::CompiledLibrary;
use super::trial::{Check, Trial};
use crate::error::{Error, Result};

/// Maximum bytes of cached outputs, and the minimum number of cached outputs in any case.
const CACHE_BYTES: u64 = 1 << 30;
const MIN_CACHED_OUTPUTS: usize = 4;

/// A content hash.
pub(super) type ReferenceKey = u128;

/// Cache of built references and their outputs.
#[derive(Default)]
pub(super) struct ReferenceCache {
    built: Mutex<HashMap<ReferenceKey, CompiledLibrary>>,
    /// Oldest first.
    outputs: Mutex<VecDeque<(ReferenceKey, PathBuf)>>,
}

impl ReferenceCache {
    /// Returns the library for `key`, or builds it with `build`. Other threads wait meanwhile.
    pub(super) fn get_or_build(
        &self,
        key: ReferenceKey,
        build: impl FnOnce() -> Result<CompiledLibrary>,
    ) -> Result<CompiledLibrary> {
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(library) = built.get(&key) {
            return Ok(library.clone());
        }
        let new = build()?;
        built.insert(key, new.clone());
        Ok(new)
    }

    /// Returns the file of outputs for `key`, or writes it into `folder` with `call`.
    pub(super) fn get_or_compute_outputs(
        &self,
        key: ReferenceKey,
        folder: &Path,
        call: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<PathBuf> {
        let mut outputs = self.outputs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, path)) = outputs.iter().find(|(other, _)| *other == key) {
            return Ok(path.clone());
        }
        let path = folder.join(format!("{key:032x}.outputs"));
        call(&path)?;
        outputs.push_back((key, path.clone()));
        while outputs.len() > MIN_CACHED_OUTPUTS && total_bytes(&outputs) > CACHE_BYTES {
            if let Some((_, oldest)) = outputs.pop_front() {
                fs::remove_file(&oldest).map_err(Error::io(&oldest))?;
            }
        }
        Ok(path)
    }
}

fn total_bytes(outputs: &VecDeque<(ReferenceKey, PathBuf)>) -> u64 {
    let sizes = outputs
        .iter()
        .filter_map(|(_, path)| fs::metadata(path).ok());
    sizes.map(|metadata| metadata.len()).sum()
}

/// Key of a reference's library: its program, the workload, and the signature.
pub(super) fn library_key(trial: &Trial, check: &Check) -> Result<ReferenceKey> {
    hash_parts(&(&check.reference, &trial.params, &trial.arguments))
}

/// Key of a reference's outputs: its library, and the seed of the inputs.
pub(super) fn outputs_key(library: ReferenceKey, trial: &Trial) -> Result<ReferenceKey> {
    hash_parts(&(library.to_string(), trial.seed))
}

fn hash_parts(parts: &impl Serialize) -> Result<ReferenceKey> {
    let text = serde_json::to_vec(parts).map_err(|error| Error::Reference(error.to_string()))?;
    Ok(XxHash3_128::oneshot(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_computed_once() {
        let folder = tempfile::tempdir().unwrap();
        let references = ReferenceCache::default();
        let write = |path: &Path| fs::write(path, b"12").map_err(Error::io(path));
        let first = references
            .get_or_compute_outputs(1, folder.path(), write)
            .unwrap();
        let again = references.get_or_compute_outputs(1, folder.path(), |_| panic!("called again"));
        assert_eq!(again.unwrap(), first);
        assert_ne!(
            references
                .get_or_compute_outputs(2, folder.path(), write)
                .unwrap(),
            first
        );
    }

    #[test]
    fn a_failure_is_not_remembered() {
        let references = ReferenceCache::default();
        let fail = || Err(Error::Reference("no".into()));
        assert!(references.get_or_build(1, fail).is_err());
        let built = CompiledLibrary {
            library: PathBuf::from("x.so"),
        };
        assert!(references.get_or_build(1, || Ok(built)).is_ok());
        assert!(references.get_or_build(1, || panic!("built again")).is_ok());
    }
}
