//! Expressions that are written differently and provably equal, and expressions that are not equal.

use super::programs::{dense, load};
use super::synthetic::E::{Axis, Call, Float, Integer, Load};
use super::synthetic::{E, TOOLS, op};

/// Bodies of the second stage that are equal.
fn equal_form(bodies: &[E]) -> String {
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
    let element = |index: E| Load(2, vec![Axis(0), index]);
    let (i, j) = (|| Axis(0), || Axis(1));
    let direct = equal_form(&[
        element(j()),
        element(op("Add", Integer(0), j())),
        element(op("Mul", j(), Integer(1))),
        element(op("Sub", op("Add", i(), j()), i())),
        element(op("FloorMod", j(), Integer(32))),
        element(op("Mod", j(), Integer(40))),
        element(op(
            "Add",
            op("Mul", op("FloorDiv", j(), Integer(32)), Integer(32)),
            j(),
        )),
        element(op(
            "Add",
            op("Mul", op("Div", i(), Integer(64)), Integer(32)),
            j(),
        )),
    ]);
    assert!(
        direct.contains("s1: float32[64, 32] = s0[i0, i1]\n"),
        "{direct}"
    );
    let doubled = equal_form(&[
        element(op(
            "FloorDiv",
            op("Add", j(), op("Add", i(), j())),
            Integer(8),
        )),
        element(op(
            "FloorDiv",
            op("Add", op("Mul", Integer(2), j()), i()),
            Integer(8),
        )),
        element(op(
            "Div",
            op("Add", i(), op("Mul", j(), Integer(2))),
            Integer(8),
        )),
    ]);
    assert!(doubled.contains("= s0[i0, (i0 + 2*i1 / 8)]\n"), "{doubled}");
    // Rounding down differs from rounding toward zero if a value is negative, so there is no form.
    let negative = |name| element(op(name, op("Sub", j(), Integer(9)), Integer(8)));
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
fn equivalent_conditions_have_one_form() {
    let (i, j) = (|| Axis(0), || Axis(1));
    let selection = |condition: E| {
        Call(
            "if_then_else",
            vec![condition, load(2, &[0, 1]), Float(0.0)],
        )
    };
    let (first, second) = (|| op("LE", Integer(1), i()), || op("LT", j(), Integer(9)));
    let text = equal_form(&[
        selection(op("And", first(), second())),
        selection(op("And", second(), first())),
        selection(op(
            "And",
            op("GT", i(), Integer(0)),
            op("GE", Integer(8), j()),
        )),
        selection(op("And", first(), op("And", second(), first()))),
        selection(op(
            "And",
            first(),
            op("And", second(), op("LT", j(), Integer(32))),
        )),
    ]);
    assert!(text.contains(
        "if_then_else:float32((0 <= -1*i1 + 8 and 0 <= i0 + -1), s0[i0, i1], 0.0:float32)"
    ));
    let never = op("LT", Axis(0), Integer(0));
    assert!(
        equal_form(&[selection(never), Float(0.0)]).contains("s0: float32[64, 32] = 0.0:float32\n")
    );
    let always = op("EQ", op("FloorDiv", Axis(1), Integer(32)), Integer(0));
    equal_form(&[selection(always), load(2, &[0, 1])]);
    let equal = equal_form(&[selection(op("EQ", i(), j())), selection(op("EQ", j(), i()))]);
    let other = equal_form(&[selection(op("EQ", i(), op("Add", j(), Integer(1))))]);
    assert_ne!(equal, other);
    let unequal = equal_form(&[
        selection(op("NE", i(), j())),
        selection(E::Not(Box::new(op("EQ", j(), i())))),
    ]);
    assert_ne!(equal, unequal);
    let either = equal_form(&[
        selection(op("Or", first(), second())),
        selection(op("Or", second(), first())),
    ]);
    assert!(
        either.contains("if_then_else:float32((((0 <= -1*i1 + 8) or (0 <= i0 + -1))), "),
        "{either}"
    );
    equal_form(&[
        selection(op("Or", first(), op("LE", j(), Integer(31)))),
        load(2, &[0, 1]),
    ]);
}

/// A selection among indices is an index. A selection by tensor elements differs from its other spelling.
#[test]
fn choices_and_casts() {
    let (i, j) = (|| Axis(0), || Axis(1));
    let selected_index = |a, b| Call("select", vec![op("LT", i(), Integer(9)), a, b]);
    let selection = equal_form(&[
        Load(2, vec![Axis(0), selected_index(j(), Integer(3))]),
        Load(
            2,
            vec![
                Axis(0),
                op(
                    "Sub",
                    op("Add", Integer(2), selected_index(j(), Integer(3))),
                    Integer(2),
                ),
            ],
        ),
    ]);
    assert!(
        selection.contains("= s0[i0, select((0 <= -1*i0 + 8), i1, 3)]\n"),
        "{selection}"
    );
    let by_value = |name| {
        let positive = op("LT", Float(0.0), load(2, &[0, 1]));
        equal_form(&[Call(name, vec![positive, load(2, &[0, 1]), Float(0.0)])])
    };
    assert_ne!(by_value("select"), by_value("if_then_else"));
    assert!(
        by_value("select")
            .contains("select:float32(lt:bool(0.0:float32, s0[i0, i1]), s0[i0, i1], 0.0:float32)")
    );
    let unchanged = equal_form(&[
        load(2, &[0, 1]),
        E::Cast("float32", Box::new(load(2, &[0, 1]))),
    ]);
    let rounded = equal_form(&[E::Cast(
        "float32",
        Box::new(E::Cast("float16", Box::new(Axis(1)))),
    )]);
    assert!(
        rounded.contains("= cast:float32(cast:float16(i1))\n"),
        "{rounded}"
    );
    assert_ne!(unchanged, rounded);
}

/// A constant with more or fewer digits of a double is the same constant of its type.
#[test]
fn constants_are_rounded_to_their_type() {
    let body = |value: f64| op("Max", load(2, &[0, 1]), Float(value));
    equal_form(&[
        body(-3.402_823_466_385_289e38),
        body(-3.402_823_466_385_288_6e38),
    ]);
    equal_form(&[body(0.1), body(f64::from(0.1_f32))]);
    let mut double = dense();
    double.dtype = "float64";
    let text = |value: f64| {
        let mut program = double.clone();
        program.stages[1].body = body(value);
        program.text()
    };
    assert_ne!(text(0.1), text(f64::from(0.1_f32)));
}
