#![expect(
    unsafe_code,
    reason = "filters are installed with a flag that their crate does not offer, and capabilities given up"
)]
//! Sandbox for kernels and compilers.
//!
//! | | kernel | compiler |
//! |---|---|---|
//! | network, other processes' memory and signals, attributes of files, the machine itself | no | no |
//! | files | reads installed software, writes in its folder | the same |
//! | other programs | no | installed ones: its own passes |
//!
//! * Landlock restricts files and other processes, seccomp restricts system calls. Capabilities are dropped,
//!   so root has no further rights.
//! * System calls that are not listed are allowed, so vulnerabilities of the system's kernel remain reachable.
//! * Without Landlock, files can be read, and written with the permissions of the user.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetStatus, Scope, path_beneath_rules,
};
use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

/// Kind of confined process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SandboxProfile {
    Kernel,
    Compiler,
}

/// System calls missing from the libc crate, on all architectures or on some. From 424, numbers are the same on all
/// architectures.
mod new {
    use nix::libc::c_long;

    pub(super) const FCHMODAT2: c_long = 452;
    pub(super) const SETXATTRAT: c_long = 463;
    pub(super) const REMOVEXATTRAT: c_long = 466;
    pub(super) const OPEN_TREE_ATTR: c_long = 467;
    pub(super) const FILE_SETATTR: c_long = 469;
}

/// System calls denied to all processes, with any arguments.
const DENIED_CALLS: &[libc::c_long] = &[
    // The network, and calls that bypass this filter.
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
    new::FCHMODAT2,
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
    // Other users' identities.
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

/// Further denied system calls that exist only on this architecture.
#[cfg(target_arch = "x86_64")]
const DENIED_X86_CALLS: &[libc::c_long] = &[
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
const DENIED_X86_CALLS: &[libc::c_long] = &[];

/// System calls denied to kernels: execution of other programs.
const EXEC_CALLS: &[libc::c_long] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
];

/// Permanently confines the calling thread and all its descendants.
///
/// They can write to `folder`, and read it and `readable`. Returns the names of the active restrictions.
pub(super) fn enter(confined: SandboxProfile, folder: &Path, readable: &[PathBuf]) -> Vec<String> {
    drop_capabilities();
    let mut active = Vec::new();
    if restrict_files(confined, folder, readable) == Some(true) {
        active.push("landlock".to_owned());
    }
    if deny_calls(confined).is_some() {
        active.push("seccomp".to_owned());
    }
    active
}

/// Restricts files, and signals and abstract sockets to processes in the sandbox. Returns whether the
/// system enforces at least part of it.
fn restrict_files(confined: SandboxProfile, folder: &Path, readable: &[PathBuf]) -> Option<bool> {
    let all = AccessFs::from_all(ABI::V5);
    let reading = AccessFs::ReadFile | AccessFs::ReadDir;
    let installed = match confined {
        SandboxProfile::Kernel => reading,
        SandboxProfile::Compiler => reading | AccessFs::Execute,
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

fn deny_calls(confined: SandboxProfile) -> Option<()> {
    #[cfg(target_arch = "x86_64")]
    install_filter(&x32_filter())?;
    let all = DENIED_CALLS.iter().chain(DENIED_X86_CALLS);
    let mut rules: BTreeMap<libc::c_long, Vec<SeccompRule>> =
        all.map(|call| (*call, Vec::new())).collect();
    let own_pid = u64::from(std::process::id());
    let is_other = || Some(vec![build_rule(&[(0, SeccompCmpOp::Ne, own_pid)])?]);
    // 0 also refers to the own process.
    let other = build_rule(&[(0, SeccompCmpOp::Ne, own_pid), (0, SeccompCmpOp::Ne, 0)])?;
    rules.insert(libc::SYS_prlimit64, vec![other]);
    for call in [libc::SYS_kill, libc::SYS_tkill, libc::SYS_rt_sigqueueinfo] {
        rules.insert(call, is_other()?);
    }
    if confined == SandboxProfile::Kernel {
        // glibc uses `clone`, whose flags a filter can read, only if `clone3` is missing.
        let missing = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
        install_filter(&build_filter(missing, libc::ENOSYS)?)?;
        rules.extend(EXEC_CALLS.iter().map(|call| (*call, Vec::new())));
        let thread = u64::try_from(libc::CLONE_THREAD).ok()?;
        let starts_process = build_rule(&[(0, SeccompCmpOp::MaskedEq(thread), 0)])?;
        rules.insert(libc::SYS_clone, vec![starts_process]);
        // Passes of a compiler are separate processes; Landlock restricts signals to them.
        for call in [libc::SYS_tgkill, libc::SYS_rt_tgsigqueueinfo] {
            rules.insert(call, is_other()?);
        }
    }
    install_filter(&build_filter(rules, libc::EPERM)?)
}

/// A rule that matches if all conditions (argument, comparison, value) hold.
fn build_rule(conditions: &[(u8, SeccompCmpOp, u64)]) -> Option<SeccompRule> {
    let conditions = conditions.iter().map(|(argument, operator, value)| {
        SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, operator.clone(), *value).ok()
    });
    SeccompRule::new(conditions.collect::<Option<_>>()?).ok()
}

fn build_filter(rules: BTreeMap<libc::c_long, Vec<SeccompRule>>, errno: i32) -> Option<BpfProgram> {
    let denied = SeccompAction::Errno(u32::try_from(errno).ok()?);
    let architecture = std::env::consts::ARCH.try_into().ok()?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, denied, architecture).ok()?;
    filter.try_into().ok()
}

/// Filter that denies all x32 call numbers, which are aliases of the other calls.
#[cfg(target_arch = "x86_64")]
fn x32_filter() -> BpfProgram {
    /// `__X32_SYSCALL_BIT` of Linux.
    const X32: u32 = 0x4000_0000;
    let instruction = |code: u32, jt, k| seccompiler::sock_filter {
        code: u16::try_from(code).unwrap_or_default(),
        jt,
        jf: 0,
        k,
    };
    vec![
        // The call number is the first word of a filter's input.
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

/// Installs a filter without the mitigation for speculative store bypass.
///
/// Kernels before 5.16 enable it together with seccomp, which would change the performance to be measured.
fn install_filter(filter: &BpfProgram) -> Option<()> {
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).ok()?,
        filter: filter.as_ptr().cast_mut().cast(),
    };
    // SAFETY: `program` points to `len` instructions with the system's layout (`repr(C)` of the same
    // fields). The call only reads them, and both live until it returns.
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

/// `struct __user_cap_header_struct` of Linux.
#[repr(C)]
struct CapabilityHeader {
    version: u32,
    process: i32,
}

/// `struct __user_cap_data_struct` of Linux: 32 of the capabilities.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Capabilities {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Drops all capabilities except that for real-time priority.
///
/// Without the others, root cannot access processes that have them, or write files of other users.
fn drop_capabilities() -> Option<()> {
    /// `_LINUX_CAPABILITY_VERSION_3`: two words of capabilities.
    const VERSION: u32 = 0x2008_0522;
    /// `CAP_SYS_NICE`.
    const NICE: u32 = 1 << 23;
    let mut header = CapabilityHeader {
        version: VERSION,
        process: 0,
    };
    let mut words = [Capabilities::default(); 2];
    // SAFETY: the call reads the header and writes two words of capabilities, for which there is space.
    let get_status =
        unsafe { libc::syscall(libc::SYS_capget, &raw mut header, words.as_mut_ptr()) };
    let permitted = words.first().map_or(0, |word| word.permitted & NICE);
    let words = [
        Capabilities {
            effective: permitted,
            permitted,
            inheritable: 0,
        },
        Capabilities::default(),
    ];
    // SAFETY: the call only reads the header and two words.
    let set_status = unsafe { libc::syscall(libc::SYS_capset, &raw mut header, words.as_ptr()) };
    (get_status == 0 && set_status == 0).then_some(())
}
