//! Programs to compare.

use super::synthetic::E::{Axis, Call, Float, Integer, Load};
use super::synthetic::{E, Program, Stage, op};

/// Element of a tensor at some axes.
pub(super) fn load(tensor: usize, axes: &[usize]) -> E {
    Load(tensor, axes.iter().map(|&axis| Axis(axis)).collect())
}

/// `C[i, j] = sum over k of A[i, k] * B[j, k]`, and its maximum with 0.
pub(super) fn dense() -> Program {
    let product = op("Mul", load(0, &[0, 2]), load(1, &[1, 2]));
    Program {
        dtype: "float32",
        inputs: vec![vec![64, 128], vec![32, 128]],
        stages: vec![
            Stage {
                shape: vec![64, 32],
                reduction: Some(("Add", vec![128], 0.0)),
                body: product,
            },
            Stage {
                shape: vec![64, 32],
                reduction: None,
                body: op("Max", load(2, &[0, 1]), Float(0.0)),
            },
        ],
    }
}

/// Convolution of 14 x 14 images (one channel, batched) with this padding and stride.
pub(super) fn convolution(padding: i64, stride: i64) -> Program {
    let (size, kernel) = (14, 3);
    let padded = size + 2 * padding;
    let out = (padded - kernel) / stride + 1;
    let is_inside = |axis| {
        let lower_bound = op("GE", Axis(axis), Integer(padding));
        op(
            "And",
            lower_bound,
            op("LT", Axis(axis), Integer(size + padding)),
        )
    };
    let shifted = |axis| op("Sub", Axis(axis), Integer(padding));
    let inner = Load(0, vec![Axis(0), shifted(1), shifted(2), Axis(3)]);
    let padding = Call(
        "if_then_else",
        vec![op("And", is_inside(1), is_inside(2)), inner, Float(0.0)],
    );
    let input_position = |axis, tap| op("Add", op("Mul", Axis(axis), Integer(stride)), Axis(tap));
    let window_element = Load(
        2,
        vec![Axis(0), input_position(1, 4), input_position(2, 5), Axis(6)],
    );
    Program {
        dtype: "float32",
        inputs: vec![vec![1, size, size, 8], vec![kernel, kernel, 8, 16]],
        stages: vec![
            Stage {
                shape: vec![1, padded, padded, 8],
                reduction: None,
                body: padding,
            },
            Stage {
                shape: vec![1, out, out, 16],
                reduction: Some(("Add", vec![kernel, kernel, 8], 0.0)),
                body: op("Mul", window_element, load(1, &[4, 5, 6, 3])),
            },
        ],
    }
}
