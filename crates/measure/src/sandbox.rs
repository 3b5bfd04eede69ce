#![expect(
    unsafe_code,
    reason = "filters are installed with a flag that their crate does not offer, and capabilities given up"
)]
//! What kernels and compilers may not do to the rest of the machine.
//!
//! | | kernel | compiler |
//! |---|---|---|
//! | network, other processes' memory and signals, attributes of files, the machine itself | no | no |
//! | files | reads what the system has installed, writes in its folder | the same |
//! | other programs | no | those that the system has installed: its own passes |
//!
//! * Landlock closes files and other processes, seccomp system calls; capabilities are given up, so that
//!   root is no other user here.
//! * System calls that are not listed are allowed: a kernel of the system with a hole is a hole here.
//! * Where the system lacks Landlock, files can be read, and written where the user may.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetStatus, Scope, path_beneath_rules,
};
use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, sock_filter,
};

/// Who is confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Confined {
    Kernel,
    Compiler,
}

/// Calls that crates do not name yet. From 424 on numbers are the same on all architectures.
mod new {
    use nix::libc::c_long;

    pub(super) const SETXATTRAT: c_long = 463;
    pub(super) const REMOVEXATTRAT: c_long = 466;
    pub(super) const OPEN_TREE_ATTR: c_long = 467;
    pub(super) const FILE_SETATTR: c_long = 469;
}

/// Denied to all, whatever the arguments.
const DENIED: &[libc::c_long] = &[
    // The network, and what comes around this filter.
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_io_uring_setup,
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_kcmp,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_setsid,
    libc::SYS_setpgid,
    libc::SYS_setpriority,
    libc::SYS_shmctl,
    libc::SYS_semctl,
    libc::SYS_msgctl,
    libc::SYS_mq_unlink,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Attributes of files.
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchmodat2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    libc::SYS_mknodat,
    new::SETXATTRAT,
    new::REMOVEXATTRAT,
    new::FILE_SETATTR,
    // Being somebody else.
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setreuid,
    libc::SYS_setregid,
    libc::SYS_setresuid,
    libc::SYS_setresgid,
    libc::SYS_setfsuid,
    libc::SYS_setfsgid,
    libc::SYS_setgroups,
    libc::SYS_capset,
    // The machine.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_chroot,
    libc::SYS_pivot_root,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    new::OPEN_TREE_ATTR,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_settimeofday,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_syslog,
    libc::SYS_vhangup,
];

/// The same that only some processors' systems have.
#[cfg(target_arch = "x86_64")]
const DENIED_HERE: &[libc::c_long] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_mknod,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_kexec_file_load,
];
#[cfg(not(target_arch = "x86_64"))]
const DENIED_HERE: &[libc::c_long] = &[];

/// Denied to kernels: other programs.
const PROGRAMS: &[libc::c_long] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
];

/// Confines the calling thread, and all that it starts, for good: to `folder` for writing, to that and
/// `readable` for reading. Gives the names of what the system has.
pub(super) fn enter(confined: Confined, folder: &Path, readable: &[PathBuf]) -> Vec<String> {
    give_up_capabilities();
    let mut active = Vec::new();
    if restrict_files(confined, folder, readable) == Some(true) {
        active.push("landlock".to_owned());
    }
    if deny_calls(confined).is_some() {
        active.push("seccomp".to_owned());
    }
    active
}

/// Whether files are out of reach from now on, and processes that are not confined with this one.
fn restrict_files(confined: Confined, folder: &Path, readable: &[PathBuf]) -> Option<bool> {
    let all = AccessFs::from_all(ABI::V5);
    let reading = AccessFs::ReadFile | AccessFs::ReadDir;
    let installed = match confined {
        Confined::Kernel => reading,
        Confined::Compiler => reading | AccessFs::Execute,
    };
    let writing = AccessFs::from_write(ABI::V5);
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)
        .ok()?
        .scope(Scope::Signal | Scope::AbstractUnixSocket)
        .ok()?
        .create()
        .ok()?
        .add_rules(path_beneath_rules([folder], writing | reading))
        .ok()?
        .add_rules(path_beneath_rules(["/dev/null"], writing | reading))
        .ok()?
        .add_rules(path_beneath_rules(readable, installed))
        .ok()?
        .restrict_self()
        .ok()?;
    Some(status.ruleset != RulesetStatus::NotEnforced)
}

fn deny_calls(confined: Confined) -> Option<()> {
    #[cfg(target_arch = "x86_64")]
    install(&other_numbers())?;
    let all = DENIED.iter().chain(DENIED_HERE);
    let mut rules: BTreeMap<libc::c_long, Vec<SeccompRule>> =
        all.map(|call| (*call, Vec::new())).collect();
    let own = u64::from(std::process::id());
    let is_other = || Some(vec![rule(&[(0, SeccompCmpOp::Ne, own)])?]);
    // Its own process goes by 0, too.
    let other = rule(&[(0, SeccompCmpOp::Ne, own), (0, SeccompCmpOp::Ne, 0)])?;
    rules.insert(libc::SYS_prlimit64, vec![other]);
    for call in [libc::SYS_kill, libc::SYS_tkill, libc::SYS_rt_sigqueueinfo] {
        rules.insert(call, is_other()?);
    }
    if confined == Confined::Kernel {
        // glibc falls back to `clone` (whose flags a filter can read) only where `clone3` is missing.
        let missing = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
        install(&filter(missing, libc::ENOSYS)?)?;
        rules.extend(PROGRAMS.iter().map(|call| (*call, Vec::new())));
        let thread = u64::try_from(libc::CLONE_THREAD).ok()?;
        let starts_process = rule(&[(0, SeccompCmpOp::MaskedEq(thread), 0)])?;
        rules.insert(libc::SYS_clone, vec![starts_process]);
        // The passes of a compiler have numbers of their own; Landlock keeps their signals among them.
        for call in [libc::SYS_tgkill, libc::SYS_rt_tgsigqueueinfo] {
            rules.insert(call, is_other()?);
        }
    }
    install(&filter(rules, libc::EPERM)?)
}

/// All conditions together: argument, comparison, value.
fn rule(conditions: &[(u8, SeccompCmpOp, u64)]) -> Option<SeccompRule> {
    let conditions = conditions.iter().map(|(argument, operator, value)| {
        SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, operator.clone(), *value).ok()
    });
    SeccompRule::new(conditions.collect::<Option<_>>()?).ok()
}

fn filter(rules: BTreeMap<libc::c_long, Vec<SeccompRule>>, errno: i32) -> Option<BpfProgram> {
    let denied = SeccompAction::Errno(u32::try_from(errno).ok()?);
    let here = std::env::consts::ARCH.try_into().ok()?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, denied, here).ok()?;
    filter.try_into().ok()
}

/// Denies all calls by the numbers of x32, under which every call can be made once more.
#[cfg(target_arch = "x86_64")]
fn other_numbers() -> BpfProgram {
    /// `__X32_SYSCALL_BIT` of Linux.
    const X32: u32 = 0x4000_0000;
    let instruction = |code: u32, jt, k| sock_filter {
        code: u16::try_from(code).unwrap_or_default(),
        jt,
        jf: 0,
        k,
    };
    vec![
        // The number of the call is the first word of what a filter sees.
        instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        instruction(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 1, X32),
        instruction(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
        instruction(
            libc::BPF_RET | libc::BPF_K,
            0,
            libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned(),
        ),
    ]
}

/// Installs a filter without the mitigation against speculative store bypass, which kernels before 5.16
/// turn on with it: the processor would no longer be the one that is to be measured.
fn install(filter: &BpfProgram) -> Option<()> {
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).ok()?,
        filter: filter.as_ptr().cast_mut().cast(),
    };
    // SAFETY: `program` points to `len` instructions laid out as the system's own (`repr(C)` of the same
    // fields), which the call only reads, and both live until it returns.
    let result = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW,
            &raw const program,
        )
    };
    (result == 0).then_some(())
}

/// The system's `struct __user_cap_header_struct`.
#[repr(C)]
struct CapabilityHeader {
    version: u32,
    process: i32,
}

/// The system's `struct __user_cap_data_struct`: 32 of the capabilities.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Capabilities {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Keeps what taking the core needs, and nothing else: without the others root may not look into
/// processes that have them, nor write what is not its own.
fn give_up_capabilities() -> Option<()> {
    /// `_LINUX_CAPABILITY_VERSION_3`: two words of capabilities.
    const VERSION: u32 = 0x2008_0522;
    /// `CAP_SYS_NICE`.
    const NICE: u32 = 1 << 23;
    let mut header = CapabilityHeader {
        version: VERSION,
        process: 0,
    };
    let mut words = [Capabilities::default(); 2];
    // SAFETY: the call writes two words of capabilities, for which there is room, and reads the header.
    let read = unsafe { libc::syscall(libc::SYS_capget, &raw mut header, words.as_mut_ptr()) };
    let kept = words.first().map_or(0, |word| word.permitted & NICE);
    let words = [
        Capabilities {
            effective: kept,
            permitted: kept,
            inheritable: 0,
        },
        Capabilities::default(),
    ];
    // SAFETY: the call only reads the header and two words.
    let set = unsafe { libc::syscall(libc::SYS_capset, &raw mut header, words.as_ptr()) };
    (read == 0 && set == 0).then_some(())
}
