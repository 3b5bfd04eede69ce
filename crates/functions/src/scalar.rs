//! Scalar functions: documentation plus implementation.

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

use super::elements::ElementNamesFn;
use super::function_docs::FunctionDocs;

/// Implementation on arrays of the arguments.
type ArrayFn = Arc<dyn Fn(&[ArrayRef]) -> Result<ArrayRef> + Send + Sync>;

/// Implementation on arguments as they are given: literals are single values. The second argument is the number of
/// rows.
type ColumnarFn = fn(&[ColumnarValue], usize) -> Result<ArrayRef>;

/// Implementation of a function.
#[derive(Clone)]
enum Computation {
    Arrays(ArrayFn),
    Values(ColumnarFn),
}

/// Returns the arguments for which the function returns a given literal.
type PreimageFn = fn(&[Expr], &Expr) -> Result<PreimageResult>;

/// Determines the return type from those arguments that are literals.
type ReturnTypeFn = fn(&[Option<&ScalarValue>]) -> Result<DataType>;

/// A stateless scalar function.
#[derive(Clone)]
pub(super) struct Scalar {
    name: &'static str,
    signature: Signature,
    documentation: Documentation,
    elements: Option<ElementNamesFn>,
    gives: DataType,
    /// Set if the return type depends on literals in the call.
    typed: Option<ReturnTypeFn>,
    /// Argument types, if all numeric types are coerced to them.
    numbers: Option<Vec<DataType>>,
    /// Number of required arguments.
    needed: usize,
    run: Computation,
    /// Set if the function is monotonic in its first argument; rewrites comparisons with literals.
    inverse: Option<PreimageFn>,
}

impl Scalar {
    pub(super) fn new(
        about: &FunctionDocs,
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
            needed: about.required_count(),
            run: Computation::Arrays(Arc::new(run)),
            inverse: None,
        }
    }

    /// A function with a large literal argument, which is not repeated for each row.
    pub(super) fn new_columnar(about: &FunctionDocs, gives: DataType, run: ColumnarFn) -> Self {
        let none = |_: &[ArrayRef]| internal_err!("no arrays");
        Self {
            run: Computation::Values(run),
            ..Self::new(about, gives, none)
        }
    }

    /// Accepts numbers and lists of numbers of any type.
    pub(super) fn coerce_numbers(self) -> Self {
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

    /// Accepts text, and derives the return type from literals in the call.
    pub(super) fn return_type_of_literals(self, typed: ReturnTypeFn) -> Self {
        Self {
            typed: Some(typed),
            signature: Signature::user_defined(Volatility::Immutable),
            ..self
        }
    }

    /// Declares the function as monotonic in its first argument: sorted inputs yield sorted outputs, and a comparison
    /// with a literal becomes a comparison of the argument.
    pub(super) fn monotonic(self, inverse: PreimageFn) -> Self {
        Self {
            inverse: Some(inverse),
            ..self
        }
    }
}

impl Scalar {
    /// Function name, and the names of the elements of its result.
    pub(super) fn elements(&self) -> Option<(&'static str, ElementNamesFn)> {
        Some(self.name).zip(self.elements)
    }

    /// Types of text arguments. The first one is the type that the function reads; the others stay unchanged, as they
    /// are literals.
    fn coerce_texts(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        let is_text = |of: &DataType| of.is_string() || of.is_null();
        if given.len() != self.needed || !given.iter().all(is_text) {
            let call = &self.documentation.syntax_example;
            return plan_err!("{}: wrong arguments, expected {call}", self.name);
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

/// Functions of tsql are identified by their names.
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

    /// The column name contains a hash of literals of thousands of bytes.
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
            return self.coerce_texts(given);
        }
        let types = self.numbers.as_deref().unwrap_or_default();
        let needed = self.needed;
        if !(needed..=types.len()).contains(&given.len()) {
            let call = &self.documentation.syntax_example;
            return plan_err!("{}: wrong number of arguments, expected {call}", self.name);
        }
        for (of, wanted) in given.iter().zip(types) {
            if !is_numeric_or_list(of, wanted) {
                return plan_err!(
                    "{} expects numbers, not {of}: {}",
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

/// Type of a list of numbers.
pub(super) fn number_list() -> DataType {
    DataType::new_list(DataType::Float64, true)
}

/// Returns whether a type can be cast to a number or a list of numbers without parsing text.
fn is_numeric_or_list(of: &DataType, wanted: &DataType) -> bool {
    use DataType::{FixedSizeList, LargeList, List, Null};
    match (of, wanted) {
        (Null, _) => true,
        (List(of) | LargeList(of) | FixedSizeList(of, _), List(wanted)) => {
            is_numeric_or_list(of.data_type(), wanted.data_type())
        }
        (of, DataType::Float64) => of.is_numeric(),
        (of, wanted) => of == wanted,
    }
}

/// Returns an argument of a call.
pub(super) fn argument(args: &[ArrayRef], place: usize) -> Result<&ArrayRef> {
    args.get(place)
        .ok_or_else(|| DataFusionError::Internal(format!("no argument {place}")))
}
