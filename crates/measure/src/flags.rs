//! Compiler flags that a manifest may set: those that only change the generated code.
//!
//! A manifest can come from a store, a colleague or a web page. Compilers have flags that run a program
//! (`-wrapper`), load one (`-fplugin=`), read further flags from a file (`@file`, `-specs=`), or read and
//! write other files. So flags that are not known to be harmless are rejected. Users can add more flags
//! after the compiler in `CC` or `CXX`.

use super::trial::Language;

/// Complete flags of C and C++.
const ALLOWED_FLAGS: &[&str] = &["-ansi", "-pedantic", "-pthread", "-w"];

/// Prefixes of flags of C and C++ that end with a plain value.
const ALLOWED_PREFIXES: &[&str] = &[
    "--param=", "-O", "-W", "-f", "-g", "-m", "-std=", "-stdlib=",
];

/// Exceptions to these prefixes: flags with a program, a library or an output file.
const DENIED_PREFIXES: &[&str] = &[
    "-Wa,",
    "-Wl,",
    "-Wp,",
    "-fdump",
    "-fmodule",
    "-fpass-plugin",
    "-fplugin",
    "-gcc",
    "-mllvm",
    "-mmlir",
];

/// Prefixes of flags that end with a folder or a file.
const PATH_PREFIXES: &[&str] = &["-I", "-L", "-include", "-iquote", "-isystem"];

/// Complete flags of NVRTC, with one dash or two.
const CUDA_FLAGS: &[&str] = &[
    "G",
    "device-debug",
    "disable-warnings",
    "dlto",
    "dopt",
    "extra-device-vectorization",
    "generate-line-info",
    "lineinfo",
    "restrict",
    "use_fast_math",
    "w",
];

/// Prefixes of NVRTC flags that end with a plain value, with one dash or two.
const CUDA_PREFIXES: &[&str] = &[
    "arch=",
    "builtin-",
    "diag-",
    "dopt=",
    "extra-device-vectorization=",
    "fmad=",
    "ftz=",
    "gpu-architecture=",
    "jump-table-density=",
    "maxrregcount=",
    "prec-div=",
    "prec-sqrt=",
    "std=",
    "use_fast_math=",
];

/// Reason why a flag is rejected; `None` if it is allowed.
pub(super) fn rejection_reason(language: Language, flag: &str) -> Option<String> {
    let allowed = match language {
        Language::C | Language::Cxx => is_allowed(flag),
        Language::Cuda => is_allowed_for_cuda(flag),
    };
    (!allowed).then(|| match language {
        Language::C | Language::Cxx => format!(
            "`{flag}` is not an allowed flag, expected one that affects code generation\n\
             hint: set other flags in CC or CXX: CC=\"gcc {flag}\""
        ),
        Language::Cuda => {
            format!("`{flag}` is not an allowed flag, expected one that affects code generation")
        }
    })
}

fn is_allowed(flag: &str) -> bool {
    let begins = |prefix: &&str| flag.starts_with(*prefix);
    let value_after = |prefix: &str| flag.strip_prefix(prefix).filter(|rest| !rest.is_empty());
    if ALLOWED_FLAGS.contains(&flag) {
        return true;
    }
    if let Some(path) = PATH_PREFIXES.iter().find_map(|prefix| value_after(prefix)) {
        return is_allowed_path(path);
    }
    if let Some(library) = value_after("-l") {
        return is_plain_value(library);
    }
    // A macro can have any text, because it is passed as one argument.
    if value_after("-D").or_else(|| value_after("-U")).is_some() {
        return true;
    }
    ALLOWED_PREFIXES.iter().any(begins)
        && !DENIED_PREFIXES.iter().any(begins)
        && is_plain_value(flag)
}

fn is_allowed_for_cuda(flag: &str) -> bool {
    let Some(name) = flag.strip_prefix("--").or_else(|| flag.strip_prefix('-')) else {
        return false;
    };
    let value_after = |prefix: &str| name.strip_prefix(prefix).filter(|rest| !rest.is_empty());
    if let Some(path) = value_after("include-path=").or_else(|| value_after("I")) {
        return is_allowed_path(path);
    }
    let macros = ["define-macro=", "undefine-macro=", "D", "U"];
    CUDA_FLAGS.contains(&name)
        || macros.iter().any(|prefix| value_after(prefix).is_some())
        || (CUDA_PREFIXES
            .iter()
            .any(|prefix| value_after(prefix).is_some())
            && is_plain_value(name))
}

/// Returns whether a value is neither a path nor a program.
fn is_plain_value(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_ascii_alphanumeric() || "-_+=.,:".contains(c))
        && !text.contains("..")
}

/// Returns whether a path is among the program's own sources or in a system folder.
fn is_allowed_path(path: &str) -> bool {
    let climbs = path.split('/').any(|part| part == "..");
    let installed = ["/usr/", "/opt/"]
        .iter()
        .any(|folder| path.starts_with(folder));
    !climbs && (installed || !path.starts_with(['/', '=', '~', '$', '-']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_that_change_the_code_are_allowed() {
        let c = "-O3 -Ofast -march=native -mtune=znver3 -mavx512f -ffast-math -fno-math-errno -fopenmp -funroll-loops \
            -flto -flto=auto -fvisibility=hidden -fprofile-update=atomic -DX=1 -DF(x)=x/2 -UNDEBUG -std=c11 -std=gnu++20 \
            -Wall -Wno-unused -Werror=vla -I. -Iinclude/a -I/usr/include/eigen3 -L/usr/lib/x -isystem/opt/x/include \
            -includeown.h -lm -lopenblas -l:libx.so.3 -pthread -g -ggdb3 -gdwarf-5 -w --param=l1-cache-size=32 \
            -fopenmp-simd -mprefer-vector-width=512 -fuse-ld=lld";
        for flag in c.split_whitespace() {
            assert_eq!(rejection_reason(Language::C, flag), None, "{flag}");
        }
        let cuda = "--gpu-architecture=sm_90a -arch=sm_90 --use_fast_math -use_fast_math --maxrregcount=64 -DX=1 --define-macro=X=1 \
            --std=c++17 --fmad=false -I. --include-path=/usr/local/cuda/include -lineinfo --restrict";
        for flag in cuda.split_whitespace() {
            assert_eq!(rejection_reason(Language::Cuda, flag), None, "{flag}");
        }
    }

    #[test]
    fn flags_with_side_effects_are_rejected() {
        let c = "-wrapper -wrapper,sh -B/tmp -B -fplugin=x -fplugin-arg-x-y -fpass-plugin=x -specs=x -spec @x -x -xc -o -ox \
            -include -include/etc/passwd -imacrosx -Wl,-rpath,/x -Wa,-I/x -Wp,-MD,x -Xlinker -I -I/home/x -I../x -Ia/../../b -I~x \
            -I=x -L/etc -l -l/etc/x -l../x -D -fmodule-mapper=|sh -fuse-ld=/tmp/ld -fdump-tree-all=/tmp/x -fopt-info=/x \
            -fprofile-use=../x -mllvm -gcc-toolchain=x -g/x -T x.c /x.o -save-temps -MD -MFx -E -S -c -dumpdir -v - --sysroot=/x";
        for flag in c.split_whitespace().chain(["", " -O2", "-O2 -x", "-f\n"]) {
            assert!(rejection_reason(Language::C, flag).is_some(), "{flag}");
        }
        for flag in [
            "--pre-include=/x",
            "-include=x",
            "--time=x",
            "--create-pch=x",
            "-fdevice-time-trace=x",
            "-I/etc",
            "x.cu",
            "--std=../x",
        ] {
            assert!(rejection_reason(Language::Cuda, flag).is_some(), "{flag}");
        }
    }
}
