//! Arguments of a kernel: as expressions, and bound to a workload. Binding evaluates shapes and checks
//! their sizes.

use super::super::expr::Expression;
use super::super::trial::{Argument, Dtype, Init, Role, Value};
use super::invalid_config::InvalidConfig;
use super::raw_manifest::{ArgumentKind, ScalarValue, TypedArgument};
use super::scope::{Scope, to_f64};

/// Maximum bytes of all buffers together.
const MAX_BYTES: u64 = 16 << 30;

/// Maximum dimensions of a buffer.
const MAX_DIMENSIONS: usize = 16;

/// An argument with expressions as sizes.
#[derive(Clone, Debug)]
pub(super) enum ArgumentSpec {
    Buffer {
        name: String,
        dtype: Dtype,
        shape: Vec<Expression>,
        role: Role,
        init: Init,
    },
    Scalar {
        name: String,
        dtype: Dtype,
        value: ScalarSpec,
    },
}

#[derive(Clone, Debug)]
pub(super) enum ScalarSpec {
    Fixed(f64),
    Computed(Expression),
}

impl ArgumentSpec {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Buffer { name, .. } | Self::Scalar { name, .. } => name,
        }
    }

    pub(super) fn is_output(&self) -> bool {
        matches!(self, Self::Buffer { role, .. } if *role != Role::In)
    }

    pub(super) fn expressions(&self) -> &[Expression] {
        match self {
            Self::Buffer { shape, .. } => shape,
            Self::Scalar {
                value: ScalarSpec::Computed(value),
                ..
            } => std::slice::from_ref(value),
            Self::Scalar { .. } => &[],
        }
    }

    /// Validates a parsed argument; the error message does not include the argument's name.
    pub(super) fn resolve(typed: TypedArgument) -> Result<Self, String> {
        let TypedArgument {
            name,
            kind,
            dtype,
            shape,
            role,
            init,
            value,
        } = typed;
        match (kind, shape, role, value) {
            (ArgumentKind::Buffer, Some(shape), Some(role), None) => {
                if shape.is_empty() || shape.len() > MAX_DIMENSIONS {
                    return Err(format!("shape must have 1 to {MAX_DIMENSIONS} dimensions"));
                }
                let shape = shape
                    .into_iter()
                    .map(|extent| extent.parse())
                    .collect::<Result<_, String>>()?;
                let init = match init {
                    None => default_init(dtype, role),
                    Some(_) if role == Role::Out => {
                        return Err("an output has no `init`: it is poisoned".to_owned());
                    }
                    Some(init) => parse_init(&init, dtype)?,
                };
                Ok(Self::Buffer {
                    name,
                    dtype,
                    shape,
                    role,
                    init,
                })
            }
            (ArgumentKind::Buffer, _, _, Some(_)) => Err("a buffer has no `value`".to_owned()),
            (ArgumentKind::Buffer, None, ..) => Err("a buffer needs `shape`".to_owned()),
            (ArgumentKind::Buffer, ..) => Err("a buffer needs `role`".to_owned()),
            (ArgumentKind::Scalar, None, None, Some(value)) if init.is_none() => Ok(Self::Scalar {
                name,
                dtype,
                value: resolve_scalar(value, dtype)?,
            }),
            (ArgumentKind::Scalar, _, _, None) => Err("a scalar needs `value`".to_owned()),
            (ArgumentKind::Scalar, ..) => {
                Err("a scalar has no `shape`, `role` or `init`".to_owned())
            }
        }
    }

    fn bind(&self, scope: Scope<'_>) -> Result<Argument, InvalidConfig> {
        match self {
            Self::Buffer {
                name,
                dtype,
                shape,
                role,
                init,
            } => Ok(Argument::Buffer {
                name: name.clone(),
                dtype: *dtype,
                shape: bind_shape(name, shape, scope)?,
                role: *role,
                init: *init,
            }),
            Self::Scalar { name, dtype, value } => Ok(Argument::Scalar {
                name: name.clone(),
                dtype: *dtype,
                value: bind_scalar(name, *dtype, value, scope)?,
            }),
        }
    }
}

/// Evaluates the sizes of all arguments. Fails if they are too large together.
pub(super) fn bind_all(
    arguments: &[ArgumentSpec],
    scope: Scope<'_>,
) -> Result<Vec<Argument>, InvalidConfig> {
    let bound = arguments
        .iter()
        .map(|argument| argument.bind(scope))
        .collect::<Result<Vec<_>, InvalidConfig>>()?;
    let bytes = bound.iter().fold(0, |sum: u64, argument| match argument {
        Argument::Buffer { dtype, shape, .. } => {
            sum.saturating_add(shape.iter().fold(size_bytes(*dtype), |product, extent| {
                product.saturating_mul(*extent)
            }))
        }
        Argument::Scalar { .. } => sum,
    });
    if bytes > MAX_BYTES {
        let reason = format!("buffers of {bytes} bytes, more than {MAX_BYTES}");
        return Err(InvalidConfig::new("size", reason));
    }
    Ok(bound)
}

fn bind_shape(
    name: &str,
    shape: &[Expression],
    scope: Scope<'_>,
) -> Result<Vec<u64>, InvalidConfig> {
    let invalid = |reason: String| InvalidConfig::new("size", format!("`{name}`: {reason}"));
    shape
        .iter()
        .map(|extent| {
            let value = scope.evaluate(extent).map_err(invalid)?;
            u64::try_from(value)
                .ok()
                .filter(|value| *value > 0)
                .ok_or_else(|| invalid(format!("`{extent}` is {value}, expected 1 or more")))
        })
        .collect()
}

fn bind_scalar(
    name: &str,
    dtype: Dtype,
    value: &ScalarSpec,
    scope: Scope<'_>,
) -> Result<Value, InvalidConfig> {
    let invalid = |reason: String| InvalidConfig::new("value", format!("`{name}`: {reason}"));
    let expression = match value {
        ScalarSpec::Fixed(value) => return Ok(Value::Float(*value)),
        ScalarSpec::Computed(expression) => expression,
    };
    let value = scope.evaluate(expression).map_err(invalid)?;
    match integer_range(dtype) {
        None => Ok(Value::Float(to_f64(value))),
        Some((minimum, maximum)) if (minimum..=maximum).contains(&value) => {
            Ok(Value::Integer(value))
        }
        Some(_) => Err(invalid(format!("{value} does not fit its type"))),
    }
}

fn resolve_scalar(value: ScalarValue, dtype: Dtype) -> Result<ScalarSpec, String> {
    match value {
        ScalarValue::Number(Value::Integer(value)) => {
            Ok(ScalarSpec::Computed(Expression::literal(value)))
        }
        ScalarValue::Number(Value::Float(value)) if integer_range(dtype).is_some() => {
            Err(format!("value {value} is not an integer"))
        }
        ScalarValue::Number(Value::Float(value)) => Ok(ScalarSpec::Fixed(value)),
        ScalarValue::Text(text) => Expression::parse(&text).map(ScalarSpec::Computed),
    }
}

/// Minimum and maximum of an integer type; `None` for floating point.
fn integer_range(dtype: Dtype) -> Option<(i64, i64)> {
    Some(match dtype {
        Dtype::F64 | Dtype::F32 | Dtype::F16 | Dtype::Bf16 => return None,
        Dtype::I64 => (i64::MIN, i64::MAX),
        Dtype::I32 => (i32::MIN.into(), i32::MAX.into()),
        Dtype::I16 => (i16::MIN.into(), i16::MAX.into()),
        Dtype::I8 => (i8::MIN.into(), i8::MAX.into()),
        Dtype::U8 => (0, u8::MAX.into()),
    })
}

fn size_bytes(dtype: Dtype) -> u64 {
    match dtype {
        Dtype::F64 | Dtype::I64 => 8,
        Dtype::F32 | Dtype::I32 => 4,
        Dtype::F16 | Dtype::Bf16 | Dtype::I16 => 2,
        Dtype::I8 | Dtype::U8 => 1,
    }
}

/// Small random numbers other than zero, because some devices multiply faster by zero.
fn default_init(dtype: Dtype, role: Role) -> Init {
    match (role, integer_range(dtype)) {
        (Role::Out, _) => Init::Constant { value: 0.0 },
        (_, None) => Init::Uniform {
            low: -1.0,
            high: 1.0,
        },
        (_, Some(_)) => Init::Uniform {
            low: 1.0,
            high: 15.0,
        },
    }
}

/// Parses `uniform(low, high)`, `constant(value)` or `count(modulus)`. The values must be in the range of
/// the type.
fn parse_init(text: &str, dtype: Dtype) -> Result<Init, String> {
    let fault = || {
        format!(
            "invalid init `{text}`, expected `uniform(low, high)`, `constant(value)` or `count(modulus)`"
        )
    };
    let (function, rest) = text.trim().split_once('(').ok_or_else(fault)?;
    let inner = rest.strip_suffix(')').ok_or_else(fault)?;
    let numbers = inner
        .split(',')
        .map(|number| number.trim().parse::<f64>().ok().filter(|n| n.is_finite()))
        .collect::<Option<Vec<f64>>>()
        .ok_or_else(fault)?;
    let init = match (function.trim(), numbers.as_slice()) {
        ("uniform", [low, high]) if low > high => {
            return Err(format!("init `{text}`: {low} is above {high}"));
        }
        ("uniform", [low, high]) => Init::Uniform {
            low: *low,
            high: *high,
        },
        ("constant", [value]) => Init::Constant { value: *value },
        ("count", [_]) => match inner.trim().parse() {
            Ok(modulus) if modulus > 0 => Init::Count { modulus },
            _ => {
                return Err(format!(
                    "init `{text}`: the modulus must be an integer above 0"
                ));
            }
        },
        _ => return Err(fault()),
    };
    if let Some((minimum, maximum)) = integer_range(dtype) {
        let (minimum, maximum) = (to_f64(minimum), to_f64(maximum));
        let fits = |value: f64| value.fract() == 0.0 && (minimum..=maximum).contains(&value);
        let all_fit = match init {
            Init::Uniform { low, high } => fits(low) && fits(high),
            Init::Constant { value } => fits(value),
            Init::Count { modulus } => fits(to_f64(modulus - 1)),
        };
        if !all_fit {
            return Err(format!("init `{text}`: its values do not fit the type"));
        }
    }
    Ok(init)
}
