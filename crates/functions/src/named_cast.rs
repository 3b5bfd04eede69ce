//! `named_cast(CAST(x AS DOUBLE), 'CAST AS DOUBLE')`: a cast whose type is part of the column name.
//!
//! DataFusion names a cast like its operand, so it rejects `sum(x), sum(CAST(x AS DOUBLE))` because of duplicate names.
//! Queries with both are planned with this function (`statement/casts`). The optimizer removes it.

use std::sync::LazyLock;

use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::utils::take_function_args;
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature,
};

use super::function_docs::FunctionDocs;

/// Name of the function.
pub const NAMED_CAST: &str = "named_cast";

/// The function.
pub(super) static FUNCTION: LazyLock<ScalarUDF> = LazyLock::new(|| {
    let about = FunctionDocs::new(
        NAMED_CAST,
        "First argument, as a column with the name of a cast",
        "SELECT named_cast(CAST(line AS DOUBLE), 'CAST AS DOUBLE') FROM records",
    )
    .argument("value", None, "cast")
    .argument("name", None, "CAST or TRY_CAST, AS, and the type");
    ScalarUDF::from(NamedCast {
        signature: about.signature(),
        documentation: about.documentation(),
    })
});

#[derive(Debug, PartialEq, Eq, Hash)]
struct NamedCast {
    signature: Signature,
    documentation: Documentation,
}

impl ScalarUDFImpl for NamedCast {
    fn name(&self) -> &'static str {
        NAMED_CAST
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let [cast, kind] = take_function_args(self.name(), args)?;
        let kind = match kind {
            Expr::Literal(kind, _) => kind.to_string(),
            other => other.schema_name().to_string(),
        };
        let (verb, kind) = kind.split_once(" AS ").unwrap_or(("CAST", kind.as_str()));
        Ok(format!("{verb}({} AS {kind})", cast.schema_name()))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn documentation(&self) -> Option<&Documentation> {
        Some(&self.documentation)
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("{NAMED_CAST} has the type of its field")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let [cast, _] = take_function_args(self.name(), args.arg_fields)?;
        Ok(FieldRef::clone(cast))
    }

    fn simplify(&self, args: Vec<Expr>, _: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let [cast, _] = take_function_args(self.name(), args)?;
        Ok(ExprSimplifyResult::Simplified(cast))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [cast, _] = take_function_args(self.name(), args.args)?;
        Ok(cast)
    }
}
