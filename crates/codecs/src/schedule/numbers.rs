//! Encodes a schedule as 113 numbers.

use super::scan::{Argument, KINDS, Step, for_each_step};

/// Number of split steps that are encoded individually.
const MAX_SPLITS: usize = 12;

/// Number of lengths per split that are encoded.
const MAX_LENGTHS: usize = 4;

/// Numbers per split: extent, outermost length, lengths, product.
const SPLIT_WIDTH: usize = MAX_LENGTHS + 3;

/// Loop annotations in the order of their numbers (TVM's `IteratorAnnotation`).
const ANNOTATIONS: [&str; 12] = [
    "none",
    "unroll",
    "vectorize",
    "parallel",
    "vthread",
    "block_x",
    "thread_x",
    "block_y",
    "thread_y",
    "block_z",
    "thread_z",
    "tensorize",
];

/// Index of the first annotation count.
const ANNOTATIONS_START: usize = 1 + KINDS.len();

/// Index of the maximum unroll step.
const UNROLL_INDEX: usize = ANNOTATIONS_START + ANNOTATIONS.len();

/// Index of the first split.
const SPLITS_START: usize = UNROLL_INDEX + 1;

/// Numbers per schedule.
pub const WIDTH: usize = SPLITS_START + MAX_SPLITS * SPLIT_WIDTH + 1;

/// Prefix of an unroll pragma. The number of steps follows.
const PRAGMA: &str = "auto_unroll_max_step$";

/// Names of the numbers, in order.
pub fn number_names() -> Vec<String> {
    let mut names = vec!["steps".to_owned()];
    names.extend(KINDS.map(|kind| format!("steps_{kind}")));
    names.extend(ANNOTATIONS.map(|annotation| format!("annotated_{annotation}")));
    names.push("auto_unroll_max_step".to_owned());
    for split in 0..MAX_SPLITS {
        let split_name = |suffix: &str| format!("split_{split}_{suffix}");
        names.extend(["extent", "outer_length"].map(split_name));
        names.extend((0..MAX_LENGTHS).map(|index| split_name(&format!("length_{index}"))));
        names.push(split_name("product"));
    }
    names.push("sum_of_log2_products".to_owned());
    names
}

/// Writes the numbers of a schedule to `row` of length [`WIDTH`]. Returns `None` if the text is not an
/// auto_scheduler program.
pub fn numbers(steps: &str, row: &mut [f32]) -> Option<()> {
    row.fill(0.0);
    let mut splits = 0;
    for_each_step(steps, |step| {
        add(row, 0, 1.0);
        add(row, 1 + step.kind, 1.0);
        match KINDS.get(step.kind) {
            Some(&"AN") => add_annotation(step, row),
            Some(&"PR") => add_unroll_pragma(step, row),
            Some(&"SP") => {
                add_split(step, splits, row);
                splits += 1;
            }
            _ => {}
        }
    })
}

fn add(row: &mut [f32], index: usize, value: f32) {
    if let Some(number) = row.get_mut(index) {
        *number += value;
    }
}

/// Counts an annotation: `["AN", stage, iterator, annotation]`.
fn add_annotation(step: &Step<'_>, row: &mut [f32]) {
    let annotation = step.arguments.get(2).map(Argument::number);
    let annotation = annotation.and_then(|number| usize::try_from(number).ok());
    if let Some(index) = annotation.filter(|number| *number < ANNOTATIONS.len()) {
        add(row, ANNOTATIONS_START + index, 1.0);
    }
}

/// Updates the maximum unroll step: `["PR", stage, iterator, pragma]`.
fn add_unroll_pragma(step: &Step<'_>, row: &mut [f32]) {
    let Some(Argument::Text(pragma)) = step.arguments.get(2) else {
        return;
    };
    let max_steps = pragma
        .strip_prefix(PRAGMA)
        .and_then(|steps| steps.parse::<f32>().ok());
    if let Some((max_steps, number)) = max_steps.zip(row.get_mut(UNROLL_INDEX)) {
        *number = number.max(max_steps);
    }
}

/// Adds a split: `["SP", stage, iterator, extent, [lengths], inner_to_outer]`.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "models read 32-bit numbers"
)]
fn add_split(step: &Step<'_>, number: usize, row: &mut [f32]) {
    let extent = step.arguments.get(2).map_or(0, Argument::number) as f64;
    let lengths = step.arguments.get(step.list.clone()).unwrap_or(&[]);
    let lengths = lengths.iter().map(|length| length.number() as f64);
    let product: f64 = lengths.clone().product();
    // Lengths that are not yet chosen are 0.
    add(row, WIDTH - 1, product.max(1.0).log2() as f32);
    if number >= MAX_SPLITS {
        return;
    }
    let start = SPLITS_START + number * SPLIT_WIDTH;
    let outer = if product > 0.0 {
        (extent / product).ceil()
    } else {
        0.0
    };
    add(row, start, extent as f32);
    add(row, start + 1, outer as f32);
    for (index, length) in lengths.take(MAX_LENGTHS).enumerate() {
        add(row, start + 2 + index, length as f32);
    }
    add(row, start + 2 + MAX_LENGTHS, product as f32);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values are computed by hand.
    #[test]
    fn numbers_have_the_declared_positions() {
        let steps = r#"[["CHW", 2, "local"], ["SP", 2, 0, 1000, [8, 3], 1], ["SP", 2, 3, 64, [2, 2, 2, 2, 2], 1],
            ["AN", 2, 4, 2], ["AN", 2, 0, 3], ["AN", 3, 0, 3], ["PR", 2, 0, "auto_unroll_max_step$64"],
            ["PR", 3, 0, "auto_unroll_max_step$512"], ["SP", 3, 0, 7, [0], 1]]"#;
        let mut row = [9.0; WIDTH];
        numbers(steps, &mut row).unwrap();
        let mut expected = [0.0; WIDTH];
        expected[0] = 9.0;
        // AN, PR, SP, CHW.
        (expected[1], expected[3], expected[5], expected[13]) = (3.0, 2.0, 3.0, 1.0);
        // vectorize, parallel.
        (expected[17], expected[18]) = (1.0, 2.0);
        expected[27] = 512.0;
        expected[28..35].copy_from_slice(&[1000.0, 42.0, 8.0, 3.0, 0.0, 0.0, 24.0]);
        expected[35..42].copy_from_slice(&[64.0, 2.0, 2.0, 2.0, 2.0, 2.0, 32.0]);
        expected[42] = 7.0;
        expected[112] = 24_f32.log2() + 5.0;
        assert_eq!(WIDTH, 113);
        assert_eq!(row, expected);
        let names = number_names();
        assert_eq!(names.len(), WIDTH);
        for (index, name) in [
            (5, "steps_SP"),
            (14, "steps_RF"),
            (17, "annotated_vectorize"),
            (27, "auto_unroll_max_step"),
            (28, "split_0_extent"),
            (29, "split_0_outer_length"),
            (37, "split_1_length_0"),
            (41, "split_1_product"),
            (112, "sum_of_log2_products"),
        ] {
            assert_eq!(names[index], name);
        }
    }

    #[test]
    fn undeclared_splits_count_in_the_sums() {
        let splits = vec![r#"["SP", 1, 0, 16, [4], 1]"#; 14].join(", ");
        let mut row = [0.0; WIDTH];
        numbers(&format!("[{splits}]"), &mut row).unwrap();
        assert_eq!((row[0], row[5], row[112]), (14.0, 14.0, 28.0));
        assert_eq!(row[105..112], [16.0, 4.0, 4.0, 0.0, 0.0, 0.0, 4.0]);
        numbers("[]", &mut row).unwrap();
        assert_eq!(row, [0.0; WIDTH]);
        assert!(numbers("{\"x\": 1}", &mut row).is_none());
    }
}
