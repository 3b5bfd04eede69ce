//! The references of a run: each is built once for a workload and called once for a seed,
//! however many configurations are compared with it.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use twox_hash::XxHash3_128;

use super::cc::Built;
use super::trial::{Check, Trial};
use crate::error::{Error, Result};

/// Bytes of outputs that are kept for later configurations; the latest few in any case.
const KEPT_BYTES: u64 = 1 << 30;
const KEPT_LEAST: usize = 4;

/// A content hash.
pub(super) type Key = u128;

/// What has been built and called so far.
#[derive(Default)]
pub(super) struct References {
    built: Mutex<HashMap<Key, Built>>,
    /// Oldest first.
    outputs: Mutex<VecDeque<(Key, PathBuf)>>,
}

impl References {
    /// The library for `key`; `build` makes it the first time. Others wait meanwhile.
    pub(super) fn built(&self, key: Key, build: impl FnOnce() -> Result<Built>) -> Result<Built> {
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = built.get(&key) {
            return Ok(known.clone());
        }
        let new = build()?;
        built.insert(key, new.clone());
        Ok(new)
    }

    /// The file of outputs for `key`, which `call` writes into `folder` the first time.
    pub(super) fn outputs(
        &self,
        key: Key,
        folder: &Path,
        call: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<PathBuf> {
        let mut outputs = self.outputs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, path)) = outputs.iter().find(|(known, _)| *known == key) {
            return Ok(path.clone());
        }
        let path = folder.join(format!("{key:032x}.outputs"));
        call(&path)?;
        outputs.push_back((key, path.clone()));
        while outputs.len() > KEPT_LEAST && size(&outputs) > KEPT_BYTES {
            if let Some((_, oldest)) = outputs.pop_front() {
                fs::remove_file(&oldest).map_err(Error::io(&oldest))?;
            }
        }
        Ok(path)
    }
}

fn size(outputs: &VecDeque<(Key, PathBuf)>) -> u64 {
    let sizes = outputs
        .iter()
        .filter_map(|(_, path)| fs::metadata(path).ok());
    sizes.map(|metadata| metadata.len()).sum()
}

/// What the library of a reference depends on: its program, the workload, the signature.
pub(super) fn library_key(trial: &Trial, check: &Check) -> Result<Key> {
    key(&(&check.reference, &trial.params, &trial.arguments))
}

/// What its outputs depend on beyond that.
pub(super) fn outputs_key(library: Key, trial: &Trial) -> Result<Key> {
    key(&(library.to_string(), trial.seed))
}

fn key(parts: &impl Serialize) -> Result<Key> {
    let text = serde_json::to_vec(parts).map_err(|error| Error::Reference(error.to_string()))?;
    Ok(XxHash3_128::oneshot(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_made_once() {
        let folder = tempfile::tempdir().unwrap();
        let references = References::default();
        let write = |path: &Path| fs::write(path, b"12").map_err(Error::io(path));
        let first = references.outputs(1, folder.path(), write).unwrap();
        let again = references.outputs(1, folder.path(), |_| panic!("called again"));
        assert_eq!(again.unwrap(), first);
        assert_ne!(references.outputs(2, folder.path(), write).unwrap(), first);
    }

    #[test]
    fn a_failure_is_not_remembered() {
        let references = References::default();
        let fail = || Err(Error::Reference("no".into()));
        assert!(references.built(1, fail).is_err());
        let built = Built {
            library: PathBuf::from("x.so"),
        };
        assert!(references.built(1, || Ok(built)).is_ok());
        assert!(references.built(1, || panic!("built again")).is_ok());
    }
}
