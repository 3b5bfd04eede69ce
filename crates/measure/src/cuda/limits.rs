//! Checks of a launch against the limits of device and kernel, before it is attempted.

use super::code::Code;
use super::driver::{Device, DeviceAttribute as Limit, Function, FunctionAttribute, Parameter};
use crate::trial::Launch;

/// Shared memory in bytes (dynamic and static) that a kernel can use without opting in (CUDA C++
/// Programming Guide, "Shared Memory" of each compute capability).
const DEFAULT_SHARED_BYTES: u32 = 48 * 1024;

/// Launch limits of a device and a kernel.
#[derive(Clone, Copy, Debug)]
struct LaunchLimits {
    grid: [u32; 3],
    block: [u32; 3],
    threads: u32,
    /// Maximum shared memory of a block after opting in.
    shared_bytes: u32,
    /// Static shared memory of the kernel, included in that limit.
    static_bytes: u32,
}

/// Returns the reason if `launch` exceeds a limit. Otherwise opts in to its shared memory, if necessary.
pub(super) fn check_launch(
    device: Device,
    function: &Function<'_>,
    launch: Launch,
) -> Result<Result<(), String>, Code> {
    let limit = |limit| device.attribute(limit);
    let kernel_limit = |attribute| function.attribute(attribute);
    let bounds = LaunchLimits {
        grid: [
            limit(Limit::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)?,
            limit(Limit::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)?,
            limit(Limit::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)?,
        ],
        block: [
            limit(Limit::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X)?,
            limit(Limit::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y)?,
            limit(Limit::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)?,
        ],
        // The kernel's limit is lower if it uses many registers.
        threads: limit(Limit::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?.min(kernel_limit(
            FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
        )?),
        shared_bytes: limit(Limit::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?.max(
            limit(Limit::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?,
        ),
        static_bytes: kernel_limit(FunctionAttribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
    };
    if let Err(reason) = bounds.check(launch) {
        return Ok(Err(reason));
    }
    if launch.shared_bytes.saturating_add(bounds.static_bytes) > DEFAULT_SHARED_BYTES {
        function.set_max_shared_bytes(launch.shared_bytes)?;
    }
    Ok(Ok(()))
}

impl LaunchLimits {
    fn check(&self, launch: Launch) -> Result<(), String> {
        let sides = [
            ("grid", launch.grid, self.grid),
            ("block", launch.block, self.block),
        ];
        for (what, sizes, limits) in sides {
            for ((size, limit), axis) in sizes.into_iter().zip(limits).zip(["x", "y", "z"]) {
                if size == 0 || size > limit {
                    return Err(format!("{what} {axis} is `{size}`, expected 1 to {limit}"));
                }
            }
        }
        let threads: u64 = launch.block.into_iter().map(u64::from).product();
        if threads > u64::from(self.threads) {
            let limit = self.threads;
            return Err(format!(
                "a block has `{threads}` threads, expected at most {limit} for this kernel"
            ));
        }
        let shared = u64::from(launch.shared_bytes) + u64::from(self.static_bytes);
        if shared > u64::from(self.shared_bytes) {
            return Err(format!(
                "a block needs `{shared}` bytes of shared memory, the device has {}",
                self.shared_bytes
            ));
        }
        Ok(())
    }
}

/// Checks the number and sizes of the arguments. The driver reads as many bytes as the kernel's parameters
/// have, regardless of the arguments.
pub(super) fn check_parameters(
    function: &Function<'_>,
    arguments: &[Parameter<'_>],
) -> Result<Result<(), String>, Code> {
    let parameters = match function.parameters() {
        Ok(parameters) => parameters,
        Err(code) if code.is_sticky() || code.is_fault() => return Err(code),
        // The driver does not report parameters for every kind of kernel; the manifest is trusted then.
        Err(_) => return Ok(Ok(())),
    };
    if parameters.len() != arguments.len() {
        return Ok(Err(format!(
            "the kernel takes `{}` arguments, the trial has {}",
            parameters.len(),
            arguments.len()
        )));
    }
    for (index, (parameter, argument)) in parameters.iter().zip(arguments).enumerate() {
        let argument = argument.bytes();
        if *parameter != argument {
            return Ok(Err(format!(
                "argument {} has `{parameter}` bytes in the kernel, {argument} in the trial",
                index + 1
            )));
        }
    }
    Ok(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: LaunchLimits = LaunchLimits {
        grid: [u32::MAX >> 1, 65535, 65535],
        block: [1024, 1024, 64],
        threads: 1024,
        shared_bytes: 232_448,
        static_bytes: 1024,
    };

    fn violation(grid: [u32; 3], block: [u32; 3], shared_bytes: u32) -> Option<String> {
        let launch = Launch {
            grid,
            block,
            shared_bytes,
        };
        LIMITS.check(launch).err()
    }

    #[test]
    fn a_launch_at_the_bounds_is_admitted() {
        assert_eq!(violation([1, 65535, 1], [1024, 1, 1], 232_448 - 1024), None);
        assert_eq!(violation([1, 1, 1], [16, 1, 64], 0), None);
    }

    #[test]
    fn each_bound_is_reported_by_name() {
        let cases = [
            (violation([0, 1, 1], [1, 1, 1], 0), "grid x is `0`"),
            (violation([1, 65536, 1], [1, 1, 1], 0), "grid y is `65536`"),
            (violation([1, 1, 1], [1, 1, 65], 0), "block z is `65`"),
            (violation([1, 1, 1], [1024, 2, 1], 0), "`2048` threads"),
            (
                violation([1, 1, 1], [1, 1, 1], 232_448),
                "`233472` bytes of shared",
            ),
        ];
        for (reason, expected) in cases {
            assert!(reason.as_deref().unwrap().contains(expected), "{reason:?}");
        }
    }
}
