//! Runs each target over its corpus, and over mutations of it.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fastrand::Rng;

use super::{Target, targets};

/// Maximum number of mutations of one input.
const CHANGES: usize = 6;

/// Numbers and text fragments that often break readers.
const PIECES: [&[u8]; 14] = [
    b"\0",
    b"\n",
    b"\r\n",
    b"\"",
    b"[",
    b"]]",
    b"{",
    b"}",
    b"-1",
    b"1e999",
    b"18446744073709551616",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
    b"\\u0000",
    b"PK\x01\x02",
];

fn seconds() -> f64 {
    let set = std::env::var("TSQL_TEST_FUZZ_SECONDS").ok();
    set.map_or(0.3, |text| text.parse().expect("seconds"))
}

fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(target);
    let entries = fs::read_dir(&folder);
    let mut paths: Vec<PathBuf> = entries
        .unwrap_or_else(|error| panic!("{target} has no inputs in {}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let read = |path: PathBuf| (path.clone(), fs::read(path).unwrap());
    paths.into_iter().map(read).collect()
}

/// Returns one of the inputs with a few mutations.
fn mutate(corpus: &[(PathBuf, Vec<u8>)], random: &mut Rng) -> Vec<u8> {
    let mut bytes = corpus[random.usize(..corpus.len())].1.clone();
    for _ in 0..random.usize(1..=CHANGES) {
        let at = random.usize(..=bytes.len());
        let end = (at + random.usize(..40)).min(bytes.len());
        match random.u8(..7) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.u8(..8),
            1 if at < bytes.len() => bytes[at] = random.u8(..),
            2 => drop(bytes.drain(at..end)),
            3 => {
                let copy = bytes[at..end].to_vec();
                let to = random.usize(..=bytes.len());
                bytes.splice(to..to, copy);
            }
            4 => {
                let piece = PIECES[random.usize(..PIECES.len())];
                bytes.splice(at..end.min(at + piece.len()), piece.iter().copied());
            }
            5 => {
                let other = &corpus[random.usize(..corpus.len())].1;
                let from = random.usize(..=other.len());
                let to = (from + random.usize(..200)).min(other.len());
                bytes.splice(at..end, other[from..to].iter().copied());
            }
            _ => bytes.truncate(at.max(1)),
        }
    }
    bytes
}

/// Runs a target. Saves the input if it fails.
fn holds(name: &str, target: Target, bytes: &[u8], from: &Path) -> bool {
    let done = catch_unwind(AssertUnwindSafe(|| target.run(bytes)));
    if done.is_err() {
        let file = format!("tsql-fuzz-{name}-{:016x}", fastrand::u64(..));
        let kept = std::env::temp_dir().join(file);
        fs::write(&kept, bytes).unwrap();
        println!(
            "{name} fails on {}, made of {}",
            kept.display(),
            from.display()
        );
    }
    done.is_ok()
}

#[test]
#[ignore = "full tier"]
fn the_corpus_is_harmless() {
    let mut failed = 0;
    for (name, target) in targets() {
        for (path, bytes) in corpus(name) {
            failed += usize::from(!holds(name, target, &bytes, &path));
        }
    }
    assert_eq!(failed, 0);
}

#[test]
#[ignore = "full tier"]
fn mutations_of_the_corpus_are_harmless() {
    let seed = std::env::var("TSQL_TEST_SEED").ok();
    let seed = seed.map_or(7, |text| text.parse().expect("a number"));
    let only = std::env::var("TSQL_TEST_FUZZ").ok();
    let mut failed = Vec::new();
    for (name, target) in targets() {
        if only.as_deref().is_some_and(|only| only != name) {
            continue;
        }
        let corpus = corpus(name);
        let mut random = Rng::with_seed(seed);
        let begun = Instant::now();
        let mut count = 0;
        while count < 10 || begun.elapsed() < Duration::from_secs_f64(seconds()) {
            let bytes = mutate(&corpus, &mut random);
            count += 1;
            if !holds(name, target, &bytes, Path::new("a mutation")) {
                failed.push(name);
                break;
            }
        }
        println!("{name}: {count} inputs");
    }
    assert!(failed.is_empty(), "{failed:?}");
}
