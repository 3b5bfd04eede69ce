//! What a node of an expression is, once its operands are known.

use super::condition::Condition;
use super::index::Linear;
use crate::tvm_json::Error;

/// An expression in its canonical form.
#[derive(Clone, Debug)]
pub(super) struct Expression {
    /// The type of its numbers.
    pub(super) dtype: &'static str,
    pub(super) form: Form,
}

/// What it is.
#[derive(Clone, Debug)]
pub(super) enum Form {
    /// A whole number of 32 or 64 bits that is no content of a tensor.
    Index(Linear),
    /// A condition on such numbers.
    Condition(Condition),
    /// Anything else, as text that says its type.
    Other(String),
}

impl Expression {
    /// An index, which has to fit into its type.
    ///
    /// # Errors
    /// It does not, or nobody knows.
    pub(super) fn index(dtype: &'static str, index: Option<Linear>) -> Result<Self, Error> {
        let index = index.filter(|index| index.fits(dtype));
        let index = index.ok_or_else(|| Error::wrong(format!("indexes beyond {dtype}")))?;
        let form = Form::Index(index);
        Ok(Self { dtype, form })
    }

    /// A condition on indexes.
    ///
    /// # Errors
    /// Nobody knows whether it wraps around.
    pub(super) fn condition(condition: Option<Condition>) -> Result<Self, Error> {
        let condition = condition.ok_or_else(|| Error::wrong("conditions beyond 64 bits"))?;
        let form = Form::Condition(condition);
        let dtype = "bool";
        Ok(Self { dtype, form })
    }

    /// A constant that is whole.
    ///
    /// # Errors
    /// It is of another type, or does not fit into it.
    pub(super) fn integer(dtype: &'static str, value: i64) -> Result<Self, Error> {
        match dtype {
            "int32" | "int64" => Self::index(dtype, Some(Linear::constant(value))),
            "bool" => Self::condition(Some(Condition::known(value != 0))),
            _ if dtype.contains("int") => {
                let form = Form::Other(format!("{value}:{dtype}"));
                Ok(Self { dtype, form })
            }
            _ => Err(Error::wrong("a whole number of another type")),
        }
    }

    /// A constant of a type of floats, as that type holds it.
    ///
    /// # Errors
    /// It is of another type, or not a number.
    pub(super) fn float(dtype: &'static str, value: f64) -> Result<Self, Error> {
        #[expect(clippy::cast_possible_truncation, reason = "compilers round it, too")]
        let held = match dtype {
            "float64" => format!("{value:?}"),
            "float32" => format!("{:?}", value as f32),
            "float16" => format!("{:?}", half::f16::from_f64(value)),
            "bfloat16" => format!("{:?}", half::bf16::from_f64(value)),
            _ => return Err(Error::wrong("a float of another type")),
        };
        if value.is_nan() {
            return Err(Error::wrong("a constant that is not a number"));
        }
        let form = Form::Other(format!("{held}:{dtype}"));
        Ok(Self { dtype, form })
    }

    /// What is made of others by something of this name.
    pub(super) fn made(name: &str, dtype: &'static str, operands: &[&Self]) -> Self {
        let operands: Vec<String> = operands.iter().map(|operand| operand.text()).collect();
        let form = Form::Other(format!("{name}:{dtype}({})", operands.join(", ")));
        Self { dtype, form }
    }

    /// The number that it is, where it is an index and constant.
    pub(super) fn value(&self) -> Option<i64> {
        self.as_index().and_then(Linear::value)
    }

    /// Its index, where it is one.
    pub(super) fn as_index(&self) -> Option<&Linear> {
        match &self.form {
            Form::Index(index) => Some(index),
            _ => None,
        }
    }

    /// How long its text is, or less than so long.
    pub(super) fn size(&self) -> usize {
        match &self.form {
            Form::Index(index) => index.size(),
            Form::Condition(condition) => condition.size(),
            Form::Other(text) => text.len(),
        }
    }

    /// Its text.
    pub(super) fn text(&self) -> String {
        match &self.form {
            Form::Index(index) => index.text(),
            Form::Condition(condition) => condition.text(),
            Form::Other(text) => text.clone(),
        }
    }
}
