//! Reopens all holes of a sketch, undoing [`super::CommonNumbers`].

use crate::json::{number_length, string_length};
use crate::number::parse_integer;
use crate::varint;

/// Appends `sketch` to `out` with a hole for every integer. Calls `hole` for each hole in order, with the
/// number that was written into it.
pub fn open_holes(sketch: &[u8], out: &mut Vec<u8>, mut hole: impl FnMut(Option<i64>)) {
    let mut rest = sketch;
    while let Some(&byte) = rest.first() {
        let length = match byte {
            b'"' => string(rest, out, &mut hole),
            b'-' | b'0'..=b'9' => number(rest, out, &mut hole),
            // The count of a run follows.
            b'.' if rest.get(1) == Some(&b'.') => copy(rest, 2, out),
            _ => {
                if byte == b'?' {
                    hole(None);
                }
                copy(rest, 1, out)
            }
        };
        rest = rest.get(length..).unwrap_or(&[]);
    }
}

/// Values of all holes of `sketch`, from the sketch itself or from `params`. Returns `None` if the
/// parameters do not fit.
pub fn hole_numbers(sketch: &[u8], mut params: &[u8], out: &mut Vec<u8>) -> Option<Vec<i64>> {
    let mut numbers = Some(Vec::new());
    open_holes(sketch, out, |literal| {
        let number = literal.or_else(|| varint::read_unsigned(&mut params));
        numbers = numbers.take().zip(number).map(|(mut numbers, number)| {
            numbers.push(number);
            numbers
        });
    });
    numbers.filter(|_| params.is_empty())
}

fn copy(rest: &[u8], length: usize, out: &mut Vec<u8>) -> usize {
    out.extend_from_slice(rest.get(..length).unwrap_or(rest));
    length
}

/// Copies a string. The number after `$` at its end is a hole, unless the string is a member name.
fn string(rest: &[u8], out: &mut Vec<u8>, hole: &mut impl FnMut(Option<i64>)) -> usize {
    let Some(length) = string_length(rest) else {
        return copy(rest, rest.len(), out);
    };
    let body = rest.get(..length - 1).unwrap_or(&[]);
    let digits = body.iter().rev();
    let digits = digits.take_while(|byte| byte.is_ascii_digit()).count();
    let (before, digits) = body.split_at(body.len() - digits);
    match parse_integer(digits) {
        Some(number) if before.ends_with(b"$") && rest.get(length) != Some(&b':') => {
            out.extend_from_slice(before);
            out.extend_from_slice(b"?\"");
            hole(Some(number));
        }
        _ => {
            let open = body.iter().filter(|byte| **byte == b'?');
            open.for_each(|_| hole(None));
            copy(rest, length, out);
        }
    }
    length
}

/// Copies a number. A non-negative integer is a hole.
fn number(rest: &[u8], out: &mut Vec<u8>, hole: &mut impl FnMut(Option<i64>)) -> usize {
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_integer = match rest.get(digits) {
        Some(b'.') => rest.get(digits + 1) == Some(&b'.'),
        other => !matches!(other, Some(b'e' | b'E')),
    };
    match rest
        .get(..digits)
        .filter(|_| is_integer)
        .and_then(parse_integer)
    {
        Some(number) => {
            out.push(b'?');
            hole(Some(number));
            digits
        }
        None => copy(rest, number_length(rest).unwrap_or(1).max(1), out),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CommonNumbers, Scan, scan, scan_values};
    use super::*;

    fn open_text(sketch: &str) -> String {
        let mut out = Vec::new();
        open_holes(sketch.as_bytes(), &mut out, |_| {});
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn inserted_numbers_are_extracted_again() {
        for (filled, open) in [
            (
                r#"[["SP", 2, ?, [8, ?], 1]]"#,
                r#"[["SP", ?, ?, [?, ?], ?]]"#,
            ),
            (
                r#"[["FU", 3, [0..3]], ["FU", ?, [0..?]], ["FU", 1, [?..2]]]"#,
                r#"[["FU", ?, [?..?]], ["FU", ?, [?..?]], ["FU", ?, [?..?]]]"#,
            ),
            (
                r#"[["PR", 2, 0, "unroll$64"], ["PR", "unroll$?"], ["PR", "conv2d"]]"#,
                r#"[["PR", ?, ?, "unroll$?"], ["PR", "unroll$?"], ["PR", "conv2d"]]"#,
            ),
            (
                "[1.5, -0, 1e3, 99999999999999999999, -7, 7]",
                "[1.5, -0, 1e3, 99999999999999999999, -7, ?]",
            ),
            (
                r#"{"TILE_8": [8, ?], "z$3": "v$3", "on": true, "none": null}"#,
                r#"{"TILE_8": [?, ?], "z$3": "v$?", "on": true, "none": null}"#,
            ),
        ] {
            assert_eq!(open_text(filled), open);
            assert_eq!(open_text(open), open);
        }
    }

    #[test]
    fn parameters_that_do_not_fit_are_rejected() {
        let numbers =
            |sketch: &str, params: &[u8]| hole_numbers(sketch.as_bytes(), params, &mut Vec::new());
        assert_eq!(numbers(r#"[?, 7, "x$?"]"#, &[5, 9]), Some(vec![5, 7, 9]));
        assert_eq!(numbers("[?, 7]", &[]), None);
        assert_eq!(numbers("[?, 7]", &[5, 9]), None);
    }

    /// Random values as they may occur in `steps`.
    fn value() -> impl proptest::strategy::Strategy<Value = String> {
        use proptest::prelude::*;
        let number = (0_i64..3000).prop_map(|number| number.to_string());
        let other_value = prop::sample::select(vec![
            "-3",
            "2.5",
            "1e3",
            "true",
            "false",
            "null",
            "\"text\"",
            "\"x$12\"",
            "\"conv2d\"",
            "\"\"",
            "[0, 1, 2]",
            "[3]",
            "[]",
            "{}",
        ]);
        let leaf = prop_oneof![number, other_value.prop_map(str::to_owned)];
        leaf.prop_recursive(3, 24, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5)
                    .prop_map(|list| format!("[{}]", list.join(", "))),
                prop::collection::vec(inner.clone(), 0..4).prop_map(|list| format!(
                    "[\"FU\", 1, {}]",
                    list.join(", ")
                )
                .replace(", ]", "]")),
                prop::collection::vec(("[a-z]{1,3}[$]?[0-9]?", inner), 0..4).prop_map(|members| {
                    let members = members.iter();
                    let members = members.map(|(name, value)| format!("\"{name}\": {value}"));
                    format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
                }),
            ]
        })
    }

    proptest::proptest! {
        #[test]
        fn specialised_numbers_are_restored(text in value(), changes in proptest::collection::vec(0_i64..9, 0..20)) {
            for scanned in [scan_values, |text: &[u8], all: &mut Scan| scan(text, all).map(|_| ())] {
                let mut all = Scan::default();
                if scanned(text.as_bytes(), &mut all).is_err() || all.literal {
                    continue;
                }
                let mut other = all.numbers.clone();
                other.iter_mut().zip(&changes).for_each(|(number, change)| *number += change);
                let packed = |numbers: &[i64]| {
                    let mut out = Vec::new();
                    numbers.iter().for_each(|&number| varint::write_unsigned(number, &mut out));
                    out
                };
                let mut common = CommonNumbers::from_params(&packed(&all.numbers)).unwrap();
                let (packed, mut params) = (packed(&other), Vec::new());
                proptest::prop_assert!(common.add(&packed));
                let specialised = common.specialise(&all.sketch);
                common.push_open(&packed, &mut params);
                let mut sketch = Vec::new();
                let restored = hole_numbers(&specialised, &params, &mut sketch);
                proptest::prop_assert_eq!(String::from_utf8(sketch), String::from_utf8(all.sketch));
                proptest::prop_assert_eq!(restored, Some(other));
            }
        }

        #[test]
        fn no_bytes_make_it_panic(sketch: Vec<u8>, params: Vec<u8>) {
            let _ = hole_numbers(&sketch, &params, &mut Vec::new());
        }
    }
}
