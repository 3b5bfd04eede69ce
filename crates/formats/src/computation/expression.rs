//! Expressions whose operands are already known.

use super::condition::Condition;
use super::index::LinearIndex;
use crate::tvm_json::Error;

/// Expression in its canonical form.
#[derive(Clone, Debug)]
pub(super) struct Expression {
    /// Data type of the values.
    pub(super) dtype: &'static str,
    pub(super) form: ExpressionForm,
}

/// Canonical form of an expression.
#[derive(Clone, Debug)]
pub(super) enum ExpressionForm {
    /// Integer of 32 or 64 bits that does not depend on the contents of a tensor.
    Index(LinearIndex),
    /// Condition on such integers.
    Condition(Condition),
    /// Any other expression, as text that contains its type.
    Other(String),
}

impl Expression {
    /// Builds an index, which must fit its data type.
    ///
    /// # Errors
    /// Returns an error if the index does not fit or its range is unknown.
    pub(super) fn index(dtype: &'static str, index: Option<LinearIndex>) -> Result<Self, Error> {
        let index = index.filter(|index| index.fits(dtype));
        let index = index.ok_or_else(|| Error::wrong(format!("indexes beyond {dtype}")))?;
        let form = ExpressionForm::Index(index);
        Ok(Self { dtype, form })
    }

    /// Builds a condition on indices.
    ///
    /// # Errors
    /// Returns an error if the condition may overflow.
    pub(super) fn condition(condition: Option<Condition>) -> Result<Self, Error> {
        let condition = condition.ok_or_else(|| Error::wrong("conditions beyond 64 bits"))?;
        let form = ExpressionForm::Condition(condition);
        let dtype = "bool";
        Ok(Self { dtype, form })
    }

    /// Builds an integer constant.
    ///
    /// # Errors
    /// Returns an error if `dtype` is not an integer type or the value does not fit.
    pub(super) fn integer(dtype: &'static str, value: i64) -> Result<Self, Error> {
        match dtype {
            "int32" | "int64" => Self::index(dtype, Some(LinearIndex::constant(value))),
            "bool" => Self::condition(Some(Condition::constant(value != 0))),
            _ if dtype.contains("int") => {
                let form = ExpressionForm::Other(format!("{value}:{dtype}"));
                Ok(Self { dtype, form })
            }
            _ => Err(Error::wrong("a whole number of another type")),
        }
    }

    /// Builds a floating-point constant, rounded to its data type.
    ///
    /// # Errors
    /// Returns an error for other data types and for NaN.
    pub(super) fn float(dtype: &'static str, value: f64) -> Result<Self, Error> {
        #[expect(clippy::cast_possible_truncation, reason = "compilers round it, too")]
        let text = match dtype {
            "float64" => format!("{value:?}"),
            "float32" => format!("{:?}", value as f32),
            "float16" => format!("{:?}", half::f16::from_f64(value)),
            "bfloat16" => format!("{:?}", half::bf16::from_f64(value)),
            _ => return Err(Error::wrong("a float of another type")),
        };
        if value.is_nan() {
            return Err(Error::wrong("a constant that is not a number"));
        }
        let form = ExpressionForm::Other(format!("{text}:{dtype}"));
        Ok(Self { dtype, form })
    }

    /// Builds the application of the named operation to the operands.
    pub(super) fn from_operation(name: &str, dtype: &'static str, operands: &[&Self]) -> Self {
        let operands: Vec<String> = operands.iter().map(|operand| operand.text()).collect();
        let form = ExpressionForm::Other(format!("{name}:{dtype}({})", operands.join(", ")));
        Self { dtype, form }
    }

    /// Returns the value of a constant index.
    pub(super) fn value(&self) -> Option<i64> {
        self.as_index().and_then(LinearIndex::value)
    }

    /// Returns the index if the expression is one.
    pub(super) fn as_index(&self) -> Option<&LinearIndex> {
        match &self.form {
            ExpressionForm::Index(index) => Some(index),
            _ => None,
        }
    }

    /// Upper bound of the length of the text, in bytes.
    pub(super) fn text_length_bound(&self) -> usize {
        match &self.form {
            ExpressionForm::Index(index) => index.text_length_bound(),
            ExpressionForm::Condition(condition) => condition.text_length_bound(),
            ExpressionForm::Other(text) => text.len(),
        }
    }

    /// Returns the text of the expression.
    pub(super) fn text(&self) -> String {
        match &self.form {
            ExpressionForm::Index(index) => index.text(),
            ExpressionForm::Condition(condition) => condition.text(),
            ExpressionForm::Other(text) => text.clone(),
        }
    }
}
