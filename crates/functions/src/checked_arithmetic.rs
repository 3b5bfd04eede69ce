//! `checked_add(x, y)`, `checked_subtract(x, y)`, `checked_multiply(x, y)`: arithmetic of 64-bit integers that does not
//! wrap around.
//!
//! DataFusion 55 returns -9223372036854775808 for `9223372036854775807 + 1`. The optimizer replaces such operators by
//! calls of these functions (`workarounds/checked_integers` of `tensorsql-engine`), which report it as an error.
//! A call has the column name of its operator.

use std::sync::{Arc, LazyLock};

use arrow::compute::kernels::numeric::{add, mul, sub};
use arrow::datatypes::{DataType, Field, FieldRef};
use arrow::error::ArrowError;
use datafusion::common::utils::take_function_args;
use datafusion::common::{Result, exec_datafusion_err, internal_err, plan_err};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, Operator, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature,
};
use datafusion::physical_expr_common::datum::apply;

use super::function_docs::FunctionDocs;

/// Functions, in the order of [`checked_arithmetic`]'s operators.
static FUNCTIONS: LazyLock<[Arc<ScalarUDF>; 3]> = LazyLock::new(|| {
    [
        function(
            "checked_add",
            Operator::Plus,
            "Sum of two BIGINT, an error if it exceeds BIGINT",
            "SELECT checked_add(line, 1) FROM records",
        ),
        function(
            "checked_subtract",
            Operator::Minus,
            "Difference of two BIGINT, an error if it exceeds BIGINT",
            "SELECT checked_subtract(line, 1) FROM records",
        ),
        function(
            "checked_multiply",
            Operator::Multiply,
            "Product of two BIGINT, an error if it exceeds BIGINT",
            "SELECT checked_multiply(line, 2) FROM records",
        ),
    ]
});

/// Returns the checked function of an operator on two BIGINT or two UBIGINT; `None` for other operators.
#[must_use]
pub fn checked_arithmetic(operator: Operator) -> Option<&'static Arc<ScalarUDF>> {
    let [plus, minus, multiply] = &*FUNCTIONS;
    match operator {
        Operator::Plus => Some(plus),
        Operator::Minus => Some(minus),
        Operator::Multiply => Some(multiply),
        _ => None,
    }
}

/// Returns whether a function is one of these.
#[must_use]
pub fn is_checked_arithmetic(name: &str) -> bool {
    FUNCTIONS.iter().any(|function| function.name() == name)
}

/// Returns all functions.
pub(super) fn all() -> impl Iterator<Item = ScalarUDF> {
    FUNCTIONS.iter().map(|function| function.as_ref().clone())
}

fn function(
    name: &'static str,
    operator: Operator,
    description: &'static str,
    example: &'static str,
) -> Arc<ScalarUDF> {
    let about = FunctionDocs::new(name, description, example)
        .argument("left", None, "a BIGINT")
        .argument("right", None, "a BIGINT");
    Arc::new(ScalarUDF::from(CheckedArithmetic {
        name,
        operator,
        signature: about.signature(),
        documentation: about.documentation(),
    }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct CheckedArithmetic {
    name: &'static str,
    operator: Operator,
    signature: Signature,
    documentation: Documentation,
}

impl ScalarUDFImpl for CheckedArithmetic {
    fn name(&self) -> &str {
        self.name
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        let [left, right] = take_function_args(self.name, args)?;
        Ok(format!("{left} {} {right}", self.operator))
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let [left, right] = take_function_args(self.name, args)?;
        let (left, right) = (left.schema_name(), right.schema_name());
        Ok(format!("{left} {} {right}", self.operator))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn documentation(&self) -> Option<&Documentation> {
        Some(&self.documentation)
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("{} has the type of its field", self.name)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let [left, right] = take_function_args(self.name, args.arg_fields)?;
        let kind = left.data_type();
        if kind != right.data_type() || !matches!(kind, DataType::Int64 | DataType::UInt64) {
            return plan_err!(
                "{} of {kind} and {}, expected two BIGINT or two UBIGINT",
                self.name,
                right.data_type()
            );
        }
        let is_nullable = left.is_nullable() || right.is_nullable();
        Ok(Arc::new(Field::new(self.name, kind.clone(), is_nullable)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [left, right] = take_function_args(self.name, args.args)?;
        let computed = match self.operator {
            Operator::Plus => apply(&left, &right, add),
            Operator::Minus => apply(&left, &right, sub),
            _ => apply(&left, &right, mul),
        };
        computed.map_err(out_of_range)
    }
}

/// Returns the error of a result that exceeds 64 bits. Arrow states the operands.
fn out_of_range(error: DataFusionError) -> DataFusionError {
    let DataFusionError::ArrowError(arrow, _) = &error else {
        return error;
    };
    let ArrowError::ArithmeticOverflow(text) = arrow.as_ref() else {
        return error;
    };
    let operands = text.strip_prefix("Overflow happened on: ").unwrap_or(text);
    exec_datafusion_err!(
        "{operands} is out of range, expected an integer of 64 bits\n\
         hint: cast one operand to DOUBLE, or exactly to DECIMAL(38, 0)"
    )
}
