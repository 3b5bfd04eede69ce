//! Attacks of hostile kernels inside the sandbox, and of hostile sources inside the compiler.
//!
//! Each kernel exits with a distinct code if a forbidden operation succeeds.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use serde_json::json;

use super::measure_failures::{has, kernel, outcome, run, trial};

const HEAD: &str = "#define _GNU_SOURCE\n#include <errno.h>\n#include <fcntl.h>\n#include <signal.h>\n\
    #include <sys/stat.h>\n#include <sys/syscall.h>\n#include <sys/time.h>\n#include <sys/xattr.h>\n#include <time.h>\n";

/// Returns whether the system has both parts of the sandbox.
fn is_confined() -> bool {
    let ran = run(&trial("c", &kernel("")), &[]);
    let both = has(&ran, "seccomp") && has(&ran, "landlock");
    if !both {
        eprintln!("skipped: no seccomp or no Landlock here");
    }
    both
}

/// Asserts that all parts of an attack fail, and that the kernel is timed afterwards.
fn assert_harmless(attack: &str) {
    let text = format!("{HEAD}{}", kernel(attack));
    let outcome = outcome(&trial("c", &text), &[]);
    assert_eq!(outcome["error_no"], 0, "{outcome}");
}

#[test]
fn a_kernel_cannot_read_other_processes() {
    if !is_confined() {
        return;
    }
    let attack = r#"
        if (getenv("AWS_SECRET_ACCESS_KEY")) exit(41);
        const char *parts[] = {"environ", "mem", "maps", "auxv"};
        for (int part = 0; part < 4; part++) {
            char path[64], bytes[4096];
            snprintf(path, sizeof path, "/proc/%d/%s", (int)getppid(), parts[part]);
            int file = open(path, O_RDONLY);
            if (file >= 0 && part == 1) exit(42);
            if (file >= 0 && read(file, bytes, sizeof bytes) > 0) exit(43 + part);
        }
    "#;
    assert_harmless(attack);
}

#[test]
fn a_kernel_cannot_read_user_files() {
    if !is_confined() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let secret = home.path().join("credentials");
    std::fs::write(&secret, "aws_secret_access_key").unwrap();
    let attack = format!(
        "if (open(\"{}\", O_RDONLY) >= 0) exit(41); if (open(\"/etc/shadow\", O_RDONLY) >= 0) exit(42);\n\
         if (open(\"/etc/passwd\", O_RDONLY) >= 0) exit(43);",
        secret.display()
    );
    assert_harmless(&attack);
}

#[test]
fn a_kernel_can_signal_only_itself() {
    if !is_confined() {
        return;
    }
    // Signal 0 only checks the permission.
    let attack = r"
        pid_t parent = getppid();
        siginfo_t info; memset(&info, 0, sizeof info); info.si_code = -60;
        if (kill(parent, 0) == 0) exit(41);
        if (kill(0, 0) == 0) exit(42);
        if (syscall(SYS_tkill, parent, 0) == 0) exit(43);
        if (syscall(SYS_tgkill, parent, parent, 0) == 0) exit(44);
        if (syscall(SYS_rt_sigqueueinfo, parent, 0, &info) == 0) exit(45);
        if (syscall(SYS_rt_tgsigqueueinfo, parent, parent, 0, &info) == 0) exit(46);
        int file = syscall(434, parent, 0);
        if (file >= 0 && syscall(424, file, 0, (void *)0, 0) == 0) exit(47);
        struct { unsigned long soft, hard; } limit = {1, 1};
        if (syscall(SYS_prlimit64, parent, 0, (void *)0, &limit) == 0) exit(48);
        if (kill(getpid(), 0) != 0) exit(49);
        signal(SIGUSR1, SIG_IGN);
        if (raise(SIGUSR1) != 0) exit(50);
    ";
    assert_harmless(attack);
}

#[test]
fn a_kernel_cannot_change_file_attributes() {
    if !is_confined() {
        return;
    }
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let before = std::fs::metadata(&file).unwrap();
    let attack = format!(
        r#"
        const char *path = "{}";
        struct timespec times[2] = {{{{1, 0}}, {{1, 0}}}};
        if (chmod(path, 0777) == 0) exit(41);
        if (fchmodat(AT_FDCWD, path, 0777, 0) == 0) exit(42);
        if (syscall(452, AT_FDCWD, path, 0777, 0) == 0) exit(43);
        if (chown(path, 7, 7) == 0 || lchown(path, 7, 7) == 0) exit(44);
        if (fchownat(AT_FDCWD, path, 7, 7, 0) == 0) exit(45);
        if (utimensat(AT_FDCWD, path, times, 0) == 0) exit(46);
        if (setxattr(path, "user.x", "y", 1, 0) == 0) exit(47);
        if (unlink(path) == 0 || truncate(path, 0) == 0 || rename(path, "own") == 0) exit(48);
        if (link(path, "own") == 0) exit(49);
    "#,
        file.display()
    );
    assert_harmless(&attack);
    let after = std::fs::metadata(&file).unwrap();
    assert_eq!(before.permissions().mode(), after.permissions().mode());
    assert_eq!((before.uid(), before.mtime()), (after.uid(), after.mtime()));
}

#[test]
fn a_kernel_run_by_root_cannot_change_the_machine() {
    if !is_confined() {
        return;
    }
    let attack = r#"
        struct timespec now; char name[256] = {0};
        clock_gettime(CLOCK_REALTIME, &now);
        gethostname(name, sizeof name - 1);
        if (syscall(SYS_clock_settime, CLOCK_REALTIME, &now) == 0) exit(41);
        if (sethostname(name, strlen(name)) == 0) exit(42);
        if (chroot("/") == 0) exit(43);
        if (syscall(SYS_mount, "none", "/mnt", "tmpfs", 0, 0) == 0) exit(44);
        if (syscall(SYS_umount2, "/mnt/none", 0) == 0 || errno != EPERM) exit(45);
        if (setuid(1) == 0) exit(46);
        if (syscall(SYS_bpf, 0, 0, 0) >= 0 || errno != EPERM) exit(47);
        if (syscall(SYS_init_module, 0, 0, "") == 0 || errno != EPERM) exit(48);
        #ifdef __x86_64__
        /* The other set of numbers for the same calls. */
        if (syscall(0x40000000 + 39) >= 0 || errno != ENOSYS) exit(49);
        #endif
    "#;
    assert_harmless(attack);
}

/// A source that includes or assembles a file would copy it into the library, and the kernel could read it.
#[test]
#[ignore = "full tier"]
fn a_compiler_cannot_read_user_files() {
    if !is_confined() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let secret = home.path().join("credentials");
    std::fs::write(&secret, "int aws_secret_access_key;\n").unwrap();
    let secret = secret.display();
    for hostile in [
        format!("#include \"{secret}\"\n"),
        format!("__asm__(\".incbin \\\"{secret}\\\"\");\n"),
    ] {
        let text = format!("{hostile}{}", kernel(""));
        let failed = outcome(&trial("c", &text), &[]);
        assert_eq!(failed["error_no"], 2, "{failed}");
    }
    let text = format!("#include \"{secret}\"\n{}", kernel(""));
    let allowed = outcome(&trial("c", &text), &["--no-sandbox"]);
    assert_eq!(allowed["error_no"], 0, "{allowed}");
}

/// Flags that run a program, load one into the compiler, or access files elsewhere.
#[test]
fn flags_beyond_code_generation_are_rejected() {
    for flag in [
        "-wrapper",
        "-wrapper,sh,-c,true",
        "-B/tmp",
        "-fplugin=/tmp/x.so",
        "-specs=/tmp/x",
        "@/tmp/x",
        "-x",
        "-o/tmp/x",
        "-include/etc/passwd",
        "-Wl,-rpath,/tmp",
        "-I/home/somebody",
        "-I../..",
        "/tmp/x.c",
    ] {
        let mut trial = trial("c", &kernel(""));
        trial["program"]["flags"] = json!(["-O2", flag]);
        let ran = run(&trial, &[]);
        assert!(!ran.success && ran.outcomes.is_empty(), "{flag}");
        assert!(
            ran.stderr.contains(&format!("program.flags: `{flag}`")),
            "{}",
            ran.stderr
        );
    }
}
