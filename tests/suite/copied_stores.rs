//! File copies of a store during writes.
//!
//! `TSQL_TEST_KILLS` sets the number of moments, `TSQL_TEST_SEED` selects them.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fastrand::Rng;

use crate::support::{Place, log, wanted};

/// Number of ingested files.
const FILES: u32 = 12;

/// Records of each file.
const RECORDS: u32 = 10;

/// Copies a folder like `cp -r`: lists each folder, then copies the listed files in random order.
fn copy(from: &Path, to: &Path, rng: &mut Rng) {
    std::fs::create_dir_all(to).unwrap();
    let entries = std::fs::read_dir(from).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
    rng.shuffle(&mut names);
    for name in names {
        let (from, to) = (from.join(&name), to.join(&name));
        if from.is_dir() {
            copy(&from, &to, rng);
        } else {
            // The file may be deleted already.
            let _ = std::fs::copy(from, to);
        }
    }
}

#[test]
#[ignore = "full tier"]
fn a_file_copy_of_a_store_in_use_is_or_repairs_to_an_earlier_state() {
    let (count, seed) = (wanted("TSQL_TEST_KILLS", 4), wanted("TSQL_TEST_SEED", 5));
    eprintln!("TSQL_TEST_KILLS={count} TSQL_TEST_SEED={seed}");
    let mut rng = Rng::with_seed(seed);
    let (mut done, mut repaired, mut round) = (0, 0, 0);
    while done < count {
        round += 1;
        let place = Place::new();
        place.ok(&["init"]);
        for file in 0..FILES {
            // Half of the programs are in the previous file, too.
            place.write(
                &format!("p/{file}.json"),
                log(1 + file * RECORDS / 2, RECORDS),
            );
        }
        let is_over = AtomicBool::new(false);
        let mut copies = Vec::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for file in 0..FILES {
                    let name = format!("p/{file}.json");
                    place.ok(&["ingest", "-q", "--platform", "p", &name]);
                }
                is_over.store(true, Ordering::Relaxed);
            });
            while !is_over.load(Ordering::Relaxed) && done + (copies.len() as u64) < count {
                std::thread::sleep(Duration::from_millis(rng.u64(50..900)));
                let name = format!("copy{}", copies.len());
                copy(
                    &place.path().join(".tsql"),
                    &place.path().join(&name),
                    &mut rng,
                );
                copies.push(name);
            }
        });
        for name in copies {
            done += 1;
            let what = format!("round {round}, {name}");
            let at = |args: &[&str]| {
                let mut all = vec!["--store", name.as_str()];
                all.extend(args);
                place.tsql(&all)
            };
            let counts = "SELECT count(*), count(DISTINCT (source_id, line)), count(DISTINCT source_id), \
                          count(c.config_id) FROM records LEFT JOIN configurations c USING (config_id)";
            let is_whole = |line: Option<&str>| {
                let numbers = line.unwrap_or_default().split(',');
                let numbers: Vec<u32> = numbers.map(|number| number.parse().unwrap()).collect();
                let [rows, lines, sources, programs] = numbers[..] else {
                    panic!("{what}: {line:?}")
                };
                assert!(
                    rows == lines && rows == programs && rows == sources * RECORDS,
                    "{what}: {line:?}"
                );
            };
            let read = at(&[counts]);
            let checked = at(&["check"]);
            if read.code == Some(0) && checked.code == Some(0) {
                is_whole(read.stdout.lines().nth(1));
            } else {
                repaired += 1;
                assert!(
                    checked.stderr.contains("`tsql check --repair`"),
                    "{what}: {}",
                    checked.stderr
                );
                let ran = at(&["check", "--repair"]);
                assert_eq!(
                    ran.code,
                    Some(0),
                    "{what}: {}\n{}",
                    checked.stderr,
                    ran.stderr
                );
                is_whole(at(&[counts]).stdout.lines().nth(1));
            }
            let again = at(&["ingest", "-q", "p"]);
            assert_eq!(again.code, Some(0), "{what}: {}", again.stderr);
            let all = FILES * RECORDS;
            let wanted = format!("{all},{all},{FILES},{all}");
            let rows = at(&[counts]);
            assert_eq!(
                rows.stdout.lines().nth(1),
                Some(wanted.as_str()),
                "{what}: {}",
                rows.stderr
            );
            let sound = at(&["check"]);
            assert_eq!(sound.code, Some(0), "{what}: {}", sound.stderr);
        }
    }
    eprintln!("{done} copies, {repaired} repaired");
}
