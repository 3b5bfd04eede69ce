//! A program in the format of three tools has one form; near misses have other forms.

use std::collections::BTreeMap;

use super::programs::{convolution, dense, load};
use super::synthetic::E::{Axis, Call, Float, Integer, Load};
use super::synthetic::{E, Program, Stage, TOOLS, op};

#[test]
fn a_program_has_one_form_in_three_formats() {
    let expected = "in0: float32[64, 128]\n\
        in1: float32[32, 128]\n\
        s0: float32[64, 32] = sum over [128] from 0.0:float32 of mul:float32(in0[i0, r0], in1[i1, r0])\n\
        s1: float32[64, 32] = max:float32(s0[i0, i1], 0.0:float32)\n\
        out: s1\n";
    assert_eq!(dense().text(), expected);
    let hashes = TOOLS.map(|tool| dense().read(tool).unwrap().hash());
    assert_eq!(hashes, ["b737e009a5cf334753231af6356f658d"; 3]);
    // Kernel 3 x 3, padding 1: the batch dimension of extent 1 and its axis are left out.
    let expected = "in0: float32[14, 14, 8]\n\
        in1: float32[3, 3, 8, 16]\n\
        s0: float32[16, 16, 8] = if_then_else:float32((0 <= -1*i0 + 14 and 0 <= -1*i1 + 14 and 0 <= i0 + -1 and \
        0 <= i1 + -1), in0[i0 + -1, i1 + -1, i2], 0.0:float32)\n\
        s1: float32[14, 14, 16] = sum over [3, 3, 8] from 0.0:float32 of \
        mul:float32(s0[i0 + r0, i1 + r1, r2], in1[r0, r1, r2, i2])\n\
        out: s1\n";
    assert_eq!(convolution(1, 1).text(), expected);
}

/// Variants of a program that are almost equal; all differ.
#[test]
fn near_misses_have_other_forms() {
    let changed = |change: &dyn Fn(&mut Program)| {
        let mut program = dense();
        change(&mut program);
        program
    };
    let body =
        |stage: usize, body: E| changed(&|program| program.stages[stage].body = body.clone());
    let reduction = |by: &'static str, from: f64| {
        changed(&|program| program.stages[0].reduction = Some((by, vec![128], from)))
    };
    let programs = [
        ("dense", dense()),
        ("other type", changed(&|program| program.dtype = "float16")),
        (
            "larger",
            changed(&|program| {
                program.inputs[0][0] = 65;
                program.stages[0].shape[0] = 65;
                program.stages[1].shape[0] = 65;
            }),
        ),
        (
            "input read in part",
            changed(&|program| program.inputs[0][0] = 65),
        ),
        (
            "transposed weights",
            changed(&|program| {
                program.inputs[1] = vec![128, 32];
                program.stages[0].body = op("Mul", load(0, &[0, 2]), load(1, &[2, 1]));
            }),
        ),
        ("maximum instead of sum", reduction("Max", 0.0)),
        ("minimum", reduction("Min", 0.0)),
        ("product", reduction("Mul", 0.0)),
        ("initial value one", reduction("Add", 1.0)),
        (
            "shorter reduction",
            changed(&|program| program.stages[0].reduction = Some(("Add", vec![127], 0.0))),
        ),
        ("initial value minus zero", reduction("Add", -0.0)),
        (
            "sum of sums",
            body(0, op("Add", load(0, &[0, 2]), load(1, &[1, 2]))),
        ),
        (
            "squares",
            body(0, op("Mul", load(0, &[0, 2]), load(0, &[0, 2]))),
        ),
        (
            "other row",
            body(0, op("Mul", load(0, &[0, 2]), load(0, &[1, 2]))),
        ),
        (
            "other order",
            body(0, op("Mul", load(1, &[1, 2]), load(0, &[0, 2]))),
        ),
        (
            "at most zero",
            body(1, op("Min", load(2, &[0, 1]), Float(0.0))),
        ),
        (
            "at least one",
            body(1, op("Max", load(2, &[0, 1]), Float(1.0))),
        ),
        (
            "less zero",
            body(1, op("Sub", load(2, &[0, 1]), Float(0.0))),
        ),
        (
            "zero less",
            body(1, op("Sub", Float(0.0), load(2, &[0, 1]))),
        ),
        ("function", body(1, Call("tanh", vec![load(2, &[0, 1])]))),
        (
            "other function",
            body(1, Call("exp", vec![load(2, &[0, 1])])),
        ),
        (
            "one column",
            body(1, op("Max", Load(2, vec![Axis(0), Integer(0)]), Float(0.0))),
        ),
        (
            "fewer stages",
            changed(&|program| drop(program.stages.pop())),
        ),
        ("padded", convolution(1, 1)),
        ("padded more", convolution(2, 1)),
        ("not padded", convolution(0, 1)),
        ("strided", convolution(1, 2)),
    ];
    let mut forms: BTreeMap<String, &str> = BTreeMap::new();
    for (name, program) in &programs {
        if let Some(other) = forms.insert(program.text(), name) {
            panic!("{name} is {other}");
        }
    }
}

/// Axes of extent 1 in tensors and reductions, such as a batch of one or a 1 x 1 kernel.
#[test]
fn axes_of_extent_one_are_left_out() {
    let mut batched = dense();
    batched.inputs = vec![vec![1, 64, 128], vec![32, 1, 128]];
    batched.stages[0] = Stage {
        shape: vec![1, 64, 32],
        reduction: Some(("Add", vec![1, 128], 0.0)),
        body: op(
            "Mul",
            Load(0, vec![Integer(0), Axis(1), Axis(4)]),
            Load(1, vec![Axis(2), Axis(3), Axis(4)]),
        ),
    };
    batched.stages[1].body = op("Max", load(2, &[2, 0, 1]), Float(0.0));
    batched.stages[1].shape = vec![64, 32, 1];
    assert_eq!(batched.text(), dense().text());
}

/// Inputs are numbered by first use, and unread inputs are left out.
#[test]
fn parameters_in_another_order_are_the_same() {
    let mut reordered = dense();
    reordered.inputs = vec![vec![7], vec![32, 128], vec![64, 128]];
    reordered.stages[0].body = op("Mul", load(2, &[0, 2]), load(1, &[1, 2]));
    reordered.stages[1].body = op("Max", load(3, &[0, 1]), Float(0.0));
    assert_eq!(reordered.text(), dense().text());
}
