//! Collection, split and program in the path of a file.
//!
//! The tree of the release is `tile/xla/{train,valid,test}/<stem>.npz` and
//! `layout/{xla,nlp}/{random,default}/{train,valid,test}/<stem>.npz`. Its archives are named after the subtree that
//! they contain, for example `npz_layout_xla_random_train.tar`.

/// Position of a file in the collections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectionPath {
    /// `tile:xla` or `layout:<source>:<search>`.
    pub collection: Option<String>,
    /// `train`, `valid` or `test`.
    pub split: Option<String>,
    /// File name without `.npz`, which submissions use as an id.
    pub stem: String,
}

impl CollectionPath {
    /// Parses a path. The innermost folders take precedence.
    pub fn parse(path: &str) -> Self {
        let file = path.rsplit('/').next().unwrap_or(path);
        let stem = file.strip_suffix(".npz").unwrap_or(file).to_owned();
        let folders = path.strip_suffix(file).unwrap_or("");
        let components: Vec<&str> = folders
            .split(['/', '_', '.'])
            .filter(|component| !component.is_empty())
            .collect();
        let (mut collection, mut split) = (None, None);
        for start in 0..components.len() {
            let (name, rest) = match components.get(start..).unwrap_or(&[]) {
                ["tile", "xla", rest @ ..] => ("tile:xla".to_owned(), rest),
                [
                    "layout",
                    source @ ("xla" | "nlp"),
                    search @ ("random" | "default"),
                    rest @ ..,
                ] => (format!("layout:{source}:{search}"), rest),
                _ => continue,
            };
            collection = Some(name);
            split = match rest {
                [split @ ("train" | "valid" | "test"), ..] => Some((*split).to_owned()),
                _ => split,
            };
        }
        Self {
            collection,
            split,
            stem,
        }
    }

    /// Program of the graph. Kernel files are named `<program>_<fingerprint in hex>`.
    pub fn network(&self) -> &str {
        let is_kernel = self.collection.as_deref() == Some("tile:xla");
        let program = self.stem.rsplit_once('_').filter(|_| is_kernel);
        program.map_or(&self.stem, |(program, _)| program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_release() {
        for (path, collection, split, stem, network) in [
            (
                "/a/npz/tile/xla/train/retinanet.2x2.fp32_-342c949e14733d96.npz",
                "tile:xla",
                "train",
                "retinanet.2x2.fp32_-342c949e14733d96",
                "retinanet.2x2.fp32",
            ),
            (
                "npz/layout/nlp/default/test/3a0c.npz",
                "layout:nlp:default",
                "test",
                "3a0c",
                "3a0c",
            ),
            (
                "/x/npz_layout_xla_random_valid.tar/unet_3d.4x4.bf16.npz",
                "layout:xla:random",
                "valid",
                "unet_3d.4x4.bf16",
                "unet_3d.4x4.bf16",
            ),
            (
                "tile_xla_test/npz/layout/xla/random/train/a_b.npz",
                "layout:xla:random",
                "train",
                "a_b",
                "a_b",
            ),
        ] {
            let parsed = CollectionPath::parse(path);
            assert_eq!(parsed.collection.as_deref(), Some(collection));
            assert_eq!(parsed.split.as_deref(), Some(split));
            assert_eq!((parsed.stem.as_str(), parsed.network()), (stem, network));
        }
        let unknown = CollectionPath::parse("downloads/x_y.npz");
        assert_eq!(
            (unknown.collection.as_deref(), unknown.network()),
            (None, "x_y")
        );
        assert_eq!(CollectionPath::parse("tile/xla/x.npz").split, None);
    }
}
