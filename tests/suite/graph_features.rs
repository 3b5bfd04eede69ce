//! Features of graphs in SQL, compared with NumPy on real files and with hand computations.

use std::collections::BTreeMap;

use serde_json::Value;
use tsql::query::{function, functions};

use crate::engines::{python, run};
use crate::npz::{array, npz};
use crate::support::{Place, shared};

/// Returns the rows of a query as JSON.
fn rows(place: &Place, sql: &str) -> Vec<Value> {
    let lines = place.ok(&[sql, "--format", "jsonl"]).stdout;
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|number| number.as_f64().unwrap())
        .collect()
}

/// Returns the bits of 32-bit numbers, whose texts may differ between Rust and Python.
fn narrow(value: &Value) -> Vec<u32> {
    #[expect(clippy::cast_possible_truncation, reason = "they were of 32 bits")]
    let bits = |number: f64| (number as f32).to_bits();
    numbers(value).into_iter().map(bits).collect()
}

#[test]
#[ignore = "full tier"]
fn features_of_real_graphs_match_numpy() {
    let (Some(shared), Some(python)) = (shared(), python()) else {
        return;
    };
    let folder = shared.join("data/tpugraphs/npz");
    let folder = folder.to_str().unwrap();
    let expected = run(&python, "graph_features.py", &["all", folder]);
    let expected: BTreeMap<String, Value> = serde_json::from_value(expected).unwrap();
    let place = Place::new();
    place.ok(&["ingest", "-q", folder]);
    let found = rows(
        &place,
        "SELECT s.id, f.*, khop(g.edges, g.node_count, g.slots, 0) AS near_0, khop(g.edges, g.node_count, g.slots, 1) AS near_1, \
         khop(g.edges, g.node_count, g.slots, 3) AS near_3 \
         FROM (SELECT id, graph_id FROM sources WHERE graph_id IS NOT NULL) AS s \
         JOIN (SELECT graph_id AS of_id, op_histogram(opcode) AS histogram, node_features_sum(features) AS sum, \
               node_features_mean(features) AS mean, node_features_max(features) AS max FROM nodes GROUP BY 1) AS f ON f.of_id = s.graph_id \
         JOIN stored.graphs AS g ON g.graph_id = s.graph_id",
    );
    assert_eq!(found.len(), expected.len());
    let mut layouts = 0;
    for row in &found {
        let id = row["id"].as_str().unwrap();
        let known = &expected[id];
        for feature in ["histogram", "sum", "mean", "max"] {
            assert_eq!(
                narrow(&row[feature]),
                narrow(&known[feature]),
                "{id}: {feature}"
            );
        }
        for near in ["near_0", "near_1", "near_3"] {
            if known.get(near).is_some() {
                assert_eq!(numbers(&row[near]), numbers(&known[near]), "{id}: {near}");
                layouts += 1;
            }
        }
    }
    assert!(layouts > 9, "{layouts} neighbourhoods");
    // In training files each graph has the arrays of its file, with edges by node.
    place.ok(&[
        "export",
        "--format",
        "training",
        "--graphs",
        "layout:xla:random,layout:xla:default,layout:nlp:random,tile:xla",
        "-o",
        "graphs",
    ]);
    let exported = place.path().join("graphs");
    let compared = run(
        &python,
        "graph_features.py",
        &["csr", folder, exported.to_str().unwrap()],
    );
    let parts: BTreeMap<String, usize> = serde_json::from_value(compared["parts"].clone()).unwrap();
    assert_eq!(parts.values().sum::<usize>(), expected.len());
    let verified = place.ok(&["export", "--verify", "graphs"]);
    assert!(verified.stderr.contains("identical"), "{}", verified.stderr);
    std::fs::remove_file(exported.join("test/tile-xla/d6f5f54247bd1e58a10b9e7062c636ab.npz"))
        .unwrap();
    let damaged = place.tsql(&["export", "--verify", "graphs"]);
    assert_eq!(damaged.code, Some(1));
    assert_eq!(
        damaged.stdout,
        "test/tile-xla/d6f5f54247bd1e58a10b9e7062c636ab.npz is missing\n"
    );
}

/// Returns a graph of four nodes: a parameter, two dots of which the second is configurable, and the sum of that dot
/// and the parameter.
fn small() -> Vec<u8> {
    let mut features = vec![0.0; 4 * 140];
    for (node, size) in [(0, 4.0), (1, -2.0), (2, 8.0), (3, 1.0)] {
        features[node * 140 + 21] = size;
    }
    npz(&[
        array("node_feat", "<f4", &[4, 140], &features),
        array("node_opcode", "|u1", &[4], &[63.0, 34.0, 34.0, 2.0]),
        array(
            "edge_index",
            "<i8",
            &[4, 2],
            &[1.0, 0.0, 2.0, 1.0, 3.0, 0.0, 3.0, 2.0],
        ),
        array("node_config_ids", "<i8", &[1], &[2.0]),
        array("node_config_feat", "<f4", &[2, 1, 18], &[0.0; 36]),
        array("config_runtime", "<i8", &[2], &[7.0, 9.0]),
        array("node_splits", "<i8", &[1, 2], &[0.0, 4.0]),
    ])
}

#[test]
fn features_of_a_small_graph_match_hand_computation() {
    let place = Place::new();
    place.write("npz/layout/xla/random/train/small.npz", small());
    place.ok(&["ingest", "-q", "npz"]);
    let row_text = |sql: &str| place.rows(sql).join(" ");
    let pooled = "SELECT f[22] FROM (SELECT node_features_NAME(features) AS f FROM nodes)";
    for (name, value) in [("sum", "11.0"), ("mean", "2.75"), ("max", "8.0")] {
        assert_eq!(row_text(&pooled.replace("NAME", name)), value);
    }
    let counted = "SELECT concat_ws(' ', h[64], h[35], h[3], list_sum(h)) FROM (SELECT op_histogram(opcode) AS h FROM nodes)";
    assert_eq!(
        row_text(&counted.replace("list_sum(h)", "cardinality(h)")),
        "1.0 2.0 1.0 121"
    );
    let near = "SELECT array_to_string(khop(edges, node_count, slots, K), ' ') FROM stored.graphs";
    for (hops, nodes) in [("0", "2"), ("1", "1 2 3"), ("2", "0 1 2 3")] {
        assert_eq!(row_text(&near.replace('K', hops)), nodes);
    }
    let parts = "SELECT string_agg(concat(s['segment'], ':', s['node'], '@', s['distance']), ' ') FROM \
                 (SELECT unnest(segments(edges, node_count, argument_count, 2, 1)) AS s FROM stored.graphs)";
    assert_eq!(
        row_text(parts),
        "0:0@0 0:1@0 0:2@1 0:3@1 1:2@0 1:3@0 1:0@1 1:1@1"
    );
    for (wrong, reason) in [
        (
            "khop(edges, node_count, slots, -1)",
            "k is -1, expected 0 or more",
        ),
        (
            "segments(edges, node_count, argument_count, 0, 1)",
            "max_nodes is 0, expected 1 or more",
        ),
        (
            "repeated_blocks(edges, node_count, argument_count, [1], 4)",
            "1 kinds for 4 nodes",
        ),
    ] {
        let ran = place.tsql(&[&format!("SELECT {wrong} FROM stored.graphs")]);
        assert!(
            ran.code != Some(0) && ran.stderr.contains(reason),
            "{}",
            ran.stderr
        );
    }
    // Without nodes there is no histogram.
    let none = "SELECT op_histogram(opcode) IS NULL AND node_features_max(features) IS NULL AND \
                graphnet_op_histogram(op) IS NULL FROM nodes WHERE false";
    assert_eq!(row_text(none), "true");
}

#[test]
fn captured_graphs_have_operation_and_tensor_histograms() {
    let place = Place::new();
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/data/graphnet/samples");
    place.ok(&["ingest", "-q", data]);
    // All operations of model.py are in the list, so `other` stays zero.
    let counts = "SELECT op, count(*) AS n FROM nodes GROUP BY op ORDER BY op";
    let named: BTreeMap<String, f64> = rows(&place, counts)
        .iter()
        .map(|row| {
            (
                row["op"].as_str().unwrap().to_owned(),
                row["n"].as_f64().unwrap(),
            )
        })
        .collect();
    let histograms = rows(&place, "SELECT graphnet_op_histogram(op) AS h FROM nodes");
    let histogram = numbers(&histograms[0]["h"]);
    let names = &function("graphnet_op_histogram").unwrap().elements[0].names;
    assert_eq!(
        (histogram.len(), names.len(), names[292].as_str()),
        (293, 293, "other")
    );
    let found = names
        .iter()
        .zip(&histogram)
        .filter(|(_, count)| **count > 0.0);
    let found: BTreeMap<String, f64> = found.map(|(name, count)| (name.clone(), *count)).collect();
    assert_eq!(found, named);
    let tensors = "SELECT sum(CASE WHEN kind = 'parameter' THEN 1 END) AS parameters, \
                   sum(CASE WHEN kind = 'parameter' THEN element_count END) AS elements, count(*) AS tensors, \
                   sum(CASE WHEN array_length(shape) = 4 THEN 1 END) AS images FROM tensors";
    let known = &rows(&place, tensors)[0];
    let histograms = rows(
        &place,
        "SELECT graphnet_tensor_histogram(kind, dtype, shape) AS h FROM tensors",
    );
    let histogram = numbers(&histograms[0]["h"]);
    let names = &function("graphnet_tensor_histogram").unwrap().elements[0].names;
    let count_of = |name: &str| histogram[names.iter().position(|one| one == name).unwrap()];
    assert_eq!(Some(count_of("parameters")), known["parameters"].as_f64());
    assert_eq!(
        Some(count_of("parameter_elements")),
        known["elements"].as_f64()
    );
    assert_eq!(Some(count_of("rank_4")), known["images"].as_f64());
    let kinds = ["parameters", "buffers", "inputs", "symints"].map(count_of);
    assert_eq!(Some(kinds.iter().sum::<f64>()), known["tensors"].as_f64());
}

#[test]
fn every_element_of_a_feature_has_a_name() {
    let widths: BTreeMap<String, Vec<usize>> = functions()
        .into_iter()
        .filter(|function| !function.elements.is_empty())
        .map(|function| {
            (
                function.name,
                function
                    .elements
                    .iter()
                    .map(|one| one.names.len())
                    .collect(),
            )
        })
        .collect();
    let expected = [
        ("graphnet_op_histogram", vec![293]),
        ("graphnet_tensor_histogram", vec![26]),
        ("node_features_max", vec![140]),
        ("node_features_mean", vec![140]),
        ("node_features_sum", vec![140]),
        ("op_histogram", vec![121]),
        ("schedule_numbers", vec![113]),
        ("tlp_tokens", vec![25 * 22, 40 * 20]),
        ("workload_shape", vec![16]),
    ];
    assert!(
        widths
            .iter()
            .map(|(name, widths)| (name.as_str(), widths.clone()))
            .eq(expected)
    );
    let place = Place::new();
    let stdout = place
        .ok(&["describe", "--function", "tlp_tokens", "--format", "csv"])
        .stdout;
    for line in [
        "llvm[5],step_0_is_SP",
        "llvm[22],step_1_is_CI",
        "cuda[799],step_39_argument_8",
    ] {
        assert!(stdout.lines().any(|one| one == line), "{line}");
    }
    let stdout = place
        .ok(&["describe", "--function", "op_histogram", "--format", "csv"])
        .stdout;
    assert!(stdout.lines().any(|one| one == "[26],convolution"));
}

/// Expected counts come from the published layers of these networks.
#[test]
fn blocks_of_known_networks_match_their_layers() {
    let Some(shared) = shared() else {
        return;
    };
    let place = Place::new();
    let archive = shared.join("data/graphnet/samples.tar.zst");
    let mut unpacked =
        tar::Archive::new(zstd::Decoder::new(std::fs::File::open(archive).unwrap()).unwrap());
    let wanted = [
        "samples/torchvision/resnet50/",
        "samples/torchvision/resnet18/",
        "samples/transformers-auto-model/google-bert_bert-base-multilingual-cased/",
    ];
    for entry in unpacked.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().to_string_lossy().into_owned();
        let path = path.trim_start_matches("./");
        if wanted.iter().any(|wanted| path.starts_with(wanted))
            && entry.header().entry_type().is_file()
        {
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut entry, &mut bytes).unwrap();
            place.write(path, bytes);
        }
    }
    place.ok(&["ingest", "-q", "samples"]);
    let blocks = |path: &str| {
        let sql = format!(
            "SELECT b.occurrence_count, b.node_count, b.input_count FROM blocks AS b JOIN samples AS s ON s.graph_id = b.graph_id \
             WHERE s.path LIKE '%{path}' ORDER BY b.block"
        );
        place.rows(&sql)
    };
    // BERT: twelve layers.
    let bert = blocks("bert-base-multilingual-cased");
    assert!(bert[0].starts_with("12,"), "{bert:?}");
    // ResNet-50 has 16 bottlenecks in stages of 3, 4, 6 and 3. The first of each stage halves the image or widens it.
    // 12 are equal: three convolutions with norms and activations, and an addition. Three halve the image.
    let resnet = blocks("torchvision/resnet50");
    assert_eq!(resnet[0], "12,10,1");
    assert_eq!(resnet[1], "3,12,1");
    // ResNet-18 has stages of two blocks of two convolutions. Three stages are equal: a widening block (9 operations)
    // and a plain one (7). The first stage has two plain blocks.
    assert_eq!(blocks("torchvision/resnet18"), ["3,16,1", "2,7,1"]);
    let members = "SELECT count(*), count(DISTINCT node), count(DISTINCT n.op) FROM block_members AS m JOIN nodes AS n USING (graph_id, node) \
                   JOIN samples AS s USING (graph_id) WHERE s.path LIKE '%torchvision/resnet50' AND m.block = 0 AND m.position = 0";
    assert_eq!(place.rows(members), ["12,12,1"]);
}
