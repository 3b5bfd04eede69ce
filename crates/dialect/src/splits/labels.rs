//! Keys of graphs: the networks, structures or DAGs that they belong to.

use std::collections::BTreeMap;

use datafusion::prelude::SessionContext;
use twox_hash::XxHash3_64;

use super::definition::{number_column, run_internal, text_column};
use super::unit::SplitUnit;
use tsql_error::Result;

/// A key of a graph.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label {
    /// The network, structure or DAG.
    pub key: String,
    /// Whether the label describes the graph without identifying it. Such labels count only if there is no better one.
    pub is_weak: bool,
}

/// Computation of a graph, regardless of its shapes. A graph that a GraphNet log names by its path has the computation
/// of the sample.
const DAGS: &str = "SELECT graph_id, coalesce(workload_name, workload_key) AS label FROM graphs WHERE coalesce(kind, '') <> 'reference' \
    UNION ALL SELECT r.graph_id, g.workload_key FROM graphs AS r JOIN samples AS s ON r.workload_key = 'sample:' || s.sample \
    JOIN graphs AS g ON g.graph_id = s.graph_id WHERE r.kind = 'reference'";

/// The same without any number for GraphNet. TpuGraphs graphs follow from their file names.
const STRUCTURES: &str = "SELECT graph_id, CASE WHEN dataset = 'graphnet' THEN coalesce(shape_free_hash, workload_key) \
    ELSE coalesce(workload_name, workload_key) END AS label FROM graphs WHERE coalesce(kind, '') <> 'reference' AND dataset <> 'tpugraphs' \
    UNION ALL SELECT r.graph_id, coalesce(g.shape_free_hash, g.workload_key) FROM graphs AS r \
    JOIN samples AS s ON r.workload_key = 'sample:' || s.sample \
    JOIN graphs AS g ON g.graph_id = s.graph_id WHERE r.kind = 'reference'";

/// Networks of TenSet tasks and samples of GraphNet.
const NETWORKS: &str = "SELECT DISTINCT graph_id, network AS label FROM network_tasks WHERE network IS NOT NULL \
    UNION ALL SELECT graph_id, coalesce(sample_key(variant_of), sample) FROM samples WHERE graph_id IS NOT NULL \
    UNION ALL SELECT graph_id, substr(workload_key, 8) FROM graphs WHERE kind = 'reference'";

/// Programs of TpuGraphs graphs, from their file names.
const PROGRAMS: &str = "SELECT DISTINCT graph_id, network AS label FROM source_segments WHERE dataset = 'tpugraphs' AND graph_id IS NOT NULL";

/// Number of configurable nodes by operation, for TpuGraphs graphs.
const CONFIGURABLE: &str = "SELECT s.graph_id, n.op || ' ' || CAST(count(*) AS VARCHAR) AS label FROM \
    (SELECT graph_id, unnest(slot_nodes) AS node FROM graphs WHERE dataset = 'tpugraphs' AND slot_count > 0) AS s \
    JOIN nodes AS n ON n.graph_id = s.graph_id AND n.node = s.node GROUP BY s.graph_id, n.op ORDER BY s.graph_id, n.op";

/// Data types, which are not part of a program's identity.
const TYPES: [&str; 8] = [
    "bf16", "fp16", "f16", "fp32", "f32", "bfloat16", "float16", "float32",
];

/// Keys of all graphs that have some, sorted.
///
/// # Errors
/// Storage failures.
pub async fn labels_of_graphs(
    context: &SessionContext,
    unit: SplitUnit,
) -> Result<BTreeMap<i64, Vec<Label>>> {
    let mut labels = BTreeMap::new();
    let strong = |key: String| Label {
        key,
        is_weak: false,
    };
    match unit {
        SplitUnit::Dag => read_labels(context, DAGS, strong, &mut labels).await?,
        SplitUnit::Structure => {
            read_labels(context, STRUCTURES, strong, &mut labels).await?;
            let mut programs = BTreeMap::new();
            read_labels(context, PROGRAMS, strong, &mut programs).await?;
            if !programs.is_empty() {
                add_program_labels(context, programs, &mut labels).await?;
            }
        }
        SplitUnit::Network => {
            read_labels(context, NETWORKS, strong, &mut labels).await?;
            read_labels(context, PROGRAMS, strong, &mut labels).await?;
        }
        _ => {}
    }
    for labels in labels.values_mut() {
        labels.sort();
        labels.dedup();
    }
    Ok(labels)
}

async fn read_labels(
    context: &SessionContext,
    sql: &str,
    label: impl Fn(String) -> Label,
    labels: &mut BTreeMap<i64, Vec<Label>>,
) -> Result<()> {
    for batch in run_internal(context, sql).await? {
        let pairs = number_column(&batch, 0)?
            .into_iter()
            .zip(text_column(&batch, 1)?);
        for (graph, key) in pairs {
            if let Some((graph, key)) = graph.zip(key) {
                labels.entry(graph).or_default().push(label(key));
            }
        }
    }
    Ok(())
}

/// Adds program families. The hashed names of test graphs carry no information, so their configurable nodes are used as
/// well.
async fn add_program_labels(
    context: &SessionContext,
    programs: BTreeMap<i64, Vec<Label>>,
    labels: &mut BTreeMap<i64, Vec<Label>>,
) -> Result<()> {
    let mut configurable = BTreeMap::new();
    let weak = |key| Label { key, is_weak: true };
    read_labels(context, CONFIGURABLE, weak, &mut configurable).await?;
    for (graph, programs) in programs {
        let own = labels.entry(graph).or_default();
        for program in programs.iter().filter(|program| !is_hash(&program.key)) {
            own.push(Label {
                key: program_family(&program.key),
                is_weak: false,
            });
        }
        if let Some(counts) = configurable.get(&graph) {
            let counts: Vec<&str> = counts.iter().map(|count| count.key.as_str()).collect();
            let hash = XxHash3_64::oneshot(counts.join("\n").as_bytes());
            own.push(weak(format!("slots:{hash:016x}")));
        } else if own.is_empty() {
            // A kernel of a hidden program.
            own.extend(programs);
        }
    }
    Ok(())
}

/// Returns whether a name is the hash of a hidden program.
fn is_hash(name: &str) -> bool {
    name.len() == 32 && name.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// Program name without batch size, mesh and data type, and without separators.
fn program_family(program: &str) -> String {
    let lower = program.to_ascii_lowercase();
    let words: Vec<&str> = lower.split(['.', '_']).collect();
    let is_number = |word: Option<&&str>| {
        word.is_some_and(|word| !word.is_empty() && word.bytes().all(|one| one.is_ascii_digit()))
    };
    let mut family = String::new();
    let mut place = 0;
    while let Some(word) = words.get(place) {
        let length = match *word {
            "batch" if is_number(words.get(place + 1)) => 2,
            "batch" if words.get(place + 1) == Some(&"size") && is_number(words.get(place + 2)) => {
                3
            }
            word if TYPES.contains(&word) || is_mesh(word) => 1,
            word => {
                family += word;
                1
            }
        };
        place += length;
    }
    if family.is_empty() { lower } else { family }
}

/// Returns whether a word is a mesh such as `4x4` or `2x2x1`.
fn is_mesh(word: &str) -> bool {
    let sides: Vec<&str> = word.split('x').collect();
    let is_side = |side: &&str| !side.is_empty() && side.bytes().all(|one| one.is_ascii_digit());
    sides.len() > 1 && sides.iter().all(is_side)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_has_no_batch_mesh_nor_type() {
        for (program, expected) in [
            ("resnet50.4x4.bf16", "resnet50"),
            ("resnet50.2x2x1.fp16", "resnet50"),
            ("unet_3d.4x4.bf16", "unet3d"),
            ("unet3d", "unet3d"),
            ("mlperf_bert_batch_24_2x2", "mlperfbert"),
            ("inception_v3_batch_128_train", "inceptionv3train"),
            (
                "bert_en_cased_L-12_H-768_A-12_batch_size_16_train",
                "bertencasedl-12h-768a-12train",
            ),
            (
                "tf2_bert_pretrain_dynamic_batch_size",
                "tf2bertpretraindynamicbatchsize",
            ),
            ("4x4", "4x4"),
        ] {
            assert_eq!(program_family(program), expected);
        }
        assert!(is_hash("cd708819d3f5103afd6460b15e74eaf3") && !is_hash("resnet50"));
    }
}
