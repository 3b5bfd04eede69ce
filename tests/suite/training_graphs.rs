//! Batches of several TpuGraphs files: each file once per epoch, in a deterministic order.

use tsql::Store;
use tsql::arrow::array::{AsArray as _, RecordBatch, StringArray};
use tsql::arrow::datatypes::{Int8Type, Int32Type, UInt16Type, UInt32Type};
use tsql::arrow::ipc::reader::StreamReader;
use tsql::tpugraphs::{
    Form, GraphStep, GraphsOptions, Pick, Picking, TrainingGraphs, training_files, training_graph,
    training_graphs,
};
use tsql::training::Position;

use crate::npz::{layout_file, npz, tile_file};
use crate::support::Place;

/// Returns a store of five layout files and twelve kernels. The last two kernels are in another split.
async fn store() -> (Place, Store) {
    let place = Place::new();
    for number in 0..5_u8 {
        let first = f64::from(number) * 1000.0 + 100.0;
        let runs: Vec<((i8, i8), f64)> = (0..40_i8)
            .map(|run| {
                (
                    (run % 5, run % 3),
                    first + f64::from(i32::from(run) * 37 % 41),
                )
            })
            .collect();
        let name = format!("npz/layout/xla/random/train/net{number}.npz");
        place.write(&name, npz(&layout_file(&runs)));
    }
    for number in 0..12_u8 {
        let runs: Vec<(f64, f64, f64)> = (0..7_u8)
            .map(|run| {
                (
                    f64::from(run + 1),
                    f64::from(run * 3 % 7 + number) + 10.0,
                    100.0,
                )
            })
            .collect();
        let split = if number < 10 { "train" } else { "valid" };
        let name = format!("npz/tile/xla/{split}/kernel{number}.npz");
        place.write(&name, npz(&tile_file(usize::from(number % 3 + 2), &runs)));
    }
    let store = Store::create(place.path().join(".tsql").to_str().unwrap())
        .await
        .unwrap();
    let tree = place.path().join("npz").to_str().unwrap().to_owned();
    let report = store
        .ingest(&[tree], &tsql::IngestOptions::default())
        .await
        .unwrap();
    assert!(report.is_clean());
    (place, store)
}

fn options(pick: Pick) -> GraphsOptions {
    GraphsOptions::new(Picking::new(pick, 4).seed(7))
}

async fn graphs(store: &Store, names: &[&str], options: &GraphsOptions) -> TrainingGraphs {
    training_graphs(store, names, options).await.unwrap()
}

fn epoch(graphs: &TrainingGraphs, from: Position) -> Vec<GraphStep> {
    graphs.iter(from).unwrap().map(Result::unwrap).collect()
}

fn ids(steps: &[GraphStep]) -> Vec<&str> {
    steps.iter().map(|step| step.id.as_str()).collect()
}

#[tokio::test]
async fn a_step_matches_the_file() {
    let (_place, store) = store().await;
    let names = ["layout:xla:random", "tile:xla:kernel3"];
    let several = graphs(&store, &names, &options(Pick::Random)).await;
    assert_eq!(several.step_count(), 6);
    for step in epoch(&several, Position::start_of(2)) {
        let alone = training_graph(&store, &step.id).await.unwrap();
        let samples = &step.samples.values;
        assert_eq!(samples.len(), 4);
        let runtimes: Vec<_> = alone.runtimes_ns(samples).map(Option::unwrap).collect();
        assert_eq!(step.runtimes_ns.values, runtimes);
        assert_eq!(*step.graph, alone.arrays().unwrap());
        let (slots, groups) = (alone.slot_count(), alone.group_count());
        if step.is_layout {
            assert_eq!(step.layouts.values, alone.expand::<i8>(samples).unwrap());
            assert_eq!(step.layouts.shape, [4, slots, 18]);
            assert_eq!(step.codes.values, alone.codes(samples));
            assert_eq!(step.codes.shape, [4, groups]);
            assert_eq!(step.tiles.shape, [0, 24]);
            assert_eq!(looked_up(&step), step.layouts.values);
        } else {
            assert_eq!(step.tiles.values, alone.expand::<f32>(samples).unwrap());
            assert_eq!(step.tiles.shape, [4, 24]);
            assert_eq!(step.normalizers_ns.values, [100; 4]);
            assert_eq!(step.layouts.shape, [0, 0, 18]);
        }
        let nodes = step.graph.opcodes.shape[0];
        assert_eq!(step.graph.node_features.shape, [nodes, 140]);
        assert_eq!(step.graph.node_features.values.len(), nodes * 140);
        assert_eq!(step.graph.edges.values.len(), step.graph.edges.shape[0] * 2);
    }
    let codes = options(Pick::Random).form(Form::Codes);
    let codes = graphs(&store, &["layout:xla:random:net1"], &codes).await;
    let step = codes.step(Position::default()).unwrap();
    assert_eq!(step.layouts.shape[0], 0);
    assert_eq!(looked_up(&step).len(), 4 * step.graph.slots.shape[0] * 18);
}

/// Returns `layouts[arange(groups), codes][:, group_of_slot]`.
fn looked_up(step: &GraphStep) -> Vec<i8> {
    let graph = &step.graph;
    let [groups, most, width] = graph.layouts.shape[..] else {
        panic!("three dimensions");
    };
    let mut values = Vec::new();
    for codes in step.codes.values.chunks(groups) {
        for &group in &graph.group_of_slot.values {
            let at = (group as usize * most + usize::from(codes[group as usize])) * width;
            values.extend(&graph.layouts.values[at..at + width]);
        }
    }
    values
}

#[tokio::test]
async fn each_file_occurs_once_per_epoch_in_a_new_order() {
    let (_place, store) = store().await;
    let all = graphs(
        &store,
        &["tile:xla", "layout:xla:random"],
        &options(Pick::Close),
    )
    .await;
    let files: Vec<String> = training_files(&store)
        .await
        .unwrap()
        .into_iter()
        .map(|file| file.id)
        .collect();
    let mut orders = Vec::new();
    for number in 0..3 {
        let steps = epoch(&all, Position::start_of(number));
        let mut sorted = ids(&steps);
        sorted.sort_unstable();
        assert_eq!(sorted, files);
        orders.push(ids(&steps).join(" "));
    }
    assert!(orders[0] != orders[1] && orders[1] != orders[2]);
    let plain = graphs(
        &store,
        &["tile:xla"],
        &options(Pick::Best).shuffle(false).split("valid"),
    )
    .await;
    let plain = epoch(&plain, Position::default());
    assert_eq!(ids(&plain), ["tile:xla:kernel10", "tile:xla:kernel11"]);
    assert_eq!(plain[0].split.as_deref(), Some("valid"));
}

/// Any number of open files and threads, and any resume position.
#[tokio::test]
#[ignore = "full tier"]
async fn steps_do_not_depend_on_open_files() {
    let (_place, store) = store().await;
    let names = ["tile:xla", "layout:xla:random"];
    let plain = options(Pick::Gumbel);
    let expected = epoch(&graphs(&store, &names, &plain).await, Position::default());
    for options in [
        plain.clone().open_graphs(1),
        plain.clone().open_graphs(3).threads(3).prefetch(5),
        plain.clone().open_samples(1).prefetch(0),
    ] {
        let others = graphs(&store, &names, &options).await;
        for stop in [0, 1, 7, 16] {
            let mut first = others.iter(Position::default()).unwrap();
            let mut streamed: Vec<_> = first.by_ref().take(stop).map(Result::unwrap).collect();
            streamed.extend(epoch(&others, first.position()));
            assert_eq!(streamed, expected, "stopped after {stop}");
        }
    }
    let endless = graphs(&store, &names, &plain).await;
    let mut steps = endless
        .epochs(Position::default())
        .unwrap()
        .map(Result::unwrap);
    assert!(steps.by_ref().take(17).eq(expected));
    assert_eq!(steps.next().unwrap().position, Position::start_of(1));
}

#[tokio::test]
async fn ranks_share_one_order() {
    let (_place, store) = store().await;
    let alone = graphs(&store, &["tile:xla"], &options(Pick::Random)).await;
    let expected = epoch(&alone, Position::start_of(1));
    for world in [1, 2, 4, 5] {
        let ranks = (0..world).map(|rank| alone.for_rank(rank, world).unwrap());
        let ranks: Vec<_> = ranks
            .map(|rank| epoch(&rank, Position::start_of(1)))
            .collect();
        assert!(ranks.iter().all(|rank| rank.len() == ranks[0].len()));
        let steps = 0..ranks[0].len();
        let union = steps.flat_map(|step| ranks.iter().map(move |rank| &rank[step]));
        for (place, step) in union.enumerate() {
            let wanted = &expected[place % expected.len()];
            assert_eq!((&step.id, &step.samples), (&wanted.id, &wanted.samples));
        }
    }
}

/// A changed sequence would change every resumed training.
#[tokio::test]
async fn the_sequence_is_frozen() {
    let (_place, store) = store().await;
    let files = graphs(&store, &["layout:xla:random"], &options(Pick::Gumbel)).await;
    let steps = epoch(&files, Position::default());
    let found = steps
        .iter()
        .map(|step| format!("{} {:?}", step.id, step.samples.values));
    let found: Vec<String> = found.collect();
    let expected = [
        "layout:xla:random:net4 [33, 34, 19, 14]",
        "layout:xla:random:net3 [16, 27, 4, 8]",
        "layout:xla:random:net0 [14, 21, 35, 38]",
        "layout:xla:random:net2 [38, 11, 34, 30]",
        "layout:xla:random:net1 [16, 15, 10, 4]",
    ];
    assert_eq!(found, expected);
}

#[tokio::test]
async fn impossible_requests_are_rejected_with_a_reason() {
    let (_place, store) = store().await;
    let plain = options(Pick::Random);
    for (names, options, reason) in [
        (
            &["tile:xla:kernel"][..],
            plain.clone(),
            "no training file named `tile:xla:kernel`",
        ),
        (
            &["net1", "none"],
            plain.clone(),
            "no training file named `none`",
        ),
        (&[], plain.clone(), "no files are given"),
        (
            &["layout:xla:random"],
            plain.clone().split("valid"),
            "their dataset splits are train",
        ),
        (&["tile:xla"], plain.clone().rank(1, 1), "rank 1 of 1"),
        (&["tile:xla"], plain.clone().open_graphs(0), "one open file"),
    ] {
        let message = training_graphs(&store, names, &options)
            .await
            .unwrap_err()
            .to_string();
        assert!(message.contains(reason), "{message}");
    }
    let graphs = graphs(&store, &["net1"], &plain).await;
    let beyond = Position { epoch: 0, batch: 2 };
    assert!(graphs.step(beyond).is_err() && graphs.iter(beyond).is_err());
}

#[tokio::test]
async fn families_alternate() {
    let (place, store) = store().await;
    let family = "CASE WHEN id LIKE '%:net0' THEN 'one' ELSE 'others' END";
    let balanced = options(Pick::Random).balance(family);
    let graphs = graphs(&store, &["layout:xla:random"], &balanced).await;
    // Two rounds of two families in five files.
    assert_eq!(graphs.step_count(), 4);
    let steps: Vec<GraphStep> = [0, 1]
        .map(|number| epoch(&graphs, Position::start_of(number)))
        .concat();
    let found = ids(&steps);
    let is_one = |id: &&str| id.ends_with(":net0");
    for round in found.chunks(2) {
        assert_eq!(round.iter().filter(|id| is_one(id)).count(), 1, "{found:?}");
    }
    let mut others: Vec<&str> = found.iter().copied().filter(|id| !is_one(id)).collect();
    others.sort_unstable();
    others.dedup();
    assert_eq!(others.len(), 4, "{found:?}");
    // Two ranks get one of the same steps each.
    let second = graphs.for_rank(1, 2).unwrap();
    assert_eq!(
        ids(&epoch(&second, Position::default())),
        [found[1], found[3]]
    );
    let streamed = streamed_batches(
        &place,
        &[
            "batch",
            "layout:xla:random",
            "-k",
            "4",
            "--seed",
            "7",
            "--epochs",
            "2",
            "--balance",
            family,
            "-o",
            "x.arrow",
        ],
    );
    assert_eq!(files_of(&streamed), found);
    let odd = options(Pick::Random).balance("nothing");
    assert!(
        training_graphs(&store, &["layout:xla:random"], &odd)
            .await
            .is_err()
    );
}

fn streamed_batches(place: &Place, args: &[&str]) -> Vec<RecordBatch> {
    let stderr = place.ok(args).stderr;
    assert!(stderr.contains(" steps in "), "{stderr}");
    let file = std::fs::File::open(place.path().join("x.arrow")).unwrap();
    let reader = StreamReader::try_new(file, None).unwrap();
    reader.map(Result::unwrap).collect()
}

fn files_of(batches: &[RecordBatch]) -> Vec<String> {
    let id = |batch: &RecordBatch| {
        let ids = batch.column(0).as_dictionary::<Int32Type>();
        let ids = ids.downcast_dict::<StringArray>().unwrap();
        ids.into_iter().next().unwrap().unwrap().to_owned()
    };
    batches.iter().map(id).collect()
}

#[tokio::test]
async fn the_command_streams_a_collection() {
    let (place, store) = store().await;
    let base = [
        "batch",
        "layout:xla:random",
        "-k",
        "4",
        "--seed",
        "7",
        "--pick",
        "gumbel",
        "-o",
        "x.arrow",
    ];
    let with = |more: &[&'static str]| [&base[..], more].concat();
    let expected = graphs(&store, &["layout:xla:random"], &options(Pick::Gumbel)).await;
    let expected: Vec<_> = expected
        .epochs(Position::default())
        .unwrap()
        .take(10)
        .map(Result::unwrap)
        .collect();
    let batches = streamed_batches(&place, &with(&["--epochs", "2"]));
    assert_eq!(files_of(&batches), ids(&expected));
    for (batch, step) in batches.iter().zip(&expected) {
        let samples = batch.column_by_name("sample").unwrap();
        assert_eq!(
            samples.as_primitive::<UInt32Type>().values(),
            &step.samples.values[..]
        );
        let rows = batch
            .column_by_name("node_config_feat")
            .unwrap()
            .as_list::<i32>();
        assert_eq!(rows.value_length(0), 54);
        assert_eq!(
            rows.values().as_primitive::<Int8Type>().values(),
            &step.layouts.values[..]
        );
    }
    let codes = streamed_batches(&place, &with(&["--values", "codes", "--steps", "3"]));
    assert_eq!(codes.len(), 3);
    let rows = codes[0].column_by_name("codes").unwrap().as_list::<i32>();
    assert_eq!(
        rows.values().as_primitive::<UInt16Type>().values(),
        &expected[0].codes.values[..]
    );
    assert!(codes[0].column_by_name("layouts").is_some());
    let kernels = [
        "batch", "tile:xla", "--split", "valid", "-k", "2", "-o", "x.arrow",
    ];
    let kernels = streamed_batches(&place, &kernels);
    assert_eq!(kernels.len(), 2);
    let rows = kernels[0]
        .column_by_name("config_feat")
        .unwrap()
        .as_list::<i32>();
    assert_eq!(rows.value_length(0), 24);
}

#[tokio::test]
#[ignore = "full tier"]
async fn the_command_rejects_invalid_streams() {
    let (place, _store) = store().await;
    for (args, reason) in [
        (
            &["tile:xla", "layout:xla:random"][..],
            "tile files and layout files cannot be in one stream",
        ),
        (
            &["tile:xla", "--values", "codes"],
            "tile files have no codes",
        ),
        (
            &["layout:xla:random", "--values", "float32"],
            "support only int8 or codes",
        ),
        (
            &["tile:xla", "-o", "x.npz"],
            "an npz file contains one batch of one file",
        ),
        (
            &["tile:xla", "--split", "tests"],
            "their dataset splits are train, valid",
        ),
        (&["tile:xla", "nothing"], "no training file named `nothing`"),
    ] {
        let ran = place.tsql(&[&["batch"], args].concat());
        assert_ne!(ran.code, Some(0), "{args:?}");
        assert!(ran.stderr.contains(reason), "{args:?}: {}", ran.stderr);
    }
    // A batch of one file.
    place.ok(&[
        "batch", "net1", "-k", "2", "--pick", "close", "-o", "x.arrow",
    ]);
}
