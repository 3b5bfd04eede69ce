//! Training files: other readers, the manifest, and rejected requests.

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

async fn rejection(store: &Store, to: &str, options: &TrainingFilesOptions) -> String {
    let written = store.write_training_files(to, options).await;
    assert!(
        !Path::new(to).join("SHA256SUMS").exists(),
        "{to} looks whole"
    );
    written.unwrap_err().to_string()
}

/// Returns a store of two tasks with three and two programs on one platform. One program failed.
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
#[ignore = "full tier"]
async fn labels_groups_and_features_match_hand_computation() {
    let Some(python) = python() else { return };
    let (place, store) = small().await;
    for form in [FileForm::Parquet, FileForm::Arrow, FileForm::Npz] {
        let to = path(place.path(), form.name());
        let options =
            TrainingFilesOptions::new(["schedule_numbers", "workload_shape", "tlp_tokens"])
                .file_format(form)
                .balance("graph_id");
        let manifest = store.write_training_files(&to, &options).await.unwrap();
        let report = run(&python, "training_files.py", &[&to]);
        let part = &report["all"];
        assert_eq!((manifest.excluded.failed, manifest.parts[0].rows), (1, 5));
        let mut sizes: Vec<u64> = serde_json::from_value(part["sizes"].clone()).unwrap();
        sizes.sort_unstable();
        assert_eq!(sizes, [2, 3]);
        // The runtime of a program in microseconds is 1000 plus its number.
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
            // `["mm", 64, 64]`. Both tasks have equal weight, and the mean weight of a row is 1.
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
    // In TenSet's variant the failed record is a row, too.
    let to = path(place.path(), "tenset");
    let options = TrainingFilesOptions::new(["schedule_numbers"]).target(Label::Tenset);
    let manifest = store.write_training_files(&to, &options).await.unwrap();
    let part = &manifest.parts[0];
    assert_eq!(
        (
            part.rows,
            part.failed,
            part.largest_group,
            manifest.excluded.failed
        ),
        (6, 1, 4, 0)
    );
    run(&python, "training_files.py", &[&to]);
}

#[test]
#[ignore = "full tier"]
fn parts_of_a_split_are_folders() {
    let Some(python) = python() else { return };
    on_a_large_stack(move || check_parts(python));
}

/// Runs on a thread with a large stack. A development build needs more than the default stack for a split of many keys.
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

async fn check_parts(python: PathBuf) {
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
    let report = run(&python, "training_files.py", &[&to]);
    let report: BTreeMap<String, Value> = serde_json::from_value(report).unwrap();
    assert_eq!(
        report.keys().collect::<Vec<_>>(),
        ["test", "train", "valid"]
    );
    let known = store.split("mine").await.unwrap();
    let split = manifest.split.as_ref().unwrap();
    assert_eq!(
        (split.name.as_str(), &split.digest),
        ("mine@1", &known.digest)
    );
    // Each record is in the part that SQL returns.
    let sql = "SELECT split('mine@1') AS part, source_id, line FROM records WHERE status = 'ok' AND dataset = 'tenset'";
    let session = store
        .session_with(&tsql::SessionOptions::default().sql(sql))
        .await
        .unwrap();
    let frame = tsql::query::run_sql(&session, sql, &[]).await.unwrap();
    let expected = frame.count().await.unwrap() as u64;
    let rows: u64 = manifest.parts.iter().map(|part| part.rows).sum();
    assert_eq!(rows, expected);
    assert_eq!(rows + manifest.excluded.failed, 480);
    // A single part has the same rows.
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
        one.excluded.other_parts + one.excluded.failed + one.parts[0].rows,
        480
    );
    // A grown store has other rows now, and the same rows at the earlier version.
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
        (options.clone().split("mine@x"), "`x` is not a version"),
        (options.clone().split("other"), "mine@1"),
        (
            options.clone().parts(["holdout"]),
            "no part of the split named `holdout`",
        ),
    ] {
        let message = rejection(&store, &path(place.path(), "none"), &options).await;
        assert!(message.contains(reason), "{message}");
    }
    // All tasks of a store in one part.
    let all = SplitOptions::default()
        .unit(SplitUnit::Platform)
        .ratio("98/1/1")
        .seed(1);
    store.create_split("lone", &all).await.unwrap();
    let message = rejection(
        &store,
        &path(place.path(), "lone"),
        &options.split("lone@1"),
    )
    .await;
    assert!(
        message.contains("has a target and") && message.contains("hint: --parts"),
        "{message}"
    );
}

#[tokio::test]
async fn changed_files_are_reported() {
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
    let differences = store.verify_training_files(&to).await.unwrap().differences;
    assert_eq!(differences.len(), 1);
    assert!(
        differences[0].starts_with("all/part-00000.parquet has changed"),
        "{differences:?}"
    );
    fs::write(&rows, whole).unwrap();
    // A changed manifest.
    let manifest = Path::new(&to).join("manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    // Keys with the names of the fields.
    let fields = [
        ("label", "target"),
        ("left_out", "excluded"),
        ("form", "file_format"),
        ("without_cost", "invalid_runtime"),
        ("refused", "rejected"),
    ];
    let renamed = fields.iter().fold(text.clone(), |text, (key, field)| {
        let (key, field) = (format!("\"{key}\""), format!("\"{field}\""));
        assert!(text.contains(&key), "{key} in {text}");
        text.replace(&key, &field)
    });
    fs::write(&manifest, renamed).unwrap();
    assert!(store.verify_training_files(&to).await.unwrap().is_same());
    let mut known: TrainingManifest = serde_json::from_str(&text).unwrap();
    known.parts[0].keys = "0".repeat(32);
    known.excluded.failed = 7;
    fs::write(&manifest, serde_json::to_string(&known).unwrap()).unwrap();
    let differences = store
        .verify_training_files(&to)
        .await
        .unwrap()
        .differences
        .join("\n");
    assert!(
        differences.contains("excluded: ") && differences.contains("all: the rows differ"),
        "{differences}"
    );
    // Another store.
    let other = Store::demo().await.unwrap();
    let differences = other
        .verify_training_files(&to)
        .await
        .unwrap()
        .differences
        .join("\n");
    assert!(!differences.is_empty(), "{differences}");
    fs::write(&manifest, "{\n\"parts\": 1}").unwrap();
    let error = store
        .verify_training_files(&to)
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("manifest.json:2: "), "{error}");
    fs::remove_file(&manifest).unwrap();
    let error = store
        .verify_training_files(&to)
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("has no manifest.json"), "{error}");
}

#[tokio::test]
#[ignore = "full tier"]
async fn bad_input_leaves_no_complete_export() {
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
            "no features are given",
        ),
        (
            TrainingFilesOptions::new(["workload_shape"; 2]),
            "is given twice",
        ),
        (
            options.clone().predicate("platform = 'b'"),
            "no record matches",
        ),
        (
            options.clone().predicate("status = 'failed'"),
            "no record has a target and all features: 1 failed",
        ),
        (options.clone().group("graphs"), "no group named `graphs`"),
        (options.clone().parts(["train"]), "parts need a split"),
        (options.clone().split("none@1"), "tsql split create"),
        (
            options.clone().group_rows(2, LargeGroups::Rejected),
            "has 3 rows, expected at most 2",
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
        let message = rejection(&store, &to, &options).await;
        assert!(message.contains(reason), "{message}");
    }
    let skipping = TrainingFilesOptions::new(["op_histogram"]).skip_null(true);
    let message = rejection(&store, &to, &skipping).await;
    assert!(message.contains("no record has a target"), "{message}");
    // An unfinished export can be restarted.
    let cut = options.clone().group_rows(2, LargeGroups::Cut);
    let manifest = store.write_training_files(&to, &cut).await.unwrap();
    assert_eq!(
        (manifest.parts[0].groups, manifest.excluded.cut_groups),
        (3, 1)
    );
    let message = store
        .write_training_files(&to, &cut)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("already contains a training export\nhint: --overwrite"),
        "{message}"
    );
    let sampled = options
        .clone()
        .group_rows(2, LargeGroups::Sampled)
        .seed(3)
        .overwrite(true);
    let manifest = store.write_training_files(&to, &sampled).await.unwrap();
    assert_eq!(
        (manifest.parts[0].rows, manifest.excluded.over_limit),
        (4, 1)
    );
    assert!(store.verify_training_files(&to).await.unwrap().is_same());
    place.write("files/thesis.tex", "x");
    let message = store
        .write_training_files(&to, &sampled)
        .await
        .unwrap_err()
        .to_string();
    assert!(message.contains("thesis.tex"), "{message}");
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

/// Tokens of two kinds of targets have different sizes.
#[test]
fn tokens_need_one_kind_of_target() {
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
            .contains("2 files compared, 1025 rows recomputed: identical"),
        "{}",
        verified.stderr
    );
}
