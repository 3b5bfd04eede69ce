//! Inputs of `ingest`: detected formats, unsupported files, platforms, links and archives.

use std::io::Write as _;

use crate::support::{Place, files_below, has_extension, line, log, shared};

const PICKLED_AUTOTVM: &str = "llvm -keys=cpu\tgANdcQAo\tgANdcQ==\t0.1\n";
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
const PICKLE: &[u8] = b"\x80\x04\x95\x05\0\0\0\0\0\0\0K\x01.";

/// Returns a tar archive of these files.
pub(crate) fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, *bytes).unwrap();
    }
    archive.into_inner().unwrap()
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

fn assert_nothing_stored(place: &Place) {
    for table in ["sources", "lines", "records"] {
        let count = place.rows(&format!("SELECT count(*) FROM {table}"));
        assert_eq!(count, ["0"], "{table}");
    }
}

#[test]
fn named_files_of_unknown_format_are_reported_and_never_stored() {
    let place = Place::new();
    place.ok(&["init"]);
    let newer = log(1, 30).replace("v0.6", "v0.9");
    for (name, bytes, expected) in [
        (
            "autotvm.txt",
            PICKLED_AUTOTVM.as_bytes().to_vec(),
            "an AutoTVM log of version 0.1, as TopHub ships them",
        ),
        ("x.pkl", PICKLE.to_vec(), "a Python pickle"),
        ("x.png", PNG.to_vec(), "a PNG image"),
        ("x.txt", b"some words\n".repeat(9), "text"),
        ("x.bin", vec![0, 1, 2, 250], "binary data"),
        (
            "newer.json",
            newer.into_bytes(),
            "unknown version `v0.9`, expected v0.2 to v0.6",
        ),
        ("x.7z", b"7z\xbc\xaf\x27\x1c\0\x04".to_vec(), "a 7z archive"),
    ] {
        place.write(&format!("p/{name}"), bytes);
        for pattern in [
            format!("p/{name}"),
            format!("p/{}*", &name[..name.len() - 1]),
        ] {
            let ran = place.tsql(&["ingest", "--platform", "p", &pattern]);
            assert_eq!(ran.code, Some(1), "{pattern}: {}", ran.stderr);
            let wanted = format!("p/{name}: ");
            let reported = ran.stderr.lines().find(|line| line.starts_with(&wanted));
            assert!(
                reported.is_some_and(|reported| reported.contains(expected)),
                "{}",
                ran.stderr
            );
        }
        let strict = place.tsql(&[
            "ingest",
            "--strict",
            "--platform",
            "p",
            &format!("p/{name}"),
        ]);
        assert_eq!(strict.code, Some(2), "{name}: {}", strict.stderr);
    }
    assert_nothing_stored(&place);
    // Other files are ingested, and unsupported files of a folder are no error.
    place.write("p/good.json", log(1, 3));
    let ran = place.tsql(&["ingest", "--platform", "p", "p/x.pkl", "p/good.json"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert_eq!(place.rows("SELECT count(*) FROM records"), ["3"]);
    place.ok(&["ingest", "p"]);
    let names = place.rows("SELECT name FROM sources ORDER BY name");
    assert_eq!(names, ["good.json", "p/good.json"]);
}

#[test]
fn skipped_files_are_listed_by_kind() {
    let place = Place::new();
    place.write("p/good.json", log(1, 3));
    for n in 1..15 {
        place.write(&format!("p/sub/{n}.pkl"), PICKLE);
    }
    place.write("p/notes.md", "# notes\n\nwords\n");
    place.write("p/.hidden", "x");
    let ran = place.ok(&["ingest", "p"]);
    assert!(
        ran.stderr.contains(
            "skipped: 14 files, a Python pickle: p/sub/1.pkl, p/sub/10.pkl, p/sub/11.pkl, p/sub/12.pkl, \
             p/sub/13.pkl, p/sub/14.pkl, p/sub/2.pkl, p/sub/3.pkl, p/sub/4.pkl, p/sub/5.pkl and 4 more \
             (--verbose lists them)\n"
        ),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("skipped: 1 file, text: p/notes.md\n"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("(15 skipped)"), "{}", ran.stderr);
    let ran = place.ok(&["ingest", "--verbose", "p"]);
    assert!(
        ran.stderr.contains("p/sub/8.pkl, p/sub/9.pkl\n"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_first_line_without_a_record_hides_nothing() {
    let place = Place::new();
    for (name, before) in [
        ("bom", "\u{feff}"),
        ("comment", "# c\n"),
        ("garbage", "oops\n"),
    ] {
        let text = format!("{before}{}", log(1, 4));
        place.write(&format!("f/{name}/{name}.json"), &text);
        place.write(&format!("n/{name}.json"), &text);
    }
    for ran in [
        place.tsql(&["ingest", "f"]),
        place.tsql(&[
            "ingest",
            "n/bom.json",
            "n/comment.json",
            "n/garbage.json",
            "--platform",
            "n",
        ]),
    ] {
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        assert!(ran.stderr.contains("garbage.json:1: "), "{}", ran.stderr);
        assert!(
            ran.stderr.contains("rejects          1\n"),
            "{}",
            ran.stderr
        );
    }
    let counted = "SELECT platform, count(*) FROM records GROUP BY platform ORDER BY platform";
    assert_eq!(
        place.rows(counted),
        ["bom,4", "comment,4", "garbage,4", "n,12"]
    );
    place.assert_sound(&["f/bom/bom.json", "f/garbage/garbage.json"]);
}

#[test]
fn the_platform_is_an_option_or_a_folder_name() {
    let place = Place::new();
    place.write("work/a.json", log(1, 3));
    place.write("work/p/b.json", log(10, 3));
    let here = |args: &[&str]| {
        let mut command = place.command(args);
        let output = command
            .current_dir(place.path().join("work"))
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    for inputs in [
        vec!["a.json"],
        vec!["p/*.json"],
        vec!["p/b.json", "a.json"],
        vec!["p", "a.json"],
    ] {
        let (code, stderr) = here(&[&["ingest"], inputs.as_slice()].concat());
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains("its platform is unknown"), "{stderr}");
        assert!(
            stderr.contains("hint: set it with --platform NAME, or ingest a folder"),
            "{stderr}"
        );
        assert!(!place.path().join("work/.tsql").exists());
    }
    for whole in [
        ".".to_owned(),
        place.path().join("work").display().to_string(),
        "../work".to_owned(),
    ] {
        let (code, stderr) = here(&["ingest", &whole]);
        assert_eq!(code, Some(1), "{stderr}");
        assert!(
            stderr.contains("a.json: its platform is unknown"),
            "{stderr}"
        );
        assert!(stderr.contains("platforms        p\n"), "{stderr}");
    }
    let (code, stderr) = here(&["ingest", "a.json", "--platform", "a100"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(
        stderr.contains("platforms        a100\nstore            .tsql\n"),
        "{stderr}"
    );
    let sql = "SELECT platform, count(*) FROM records GROUP BY platform ORDER BY platform";
    let rows = place.ok(&["--store", "work/.tsql", sql]).stdout;
    assert_eq!(rows.lines().skip(1).collect::<Vec<_>>(), ["a100,3", "p,3"]);
    // The platform is the name of a named folder.
    place.ok(&["ingest", "work", "--store", "t"]);
    let rows = place.ok(&["--store", "t", sql]).stdout;
    assert_eq!(rows.lines().skip(1).collect::<Vec<_>>(), ["p,3", "work,3"]);
}

#[test]
fn the_report_names_the_discovered_store() {
    let place = Place::new();
    place.ok(&["init"]);
    place.write("deep/er/p/a.json", log(1, 3));
    let mut command = place.command(&["ingest", "p"]);
    let output = command
        .current_dir(place.path().join("deep/er"))
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        stderr.contains("store            ../../.tsql\n"),
        "{stderr}"
    );
    assert_eq!(place.rows("SELECT count(*) FROM records"), ["3"]);
}

#[test]
fn links_to_folders_add_nothing_twice() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    place.write("logs/b-real/a.json", log(1, 3));
    let logs = place.path().join("logs");
    symlink("b-real", logs.join("a-latest")).unwrap();
    symlink(".", logs.join("again")).unwrap();
    let ran = place.ok(&["ingest", "logs"]);
    assert!(
        ran.stderr.contains("files            1\n"),
        "{}",
        ran.stderr
    );
    place.ok(&["ingest", "logs/a-latest", "logs/again/again"]);
    let platforms = "SELECT DISTINCT platform FROM sources";
    assert_eq!(place.rows(platforms), ["b-real"]);
}

#[test]
fn stores_are_no_sources() {
    let place = Place::new();
    place.write("p/a.json", log(1, 3));
    place.ok(&["ingest", "p", "--store", "p/s"]);
    let ran = place.ok(&["ingest", "p"]);
    assert!(
        ran.stderr.contains("skipped: 1 file, a store: p/s\n"),
        "{}",
        ran.stderr
    );
    for named in ["p/s", "p/s/records", "p/s/tsql-store.toml"] {
        let ran = place.tsql(&["ingest", named, "--platform", "p"]);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(
            ran.stderr
                .contains("hint: `tsql export files -o DIR` writes"),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn a_program_that_writes_logs_is_no_log() {
    let place = Place::new();
    place.write("p/good.json", log(1, 3));
    place.write(
        "p/test_compiler.py",
        "def run(path):\n    print(f\"log [Processing] {path}\")\n    print(f\"log [Config] model: {path}\")\n\
         # log [Config] hardware: x\n",
    );
    let ran = place.ok(&["ingest", "p"]);
    assert!(
        ran.stderr.contains("text: p/test_compiler.py"),
        "{}",
        ran.stderr
    );
    let log = "log [Processing] /s/x\nlog [Config] model: x\nlog [Result] status: failed\n";
    place.write("q/run.log", log);
    let ran = place.tsql(&["ingest", "q"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("the log does not state the hardware; --platform"),
        "{}",
        ran.stderr
    );
    assert_eq!(place.tsql(&["ingest", "q/run.log"]).code, Some(2));
    place.ok(&["ingest", "q/run.log", "--platform", "gpu"]);
    assert_eq!(
        place.rows("SELECT DISTINCT platform FROM sources ORDER BY 1"),
        ["gpu", "p"]
    );
}

#[test]
#[ignore = "full tier"]
fn archived_logs_are_ingested_like_those_in_a_folder() {
    let place = Place::new();
    let (one, two) = (log(1, 5), log(10, 7));
    let (compressed, top) = (gzip(one.as_bytes()), line(99, "0.5"));
    let files: [(&str, &[u8]); 6] = [
        ("./logs/a100/one.json", one.as_bytes()),
        ("logs/t4/two.json", two.as_bytes()),
        ("logs/k80/one.json.gz", &compressed),
        ("logs/t4/task.pkl", PICKLE),
        ("logs/.hidden", b"x"),
        ("top.json", top.as_bytes()),
    ];
    let plain = tar(&files);
    for (name, bytes) in [
        ("logs.tar", plain.clone()),
        ("logs.tar.gz", gzip(&plain)),
        (
            "logs.tar.zst",
            zstd::encode_all(plain.as_slice(), 3).unwrap(),
        ),
    ] {
        let place = Place::new();
        place.write(name, bytes);
        let ran = place.tsql(&["ingest", name]);
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        assert!(
            ran.stderr
                .contains(&format!("{name}/top.json: its platform is unknown")),
            "{}",
            ran.stderr
        );
        assert!(
            ran.stderr
                .contains(&format!("a Python pickle: {name}/logs/t4/task.pkl")),
            "{}",
            ran.stderr
        );
        let sql = "SELECT platform, count(*) FROM records GROUP BY platform ORDER BY platform";
        assert_eq!(place.rows(sql), ["a100,5", "k80,5", "t4,7"]);
        place.ok(&["check"]);
        place.ok(&["export", "--to", "back"]);
        assert_eq!(place.read("back/logs/t4/two.json"), two.as_bytes());
        let again = place.tsql(&["ingest", name, "--platform", "x", "--store", "t"]);
        assert_eq!(again.code, Some(0), "{}", again.stderr);
        let all = place.ok(&[
            "--store",
            "t",
            "SELECT platform, count(*) FROM records GROUP BY platform",
        ]);
        assert!(
            all.stdout.ends_with("x,13\n") || all.stdout.ends_with("x,18\n"),
            "{}",
            all.stdout
        );
    }
    // The archive ends within a file: earlier files are stored, and nothing of that file.
    let two_files = tar(&files[..2]);
    let end = two_files.len() - 1024 - 700;
    place.write("cut.tar", &two_files[..end]);
    let ran = place.tsql(&["ingest", "cut.tar"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("cut.tar/logs/t4/two.json: the archive ends after"),
        "{}",
        ran.stderr
    );
    assert_eq!(
        place.rows("SELECT platform, count(*) FROM records GROUP BY platform"),
        ["a100,5"]
    );
    // A named archive without known files is an error.
    place.write("none.tar", tar(&[("x/y.pkl", PICKLE)]));
    assert_eq!(place.tsql(&["ingest", "none.tar"]).code, Some(1));
}

#[test]
fn a_third_file_with_the_name_of_the_second_is_nothing_new() {
    let place = Place::new();
    for folder in ["all/k80", "b/k80", "c/k80"] {
        place.write(&format!("{folder}/x.json"), log(1, 4));
    }
    let packed = tar(&[("k80/x.json", log(1, 4).as_bytes())]);
    place.write("all/x.tar", &packed);
    place.write("all/y.tar.gz", gzip(&packed));
    let stderr = place.ok(&["ingest", "all", "b/k80", "c/k80"]).stderr;
    let files = "files            1 (3 already ingested, 1 identical to another source)";
    assert!(stderr.contains(files), "{stderr}");
    let names = place.rows("SELECT name FROM sources ORDER BY name");
    assert_eq!(names, ["all/k80/x.json", "k80/x.json"]);
    place.ok(&["check"]);
}

#[test]
fn zip_archives_are_reported() {
    let place = Place::new();
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    zip.start_file("a100/x.json", options).unwrap();
    zip.write_all(log(1, 3).as_bytes()).unwrap();
    let bytes = zip.finish().unwrap().into_inner();
    place.write("logs.zip", &bytes);
    let ran = place.tsql(&["ingest", "logs.zip"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("logs.zip: a zip archive, skipped\nhint: unpack it, and ingest the folder\n"),
        "{}",
        ran.stderr
    );
    let Some(shared) = shared() else { return };
    let mut files = files_below(&shared.join("data/tpugraphs/npz/tile/xla"));
    files.retain(|path| has_extension(path, "npz"));
    let whole = std::fs::read(files.pop().unwrap()).unwrap();
    place.write("cut.npz", &whole[..whole.len() / 2]);
    let ran = place.tsql(&["ingest", "cut.npz"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("cut.npz: the zip directory at the end is missing"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_truncated_archive_stores_no_partial_sample() {
    let place = Place::new();
    let model = b"def forward(self, x):\n    return x\n".repeat(200);
    let whole = tar(&[
        ("s/a/graph_net.json", b"{}"),
        ("s/a/model.py", b"x = 1\n"),
        ("s/b/graph_net.json", b"{}"),
        ("s/b/model.py", &model),
    ]);
    place.write("cut.tar", &whole[..whole.len() - 1024 - 2000]);
    let ran = place.tsql(&["ingest", "cut.tar"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("cut.tar/s/b/model.py: the archive ends after"),
        "{}",
        ran.stderr
    );
    assert_eq!(place.rows("SELECT path FROM samples"), ["s/a"]);
}

/// Runs the command with a limit of 2.1 GB of address space.
#[cfg(target_os = "linux")]
fn run_in_little_memory(place: &Place, args: &[&str]) -> (Option<i32>, String) {
    let script = "ulimit -v 2100000; exec \"$0\" \"$@\"";
    let ran = std::process::Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_tsql")])
        .args(args)
        .current_dir(place.path())
        .output()
        .unwrap();
    (
        ran.status.code(),
        String::from_utf8_lossy(&ran.stderr).into_owned(),
    )
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "full tier"]
fn decompression_bombs_are_rejected_in_little_memory() {
    let place = Place::new();
    place.ok(&["init"]);
    let zeros = vec![0; 8 << 20];
    let bomb = |head: &[u8], count: usize| {
        let mut bytes = zstd::Encoder::new(Vec::new(), 1).unwrap();
        bytes.write_all(head).unwrap();
        for _ in 0..count {
            bytes.write_all(&zeros).unwrap();
        }
        bytes.finish().unwrap()
    };
    let model = {
        let mut header = tar::Header::new_ustar();
        header.set_path("s/a/model.py").unwrap();
        header.set_size(40 * zeros.len() as u64);
        header.set_cksum();
        let first = tar(&[("s/a/graph_net.json", b"{}")]);
        [&first[..first.len() - 1024], header.as_bytes()].concat()
    };
    let tags = b"log [Processing] /s/x\nlog [Config] hardware: x\n".repeat(10);
    for (name, head, code, expected) in [
        (
            "zeros.json.zst",
            b"".to_vec(),
            1,
            "zeros.json.zst: binary data, skipped",
        ),
        (
            "run.log.zst",
            tags,
            1,
            "run.log.zst: larger than 128 MiB, the limit of a benchmark log",
        ),
        (
            "s.tar.zst",
            model,
            1,
            "s.tar.zst/s/a/model.py: larger than 64 MiB, the limit of a sample",
        ),
    ] {
        place.write(name, bomb(&head, 40));
        let (found, stderr) = run_in_little_memory(&place, &["ingest", "--platform", "p", name]);
        assert_eq!(found, Some(code), "{name}: {stderr}");
        assert!(stderr.contains(expected), "{name}: {stderr}");
    }
    assert_nothing_stored(&place);
    // A line of many megabytes after a record is stored, and needs no more memory than its parts.
    let head = format!("{}\n", line(1, "0.5"));
    place.write("long.json.zst", bomb(head.as_bytes(), 64));
    let (code, stderr) =
        run_in_little_memory(&place, &["ingest", "--platform", "p", "long.json.zst"]);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(
        stderr.contains("long.json.zst:2: longer than 16 MiB"),
        "{stderr}"
    );
    assert_eq!(place.rows("SELECT count(*) FROM lines"), ["512"]);
}

/// Unsupported files of a folder are listed with their kind, counted, and no error. A named one is an error.
#[test]
#[ignore = "full tier"]
fn unknown_files_of_a_folder_are_listed_and_are_no_error() {
    let place = Place::new();
    let numbers: Vec<f64> = (0..4).map(f64::from).collect();
    let image = crate::npz::npz(&[crate::npz::array("image", "<i8", &[2, 2], &numbers)]);
    let graph = crate::npz::npz(&[
        crate::npz::array("node_feat", "<f4", &[2, 2], &numbers),
        crate::npz::array("edge_index", "<i8", &[2, 2], &numbers),
    ]);
    let wide: Vec<u8> = "{\"a\": 1}\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let old = r#"{"r": [[0.5], 0, 2.5, 1549916400.0], "v": 0.1, "i": ["llvm", "topi_nn_dense", [["TENSOR", [1, 8], "float32"]], {}, ["dense"], {"i": 1, "t": "direct", "c": null, "e": []}]}"#;
    let foreign: [(&str, Vec<u8>, &str); 8] = [
        (
            "image.npz",
            image.clone(),
            "an npz file without TpuGraphs arrays (image)",
        ),
        (
            "ogb.npz",
            graph,
            "an npz file without TpuGraphs arrays (node_feat, edge_index)",
        ),
        (
            "cut.npz",
            image[..image.len() / 2].to_vec(),
            "a damaged npz file of `image.npy`",
        ),
        ("packed.npz.gz", gzip(&image), "a compressed npz file"),
        (
            "empty.zip",
            b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec(),
            "an empty zip archive",
        ),
        (
            "wide.json",
            [b"\xff\xfe".to_vec(), wide].concat(),
            "text in UTF-16, expected UTF-8",
        ),
        (
            "tophub.log",
            format!("# a comment\n{old}\n").into_bytes(),
            "an AutoTVM log of version 0.1, as TopHub ships them",
        ),
        (
            "tophub.tsv",
            b"llvm\tgANdcQAo\tgANdcQAo\t0.1\n".to_vec(),
            "an AutoTVM log of version 0.1, as TopHub ships them",
        ),
    ];
    place.write("p/a.json", log(1, 3) + "\t\n  \n\t \t\r\n");
    for (name, bytes, _) in &foreign {
        place.write(&format!("p/{name}"), bytes);
    }
    let stderr = place.ok(&["ingest", "p", "--verbose"]).stderr;
    for (name, _, looks) in &foreign {
        let line = stderr
            .lines()
            .find(|line| line.starts_with("skipped: ") && line.contains(&format!("p/{name}")));
        assert!(
            line.is_some_and(|line| line.contains(looks)),
            "{name}: {stderr}"
        );
    }
    assert!(
        stderr.contains(&format!("({} skipped)", foreign.len())),
        "{stderr}"
    );
    assert!(
        stderr.contains("formats          1 auto_scheduler log"),
        "{stderr}"
    );
    assert!(stderr.contains("rejects          0"), "{stderr}");
    assert_eq!(
        place.rows("SELECT dataset, count(*) FROM records GROUP BY 1"),
        ["tenset,3"]
    );
    place.assert_sound(&["p/a.json"]);
    for (name, _, looks) in &foreign {
        let named = place.tsql(&["ingest", &format!("p/{name}"), "--platform", "p"]);
        assert_eq!(named.code, Some(1), "{}", named.stderr);
        assert!(
            named
                .stderr
                .contains(&format!("p/{name}: {looks}, skipped")),
            "{}",
            named.stderr
        );
    }
}
