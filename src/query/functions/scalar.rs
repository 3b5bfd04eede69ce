//! A function of the values of a row: what is said of it, and what it does with arrays of them.

use std::hash::{Hash, Hasher};

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::preimage::PreimageResult;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ScalarFunctionArgs, ScalarUDFImpl, Signature,
};

use super::about::About;

/// From arrays of the arguments to an array of what it gives.
type Computation = fn(&[ArrayRef]) -> Result<ArrayRef>;

/// From arguments and a literal to the arguments for which the function gives the literal.
type Inverse = fn(&[Expr], &Expr) -> Result<PreimageResult>;

/// A function without a state.
#[derive(Clone, Debug)]
pub(super) struct Scalar {
    name: &'static str,
    signature: Signature,
    documentation: Documentation,
    gives: DataType,
    run: Computation,
    /// Rises with its first argument, and compares with literals through this.
    inverse: Option<Inverse>,
}

impl Scalar {
    pub(super) fn new(about: &About, gives: DataType, run: Computation) -> Self {
        Self {
            name: about.name,
            signature: about.signature(),
            documentation: about.documentation(),
            gives,
            run,
            inverse: None,
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

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn documentation(&self) -> Option<&Documentation> {
        Some(&self.documentation)
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.gives.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        (self.run)(&arrays).map(ColumnarValue::Array)
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

/// An argument of a [`Computation`].
pub(super) fn argument(args: &[ArrayRef], place: usize) -> Result<&ArrayRef> {
    args.get(place)
        .ok_or_else(|| DataFusionError::Internal(format!("no argument {place}")))
}
