#![expect(
    unsafe_code,
    reason = "the filter is installed with a flag that its crate does not offer"
)]
//! What a kernel may not do to the rest of the machine: use the network, start programs, write files elsewhere.
//!
//! It contains accidents, not attackers: files can be read, and what is not listed is allowed.

use std::collections::BTreeMap;
use std::path::Path;

use landlock::{
    ABI, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetStatus, path_beneath_rules,
};
use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

/// Denied whatever the arguments: network, other programs, other processes, leaving the process group.
const DENIED: &[libc::c_long] = &[
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_io_uring_setup,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_setsid,
    libc::SYS_setpgid,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
];

/// Confines the calling thread, and all that it starts, for good. Gives the names of what the system has.
pub(super) fn enter(folder: &Path) -> Vec<String> {
    let mut active = Vec::new();
    if restrict_writing(folder) == Some(true) {
        active.push("landlock".to_owned());
    }
    if deny_calls().is_some() {
        active.push("seccomp".to_owned());
    }
    active
}

/// Whether writing is allowed in `folder` only from now on.
fn restrict_writing(folder: &Path) -> Option<bool> {
    let writing = AccessFs::from_write(ABI::V3);
    let here = path_beneath_rules([folder], writing);
    let null = path_beneath_rules(["/dev/null"], writing);
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(writing)
        .ok()?
        .create()
        .ok()?
        .add_rules(here)
        .ok()?
        .add_rules(null)
        .ok()?
        .restrict_self()
        .ok()?;
    Some(status.ruleset != RulesetStatus::NotEnforced)
}

fn deny_calls() -> Option<()> {
    // glibc falls back to `clone` (whose flags a filter can read) only where `clone3` is missing.
    let missing = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    install(&filter(missing, libc::ENOSYS)?)?;
    let mut rules: BTreeMap<libc::c_long, Vec<SeccompRule>> =
        DENIED.iter().map(|call| (*call, Vec::new())).collect();
    let thread = u64::try_from(libc::CLONE_THREAD).ok()?;
    let starts_process = condition(0, SeccompCmpOp::MaskedEq(thread), 0)?;
    rules.insert(libc::SYS_clone, vec![starts_process]);
    let own = u64::from(std::process::id());
    for call in [libc::SYS_kill, libc::SYS_tgkill] {
        rules.insert(call, vec![condition(0, SeccompCmpOp::Ne, own)?]);
    }
    install(&filter(rules, libc::EPERM)?)
}

fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> Option<SeccompRule> {
    let length = SeccompCmpArgLen::Dword;
    let condition = SeccompCondition::new(argument, length, operator, value).ok()?;
    SeccompRule::new(vec![condition]).ok()
}

fn filter(rules: BTreeMap<libc::c_long, Vec<SeccompRule>>, errno: i32) -> Option<BpfProgram> {
    let denied = SeccompAction::Errno(u32::try_from(errno).ok()?);
    let here = std::env::consts::ARCH.try_into().ok()?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, denied, here).ok()?;
    filter.try_into().ok()
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
