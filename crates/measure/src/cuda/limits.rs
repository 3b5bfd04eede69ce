//! Whether a launch is within what device and kernel allow, told before it is tried.

use super::code::Code;
use super::driver::{Device, DeviceAttribute as Limit, Function, FunctionAttribute, Parameter};
use crate::trial::Launch;

/// Dynamic and static shared memory up to which a kernel needs no permission, in bytes
/// (CUDA C++ Programming Guide, "Shared Memory" of each compute capability).
const SHARED_WITHOUT_ASKING_BYTES: u32 = 48 * 1024;

/// What a device and a kernel allow.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    grid: [u32; 3],
    block: [u32; 3],
    threads: u32,
    /// Shared memory of a block, after asking for it.
    shared_bytes: u32,
    /// Of this, the kernel's own takes so much.
    static_bytes: u32,
}

/// Says what of `launch` is out of bounds; where nothing is, gets the shared memory allowed.
pub(super) fn admit(
    device: Device,
    function: &Function<'_>,
    launch: Launch,
) -> Result<Result<(), String>, Code> {
    let limit = |limit| device.attribute(limit);
    let own = |attribute| function.attribute(attribute);
    let bounds = Bounds {
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
        // The kernel's number is smaller where it takes many registers.
        threads: limit(Limit::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?.min(own(
            FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
        )?),
        shared_bytes: limit(Limit::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?.max(
            limit(Limit::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?,
        ),
        static_bytes: own(FunctionAttribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
    };
    if let Err(reason) = bounds.contain(launch) {
        return Ok(Err(reason));
    }
    if launch.shared_bytes.saturating_add(bounds.static_bytes) > SHARED_WITHOUT_ASKING_BYTES {
        function.allow_shared(launch.shared_bytes)?;
    }
    Ok(Ok(()))
}

impl Bounds {
    fn contain(&self, launch: Launch) -> Result<(), String> {
        let sides = [
            ("grid", launch.grid, self.grid),
            ("block", launch.block, self.block),
        ];
        for (what, sizes, limits) in sides {
            for ((size, limit), axis) in sizes.into_iter().zip(limits).zip(["x", "y", "z"]) {
                if size == 0 || size > limit {
                    return Err(format!("{what} {axis} is `{size}`, not 1 to {limit}"));
                }
            }
        }
        let threads: u64 = launch.block.into_iter().map(u64::from).product();
        if threads > u64::from(self.threads) {
            let limit = self.threads;
            return Err(format!(
                "a block has `{threads}` threads, this kernel at most {limit}"
            ));
        }
        let shared = u64::from(launch.shared_bytes) + u64::from(self.static_bytes);
        if shared > u64::from(self.shared_bytes) {
            return Err(format!(
                "a block takes `{shared}` bytes of shared memory, the device has {}",
                self.shared_bytes
            ));
        }
        Ok(())
    }
}

/// Says where the arguments are not those of the kernel: the driver reads as many bytes as the
/// kernel takes, whatever it is given.
pub(super) fn match_parameters(
    function: &Function<'_>,
    given: &[Parameter<'_>],
) -> Result<Result<(), String>, Code> {
    let taken = match function.parameters() {
        Ok(taken) => taken,
        Err(code) if code.is_sticky() || code.is_fault() => return Err(code),
        // Not told for every kind of kernel; then the manifest is believed.
        Err(_) => return Ok(Ok(())),
    };
    if taken.len() != given.len() {
        return Ok(Err(format!(
            "the kernel takes `{}` arguments, the trial has {}",
            taken.len(),
            given.len()
        )));
    }
    for (at, (taken, given)) in taken.iter().zip(given).enumerate() {
        let given = given.bytes();
        if *taken != given {
            return Ok(Err(format!(
                "argument {} of the kernel has `{taken}` bytes, that of the trial {given}",
                at + 1
            )));
        }
    }
    Ok(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds {
        grid: [u32::MAX >> 1, 65535, 65535],
        block: [1024, 1024, 64],
        threads: 1024,
        shared_bytes: 232_448,
        static_bytes: 1024,
    };

    fn told(grid: [u32; 3], block: [u32; 3], shared_bytes: u32) -> Option<String> {
        let launch = Launch {
            grid,
            block,
            shared_bytes,
        };
        BOUNDS.contain(launch).err()
    }

    #[test]
    fn a_launch_at_the_bounds_is_admitted() {
        assert_eq!(told([1, 65535, 1], [1024, 1, 1], 232_448 - 1024), None);
        assert_eq!(told([1, 1, 1], [16, 1, 64], 0), None);
    }

    #[test]
    fn each_bound_is_told_by_name() {
        let cases = [
            (told([0, 1, 1], [1, 1, 1], 0), "grid x is `0`"),
            (told([1, 65536, 1], [1, 1, 1], 0), "grid y is `65536`"),
            (told([1, 1, 1], [1, 1, 65], 0), "block z is `65`"),
            (told([1, 1, 1], [1024, 2, 1], 0), "`2048` threads"),
            (
                told([1, 1, 1], [1, 1, 1], 232_448),
                "`233472` bytes of shared",
            ),
        ];
        for (told, wanted) in cases {
            assert!(told.as_deref().unwrap().contains(wanted), "{told:?}");
        }
    }
}
