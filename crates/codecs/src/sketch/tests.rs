use super::*;

const STEPS: &str = r#"[["CHW", 2, "local"], ["SP", 2, 0, 1000, [8, 1, 1], 1], ["RE", 2, [0, 4, 1]], ["FU", 3, [0, 1, 2]], ["FU", 3, []], ["FU", 3, [0, 2]], ["AN", 3, 0, 3], ["PR", 2, 0, "auto_unroll_max_step$64"], ["PR", 2, 0, "debug_skip_region"]]"#;

fn scan_text(text: &str) -> Scan {
    let mut result = Scan::default();
    assert_eq!(scan(text.as_bytes(), &mut result), Ok(text.len()));
    result
}

fn params(numbers: impl IntoIterator<Item = i64>) -> Vec<u8> {
    let mut out = Vec::new();
    numbers
        .into_iter()
        .for_each(|number| varint::write_unsigned(number, &mut out));
    out
}

#[test]
fn the_sketch_has_a_hole_for_every_number() {
    let scan = scan_text(STEPS);
    let expected = r#"[["CHW", ?, "local"], ["SP", ?, ?, ?, [?, ?, ?], ?], ["RE", ?, [?, ?, ?]], ["FU", ?, [?..?]], ["FU", ?, []], ["FU", ?, [?, ?]], ["AN", ?, ?, ?], ["PR", ?, ?, "auto_unroll_max_step$?"], ["PR", ?, ?, "debug_skip_region"]]"#;
    assert_eq!(String::from_utf8(scan.sketch).unwrap(), expected);
    assert!(!scan.respell && !scan.literal);
}

#[test]
fn a_filled_sketch_is_the_text() {
    let scan = scan_text(STEPS);
    let mut out = Vec::new();
    assert!(fill(&scan.sketch, Some(&params(scan.numbers)), &mut out));
    assert_eq!(String::from_utf8(out).unwrap(), STEPS);
}

#[test]
fn common_numbers_are_written_into_the_sketch() {
    let programs = [[2, 7, 0, 3], [2, 9, 0, 3], [2, 8, 0, 4]];
    let programs = programs.map(params);
    let mut common = CommonNumbers::from_params(&programs[0]).unwrap();
    assert!(programs.iter().all(|program| common.add(program)));
    let sketch = common.specialise(br#"[["AN", ?, ?], ["FU", 1, [?..?]]]"#);
    assert_eq!(
        String::from_utf8(sketch.clone()).unwrap(),
        r#"[["AN", 2, ?], ["FU", 1, [0..?]]]"#
    );
    let mut open = Vec::new();
    common.push_open(&params([2, 9000, 0, 3]), &mut open);
    assert_eq!(open, params([9000, 3]));
    assert!(!common.add(&[2, 0x80]) && CommonNumbers::from_params(&[0x80]).is_none());
    let mut out = Vec::new();
    assert!(fill(&sketch, Some(&params([9, 3])), &mut out));
    assert_eq!(out, br#"[["AN", 2, 9], ["FU", 1, [0, 1, 2]]]"#);
}

#[test]
fn other_spellings_are_detected_and_normalized() {
    let compact = STEPS.replace(", ", ",");
    assert!(scan_text(&compact).respell);
    assert_eq!(
        crate::json::normalize_spacing(compact.as_bytes()),
        STEPS.as_bytes()
    );
}

#[test]
fn text_that_contains_markers_is_literal() {
    assert!(scan_text(r#"[["PR", 0, "what?"]]"#).literal);
    assert!(scan_text(r#"[["PR", 0, "a..b"]]"#).literal);
}

#[test]
fn numbers_other_than_non_negative_integers_are_copied() {
    let text = r#"[["SP", 1.5, -0, 1e3, 99999999999999999999, -7, 7]]"#;
    let scan = scan_text(text);
    assert_eq!(scan.numbers, [7]);
    let mut out = Vec::new();
    assert!(fill(&scan.sketch, Some(&params(scan.numbers)), &mut out));
    assert_eq!(out, text.as_bytes());
}

#[test]
fn malformed_text_is_rejected() {
    for text in [
        "[",
        "[[\"SP\", 1",
        "[[\"SP\" 1]]",
        "[[01]]",
        "[1,]",
        "[tru]",
        "[\"a",
        "[{}]",
    ] {
        assert!(
            scan(text.as_bytes(), &mut Scan::default()).is_err(),
            "{text}"
        );
    }
    let deep = "[".repeat(1_000_000);
    assert!(
        scan(deep.as_bytes(), &mut Scan::default())
            .unwrap_err()
            .contains("nested")
    );
}

proptest::proptest! {
    #[test]
    fn any_program_comes_back(
        steps in proptest::collection::vec(("(SP|FU|CI|XYZ)", proptest::collection::vec(-5_i64..2000, 0..6), 0_i64..9, 1_i64..6), 0..12)
    ) {
        let steps: Vec<String> = steps.iter().map(|(kind, list, first, count)| {
            let run: Vec<i64> = (*first..first + count).collect();
            format!("[\"{kind}\", {first}, {list:?}, {run:?}]")
        }).collect();
        let text = format!("[{}]", steps.join(", "));
        let scan = scan_text(&text);
        let mut out = Vec::new();
        proptest::prop_assert!(fill(&scan.sketch, Some(&params(scan.numbers)), &mut out));
        proptest::prop_assert_eq!(String::from_utf8(out).unwrap(), text);
    }

    #[test]
    fn no_bytes_make_scan_or_fill_panic(text: Vec<u8>, params: Vec<u8>) {
        let _ = scan(&text, &mut Scan::default());
        let _ = fill(&text, Some(&params), &mut Vec::new());
    }
}

#[test]
fn objects_have_holes_too_and_names_have_none() {
    let text =
        br#"{"TILE_8": [8, 4], "b": {"x": -1, "y": 2.5, "on": true, "z$3": "v$3"}, "e": {}}"#;
    let mut scan = Scan::default();
    scan_values(text, &mut scan).unwrap();
    let sketch =
        r#"{"TILE_8": [?, ?], "b": {"x": -1, "y": 2.5, "on": true, "z$3": "v$?"}, "e": {}}"#;
    assert_eq!(String::from_utf8_lossy(&scan.sketch), sketch);
    assert_eq!(scan.numbers, [8, 4, 3]);
    let mut params = Vec::new();
    for &number in &scan.numbers {
        varint::write_unsigned(number, &mut params);
    }
    let mut filled = Vec::new();
    assert!(fill(&scan.sketch, Some(&params), &mut filled));
    assert_eq!(filled, text);
    for broken in ["{", r#"{"a" 1}"#, "{1: 2}", r#"{"a": }"#] {
        assert!(
            scan_values(broken.as_bytes(), &mut scan).is_err(),
            "{broken}"
        );
    }
    assert!(super::scan(text, &mut scan).is_err(), "no list of steps");
}
