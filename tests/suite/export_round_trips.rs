//! Exports restore the bytes of files of every shape, also of grown files.

use std::io::{Read as _, Write as _};

use crate::support::{Place, line, log};

#[test]
#[ignore = "full tier"]
fn files_of_every_shape_round_trip() {
    let place = Place::new();
    let lines = log(1, 5);
    let one = line(7, "0.25");
    let shapes: [(&str, Vec<u8>); 9] = [
        ("p/plain.json", lines.clone().into_bytes()),
        ("p/open.json", lines.trim_end().as_bytes().to_vec()),
        ("p/crlf.json", lines.replace('\n', "\r\n").into_bytes()),
        (
            "p/mixed.json",
            format!("{one}\r\n{one}\n{one}\r\n\n\r\n# c\n").into_bytes(),
        ),
        ("p/comments.json", b"# only\n# comments".to_vec()),
        ("p/empty.json", Vec::new()),
        ("p/compact.json", one.replace(", \"", ",\"").into_bytes()),
        (
            "p/broken.json",
            format!("{one}\n{{\"i\": [[\"x\n\u{0}\n{one}\n").into_bytes(),
        ),
        (
            "p/binary.json",
            [one.as_bytes(), b"\n\xff\xfe\n", one.as_bytes()].concat(),
        ),
    ];
    for (name, bytes) in &shapes {
        place.write(name, bytes);
    }
    let files: Vec<&str> = shapes.iter().map(|(name, _)| *name).collect();
    let ran = place.tsql(&[&["ingest", "--platform", "p"], files.as_slice()].concat());
    assert_eq!(
        ran.code,
        Some(1),
        "two files have broken lines: {}",
        ran.stderr
    );
    let listed: Vec<String> = files.iter().map(|name| name.replace("p/", "")).collect();
    place.ok(&["check"]);
    place.ok(&["export", "--to", "back"]);
    for (name, (_, bytes)) in listed.iter().zip(&shapes) {
        assert_eq!(&place.read(&format!("back/{name}")), bytes, "{name}");
    }
    place.ok(&["optimize"]);
    place.ok(&["check"]);
}

#[test]
#[ignore = "full tier"]
fn a_grown_file_adds_only_its_new_lines() {
    let place = Place::new();
    place.write("p/a.json", log(1, 3));
    place.ok(&["ingest", "p"]);
    for (content, records) in [
        (log(1, 5), 5),
        // The last line lacks its line feed, then gets it and another line.
        (log(1, 6).trim_end().to_owned(), 6),
        (log(1, 7), 7),
    ] {
        place.write("p/a.json", content);
        let ran = place.ok(&["ingest", "p"]);
        assert!(ran.stderr.contains("1 grown"), "{}", ran.stderr);
        assert_eq!(
            place.rows("SELECT count(*), max(line) FROM records"),
            [format!("{records},{records}")]
        );
        place.assert_sound(&["p/a.json"]);
    }
}

#[test]
#[ignore = "full tier"]
fn a_cut_line_becomes_a_record_when_it_is_completed() {
    let place = Place::new();
    let whole = log(1, 3);
    place.write("p/a.json", &whole[..whole.len() - 40]);
    let cut = place.tsql(&["ingest", "p"]);
    assert_eq!(cut.code, Some(1));
    assert!(
        cut.stderr.contains("p/a.json:3: the line ends at byte"),
        "{}",
        cut.stderr
    );
    place.assert_sound(&["p/a.json"]);
    place.write("p/a.json", &whole);
    place.ok(&["ingest", "p"]);
    assert_eq!(place.rows("SELECT count(*) FROM records"), ["3"]);
    assert!(place.rows("SELECT * FROM rejects").is_empty());
    place.assert_sound(&["p/a.json"]);
}

#[test]
fn another_file_of_the_same_name_is_another_source() {
    let place = Place::new();
    place.write("one/p/a.json", log(1, 2));
    place.write("two/p/a.json", log(10, 2));
    place.ok(&["ingest", "one/p", "two/p"]);
    assert_eq!(
        place.rows("SELECT name FROM sources ORDER BY name"),
        ["p/a.json", "p/a~2.json"]
    );
    place.ok(&["ingest", "one/p", "two/p"]);
    assert_eq!(place.rows("SELECT count(*) FROM records"), ["4"]);
    place.ok(&["export", "--to", "back"]);
    assert_eq!(place.read("back/p/a~2.json"), place.read("two/p/a.json"));
}

#[test]
fn a_copy_is_named_and_not_stored_twice() {
    let place = Place::new();
    place.write("p/a.json", log(1, 4));
    place.write("p/b.json", log(1, 4));
    let ran = place.ok(&["ingest", "p"]);
    assert!(
        ran.stderr.contains("1 identical to another source"),
        "{}",
        ran.stderr
    );
    assert_eq!(place.rows("SELECT count(*) FROM records"), ["4"]);
    place.assert_sound(&["p/a.json", "p/b.json"]);
}

#[test]
fn compressed_files_are_exported_compressed() {
    let place = Place::new();
    let text = log(1, 50);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(text.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    place.write("p/a.json.gz", &gzip);
    place.write(
        "q/b.json.zst",
        zstd::encode_all(text.as_bytes(), 3).unwrap(),
    );
    place.write("r/cut.json.gz", &gzip[..gzip.len() - 20]);
    let ran = place.tsql(&["ingest", "p", "q", "r"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("r/cut.json.gz: "), "{}", ran.stderr);
    let counts = place.rows("SELECT platform, count(*) FROM records GROUP BY 1 ORDER BY 1");
    assert_eq!(&counts[..2], ["p,50", "q,50"]);
    place.ok(&["check"]);
    let stderr = place.ok(&["export", "--to", "back"]).stderr;
    assert!(
        stderr.contains("3 of them were compressed again"),
        "{stderr}"
    );
    let packed = place.read("back/q/b.json.zst");
    assert_eq!(zstd::decode_all(&packed[..]).unwrap(), text.as_bytes());
    let packed = place.read("back/p/a.json.gz");
    let mut back = Vec::new();
    let mut decoder = flate2::read::MultiGzDecoder::new(&packed[..]);
    decoder.read_to_end(&mut back).unwrap();
    assert_eq!(back, text.as_bytes());
}

#[test]
fn standard_input_needs_a_platform_and_round_trips() {
    let place = Place::new();
    let text = log(1, 3);
    let nameless = place.tsql_with_input(&["ingest", "-"], text.as_bytes());
    assert_eq!(nameless.code, Some(2));
    assert!(
        nameless.stderr.contains("hint: set it with --platform"),
        "{}",
        nameless.stderr
    );
    for _ in 0..2 {
        let ran = place.tsql_with_input(&["ingest", "-", "--platform", "k80"], text.as_bytes());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    }
    assert_eq!(
        place.rows("SELECT platform, count(*) FROM records GROUP BY 1"),
        ["k80,3"]
    );
    place.ok(&["check"]);
}

#[test]
fn exported_selections_can_be_ingested_again() {
    let place = Place::new();
    place.write("p/a.json", log(1, 9));
    place.ok(&["ingest", "p"]);
    place.ok(&[
        "export",
        "--format",
        "tenset",
        "--where",
        "line > 6",
        "-o",
        "some.json",
    ]);
    let some = String::from_utf8(place.read("some.json")).unwrap();
    assert_eq!(some, log(7, 3));
}
