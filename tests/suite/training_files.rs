//! Files for training: what others read in them, their manifest, and what is refused.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tsql::splits::{SplitOptions, SplitUnit};
use tsql::training::{FileForm, Label, LargeGroups, TrainingFilesOptions, TrainingManifest};
use tsql::{IngestOptions, Store};

use crate::engines::{python, run};
use crate::support::{Place, log, result_line, shared};

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().unwrap().to_owned()
}

async fn refused(store: &Store, to: &str, options: &TrainingFilesOptions) -> String {
    let written = store.write_training_files(to, options).await;
    assert!(
        !Path::new(to).join("SHA256SUMS").exists(),
        "{to} looks whole"
    );
    written.unwrap_err().to_string()
}

/// Two tasks of three and two programs, one of which failed, on one platform.
async fn small() -> (Place, Store) {
    let place = Place::new();
    let mut lines = log(1, 3) + &log(4, 2).replace("64, 64", "32, 64");
    lines += &(result_line(9, "[1e10], 6, 3.5, 1700000009") + "\n");
    place.write("logs/a/x.json", lines);
    let store = Store::create(&path(place.path(), "s")).await.unwrap();
    let files = [path(place.path(), "logs")];
    let options = IngestOptions::default().platform("a");
    assert!(store.ingest(&files, &options).await.unwrap().is_clean());
    (place, store)
}

#[tokio::test]
async fn labels_groups_and_features_are_those_by_hand() {
    let Some(python) = python() else { return };
    let (place, store) = small().await;
    for form in [FileForm::Parquet, FileForm::Arrow, FileForm::Npz] {
        let to = path(place.path(), form.name());
        let options =
            TrainingFilesOptions::new(["schedule_numbers", "workload_shape", "tlp_tokens"])
                .form(form)
                .balance("graph_id");
        let manifest = store.write_training_files(&to, &options).await.unwrap();
        let told = run(&python, "training_files.py", &[&to]);
        let part = &told["all"];
        assert_eq!((manifest.left_out.failed, manifest.parts[0].rows), (1, 5));
        let mut sizes: Vec<u64> = serde_json::from_value(part["sizes"].clone()).unwrap();
        sizes.sort_unstable();
        assert_eq!(sizes, [2, 3]);
        // Runtimes of a program are 1000 and its number, in microseconds.
        let lines: Vec<(i64, f64, f64, f64)> = part["keys"]
            .as_array()
            .unwrap()
            .iter()
            .enumerate()
            .map(|(row, key)| {
                let number = |value: &Value| value.as_f64().unwrap();
                let shape = number(&part["features"]["workload_shape"][row]);
                let weight = number(&part["weights"][row]);
                (
                    key[3].as_i64().unwrap(),
                    number(&part["labels"][row]),
                    shape,
                    weight,
                )
            })
            .collect();
        for (line, label, shape, weight) in lines {
            let first = if line > 3 { 4.0 } else { 1.0 };
            #[expect(clippy::cast_precision_loss, reason = "a line of six")]
            let expected = (1000.0 + first) / (1000.0 + line as f64);
            assert!((label - expected).abs() < 1e-6, "{line}: {label}");
            // `["mm", 64, 64]`; both tasks count the same, and a row 1 on average.
            let (size, share) = if line > 3 {
                (96.0, 5.0 / 4.0)
            } else {
                (128.0, 5.0 / 6.0)
            };
            assert_eq!(shape, size);
            assert!((weight - share).abs() < 1e-12, "{weight}");
        }
        let verified = store.verify_training_files(&to).await.unwrap();
        assert!(verified.is_same() && verified.rows == 5, "{verified:?}");
    }
    // As TenSet has it the failed record is a row, too.
    let to = path(place.path(), "tenset");
    let options = TrainingFilesOptions::new(["schedule_numbers"]).label(Label::Tenset);
    let manifest = store.write_training_files(&to, &options).await.unwrap();
    let part = &manifest.parts[0];
    assert_eq!(
        (
            part.rows,
            part.failed,
            part.largest_group,
            manifest.left_out.failed
        ),
        (6, 1, 4, 0)
    );
    run(&python, "training_files.py", &[&to]);
}

#[test]
fn parts_of_a_split_are_folders() {
    let Some(python) = python() else { return };
    on_a_large_stack(move || parts(python));
}

/// As the command plans: a development build takes more than threads of tests have for a split over many keys.
fn on_a_large_stack<F: Future<Output = ()>>(run: impl FnOnce() -> F + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(64 << 20);
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
    };
    thread
        .spawn(move || runtime().block_on(run()))
        .unwrap()
        .join()
        .unwrap();
}

async fn parts(python: PathBuf) {
    let place = Place::new();
    let store = Store::create(&path(place.path(), "s")).await.unwrap();
    store
        .ingest(&["data".to_owned()], &IngestOptions::default())
        .await
        .unwrap();
    let split = SplitOptions::default()
        .unit(SplitUnit::Config)
        .ratio("60/20/20")
        .seed(7);
    store.create_split("mine", &split).await.unwrap();
    let to = path(place.path(), "files");
    let options = TrainingFilesOptions::new(["workload_shape"])
        .predicate("dataset = 'tenset'")
        .split("mine");
    let manifest = store.write_training_files(&to, &options).await.unwrap();
    let told = run(&python, "training_files.py", &[&to]);
    let told: BTreeMap<String, Value> = serde_json::from_value(told).unwrap();
    assert_eq!(told.keys().collect::<Vec<_>>(), ["test", "train", "valid"]);
    let known = store.split("mine").await.unwrap();
    let split = manifest.split.as_ref().unwrap();
    assert_eq!(
        (split.name.as_str(), &split.digest),
        ("mine@1", &known.digest)
    );
    // Each record is in the part that SQL says.
    let sql = "SELECT split('mine@1') AS part, source_id, line FROM records WHERE status = 'ok' AND dataset = 'tenset'";
    let session = store
        .session_with(&tsql::SessionOptions::default().sql(sql))
        .await
        .unwrap();
    let frame = tsql::query::run_sql(&session, sql, &[]).await.unwrap();
    let expected = frame.count().await.unwrap() as u64;
    let rows: u64 = manifest.parts.iter().map(|part| part.rows).sum();
    assert_eq!(rows, expected);
    assert_eq!(rows + manifest.left_out.failed, 480);
    // One part by itself is the same rows.
    let alone = path(place.path(), "alone");
    let only = options.clone().parts(["test"]);
    let one = store.write_training_files(&alone, &only).await.unwrap();
    let test = manifest
        .parts
        .iter()
        .find(|part| part.name == "test")
        .unwrap();
    assert_eq!((one.parts.len(), &one.parts[0].keys), (1, &test.keys));
    assert_eq!(
        one.left_out.other_parts + one.left_out.failed + one.parts[0].rows,
        480
    );
    // A store that grew makes other rows of now, and the same of then.
    place.write("logs/b/x.json", log(1, 40));
    let more = [path(place.path(), "logs")];
    store
        .ingest(&more, &IngestOptions::default())
        .await
        .unwrap();
    let verified = store
        .verify_training_files(&path(place.path(), "files/manifest.json"))
        .await
        .unwrap();
    assert!(verified.is_same() && verified.rows == rows, "{verified:?}");
    for (options, reason) in [
        (options.clone().split("mine@2"), "no split named `mine@2`"),
        (options.clone().split("mine@x"), "`x` is no version"),
        (options.clone().split("other"), "mine@1"),
        (
            options.clone().parts(["holdout"]),
            "no part of the split named `holdout`",
        ),
    ] {
        let told = refused(&store, &path(place.path(), "none"), &options).await;
        assert!(told.contains(reason), "{told}");
    }
    // All tasks of one store in one part.
    let all = SplitOptions::default()
        .unit(SplitUnit::Platform)
        .ratio("98/1/1")
        .seed(1);
    store.create_split("lone", &all).await.unwrap();
    let told = refused(
        &store,
        &path(place.path(), "lone"),
        &options.split("lone@1"),
    )
    .await;
    assert!(
        told.contains("has a label and") && told.contains("hint: --parts"),
        "{told}"
    );
}

#[tokio::test]
async fn what_is_not_what_was_written_is_told() {
    let (place, store) = small().await;
    let to = path(place.path(), "files");
    let options = TrainingFilesOptions::new(["schedule_numbers"]);
    store.write_training_files(&to, &options).await.unwrap();
    let again = path(place.path(), "again");
    store.write_training_files(&again, &options).await.unwrap();
    for file in [
        "manifest.json",
        "SHA256SUMS",
        "all/part-00000.parquet",
        "all/group_sizes.txt",
    ] {
        let [one, other] =
            [&to, &again].map(|folder| fs::read(Path::new(folder).join(file)).unwrap());
        assert_eq!(one, other, "{file}");
    }
    assert!(
        tsql::verify_publication(&to, |_| ())
            .await
            .unwrap()
            .is_whole()
    );
    let rows = Path::new(&to).join("all/part-00000.parquet");
    let whole = fs::read(&rows).unwrap();
    fs::write(&rows, &whole[..whole.len() - 1]).unwrap();
    let told = store.verify_training_files(&to).await.unwrap().differences;
    assert_eq!(told.len(), 1);
    assert!(
        told[0].starts_with("all/part-00000.parquet has other bytes than were written"),
        "{told:?}"
    );
    fs::write(&rows, whole).unwrap();
    // A manifest that says something else.
    let manifest = Path::new(&to).join("manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    let mut known: TrainingManifest = serde_json::from_str(&text).unwrap();
    known.parts[0].keys = "0".repeat(32);
    known.left_out.failed = 7;
    fs::write(&manifest, serde_json::to_string(&known).unwrap()).unwrap();
    let told = store
        .verify_training_files(&to)
        .await
        .unwrap()
        .differences
        .join("\n");
    assert!(
        told.contains("left out: ") && told.contains("all: the rows are others"),
        "{told}"
    );
    // Another store.
    let other = Store::demo().await.unwrap();
    let told = other
        .verify_training_files(&to)
        .await
        .unwrap()
        .differences
        .join("\n");
    assert!(!told.is_empty(), "{told}");
    fs::write(&manifest, "{\n\"parts\": 1}").unwrap();
    let told = store
        .verify_training_files(&to)
        .await
        .unwrap_err()
        .to_string();
    assert!(told.contains("manifest.json:2: "), "{told}");
    fs::remove_file(&manifest).unwrap();
    let told = store
        .verify_training_files(&to)
        .await
        .unwrap_err()
        .to_string();
    assert!(told.contains("has no manifest.json"), "{told}");
}

#[tokio::test]
async fn bad_input_leaves_nothing_that_looks_whole() {
    let (place, store) = small().await;
    let to = path(place.path(), "files");
    let options = TrainingFilesOptions::new(["schedule_numbers"]);
    for (options, reason) in [
        (
            TrainingFilesOptions::new(["tlp_token"]),
            "did you mean `tlp_tokens",
        ),
        (
            TrainingFilesOptions::new([] as [&str; 0]),
            "no feature was named",
        ),
        (
            TrainingFilesOptions::new(["workload_shape"; 2]),
            "was named twice",
        ),
        (
            options.clone().predicate("platform = 'b'"),
            "no record matches",
        ),
        (
            options.clone().predicate("status = 'failed'"),
            "no record has a label and all features: 1 failed",
        ),
        (options.clone().group("graphs"), "no group named `graphs`"),
        (
            options.clone().parts(["train"]),
            "parts are those of a split",
        ),
        (options.clone().split("none@1"), "tsql split create"),
        (
            options.clone().group_rows(2, LargeGroups::Refused),
            "has 3 rows, and a query may have 2",
        ),
        (
            options.clone().group_rows(0, LargeGroups::Cut),
            "at least one row",
        ),
        (
            TrainingFilesOptions::new(["op_histogram"]),
            "5 rows without `op_histogram`",
        ),
    ] {
        let told = refused(&store, &to, &options).await;
        assert!(told.contains(reason), "{told}");
    }
    let skipping = TrainingFilesOptions::new(["op_histogram"]).skip_null(true);
    let told = refused(&store, &to, &skipping).await;
    assert!(told.contains("no record has a label"), "{told}");
    // What was begun there can be begun again.
    let cut = options.clone().group_rows(2, LargeGroups::Cut);
    let manifest = store.write_training_files(&to, &cut).await.unwrap();
    assert_eq!(
        (manifest.parts[0].groups, manifest.left_out.cut_groups),
        (3, 1)
    );
    let told = store
        .write_training_files(&to, &cut)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        told.contains("has a training export already\nhint: --overwrite"),
        "{told}"
    );
    let sampled = options
        .clone()
        .group_rows(2, LargeGroups::Sampled)
        .seed(3)
        .overwrite(true);
    let manifest = store.write_training_files(&to, &sampled).await.unwrap();
    assert_eq!(
        (manifest.parts[0].rows, manifest.left_out.over_limit),
        (4, 1)
    );
    assert!(store.verify_training_files(&to).await.unwrap().is_same());
    place.write("files/thesis.tex", "x");
    let told = store
        .write_training_files(&to, &sampled)
        .await
        .unwrap_err()
        .to_string();
    assert!(told.contains("thesis.tex"), "{told}");
    let alone = options.clone().without_groups();
    let manifest = store
        .write_training_files(&path(place.path(), "rows"), &alone)
        .await
        .unwrap();
    assert_eq!(
        (manifest.parts[0].groups, manifest.parts[0].files.len()),
        (0, 1)
    );
}

/// Records for two kinds of targets have tokens of two sizes.
#[test]
fn tokens_are_those_of_one_kind_of_target() {
    let Some(shared) = shared() else {
        return;
    };
    let place = Place::new();
    for (platform, file) in [
        ("cpu", "x86/x86_resnet18.json"),
        ("gpu", "tutorial-logs/resnet-18-NHWC-B1-cuda.7cb3a67.json"),
    ] {
        let input = shared.join("data/tenset").join(file);
        place.ok(&[
            "ingest",
            "-q",
            input.to_str().unwrap(),
            "--platform",
            platform,
        ]);
    }
    let export = [
        "export",
        "--format",
        "training",
        "--features",
        "tlp_tokens,workload_shape",
        "-o",
        "rows",
    ];
    let both = place.tsql(&export);
    assert!(
        both.stderr.contains("cuda (") && both.stderr.contains("tlp_tokens:llvm"),
        "{}",
        both.stderr
    );
    let one = place.ok(&[&export[..], &["--where", "platform = 'cpu'"]].concat());
    assert!(
        one.stderr.contains("all: 1025 rows in 24 groups"),
        "{}",
        one.stderr
    );
    let manifest: TrainingManifest =
        serde_json::from_slice(&place.read("rows/manifest.json")).unwrap();
    assert_eq!(manifest.features[0].elements.len(), 25 * 22);
    let verified = place.ok(&["export", "--verify", "rows/manifest.json"]);
    assert!(
        verified
            .stderr
            .contains("2 files compared, 1025 rows made again: the same"),
        "{}",
        verified.stderr
    );
}
