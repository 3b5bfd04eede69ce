//! The split of training files.

use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use tsql_dialect::collect;
use tsql_error::{Error, Result};
use tsql_schema::column;

use super::manifest::SplitInfo;

/// The parts of a split, in the order of its ratio.
const PARTS: [&str; 3] = ["train", "valid", "test"];

/// Returns the manifest entry of a split.
///
/// # Errors
/// As [`SplitVersion::find`].
pub(crate) async fn split_info(context: &SessionContext, asked: &str) -> Result<SplitInfo> {
    Ok(SplitVersion::find(context, asked).await?.told)
}

/// A version of a split.
#[derive(Debug)]
pub(super) struct SplitVersion {
    pub(super) told: SplitInfo,
    /// Parts with a non-zero ratio.
    pub(super) parts: Vec<&'static str>,
}

impl SplitVersion {
    /// Finds a split by name: `NAME@VERSION`, or `NAME` for the newest version.
    ///
    /// # Errors
    /// [`Error::Unknown`] if there is none; [`Error::Argument`] for a version that is not a number.
    pub(super) async fn find(context: &SessionContext, asked: &str) -> Result<Self> {
        let (name, version) = match asked.split_once('@') {
            None => (asked, None),
            Some((name, version)) => {
                let number = version.parse::<u64>().map_err(|_| Error::Argument {
                    name: "split",
                    reason: format!(
                        "`{version}` is not a version of a split\nhint: --split {name}@1"
                    ),
                })?;
                (name, Some(number))
            }
        };
        let sql = "SELECT name, version, ratio, digest FROM splits ORDER BY name, version";
        let mut known = Vec::new();
        let mut found = None;
        for batch in collect(context, sql).await? {
            let texts = |name| column::text(&batch, name);
            let (names, ratios, digests) = (texts("name")?, texts("ratio")?, texts("digest")?);
            let versions = column::numbers::<Int64Type>(&batch, "version")?;
            for row in 0..batch.num_rows() {
                let own = versions.value(row).cast_unsigned();
                known.push(format!("{}@{own}", names.value(row)));
                if names.value(row) == name && version.is_none_or(|version| version == own) {
                    let shares = ratios.value(row).split('/').zip(PARTS);
                    let there = shares.filter(|(share, _)| share.trim() != "0");
                    found = Some(Self {
                        told: SplitInfo {
                            name: format!("{name}@{own}"),
                            version: own,
                            digest: digests.value(row).to_owned(),
                        },
                        parts: there.map(|(_, part)| part).collect(),
                    });
                }
            }
        }
        found.ok_or_else(|| Error::Unknown {
            kind: "split",
            name: asked.to_owned(),
            known: if known.is_empty() {
                "no splits; `tsql split create NAME --unit task --ratio 80/10/10` creates one"
                    .to_owned()
            } else {
                known.join(", ")
            },
        })
    }

    /// Returns the requested parts; all by default.
    ///
    /// # Errors
    /// [`Error::Unknown`] for a part that the split does not have.
    pub(super) fn select_parts(&self, asked: &[String]) -> Result<Vec<&'static str>> {
        if asked.is_empty() {
            return Ok(self.parts.clone());
        }
        let find = |name: &String| {
            let found = self.parts.iter().find(|part| *part == name);
            found.copied().ok_or_else(|| Error::Unknown {
                kind: "part of the split",
                name: name.clone(),
                known: self.parts.join(", "),
            })
        };
        asked.iter().map(find).collect()
    }
}
