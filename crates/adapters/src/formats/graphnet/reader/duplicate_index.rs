//! Finds samples that the store already has, on several levels: same files, same upstream hash, same graph,
//! same graph except for numbers, or same operations in the same order.

use std::collections::HashMap;

use tsql_codecs::opgraph::OpGraph;
use tsql_error::{Error, Result};
use tsql_schema::column;
use tsql_session::open_session;
use tsql_store::Store;

use crate::formats::similar_sample::{Level, SimilarSample};

/// The first sample with each hash.
#[derive(Debug, Default)]
pub(super) struct DuplicateIndex {
    first: HashMap<(Level, String), String>,
}

impl DuplicateIndex {
    pub(super) async fn load(store: &Store) -> Result<Self> {
        let mut levels = Self::default();
        let context = open_session(store).await?;
        let sql = "SELECT s.path, s.files_hash, s.upstream_hash, g.workload_key, g.shape_free_hash, g.op_sequence_hash \
                   FROM stored.samples AS s LEFT JOIN stored.graphs AS g ON g.graph_id = s.graph_id \
                   WHERE s.variant_of IS NULL ORDER BY s.path";
        let frame = context.sql(sql).await.map_err(Error::Query)?;
        for batch in frame.collect().await.map_err(Error::Query)? {
            let paths = column::text(&batch, "path")?;
            let hashes = [
                "files_hash",
                "upstream_hash",
                "workload_key",
                "shape_free_hash",
                "op_sequence_hash",
            ];
            for (level, name) in Level::ALL.into_iter().zip(hashes) {
                let hashes = column::text(&batch, name)?;
                for row in 0..batch.num_rows() {
                    if let Some(hash) = column::text_at(hashes, row) {
                        levels.add(level, hash, paths.value(row));
                    }
                }
            }
        }
        Ok(levels)
    }

    fn add(&mut self, level: Level, hash: &str, path: &str) {
        let key = (level, hash.to_owned());
        self.first.entry(key).or_insert_with(|| path.to_owned());
    }

    /// Returns the strongest match of a sample, and adds the sample to the index.
    pub(super) fn find_and_add(
        &mut self,
        path: &str,
        files_hash: &str,
        upstream_hash: Option<&str>,
        graph: Option<&OpGraph>,
    ) -> Option<SimilarSample> {
        let hashes = [
            Some(files_hash.to_owned()),
            upstream_hash.map(str::to_owned),
            graph.map(OpGraph::content_hash),
            graph.map(OpGraph::shape_free_hash),
            graph.map(OpGraph::op_sequence_hash),
        ];
        let hashes = Level::ALL.into_iter().zip(hashes);
        let hashes: Vec<(Level, String)> = hashes
            .filter_map(|(level, hash)| Some((level, hash?)))
            .collect();
        let known = hashes.iter().find_map(|key| {
            self.first.get(key).map(|same_as| SimilarSample {
                path: path.to_owned(),
                level: key.0,
                same_as: same_as.clone(),
            })
        });
        for (level, hash) in hashes {
            self.add(level, &hash, path);
        }
        known
    }
}
