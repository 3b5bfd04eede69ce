use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use arrow::array::{ArrayRef, Int64Array, StringArray};

use super::*;
use crate::files::file::{DataFile, Effort};

async fn write_rows(store: &Store, id: i64) -> DataFile {
    let table = schema::table("graphs").unwrap();
    let texts = || Arc::new(StringArray::from(vec!["mm"])) as ArrayRef;
    let columns = BTreeMap::from([
        ("graph_id", Arc::new(Int64Array::from(vec![id])) as ArrayRef),
        ("dataset", texts()),
        ("workload_key", texts()),
    ]);
    let rows = [file::batch(table, columns).unwrap()];
    let written = file::write(store.location(), table, &[], &rows, Effort::Ingest).await;
    written.unwrap()
}

async fn commit_rows(store: &Store, file: &DataFile) -> Result<()> {
    let plan = async |_: &Snapshot| {
        let add = vec![file.clone()];
        Ok(Some(Change {
            add,
            ..Change::default()
        }))
    };
    store.commit("graphs", "test", plan).await
}

async fn rows(store: &Store) -> usize {
    let snapshot = store.snapshot("graphs").await.unwrap().unwrap();
    let rows = store.read("graphs", &snapshot, &["graph_id"], None).await;
    rows.unwrap().iter().map(|batch| batch.num_rows()).sum()
}

fn at_once() -> VacuumOptions {
    VacuumOptions {
        retain: Duration::ZERO,
        ..VacuumOptions::default()
    }
}

#[tokio::test]
async fn what_is_gone_is_not_deleted_again() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("s");
    let store = Store::create(at.to_str().unwrap()).await.unwrap();
    let (old, new) = (write_rows(&store, 1).await, write_rows(&store, 2).await);
    commit_rows(&store, &old).await.unwrap();
    let plan = async |_: &Snapshot| {
        Ok(Some(Change {
            add: vec![new.clone()],
            remove: vec![old.clone()],
            rewrite: true,
            ..Change::default()
        }))
    };
    store.commit("graphs", "test", plan).await.unwrap();
    let deleted = store.vacuum(&at_once()).await.unwrap();
    assert_eq!(deleted, [format!("graphs/{}", old.path)]);
    let version = async || store.snapshot("graphs").await.unwrap().unwrap().version();
    let cleaned = version().await;
    assert_eq!(
        store.vacuum(&at_once()).await.unwrap(),
        Vec::<String>::new()
    );
    assert_eq!(version().await, cleaned);
    assert_eq!(rows(&store).await, 1);
}

/// A writer between writing its data file and its commit, while others clean up.
#[tokio::test]
async fn what_a_writer_is_about_to_commit_stays() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("s");
    let store = Store::create(at.to_str().unwrap()).await.unwrap();
    commit_rows(&store, &write_rows(&store, 1).await)
        .await
        .unwrap();
    let pending = write_rows(&store, 2).await;
    assert_eq!(
        store.vacuum(&at_once()).await.unwrap(),
        Vec::<String>::new()
    );
    commit_rows(&store, &pending).await.unwrap();
    assert_eq!(rows(&store).await, 2);
    // Files that a commit has removed are deleted at once nevertheless.
    let snapshot = store.snapshot("graphs").await.unwrap().unwrap();
    let old: Vec<DataFile> = snapshot.files().to_vec();
    let plan = async |snapshot: &Snapshot| {
        let there = snapshot.files().len() == old.len();
        Ok(there.then(|| Change {
            remove: old.clone(),
            ..Change::default()
        }))
    };
    store.commit("graphs", "test", plan).await.unwrap();
    std::thread::sleep(Duration::from_millis(5));
    assert_eq!(store.vacuum(&at_once()).await.unwrap().len(), 2);
    assert_eq!(rows(&store).await, 0);
}

/// Folders of a user in a store, linked or not, and files of other names.
#[cfg(unix)]
#[tokio::test]
async fn vacuum_follows_no_link_and_deletes_no_file_of_another_name() {
    use std::os::unix::fs::symlink;
    let place = tempfile::tempdir().unwrap();
    let (at, precious) = (place.path().join("s"), place.path().join("precious"));
    let store = Store::create(at.to_str().unwrap()).await.unwrap();
    commit_rows(&store, &write_rows(&store, 1).await)
        .await
        .unwrap();
    let left_over = write_rows(&store, 2).await;
    std::fs::create_dir_all(precious.join("dataset=a/platform=b")).unwrap();
    let own_name = || format!("part-{}.parquet", uuid::Uuid::new_v4().simple());
    let mut stays = vec![
        precious.join("thesis"),
        precious.join(own_name()),
        precious.join("dataset=a/platform=b").join(own_name()),
        at.join("graphs/notes.txt"),
        at.join("graphs/part-1.parquet"),
        at.join("graphs/mine").join(own_name()),
    ];
    std::fs::create_dir_all(at.join("graphs/mine")).unwrap();
    for file in &stays {
        std::fs::write(file, "precious").unwrap();
    }
    symlink(&precious, at.join("graphs/linked")).unwrap();
    symlink(precious.join("thesis"), at.join("graphs").join(own_name())).unwrap();
    // A whole table that is a link, and a partition.
    symlink(&precious, at.join("records")).unwrap();
    std::fs::create_dir_all(at.join("sources")).unwrap();
    stays.push(at.join("graphs/linked/thesis"));
    let force = VacuumOptions {
        force_unlisted: true,
        ..at_once()
    };
    std::thread::sleep(Duration::from_millis(5));
    let dry_run = force.clone().dry_run(true);
    let wanted = vec![format!("graphs/{}", left_over.path)];
    assert_eq!(store.vacuum(&dry_run).await.unwrap(), wanted);
    assert_eq!(store.vacuum(&force).await.unwrap(), wanted);
    for file in &stays {
        assert_eq!(std::fs::read(file).unwrap(), b"precious", "{file:?}");
    }
    assert_eq!(rows(&store).await, 1);
}

/// Commands that write or delete follow no symbolic link out of the store.
#[cfg(unix)]
#[tokio::test]
async fn nothing_is_written_through_a_link() {
    use object_store::ObjectStoreExt as _;
    use std::os::unix::fs::symlink;
    let place = tempfile::tempdir().unwrap();
    let (at, precious) = (place.path().join("s"), place.path().join("precious"));
    std::fs::create_dir(&precious).unwrap();
    let store = Store::create(at.to_str().unwrap()).await.unwrap();
    symlink(&precious, at.join("graphs")).unwrap();
    let table = schema::table("graphs").unwrap();
    let path = object_store::path::Path::from(format!("{}/x", table.name));
    let refused = store.location().write(&path, vec![1]).await.unwrap_err();
    assert!(
        refused.to_string().contains("is not a folder (a link?)"),
        "{refused}"
    );
    std::fs::write(precious.join("x"), "precious").unwrap();
    assert!(store.location().objects().delete(&path).await.is_err());
    let log = Log::new(store.location(), table).unwrap();
    assert!(log.snapshot_or_create().await.is_err());
    assert_eq!(std::fs::read_dir(&precious).unwrap().count(), 1);
    let folder = precious.join(crate::log_files::entries::FOLDER);
    std::fs::create_dir(&folder).unwrap();
    let entry = folder.join(crate::log_files::entries::entry_name(0));
    std::fs::write(&entry, "{").unwrap();
    let log = Log::new(store.location(), table).unwrap();
    assert!(log.replace_truncated_entry(0).await.is_err());
    let there = std::fs::read_dir(&folder).unwrap();
    assert_eq!(there.count(), 1);
    std::fs::remove_dir_all(&folder).unwrap();
    // A store that is reached through a link is valid.
    let link = place.path().join("link");
    symlink(&at, &link).unwrap();
    std::fs::remove_file(at.join("graphs")).unwrap();
    let linked = Store::open(link.to_str().unwrap()).await.unwrap();
    commit_rows(&linked, &write_rows(&linked, 1).await)
        .await
        .unwrap();
    assert_eq!(rows(&store).await, 1);
}

#[tokio::test]
async fn left_overs_go_when_they_are_old_or_at_once_where_that_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("s");
    let store = Store::create(at.to_str().unwrap()).await.unwrap();
    commit_rows(&store, &write_rows(&store, 1).await)
        .await
        .unwrap();
    let (old, young) = (write_rows(&store, 2).await, write_rows(&store, 3).await);
    let path = at.join("graphs").join(&old.path);
    let then = SystemTime::now() - Duration::from_secs(2 * 3600);
    let opened = std::fs::File::options().append(true).open(path).unwrap();
    opened.set_modified(then).unwrap();
    let usual = store.vacuum(&VacuumOptions::default()).await.unwrap();
    assert!(
        usual.is_empty(),
        "it may belong to a version of the last week"
    );
    let dry_run = VacuumOptions {
        dry_run: true,
        ..at_once()
    };
    let named = |file: &DataFile| vec![format!("graphs/{}", file.path)];
    assert_eq!(store.vacuum(&dry_run).await.unwrap(), named(&old));
    assert_eq!(store.vacuum(&at_once()).await.unwrap(), named(&old));
    std::thread::sleep(Duration::from_millis(5));
    let force = VacuumOptions {
        force_unlisted: true,
        ..at_once()
    };
    assert_eq!(store.vacuum(&force).await.unwrap(), named(&young));
    // A late commit fails, and does no damage.
    let refused = commit_rows(&store, &old).await.unwrap_err().to_string();
    assert!(
        refused.contains("before its commit, so nothing was committed"),
        "{refused}"
    );
    assert_eq!(rows(&store).await, 1);
    let left: Vec<_> = std::fs::read_dir(&at)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 3, "no clock is left: {left:?}");
}
