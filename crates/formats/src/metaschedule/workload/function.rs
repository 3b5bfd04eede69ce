//! Functions of a module.

/// Function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Name in the module: `main`.
    pub name: String,
    /// Parameters, in order.
    pub parameters: Vec<Parameter>,
    /// Names of its blocks in order of appearance, usually starting with `root`: `root`, `pad_temp`, `conv2d_nchw`,
    /// `T_add`.
    pub blocks: Vec<String>,
}

/// Parameter of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name of its buffer, if it has one, else of the parameter.
    pub name: String,
    /// Element type, if stated: `float32`.
    pub dtype: Option<String>,
    /// Extents, if there are any and all are constant.
    pub shape: Option<Vec<i64>>,
}
