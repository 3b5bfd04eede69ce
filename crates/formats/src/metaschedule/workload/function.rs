//! What is known of a function of a module.

/// A function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name in the module: `main`.
    pub name: String,
    /// Its parameters, in order.
    pub parameters: Vec<Parameter>,
    /// Names of its blocks as they stand in it, the first `root` as a rule: `root`, `pad_temp`, `conv2d_nchw`, `T_add`.
    pub blocks: Vec<String>,
}

/// A parameter of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name, of its buffer where it has one.
    pub name: String,
    /// The type of its elements, where it says so: `float32`.
    pub dtype: Option<String>,
    /// Its extents, where it has some and all are constant.
    pub shape: Option<Vec<i64>>,
}
