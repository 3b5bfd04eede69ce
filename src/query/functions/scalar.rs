//! A function of the values of a row: what is said of it, and what it does with arrays of them.

use std::fmt::{self, Debug, Formatter};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{ArrayRef, new_empty_array};
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{DataFusionError, Result, ScalarValue, internal_err, plan_err};
use datafusion::logical_expr::preimage::PreimageResult;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl,
    Signature, TypeSignature, Volatility,
};
use twox_hash::XxHash3_64;

use super::about::About;
use super::elements::Named;

/// From arrays of the arguments to an array of what it gives.
type OfArrays = Arc<dyn Fn(&[ArrayRef]) -> Result<ArrayRef> + Send + Sync>;

/// From the arguments as they are given, literals as one value, to an array of this many rows.
type OfValues = fn(&[ColumnarValue], usize) -> Result<ArrayRef>;

/// How a function computes what it gives.
#[derive(Clone)]
enum Computation {
    Arrays(OfArrays),
    Values(OfValues),
}

/// From arguments and a literal to the arguments for which the function gives the literal.
type Inverse = fn(&[Expr], &Expr) -> Result<PreimageResult>;

/// From those arguments that are literals to the type of what it gives.
type Typed = fn(&[Option<&ScalarValue>]) -> Result<DataType>;

/// A function without a state.
#[derive(Clone)]
pub(super) struct Scalar {
    name: &'static str,
    signature: Signature,
    documentation: Documentation,
    elements: Option<Named>,
    gives: DataType,
    /// It gives another type by what is written in the call.
    typed: Option<Typed>,
    /// Types of its arguments, if any numbers are made such.
    numbers: Option<Vec<DataType>>,
    /// How many of them cannot be left out.
    needed: usize,
    run: Computation,
    /// Rises with its first argument, and compares with literals through this.
    inverse: Option<Inverse>,
}

impl Scalar {
    pub(super) fn new(
        about: &About,
        gives: DataType,
        run: impl Fn(&[ArrayRef]) -> Result<ArrayRef> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: about.name,
            signature: about.signature(),
            documentation: about.documentation(),
            elements: about.elements,
            gives,
            typed: None,
            numbers: None,
            needed: about.needed(),
            run: Computation::Arrays(Arc::new(run)),
            inverse: None,
        }
    }

    /// A function one of whose arguments is a literal of many bytes, which is not repeated for each row.
    pub(super) fn with_literals(about: &About, gives: DataType, run: OfValues) -> Self {
        let none = |_: &[ArrayRef]| internal_err!("no arrays");
        Self {
            run: Computation::Values(run),
            ..Self::new(about, gives, none)
        }
    }

    /// The same, which takes numbers and lists of numbers of any type.
    pub(super) fn of_numbers(self) -> Self {
        let longest = match &self.signature.type_signature {
            TypeSignature::OneOf(several) => several.last(),
            one => Some(one),
        };
        let numbers = match longest {
            Some(TypeSignature::Exact(types)) => Some(types.clone()),
            _ => None,
        };
        Self {
            numbers,
            signature: Signature::user_defined(Volatility::Immutable),
            ..self
        }
    }

    /// The same of texts, where literals of the call decide which type it gives.
    pub(super) fn of_literals(self, typed: Typed) -> Self {
        Self {
            typed: Some(typed),
            signature: Signature::user_defined(Volatility::Immutable),
            ..self
        }
    }

    /// The same, which rises with its first argument: sorted values stay sorted, and a comparison with a
    /// literal becomes one of the argument.
    pub(super) fn rising(self, inverse: Inverse) -> Self {
        Self {
            inverse: Some(inverse),
            ..self
        }
    }
}

impl Scalar {
    /// Its name, and the names of the elements that it gives.
    pub(super) fn elements(&self) -> Option<(&'static str, Named)> {
        Some(self.name).zip(self.elements)
    }

    /// The types of texts: the first one is what the function reads; the others stay the literals that they are.
    fn texts(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        let is_text = |of: &DataType| of.is_string() || of.is_null();
        if given.len() != self.needed || !given.iter().all(is_text) {
            return plan_err!("{} takes {}", self.name, self.documentation.syntax_example);
        }
        let others = given.iter().skip(1).cloned();
        Ok(std::iter::once(DataType::Utf8View).chain(others).collect())
    }
}

impl Debug for Scalar {
    fn fmt(&self, to: &mut Formatter) -> fmt::Result {
        to.debug_struct("Scalar")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Functions of ours are told apart by their names.
impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Scalar {}

impl Hash for Scalar {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for Scalar {
    fn name(&self) -> &str {
        self.name
    }

    /// A column is not called by thousands of bytes: by their hash.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let name = |arg: &Expr| match arg {
            Expr::Literal(ScalarValue::Binary(Some(bytes)), _)
                if matches!(self.run, Computation::Values(_)) =>
            {
                format!("{:016x}", XxHash3_64::oneshot(bytes))
            }
            other => other.schema_name().to_string(),
        };
        let names: Vec<String> = args.iter().map(name).collect();
        Ok(format!("{}({})", self.name, names.join(",")))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn documentation(&self) -> Option<&Documentation> {
        Some(&self.documentation)
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.gives.clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let gives = match self.typed {
            Some(typed) => typed(args.scalar_arguments)?,
            None => self.gives.clone(),
        };
        Ok(Arc::new(Field::new(self.name, gives, true)))
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        if self.typed.is_some() {
            return self.texts(given);
        }
        let types = self.numbers.as_deref().unwrap_or_default();
        let needed = self.needed;
        if !(needed..=types.len()).contains(&given.len()) {
            return plan_err!("{} takes {}", self.name, self.documentation.syntax_example);
        }
        for (of, wanted) in given.iter().zip(types) {
            if !fits(of, wanted) {
                return plan_err!(
                    "{} takes numbers, not {of}: {}",
                    self.name,
                    self.documentation.syntax_example
                );
            }
        }
        Ok(types.iter().take(given.len()).cloned().collect())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if args.number_rows == 0 {
            let none = new_empty_array(args.return_field.data_type());
            return Ok(ColumnarValue::Array(none));
        }
        let run = match &self.run {
            Computation::Arrays(run) => run,
            Computation::Values(run) => {
                return run(&args.args, args.number_rows).map(ColumnarValue::Array);
            }
        };
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        run(&arrays).map(ColumnarValue::Array)
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        let first = inputs.first().filter(|_| self.inverse.is_some());
        Ok(first.map_or(SortProperties::Unordered, |input| input.sort_properties))
    }

    fn preimage(
        &self,
        args: &[Expr],
        literal: &Expr,
        _: &SimplifyContext,
    ) -> Result<PreimageResult> {
        match self.inverse {
            Some(inverse) => inverse(args, literal),
            None => Ok(PreimageResult::None),
        }
    }
}

/// A list of numbers.
pub(super) fn numbers() -> DataType {
    DataType::new_list(DataType::Float64, true)
}

/// Can it be made numbers, or a list of them, without reading text?
fn fits(of: &DataType, wanted: &DataType) -> bool {
    use DataType::{FixedSizeList, LargeList, List, Null};
    match (of, wanted) {
        (Null, _) => true,
        (List(of) | LargeList(of) | FixedSizeList(of, _), List(wanted)) => {
            fits(of.data_type(), wanted.data_type())
        }
        (of, DataType::Float64) => of.is_numeric(),
        (of, wanted) => of == wanted,
    }
}

/// An argument of a computation.
pub(super) fn argument(args: &[ArrayRef], place: usize) -> Result<&ArrayRef> {
    args.get(place)
        .ok_or_else(|| DataFusionError::Internal(format!("no argument {place}")))
}
