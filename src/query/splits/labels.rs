//! The keys of graphs: which networks, structures or DAGs they are of.

use std::collections::BTreeMap;

use datafusion::prelude::SessionContext;
use twox_hash::XxHash3_64;

use super::definition::{numbers, rows, texts};
use super::unit::SplitUnit;
use crate::error::Result;

/// A key of a graph.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Label {
    pub(crate) key: String,
    /// It says what the graph is like, not what it is: it counts where nothing better is known.
    pub(crate) is_weak: bool,
}

/// What a graph computes, whatever its shapes; of a graph that a log of GraphNet names by its path that of the sample.
const DAGS: &str = "SELECT graph_id, coalesce(workload_name, workload_key) AS label FROM graphs WHERE coalesce(kind, '') <> 'reference' \
    UNION ALL SELECT r.graph_id, g.workload_key FROM graphs AS r JOIN samples AS s ON r.workload_key = 'sample:' || s.sample \
    JOIN graphs AS g ON g.graph_id = s.graph_id WHERE r.kind = 'reference'";

/// The same, of GraphNet without any number; TpuGraphs' graphs follow from the names of their files.
const STRUCTURES: &str = "SELECT graph_id, CASE WHEN dataset = 'graphnet' THEN coalesce(shape_free_hash, workload_key) \
    ELSE coalesce(workload_name, workload_key) END AS label FROM graphs WHERE coalesce(kind, '') <> 'reference' AND dataset <> 'tpugraphs' \
    UNION ALL SELECT r.graph_id, coalesce(g.shape_free_hash, g.workload_key) FROM graphs AS r \
    JOIN samples AS s ON r.workload_key = 'sample:' || s.sample \
    JOIN graphs AS g ON g.graph_id = s.graph_id WHERE r.kind = 'reference'";

/// Networks of TenSet's tasks, samples of GraphNet.
const NETWORKS: &str = "SELECT DISTINCT graph_id, network AS label FROM network_tasks WHERE network IS NOT NULL \
    UNION ALL SELECT graph_id, coalesce(sample_key(variant_of), sample) FROM samples WHERE graph_id IS NOT NULL \
    UNION ALL SELECT graph_id, substr(workload_key, 8) FROM graphs WHERE kind = 'reference'";

/// Programs of TpuGraphs' graphs, by the names of their files.
const PROGRAMS: &str = "SELECT DISTINCT graph_id, network AS label FROM source_segments WHERE dataset = 'tpugraphs' AND graph_id IS NOT NULL";

/// How often each operation may be configured in a graph of TpuGraphs.
const CONFIGURABLE: &str = "SELECT s.graph_id, n.op || ' ' || CAST(count(*) AS VARCHAR) AS label FROM \
    (SELECT graph_id, unnest(slot_nodes) AS node FROM graphs WHERE dataset = 'tpugraphs' AND slot_count > 0) AS s \
    JOIN nodes AS n ON n.graph_id = s.graph_id AND n.node = s.node GROUP BY s.graph_id, n.op ORDER BY s.graph_id, n.op";

/// Types of numbers that are no part of what a program is.
const TYPES: [&str; 8] = [
    "bf16", "fp16", "f16", "fp32", "f32", "bfloat16", "float16", "float32",
];

/// The keys of all graphs that have some, sorted.
///
/// # Errors
/// Failures of the storage.
pub(crate) async fn labels_of_graphs(
    context: &SessionContext,
    unit: SplitUnit,
) -> Result<BTreeMap<i64, Vec<Label>>> {
    let mut labels = BTreeMap::new();
    let strong = |key: String| Label {
        key,
        is_weak: false,
    };
    match unit {
        SplitUnit::Dag => read(context, DAGS, strong, &mut labels).await?,
        SplitUnit::Structure => {
            read(context, STRUCTURES, strong, &mut labels).await?;
            let mut programs = BTreeMap::new();
            read(context, PROGRAMS, strong, &mut programs).await?;
            if !programs.is_empty() {
                of_programs(context, programs, &mut labels).await?;
            }
        }
        SplitUnit::Network => {
            read(context, NETWORKS, strong, &mut labels).await?;
            read(context, PROGRAMS, strong, &mut labels).await?;
        }
        _ => {}
    }
    for labels in labels.values_mut() {
        labels.sort();
        labels.dedup();
    }
    Ok(labels)
}

async fn read(
    context: &SessionContext,
    sql: &str,
    label: impl Fn(String) -> Label,
    labels: &mut BTreeMap<i64, Vec<Label>>,
) -> Result<()> {
    for batch in rows(context, sql).await? {
        let pairs = numbers(&batch, 0)?.into_iter().zip(texts(&batch, 1)?);
        for (graph, key) in pairs {
            if let Some((graph, key)) = graph.zip(key) {
                labels.entry(graph).or_default().push(label(key));
            }
        }
    }
    Ok(())
}

/// Families of programs; the hashed names of test graphs say nothing, so there is what may be configured, too.
async fn of_programs(
    context: &SessionContext,
    programs: BTreeMap<i64, Vec<Label>>,
    labels: &mut BTreeMap<i64, Vec<Label>>,
) -> Result<()> {
    let mut configurable = BTreeMap::new();
    let weak = |key| Label { key, is_weak: true };
    read(context, CONFIGURABLE, weak, &mut configurable).await?;
    for (graph, programs) in programs {
        let own = labels.entry(graph).or_default();
        for program in programs.iter().filter(|program| !is_hash(&program.key)) {
            own.push(Label {
                key: family(&program.key),
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

/// Is it the name of a graph whose program is hidden?
fn is_hash(name: &str) -> bool {
    name.len() == 32 && name.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// The name of a program without batch, mesh and type of numbers, and without what stands between words.
fn family(program: &str) -> String {
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

/// `4x4`, `2x2x1`.
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
            assert_eq!(family(program), expected);
        }
        assert!(is_hash("cd708819d3f5103afd6460b15e74eaf3") && !is_hash("resnet50"));
    }
}
