//! Which flags a manifest may give to a compiler: those that change the code that is made.
//!
//! A manifest comes from a store, a colleague, a web page. Compilers have flags that run a program
//! (`-wrapper`), load one (`-fplugin=`), take further flags from a file (`@file`, `-specs=`), or read and
//! write files elsewhere. So what is not known to be harmless is refused. Who needs more names it himself,
//! behind the compiler in `CC` or `CXX`.

use super::trial::Language;

/// Flags of C and C++ as they are.
const PLAIN: &[&str] = &["-ansi", "-pedantic", "-pthread", "-w"];

/// Beginnings of flags of C and C++ whose rest is a word.
const BEGINNINGS: &[&str] = &[
    "--param=", "-O", "-W", "-f", "-g", "-m", "-std=", "-stdlib=",
];

/// Of those, the ones that name a program, a library, or files to write.
const MORE_THAN_CODE: &[&str] = &[
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

/// Beginnings of flags whose rest is a folder or a file.
const PLACES: &[&str] = &["-I", "-L", "-include", "-iquote", "-isystem"];

/// Flags of NVRTC as they are, with one dash or two.
const CUDA_PLAIN: &[&str] = &[
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

/// Beginnings of flags of NVRTC whose rest is a word, with one dash or two.
const CUDA_BEGINNINGS: &[&str] = &[
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

/// Why a flag is refused; `None` where it may be given.
pub(super) fn fault(language: Language, flag: &str) -> Option<String> {
    let allowed = match language {
        Language::C | Language::Cxx => is_allowed(flag),
        Language::Cuda => is_allowed_for_cuda(flag),
    };
    (!allowed).then(|| match language {
        Language::C | Language::Cxx => format!(
            "`{flag}` is no flag that a manifest may give: only those that change the code that is made\n\
             hint: a compiler with flags of your own is named by CC or CXX: CC=\"gcc {flag}\""
        ),
        Language::Cuda => format!(
            "`{flag}` is no flag that a manifest may give: only those that change the code that is made"
        ),
    })
}

fn is_allowed(flag: &str) -> bool {
    let begins = |with: &&str| flag.starts_with(*with);
    let rest_of = |with: &str| flag.strip_prefix(with).filter(|rest| !rest.is_empty());
    if PLAIN.contains(&flag) {
        return true;
    }
    if let Some(place) = PLACES.iter().find_map(|with| rest_of(with)) {
        return is_inside(place);
    }
    if let Some(library) = rest_of("-l") {
        return is_word(library);
    }
    // Any text may stand for a macro: it is an argument of its own.
    if rest_of("-D").or_else(|| rest_of("-U")).is_some() {
        return true;
    }
    BEGINNINGS.iter().any(begins) && !MORE_THAN_CODE.iter().any(begins) && is_word(flag)
}

fn is_allowed_for_cuda(flag: &str) -> bool {
    let Some(name) = flag.strip_prefix("--").or_else(|| flag.strip_prefix('-')) else {
        return false;
    };
    let rest_of = |with: &str| name.strip_prefix(with).filter(|rest| !rest.is_empty());
    if let Some(place) = rest_of("include-path=").or_else(|| rest_of("I")) {
        return is_inside(place);
    }
    let macros = ["define-macro=", "undefine-macro=", "D", "U"];
    CUDA_PLAIN.contains(&name)
        || macros.iter().any(|with| rest_of(with).is_some())
        || (CUDA_BEGINNINGS.iter().any(|with| rest_of(with).is_some()) && is_word(name))
}

/// A value that names no place: neither a path nor a program.
fn is_word(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_ascii_alphanumeric() || "-_+=.,:".contains(c))
        && !text.contains("..")
}

/// A place among the program's own sources, or among what the system has installed.
fn is_inside(place: &str) -> bool {
    let climbs = place.split('/').any(|part| part == "..");
    let installed = ["/usr/", "/opt/"]
        .iter()
        .any(|folder| place.starts_with(folder));
    !climbs && (installed || !place.starts_with(['/', '=', '~', '$', '-']))
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
            assert_eq!(fault(Language::C, flag), None, "{flag}");
        }
        let cuda = "--gpu-architecture=sm_90a -arch=sm_90 --use_fast_math -use_fast_math --maxrregcount=64 -DX=1 --define-macro=X=1 \
            --std=c++17 --fmad=false -I. --include-path=/usr/local/cuda/include -lineinfo --restrict";
        for flag in cuda.split_whitespace() {
            assert_eq!(fault(Language::Cuda, flag), None, "{flag}");
        }
    }

    #[test]
    fn flags_that_do_more_are_refused() {
        let c = "-wrapper -wrapper,sh -B/tmp -B -fplugin=x -fplugin-arg-x-y -fpass-plugin=x -specs=x -spec @x -x -xc -o -ox \
            -include -include/etc/passwd -imacrosx -Wl,-rpath,/x -Wa,-I/x -Wp,-MD,x -Xlinker -I -I/home/x -I../x -Ia/../../b -I~x \
            -I=x -L/etc -l -l/etc/x -l../x -D -fmodule-mapper=|sh -fuse-ld=/tmp/ld -fdump-tree-all=/tmp/x -fopt-info=/x \
            -fprofile-use=../x -mllvm -gcc-toolchain=x -g/x -T x.c /x.o -save-temps -MD -MFx -E -S -c -dumpdir -v - --sysroot=/x";
        for flag in c.split_whitespace().chain(["", " -O2", "-O2 -x", "-f\n"]) {
            assert!(fault(Language::C, flag).is_some(), "{flag}");
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
            assert!(fault(Language::Cuda, flag).is_some(), "{flag}");
        }
    }
}
