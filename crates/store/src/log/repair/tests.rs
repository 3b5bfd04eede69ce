use std::path::{Path as FilePath, PathBuf};

use crate::log::prefetch::tests::add;
use crate::{Change, Snapshot, Store};

/// A store with this number of graphs, each from one commit, and the log of the graphs.
async fn with_graphs(folder: &FilePath, graphs: i64) -> (Store, PathBuf) {
    let at = folder.join("s");
    let _ = std::fs::remove_dir_all(&at);
    let store = Store::open_or_create(at.to_str().unwrap()).await.unwrap();
    for graph in 1..=graphs {
        add(&store, graph).await;
    }
    (store, at.join("graphs/_delta_log"))
}

/// Commits to another table, after reading the graphs.
async fn commit_elsewhere(store: &Store) {
    let plan = async |_: &Snapshot| {
        let transactions = vec![("a".to_owned(), 1)];
        Ok(Some(Change {
            transactions,
            ..Change::default()
        }))
    };
    store.commit("texts", "test", plan).await.unwrap();
}

/// Number of graphs that a new process finds, or the error.
async fn graphs(log: &FilePath) -> Result<usize, String> {
    let store = log.parent().and_then(FilePath::parent).unwrap();
    let store = Store::open(store.to_str().unwrap()).await.unwrap();
    let snapshot = store.snapshot("graphs").await;
    let snapshot = snapshot.map_err(|error| error.to_string())?;
    Ok(snapshot.map_or(0, |snapshot| snapshot.files().len()))
}

async fn repair_table(log: &FilePath) -> Vec<String> {
    let store = log.parent().and_then(FilePath::parent).unwrap();
    let store = Store::open(store.to_str().unwrap()).await.unwrap();
    let store = store.without_proofs();
    let done = store.repair_logs().await.unwrap();
    store.raise_logs_to_proofs().await.unwrap();
    let store = Store::open(store.location().as_str()).await.unwrap();
    assert_eq!(store.log_damage().await.unwrap(), []);
    done.into_iter().map(|(_, what)| what).collect()
}

fn names(log: &FilePath) -> Vec<String> {
    let entries = std::fs::read_dir(log).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_proven_entry_is_damage_and_another_is_an_earlier_version() {
    let folder = tempfile::tempdir().unwrap();
    for is_proven in [true, false] {
        for kept in [None, Some(0), Some(60)] {
            let (store, log) = with_graphs(folder.path(), 3).await;
            if is_proven {
                commit_elsewhere(&store).await;
            }
            let last = log.join("00000000000000000003.json");
            let whole = std::fs::read(&last).unwrap();
            match kept {
                None => std::fs::remove_file(&last).unwrap(),
                Some(kept) => std::fs::write(&last, &whole[..kept]).unwrap(),
            }
            let before = names(&log);
            let found = graphs(&log).await;
            assert_eq!(names(&log), before, "readers write nothing");
            let what = format!("{is_proven} {kept:?}: {found:?}");
            let name = "`graphs/_delta_log/00000000000000000003.json`";
            match is_proven {
                false => assert_eq!(found, Ok(2), "{what}"),
                true => {
                    let error = found.unwrap_err();
                    assert!(
                        error.contains(name) && error.contains("--repair"),
                        "{error}"
                    );
                }
            }
            let store = Store::open(store.location().as_str()).await.unwrap();
            let damage = store.log_damage().await.unwrap();
            // A data file shows that a truncated entry was not an empty commit.
            let is_damage = is_proven || kept.is_some();
            assert_eq!(
                damage.iter().any(|(_, one)| !one.is_harmless),
                is_damage,
                "{damage:?}"
            );
            assert_eq!(repair_table(&log).await.is_empty(), !is_damage, "{what}");
            assert_eq!(graphs(&log).await, Ok(2), "{what}");
        }
    }
}

#[tokio::test]
async fn a_changed_entry_is_named_and_leaves_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let (_, log) = with_graphs(folder.path(), 4).await;
    for version in 0..=4 {
        let path = log.join(format!("{version:020}.json"));
        let whole = std::fs::read(&path).unwrap();
        for at in [3, whole.len() / 2, whole.len() - 9] {
            let mut flipped = whole.clone();
            flipped[at] ^= 1;
            std::fs::write(&path, &flipped).unwrap();
            let found = graphs(&log).await;
            let name = format!("`graphs/_delta_log/{version:020}.json`");
            // Log readers ignore some damage.
            match &found {
                Ok(graphs) => assert_eq!(*graphs, 4, "{version} {at}"),
                Err(error) => assert!(error.contains(&name), "{version} {at}: {error}"),
            }
        }
        std::fs::write(&path, &whole).unwrap();
    }
    let path = log.join("00000000000000000002.json");
    std::fs::write(&path, "{\"add\":").unwrap();
    assert!(graphs(&log).await.is_err());
    assert_eq!(repair_table(&log).await.len(), 1);
    assert_eq!(graphs(&log).await, Ok(3));
}

#[tokio::test]
async fn entries_that_changed_places_are_put_back() {
    let folder = tempfile::tempdir().unwrap();
    let (_, log) = with_graphs(folder.path(), 5).await;
    let [one, other] = [3, 5].map(|version| log.join(format!("{version:020}.json")));
    let bytes = [&one, &other].map(|path| std::fs::read(path).unwrap());
    std::fs::write(&one, &bytes[1]).unwrap();
    std::fs::write(&other, &bytes[0]).unwrap();
    assert!(graphs(&log).await.unwrap_err().contains("is the entry of"));
    assert_eq!(repair_table(&log).await.len(), 2);
    assert_eq!(graphs(&log).await, Ok(5));
    // An older entry over the newest.
    std::fs::write(&other, &bytes[0]).unwrap();
    assert!(graphs(&log).await.is_err());
    repair_table(&log).await;
    assert_eq!(graphs(&log).await, Ok(4));
}

#[tokio::test]
async fn checkpoints_are_passed_over_where_the_entries_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let (_, log) = with_graphs(folder.path(), 23).await;
    let checkpoints = names(&log).into_iter();
    let checkpoints = checkpoints.filter(|name| name.ends_with(".checkpoint.parquet"));
    let checkpoints: Vec<PathBuf> = checkpoints.map(|name| log.join(name)).collect();
    let [one, other]: [PathBuf; 2] = checkpoints.try_into().unwrap();
    let bytes = [&one, &other].map(|path| std::fs::read(path).unwrap());
    let hint = log.join("_last_checkpoint");
    let named = std::fs::read(&hint).unwrap();
    let restore = || {
        std::fs::write(&one, &bytes[0]).unwrap();
        std::fs::write(&other, &bytes[1]).unwrap();
        std::fs::write(&hint, &named).unwrap();
    };
    let mut flipped = bytes[1].clone();
    flipped[bytes[1].len() / 3] ^= 4;
    let damages: [&dyn Fn(); 6] = [
        &|| std::fs::remove_file(&other).unwrap(),
        &|| std::fs::write(&other, "").unwrap(),
        &|| std::fs::write(&other, &bytes[1][..100]).unwrap(),
        &|| std::fs::write(&other, &flipped).unwrap(),
        &|| std::fs::write(&hint, "{").unwrap(),
        &|| {
            std::fs::write(&one, &bytes[1]).unwrap();
            std::fs::write(&other, &bytes[0]).unwrap();
        },
    ];
    for (number, damage) in damages.iter().enumerate() {
        restore();
        damage();
        assert_eq!(graphs(&log).await, Ok(23), "{number}");
        let done = repair_table(&log).await;
        assert!(number == 3 || !done.is_empty(), "{number}");
        assert_eq!(graphs(&log).await, Ok(23), "{number}");
    }
    // Without the entries the data is lost, and reported as lost.
    restore();
    std::fs::remove_file(log.join("00000000000000000000.json")).unwrap();
    std::fs::remove_file(&one).unwrap();
    assert_eq!(graphs(&log).await, Ok(23));
    std::fs::write(&other, "").unwrap();
    let error = graphs(&log).await.unwrap_err();
    assert!(error.contains("graphs/_delta_log/"), "{error}");
}
