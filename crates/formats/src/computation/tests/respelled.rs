//! Expressions that are spelled differently and provably equal, and expressions that are not.

use super::programs::{dense, load};
use super::written::E::{Axis, Call, Float, Load, Whole};
use super::written::{E, TOOLS, op};

/// Bodies of the second stage that are equal.
fn same(bodies: &[E]) -> String {
    let text = |body: &E| {
        let mut program = dense();
        program.stages[1].body = body.clone();
        program.text()
    };
    let first = text(&bodies[0]);
    for body in bodies {
        assert_eq!(text(body), first, "{body:?}");
    }
    first
}

#[test]
fn indexes_are_the_same_sums() {
    let read = |index: E| Load(2, vec![Axis(0), index]);
    let (i, j) = (|| Axis(0), || Axis(1));
    let plain = same(&[
        read(j()),
        read(op("Add", Whole(0), j())),
        read(op("Mul", j(), Whole(1))),
        read(op("Sub", op("Add", i(), j()), i())),
        read(op("FloorMod", j(), Whole(32))),
        read(op("Mod", j(), Whole(40))),
        read(op(
            "Add",
            op("Mul", op("FloorDiv", j(), Whole(32)), Whole(32)),
            j(),
        )),
        read(op(
            "Add",
            op("Mul", op("Div", i(), Whole(64)), Whole(32)),
            j(),
        )),
    ]);
    assert!(
        plain.contains("s1: float32[64, 32] = s0[i0, i1]\n"),
        "{plain}"
    );
    let doubled = same(&[
        read(op(
            "FloorDiv",
            op("Add", j(), op("Add", i(), j())),
            Whole(8),
        )),
        read(op(
            "FloorDiv",
            op("Add", op("Mul", Whole(2), j()), i()),
            Whole(8),
        )),
        read(op(
            "Div",
            op("Add", i(), op("Mul", j(), Whole(2))),
            Whole(8),
        )),
    ]);
    assert!(doubled.contains("= s0[i0, (i0 + 2*i1 / 8)]\n"), "{doubled}");
    // Rounding down differs from rounding toward zero if a value is negative, so there is no form.
    let negative = |name| read(op(name, op("Sub", j(), Whole(9)), Whole(8)));
    let mut program = dense();
    program.stages[1].body = negative("FloorDiv");
    assert!(program.text().contains("= s0[i0, (i1 + -9 / 8)]\n"));
    program.stages[1].body = negative("Div");
    for tool in TOOLS {
        let error = program.read(tool).unwrap_err().to_string();
        assert!(
            error.contains("Div of indexes that may be negative"),
            "{error}"
        );
    }
}

#[test]
fn conditions_that_hold_together_are_one() {
    let (i, j) = (|| Axis(0), || Axis(1));
    let choice = |condition: E| {
        Call(
            "if_then_else",
            vec![condition, load(2, &[0, 1]), Float(0.0)],
        )
    };
    let (one, two) = (|| op("LE", Whole(1), i()), || op("LT", j(), Whole(9)));
    let text = same(&[
        choice(op("And", one(), two())),
        choice(op("And", two(), one())),
        choice(op("And", op("GT", i(), Whole(0)), op("GE", Whole(8), j()))),
        choice(op("And", one(), op("And", two(), one()))),
        choice(op("And", one(), op("And", two(), op("LT", j(), Whole(32))))),
    ]);
    assert!(text.contains(
        "if_then_else:float32((0 <= -1*i1 + 8 and 0 <= i0 + -1), s0[i0, i1], 0.0:float32)"
    ));
    let never = op("LT", Axis(0), Whole(0));
    assert!(same(&[choice(never), Float(0.0)]).contains("s0: float32[64, 32] = 0.0:float32\n"));
    let always = op("EQ", op("FloorDiv", Axis(1), Whole(32)), Whole(0));
    same(&[choice(always), load(2, &[0, 1])]);
    let equal = same(&[choice(op("EQ", i(), j())), choice(op("EQ", j(), i()))]);
    let other = same(&[choice(op("EQ", i(), op("Add", j(), Whole(1))))]);
    assert_ne!(equal, other);
    let unequal = same(&[
        choice(op("NE", i(), j())),
        choice(E::Not(Box::new(op("EQ", j(), i())))),
    ]);
    assert_ne!(equal, unequal);
    let either = same(&[
        choice(op("Or", one(), two())),
        choice(op("Or", two(), one())),
    ]);
    assert!(
        either.contains("if_then_else:float32((((0 <= -1*i1 + 8) or (0 <= i0 + -1))), "),
        "{either}"
    );
    same(&[
        choice(op("Or", one(), op("LE", j(), Whole(31)))),
        load(2, &[0, 1]),
    ]);
}

/// A selection among indices is an index. A selection by tensor elements differs from its other spelling.
#[test]
fn choices_and_casts() {
    let (i, j) = (|| Axis(0), || Axis(1));
    let less = |a, b| Call("select", vec![op("LT", i(), Whole(9)), a, b]);
    let chosen = same(&[
        Load(2, vec![Axis(0), less(j(), Whole(3))]),
        Load(
            2,
            vec![
                Axis(0),
                op("Sub", op("Add", Whole(2), less(j(), Whole(3))), Whole(2)),
            ],
        ),
    ]);
    assert!(
        chosen.contains("= s0[i0, select((0 <= -1*i0 + 8), i1, 3)]\n"),
        "{chosen}"
    );
    let by_value = |name| {
        let positive = op("LT", Float(0.0), load(2, &[0, 1]));
        same(&[Call(name, vec![positive, load(2, &[0, 1]), Float(0.0)])])
    };
    assert_ne!(by_value("select"), by_value("if_then_else"));
    assert!(
        by_value("select")
            .contains("select:float32(lt:bool(0.0:float32, s0[i0, i1]), s0[i0, i1], 0.0:float32)")
    );
    let plain = same(&[
        load(2, &[0, 1]),
        E::Cast("float32", Box::new(load(2, &[0, 1]))),
    ]);
    let rounded = same(&[E::Cast(
        "float32",
        Box::new(E::Cast("float16", Box::new(Axis(1)))),
    )]);
    assert!(
        rounded.contains("= cast:float32(cast:float16(i1))\n"),
        "{rounded}"
    );
    assert_ne!(plain, rounded);
}

/// A constant with more or fewer digits of a double is the same constant of its type.
#[test]
fn constants_are_what_their_type_holds() {
    let body = |value: f64| op("Max", load(2, &[0, 1]), Float(value));
    same(&[
        body(-3.402_823_466_385_289e38),
        body(-3.402_823_466_385_288_6e38),
    ]);
    same(&[body(0.1), body(f64::from(0.1_f32))]);
    let mut double = dense();
    double.dtype = "float64";
    let text = |value: f64| {
        let mut program = double.clone();
        program.stages[1].body = body(value);
        program.text()
    };
    assert_ne!(text(0.1), text(f64::from(0.1_f32)));
}
