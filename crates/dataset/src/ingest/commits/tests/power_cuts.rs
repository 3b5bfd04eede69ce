//! Disk images after power cuts at any step of a run, and disks that fail to sync.
//!
//! The steps of a run are recorded. A disk image after some of them has everything that was synced. The
//! rest is present, missing or partial. `TSQL_TEST_IMAGES` is the number of images (`all`: three per step),
//! `TSQL_TEST_SEED` selects them.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tsql_adapters::formats::StreamFormat;
use tsql_error::Result;
use tsql_store::{DiskStep, Store, Watch};

use super::{ingest_folder, lines, stored_files, time};
use crate::check::check;
use crate::ingest::{AppendOptions, append};

/// Number of images in the normal test.
const IMAGES: usize = 6;

/// Number of lines of each group, and of the file.
const LINES: u32 = 2;

#[derive(Clone, Debug)]
enum Event {
    Step(DiskStep),
    /// Number of acknowledged groups of the stream.
    Acknowledged(usize),
    /// The file is stored.
    Stored,
}

type Events = Arc<Mutex<Vec<Event>>>;

fn recorder(events: &Events) -> Watch {
    let events = Arc::clone(events);
    Arc::new(move |step| {
        events.lock().unwrap().push(Event::Step(step.clone()));
        Ok(())
    })
}

/// The groups of a stream.
fn groups(times: &[u32]) -> String {
    times.iter().map(|&time| lines(LINES, time)).collect()
}

/// Sends a stream in groups. Reports how many are acknowledged.
async fn append_groups(
    store: &Store,
    times: &[u32],
    told: impl Fn(usize) + Send + Sync + 'static,
) -> Result<()> {
    let mut options = AppendOptions::new("night", "p");
    options.format = StreamFormat::MEASURED;
    // Includes the line that is not a record.
    options.group_lines = u64::from(LINES) + 1;
    let input = io::Cursor::new(groups(times).into_bytes());
    let group = options.group_lines;
    let durable = move |position: crate::ingest::Position| {
        told(usize::try_from(position.lines / group).unwrap());
    };
    append(store, input, &options, durable).await.map(|_| ())
}

/// Groups that are sent.
const SENT: [u32; 3] = [1, 2, 3];

/// Name of the stream's source.
const STREAM: &str = "streams/p/night.jsonl";

/// The sum of times of each source.
async fn times(store: &Store) -> BTreeMap<String, f64> {
    let rows = stored_files(store).await.into_iter();
    rows.map(|(name, _, time)| (name, time)).collect()
}

fn sum(times: &[u32]) -> f64 {
    times.iter().map(|&one| time(LINES, one)).sum()
}

struct Random(u64);

impl Random {
    fn new() -> Self {
        let seed = std::env::var("TSQL_TEST_SEED").ok();
        let seed = seed.and_then(|seed| seed.parse().ok());
        let seed = seed.unwrap_or_else(|| u64::from(std::process::id()));
        Self(seed)
    }

    fn next_below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit.max(1)
    }
}

/// Target of a name: a folder, or the file with this number.
type Node = Option<usize>;

/// A simulated disk with its durable state and its visible state.
#[derive(Clone, Default)]
struct Disk {
    /// Bytes of files, and whether they were synced.
    files: Vec<(Vec<u8>, bool)>,
    /// State visible to running programs.
    seen: BTreeMap<PathBuf, Node>,
    synced: BTreeMap<PathBuf, Node>,
    /// Renames since the last sync of their folder: the removed name, the new name.
    pending: Vec<Renaming>,
}

/// The removed name and the new name.
type Renaming = (Option<PathBuf>, Option<(PathBuf, Node)>);

impl Disk {
    fn change(&mut self, gone: Option<PathBuf>, new: Option<(PathBuf, Node)>) {
        apply(&mut self.seen, &gone, &new);
        self.pending.push((gone, new));
    }

    fn step(&mut self, step: &DiskStep) {
        match step {
            DiskStep::Folder(folder) => {
                let mut missing: Vec<_> = folder.ancestors().map(Path::to_owned).collect();
                missing.reverse();
                for folder in missing {
                    if !self.seen.contains_key(&folder) {
                        self.change(None, Some((folder, None)));
                    }
                }
            }
            DiskStep::File(file, bytes) => {
                if file
                    .parent()
                    .is_some_and(|folder| self.seen.contains_key(folder))
                {
                    let number = self.files.len();
                    self.files.push((bytes.to_vec(), false));
                    self.change(None, Some((file.clone(), Some(number))));
                }
            }
            DiskStep::SyncFile(file) => {
                if let Some(Some(number)) = self.seen.get(file) {
                    self.files[*number].1 = true;
                }
            }
            DiskStep::Link(from, to) => {
                if !self.seen.contains_key(to) {
                    let node = self.seen[from];
                    self.change(None, Some((to.clone(), node)));
                }
            }
            DiskStep::Rename(from, to) => {
                let node = self.seen[from];
                self.change(Some(from.clone()), Some((to.clone(), node)));
            }
            DiskStep::Remove(file) => self.change(Some(file.clone()), None),
            DiskStep::SyncFolder(folder) => {
                let is_here = |path: &PathBuf| path.parent() == Some(folder.as_path());
                let (done, left) =
                    std::mem::take(&mut self.pending)
                        .into_iter()
                        .partition(|(gone, new)| {
                            let new = new.as_ref().map(|(path, _)| path);
                            new.or(gone.as_ref()).is_some_and(is_here)
                        });
                self.pending = left;
                let done: Vec<_> = done;
                for (gone, new) in done {
                    apply(&mut self.synced, &gone, &new);
                }
            }
        }
    }

    /// Writes a possible state after a power cut to `root`, for the files below `base`.
    fn write(&self, base: &Path, root: &Path, random: &mut Random) {
        let mut names = self.synced.clone();
        // All, nothing, or a part.
        let kind = random.next_below(4);
        for (gone, new) in &self.pending {
            if kind == 0 || (kind > 1 && random.next_below(2) == 0) {
                apply(&mut names, gone, new);
            }
        }
        let is_folder = |path: &Path| path == base || names.get(path) == Some(&None);
        for (path, node) in &names {
            let Ok(inside) = path.strip_prefix(base) else {
                continue;
            };
            let reachable = inside
                .ancestors()
                .skip(1)
                .all(|above| is_folder(&base.join(above)));
            let target = root.join(inside);
            match node {
                _ if !reachable || inside.as_os_str().is_empty() => {}
                None => std::fs::create_dir_all(target).unwrap(),
                Some(number) => {
                    let (bytes, synced) = &self.files[*number];
                    let kept = if *synced {
                        bytes.len()
                    } else {
                        random.next_below(bytes.len() + 1)
                    };
                    std::fs::write(target, &bytes[..kept]).unwrap();
                }
            }
        }
    }
}

fn apply(
    names: &mut BTreeMap<PathBuf, Node>,
    gone: &Option<PathBuf>,
    new: &Option<(PathBuf, Node)>,
) {
    if let Some(gone) = gone {
        names.remove(gone);
    }
    names.extend(new.clone());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "full tier"]
async fn a_power_cut_at_any_moment_takes_nothing_that_was_acknowledged() {
    let mut random = Random::new();
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let inside = base.join("in/q");
    std::fs::create_dir_all(&inside).unwrap();
    std::fs::write(inside.join("a.jsonl"), lines(LINES, 7)).unwrap();
    let events = Events::default();
    let store = Store::with_disk_watch(&base.join("w/s"), recorder(&events))
        .await
        .unwrap();
    let acknowledged = Arc::clone(&events);
    let told = move |groups| {
        let mut events = acknowledged.lock().unwrap();
        events.push(Event::Acknowledged(groups));
    };
    append_groups(&store, &[1, 2], told.clone()).await.unwrap();
    ingest_folder(&store, &inside).await;
    events.lock().unwrap().push(Event::Stored);
    append_groups(&store, &SENT, told).await.unwrap();
    let events = std::mem::take(&mut *events.lock().unwrap());
    let given = std::env::var("TSQL_TEST_IMAGES").unwrap_or_default();
    let seed = random.0;
    let cuts: Vec<usize> = if given == "all" {
        (0..=events.len()).flat_map(|cut| [cut; 3]).collect()
    } else {
        let count = given.parse().unwrap_or(IMAGES);
        (0..count)
            .map(|_| random.next_below(events.len() + 1))
            .collect()
    };
    for (image, cut) in cuts.iter().enumerate() {
        let (mut disk, mut acknowledged, mut is_stored) = (Disk::default(), 0, false);
        for folder in base.ancestors() {
            disk.seen.insert(folder.to_owned(), None);
            disk.synced.insert(folder.to_owned(), None);
        }
        for event in &events[..*cut] {
            match event {
                Event::Step(step) => disk.step(step),
                Event::Acknowledged(count) => acknowledged = *count,
                Event::Stored => is_stored = true,
            }
        }
        let root = tempfile::tempdir().unwrap();
        disk.write(&base, root.path(), &mut random);
        let at = root.path().join("w/s");
        let what = format!(
            "TSQL_TEST_SEED={seed}, image {image}: {cut} of {} steps, {acknowledged}",
            events.len()
        );
        let store = Store::open_or_create(at.to_str().unwrap()).await;
        let store = store.unwrap_or_else(|error| panic!("{what}: {error}"));
        let known = &SENT[..acknowledged];
        let found = times(&store).await;
        let least = sum(known);
        let there = found.get(STREAM).copied().unwrap_or(0.0);
        assert!(there >= least, "{what}: {there} of {least}");
        assert!(!is_stored || found.contains_key("q/a.jsonl"), "{what}");
        // A producer that sends other values gets them stored, or an error that the store has more.
        let mut other = known.to_vec();
        other.push(9);
        let wanted = match append_groups(&store, &other, |_| {}).await {
            Ok(()) => sum(&other),
            Err(refused) => {
                let refused = refused.to_string();
                assert!(
                    refused.contains("differ from the beginning of this input")
                        || refused.contains("the input has fewer"),
                    "{what}: {refused}"
                );
                append_groups(&store, &SENT, |_| {}).await.unwrap();
                sum(&SENT)
            }
        };
        ingest_folder(&store, &inside).await;
        let found = times(&store).await;
        let wanted = [
            (STREAM.to_owned(), wanted),
            ("q/a.jsonl".to_owned(), time(LINES, 7)),
        ];
        assert_eq!(found, BTreeMap::from(wanted), "{what}");
        assert_eq!(check(&store).await.unwrap().damage, [], "{what}");
    }
}

/// Fails the n-th step that syncs.
fn failing_at(number: usize) -> (Watch, Arc<Mutex<usize>>) {
    let count = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&count);
    let watch = move |step: &DiskStep| {
        if let DiskStep::SyncFile(_) | DiskStep::SyncFolder(_) = step {
            let mut count = counted.lock().unwrap();
            *count += 1;
            if *count == number {
                return Err(io::Error::other("EIO"));
            }
        }
        Ok(())
    };
    (Arc::new(watch), count)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sync_that_fails_is_an_error_and_never_acknowledged() {
    let mut random = Random::new();
    let seed = random.0;
    let run = async |number: usize| {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("s");
        let quiet: Watch = Arc::new(|_| Ok(()));
        drop(Store::with_disk_watch(&at, quiet).await.unwrap());
        let (watch, count) = failing_at(number);
        let store = Store::with_disk_watch(&at, watch).await.unwrap();
        let told = Arc::new(Mutex::new(Vec::new()));
        let (hears, counts) = (Arc::clone(&told), Arc::clone(&count));
        let done = append_groups(&store, &[1, 2], move |groups| {
            hears
                .lock()
                .unwrap()
                .push((groups, *counts.lock().unwrap()));
        })
        .await;
        let syncs = *count.lock().unwrap();
        if syncs < number {
            done.unwrap();
            return syncs;
        }
        let error = done.unwrap_err().to_string();
        assert!(
            error.contains("EIO"),
            "TSQL_TEST_SEED={seed}, {number}: {error}"
        );
        let told = std::mem::take(&mut *told.lock().unwrap());
        assert!(
            told.iter().all(|(_, syncs)| *syncs < number),
            "TSQL_TEST_SEED={seed}, {number}: {told:?}"
        );
        let store = Store::open(at.to_str().unwrap()).await.unwrap();
        append_groups(&store, &[1, 2], |_| {}).await.unwrap();
        let found = times(&store).await;
        assert_eq!(
            found,
            BTreeMap::from([(STREAM.to_owned(), sum(&[1, 2]))]),
            "{number}"
        );
        syncs
    };
    let syncs = run(usize::MAX).await;
    for _ in 0..4 {
        run(1 + random.next_below(syncs)).await;
    }
    // The last steps belong to the ingest log: its entry, and the folders of the entry.
    for number in [syncs - 5, syncs - 4, syncs] {
        run(number).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_of_a_run_that_was_killed_is_synced_before_it_is_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("s");
    // The run dies when the ingest log entry has its name.
    let entry: Arc<Mutex<Option<PathBuf>>> = Arc::default();
    let dies_at = Arc::clone(&entry);
    let watch: Watch = Arc::new(move |step| {
        let mut dead = dies_at.lock().unwrap();
        if dead.is_some() {
            return Err(io::Error::other("killed"));
        }
        if let DiskStep::Link(_, to) = step
            && to.components().any(|part| part.as_os_str() == "sources")
            && to.ends_with("00000000000000000001.json")
        {
            *dead = Some(to.clone());
        }
        Ok(())
    });
    let store = Store::with_disk_watch(&at, watch).await.unwrap();
    let never = append_groups(&store, &[1], |_| panic!("acknowledged")).await;
    never.unwrap_err();
    let entry = entry.lock().unwrap().clone().unwrap();
    let events = Events::default();
    let store = Store::with_disk_watch(&at, recorder(&events))
        .await
        .unwrap();
    let acknowledged = Arc::clone(&events);
    let told = move |groups| {
        let mut events = acknowledged.lock().unwrap();
        events.push(Event::Acknowledged(groups));
    };
    append_groups(&store, &[1], told).await.unwrap();
    let events = std::mem::take(&mut *events.lock().unwrap());
    let first = events
        .iter()
        .position(|event| matches!(event, Event::Acknowledged(1)));
    let before: Vec<&DiskStep> = events[..first.unwrap()]
        .iter()
        .filter_map(|event| match event {
            Event::Step(step) => Some(step),
            _ => None,
        })
        .collect();
    let log = entry.parent().unwrap().to_owned();
    assert!(before.contains(&&DiskStep::SyncFile(entry)));
    assert!(before.contains(&&DiskStep::SyncFolder(log)));
}
