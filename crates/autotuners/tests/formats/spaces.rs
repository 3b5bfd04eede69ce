//! Spaces and their grammar. Expected values are those of Python's interpreter for the same texts.

use super::*;
use tsql_autotuners::{Expression, Operand};

fn evaluate(text: &str) -> Result<String, String> {
    let expression = Expression::parse(text).map_err(|error| error.to_string())?;
    let lookup = |name: &str| match name {
        "a" => Some(Operand::Integer(7)),
        "b" => Some(Operand::Float(2.5)),
        "t" => Some(Operand::Text("fast".to_owned())),
        _ => None,
    };
    let value = expression
        .evaluate(&lookup)
        .map_err(|error| error.to_string())?;
    Ok(value.to_value().to_json())
}

#[test]
fn numbers_behave_as_in_python() {
    for (text, expected) in [
        ("7 / 2", "3.5"),
        ("8 / 2", "4.0"),
        ("-7 // 2", "-4"),
        ("-7 % 3", "2"),
        ("7 % -3", "-2"),
        ("-7.5 % 2", "0.5"),
        ("2 ** 3 ** 2", "512"),
        ("-2 ** 2", "-4"),
        ("2 ** -1", "0.5"),
        ("1 < 3 < 2", "false"),
        ("1 < 3 > 2 != 5", "true"),
        ("1 == 1.0", "true"),
        ("0 or 5", "5"),
        ("3 and 0 or 9", "9"),
        ("not 0 and 1", "1"),
        ("True + 1", "2"),
        ("32 % ((8 * 4)/16) == 0", "true"),
        ("a * b > 17 and t == 'fast'", "true"),
        ("[1] + [2 * i for i in range(1, 4)]", "[1, 2, 4, 6]"),
        ("list(range(10, 0, -4))", "[10, 6, 2]"),
        ("[0.5, 'x', True]", "[0.5, \"x\", true]"),
    ] {
        assert_eq!(evaluate(text), Ok(expected.to_owned()), "{text}");
    }
}

#[test]
fn other_texts_are_rejected_and_never_run() {
    for text in [
        "__import__('os').system('true')",
        "open('x')",
        "(lambda: 1)()",
        "a.b",
        "1 +",
        "[1, 2",
        "x if y else z",
        "1 = 2",
        "range()",
        "[i for i in range(9) if i]",
        &"(".repeat(100_000),
        &"not ".repeat(100_000),
    ] {
        assert!(
            Expression::parse(text).is_err(),
            "{}",
            text.get(..20).unwrap_or(text)
        );
    }
    for text in [
        "1 / 0",
        "1 % 0",
        "unknown",
        "t * 2",
        "9 ** 99",
        "range(999999999999)",
    ] {
        assert!(evaluate(text).is_err(), "{text}");
    }
}

const SPACE: &str = r#"{
  "General": {"BenchmarkName": "toy"},
  "ConfigurationSpace": {
    "TuningParameters": [
      {"Name": "tile", "Type": "int", "Values": "[2**i for i in range(3)]", "Default": 2},
      {"Name": "mode", "Type": "string", "Values": "['a', 'b']"}
    ],
    "Conditions": [{"Expression": "tile > 1 or mode == 'a'", "Parameters": ["tile", "mode"]}]
  },
  "KernelSpecification": {"Language": "CUDA", "KernelName": "toy"}
}"#;

#[test]
fn conditions_restrict_the_product() {
    let file = read(SPACE, Format::T1);
    let space = file.document.space.unwrap();
    assert_eq!((space.cartesian(), space.count_valid(100)), (6, Some(5)));
    assert_eq!(space.count_valid(5), None);
    let mut first = None;
    space.for_each_valid(100, |point| {
        first.get_or_insert_with(|| {
            point
                .iter()
                .map(|value| value.to_json())
                .collect::<Vec<_>>()
        });
    });
    assert_eq!(first.unwrap(), ["1", "\"a\""]);
}

#[test]
fn points_are_in_the_space_by_value_and_condition() {
    let space = read(SPACE, Format::T1).document.space.unwrap();
    for (point, expected) in [
        (r#"{"tile": 2, "mode": "b"}"#, true),
        (r#"{"mode": "a", "tile": 1.0}"#, true),
        // Excluded by the condition.
        (r#"{"tile": 1, "mode": "b"}"#, false),
        (r#"{"tile": 3, "mode": "a"}"#, false),
        (r#"{"tile": "2", "mode": "a"}"#, false),
        (r#"{"tile": 2}"#, false),
        (r#"{"tile": 2, "mode": "a", "more": 1}"#, false),
        ("[2]", false),
    ] {
        let value = tsql_autotuners::parse_json(point).unwrap();
        assert_eq!(space.contains(&value), Some(expected), "{point}");
    }
    let mut inside = 0;
    space.for_each_valid(100, |values| {
        let names = space
            .parameters
            .iter()
            .map(|parameter| parameter.name.clone());
        let values = values.iter().map(|value| (*value).clone());
        let point = tsql_autotuners::Value::Object(names.zip(values).collect());
        inside += u64::from(space.contains(&point) == Some(true));
    });
    assert_eq!(inside, 5);
}

#[test]
fn an_unknown_condition_makes_the_valid_set_unknown() {
    let file = read(&SPACE.replace("tile > 1 or", "check(tile) or"), Format::T1);
    let space = file.document.space.unwrap();
    assert_eq!((space.cartesian(), space.count_valid(100)), (6, None));
    assert_eq!(file.rejected.len(), 1);
}
