//! Example kernels: eight operators in C and in CUDA, each with a space to search.
//!
//! The folders beside this file contain the files that `init` writes: a manifest, the kernel, and a plain C
//! reference shared by both languages. Kernels are correct for every point of their spaces and for sizes
//! that are no multiple of a tile; constraints exclude other points.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// A manifest and its sources, to copy and modify.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    /// Name of the template.
    pub name: &'static str,
    /// One line: the computation, and the tunable knobs.
    pub about: &'static str,
    /// Text of the manifest, in the file [`Template::manifest_name`].
    pub manifest: &'static str,
    /// Names and texts of the sources.
    pub(crate) files: &'static [(&'static str, &'static str)],
}

macro_rules! template {
    ($name:literal, $about:literal, $folder:literal, $kernel:literal) => {
        Template {
            name: $name,
            about: $about,
            manifest: include_str!(concat!("templates/", $folder, "/", $name, ".toml")),
            files: &[
                (
                    $kernel,
                    include_str!(concat!("templates/", $folder, "/", $kernel)),
                ),
                (
                    "reference.c",
                    include_str!(concat!("templates/", $folder, "/reference.c")),
                ),
            ],
        }
    };
}

const TEMPLATES: [Template; 16] = [
    template!(
        "matmul",
        "matrix product: tiles for the caches, blocks for the registers, packing, loop order",
        "matmul",
        "matmul.c"
    ),
    template!(
        "matmul-cuda",
        "matrix product: tiles in shared memory, blocks in registers, double buffering",
        "matmul",
        "matmul.cu"
    ),
    template!(
        "batched-matmul",
        "products of many small matrices: outer or inner products, register blocks, loop order",
        "batched_matmul",
        "batched_matmul.c"
    ),
    template!(
        "batched-matmul-cuda",
        "products of many small matrices: matrices to a block, tiles in shared memory",
        "batched_matmul",
        "batched_matmul.cu"
    ),
    template!(
        "conv2d",
        "convolution, NCHW: tiles of filters, columns and channels, padding by copy, loop order",
        "conv2d",
        "conv2d.c"
    ),
    template!(
        "conv2d-cuda",
        "convolution, NCHW: tiles in shared memory, filters to a thread",
        "conv2d",
        "conv2d.cu"
    ),
    template!(
        "depthwise-conv2d",
        "depthwise convolution, NHWC: blocks of columns and channels, loop order",
        "depthwise_conv2d",
        "depthwise_conv2d.c"
    ),
    template!(
        "depthwise-conv2d-cuda",
        "depthwise convolution, NHWC: columns and channels to a thread",
        "depthwise_conv2d",
        "depthwise_conv2d.cu"
    ),
    template!(
        "softmax",
        "softmax of rows: vector widths, series for e^x, stored or computed again",
        "softmax",
        "softmax.c"
    ),
    template!(
        "softmax-cuda",
        "softmax of rows: threads and rows to a block, online or three passes",
        "softmax",
        "softmax.cu"
    ),
    template!(
        "layer-norm",
        "layer norm of rows: vector widths, one or two passes, rows at once",
        "layer_norm",
        "layer_norm.c"
    ),
    template!(
        "layer-norm-cuda",
        "layer norm of rows: threads and rows to a block, one or two passes",
        "layer_norm",
        "layer_norm.cu"
    ),
    template!(
        "transpose",
        "transposition: tiles and register blocks, loop order",
        "transpose",
        "transpose.c"
    ),
    template!(
        "transpose-cuda",
        "transposition: tiles in shared memory, skew against bank conflicts",
        "transpose",
        "transpose.cu"
    ),
    template!(
        "row-sum",
        "sums of rows: vector widths, rows at once, prefetching",
        "row_sum",
        "row_sum.c"
    ),
    template!(
        "row-sum-cuda",
        "sums of rows: threads and rows to a block, loads under way",
        "row_sum",
        "row_sum.cu"
    ),
];

/// All templates.
pub fn list() -> &'static [Template] {
    &TEMPLATES
}

/// Finds a template by name.
///
/// # Errors
/// [`Error::Unknown`] with all names.
pub fn find(name: &str) -> Result<&'static Template> {
    TEMPLATES
        .iter()
        .find(|template| template.name == name)
        .ok_or_else(|| {
            let names = TEMPLATES.iter();
            let names: Vec<String> = names
                .map(|template| format!("`{}`", template.name))
                .collect();
            Error::Unknown {
                kind: "template",
                name: name.to_owned(),
                known: names.join(", "),
            }
        })
}

impl Template {
    /// File name of the manifest.
    pub fn manifest_name(&self) -> String {
        format!("{}.toml", self.name)
    }

    /// Text of a source.
    ///
    /// # Errors
    /// [`Error::Source`] if there is no such file.
    pub fn source(&self, name: &str) -> Result<String> {
        let file = self.files.iter().find(|(file, _)| *file == name);
        let text = file.map(|(_, text)| (*text).to_owned());
        text.ok_or_else(|| Error::Source {
            location: self.manifest_name(),
            reason: format!("the template has no file `{name}`"),
        })
    }

    /// Writes manifest and sources into `folder` and returns the manifest's path. Nothing is written if a
    /// file exists.
    ///
    /// # Errors
    /// [`Error::Argument`] for existing files, [`Error::Io`] if the folder is not writable.
    pub fn write(&self, folder: &Path) -> Result<PathBuf> {
        let manifest = folder.join(self.manifest_name());
        let mut files: Vec<(PathBuf, &str)> = vec![(manifest.clone(), self.manifest)];
        files.extend(
            self.files
                .iter()
                .map(|(name, text)| (folder.join(name), *text)),
        );
        // The template for the other language shares the reference.
        files.retain(|(path, text)| {
            !std::fs::read(path).is_ok_and(|bytes| bytes == text.as_bytes())
        });
        if let Some((path, _)) = files.iter().find(|(path, _)| path.exists()) {
            let reason = format!(
                "`{}` exists and differs\nhint: name another folder",
                path.display()
            );
            return Err(Error::argument("folder", reason));
        }
        std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
        for (path, text) in files {
            tsql_folders::write_file(&path, text)?;
        }
        Ok(manifest)
    }
}

#[cfg(test)]
mod proofs;

#[cfg(test)]
mod tests {
    use super::super::manifest::Manifest;
    use super::super::search::{Search, SearchStrategy};
    use super::super::trial::Language;
    use super::*;
    use std::collections::HashSet;

    pub(super) fn open(template: &Template) -> Manifest {
        let read_source = |source: &str| template.source(source);
        Manifest::parse(template.manifest, &template.manifest_name(), &read_source).unwrap()
    }

    #[test]
    fn every_template_opens_and_binds_for_each_workload() {
        for template in list() {
            let manifest = open(template);
            let is_cuda = manifest.language() == Language::Cuda;
            assert_eq!(is_cuda, template.name.ends_with("-cuda"));
            assert!(manifest.workloads().len() >= 2, "{}", template.name);
            assert!(manifest.space().size() >= 50, "{}", template.name);
            for workload in manifest.workloads() {
                assert!(workload.bytes.is_some(), "{}", template.name);
                let params = workload.params.clone();
                let space = manifest.space().clone();
                let search = Search::new(SearchStrategy::Random, space, params, 1, &HashSet::new());
                let configs: Vec<_> = search.take(30).collect();
                assert_eq!(configs.len(), 30, "{}", template.name);
                for config in configs {
                    let trial = manifest.trial(&workload.params, &config, 1).unwrap();
                    assert!(trial.check.is_some(), "{}", template.name);
                }
            }
        }
    }

    #[test]
    fn both_languages_of_an_operator_are_one_program_and_take_the_same_arguments() {
        for template in list()
            .iter()
            .filter(|template| !template.name.ends_with("-cuda"))
        {
            let sibling = find(&format!("{}-cuda", template.name)).unwrap();
            let (host, device) = (open(template), open(sibling));
            assert_eq!(host.name(), device.name());
            let params = &host.workloads()[0].params;
            assert_eq!(host.workload_key(params), device.workload_key(params));
        }
    }

    #[test]
    fn written_templates_load_and_nothing_is_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let folder_path = folder.path().join("new");
        let path = find("matmul").unwrap().write(&folder_path).unwrap();
        assert_eq!(path, folder_path.join("matmul.toml"));
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            find("matmul").unwrap().manifest
        );
        // The other language's files are there already; writing identical files changes nothing.
        find("matmul-cuda").unwrap().write(&folder_path).unwrap();
        find("matmul").unwrap().write(&folder_path).unwrap();
        let other = find("softmax").unwrap().write(&folder_path).unwrap_err();
        assert!(
            other
                .to_string()
                .contains("reference.c` exists and differs")
        );
        assert!(!folder_path.join("softmax.toml").exists());
    }

    #[test]
    fn an_unknown_template_is_rejected_with_a_list() {
        let error = find("matmull").unwrap_err().to_string();
        assert!(error.contains("`matmull`") && error.contains("`row-sum-cuda`"));
    }
}
