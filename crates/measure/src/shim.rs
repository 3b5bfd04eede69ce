//! Shim in C around a kernel, so that every signature is called the same way.
//!
//! It includes the source. So the compiler sees the actual declaration, converts each argument to the
//! parameter's type, and rejects a wrong number of arguments. Therefore a C++ entry works with or without
//! `extern "C"`, and a C entry with array parameters.

use std::fmt::Write;

use super::trial::{Argument, Dtype, Language};

/// Function that the worker calls: `void __tsql_entry(void **arguments)`.
pub(super) const ENTRY: &str = "__tsql_entry";

/// File name of the shim in compiler messages.
pub(super) const FILE_STEM: &str = "tsql_entry";

/// A pointer that converts to any pointer type; C converts implicitly.
const ANY_POINTER: &str = "namespace { struct tsql_any { void *at; \
    template <class T> operator T *() const { return static_cast<T *>(at); } }; }";

/// Generates the shim for `entry`, which is declared in the file `source`.
pub(super) fn generate_shim(
    language: Language,
    source: &str,
    entry: &str,
    arguments: &[Argument],
) -> String {
    let is_c = language == Language::C;
    let mut text = format!("#include \"{source}\"\n#line 1 \"{FILE_STEM}\"\n");
    // An undeclared entry would be called with guessed types.
    if is_c {
        text.push_str("#pragma GCC diagnostic error \"-Wimplicit-function-declaration\"\n");
    } else {
        text.push_str(ANY_POINTER);
        text.push_str("\nextern \"C\" ");
    }
    let passed: Vec<String> = (0..)
        .zip(arguments)
        .map(|(index, argument)| argument_expression(is_c, index, argument))
        .collect();
    // An exception that leaves the kernel ends the process, with a message that names the exception.
    let never_throws = if is_c { "" } else { " noexcept" };
    let _ = write!(
        text,
        "__attribute__((visibility(\"default\"), used)) void {ENTRY}(void **tsql_arguments){never_throws}\n\
         {{ (void)tsql_arguments; {entry}({}); }}\n",
        passed.join(", ")
    );
    text
}

fn argument_expression(is_c: bool, index: usize, argument: &Argument) -> String {
    match argument {
        Argument::Buffer { .. } if is_c => format!("tsql_arguments[{index}]"),
        Argument::Buffer { .. } => format!("tsql_any{{tsql_arguments[{index}]}}"),
        Argument::Scalar { dtype, .. } => {
            format!("*({} *)tsql_arguments[{index}]", scalar_type(*dtype))
        }
    }
}

/// Types predefined by GCC and Clang, because the source may not include `stdint.h`.
fn scalar_type(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F64 => "double",
        // Half precision is passed as `float`, see `values::scalar`.
        Dtype::F32 | Dtype::F16 | Dtype::Bf16 => "float",
        Dtype::I64 => "__INT64_TYPE__",
        Dtype::I32 => "__INT32_TYPE__",
        Dtype::I16 => "__INT16_TYPE__",
        Dtype::I8 => "signed char",
        Dtype::U8 => "unsigned char",
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Init, Role, Value};
    use super::*;

    fn arguments() -> Vec<Argument> {
        let scalar = Argument::Scalar {
            name: "n".into(),
            dtype: Dtype::I64,
            value: Value::Integer(3),
        };
        let buffer = Argument::Buffer {
            name: "A".into(),
            dtype: Dtype::F32,
            shape: vec![3],
            role: Role::In,
            init: Init::Count { modulus: 3 },
        };
        vec![buffer, scalar]
    }

    #[test]
    fn arguments_are_passed_in_order_and_with_their_types() {
        let text = generate_shim(Language::C, "mm.c", "matmul", &arguments());
        assert!(text.starts_with("#include \"mm.c\"\n"));
        assert!(text.contains("matmul(tsql_arguments[0], *(__INT64_TYPE__ *)tsql_arguments[1]);"));
    }

    #[test]
    fn a_cxx_entry_is_called_without_knowing_its_mangled_name() {
        let text = generate_shim(Language::Cxx, "mm.cc", "lib::matmul<4>", &arguments());
        assert!(text.contains("extern \"C\" __attribute__"));
        assert!(text.contains("lib::matmul<4>(tsql_any{tsql_arguments[0]}, "));
    }
}
