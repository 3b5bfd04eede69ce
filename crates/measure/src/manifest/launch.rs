//! Launch shape of a CUDA kernel, with limits that hold for all devices.

use super::super::expr::Expression;
use super::super::trial::Launch;
use super::invalid_config::InvalidConfig;
use super::scope::Scope;

/// Limits of all current devices (CUDA C++ Programming Guide, "Technical Specifications per Compute
/// Capability"). Shared memory and registers differ by device and are checked there.
const MAX_GRID: [u32; 3] = [i32::MAX.cast_unsigned(), 65_535, 65_535];
const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
const MAX_BLOCK_THREADS: u64 = 1024;

/// Grid and block as expressions. The defaults are 1, and no dynamic shared memory.
#[derive(Clone, Debug)]
pub(super) struct LaunchSpec {
    pub(super) grid: [Expression; 3],
    pub(super) block: [Expression; 3],
    pub(super) shared_bytes: Expression,
}

impl LaunchSpec {
    pub(super) fn bind(&self, scope: Scope<'_>) -> Result<Launch, InvalidConfig> {
        let launch = Launch {
            grid: evaluate_extents("grid", &self.grid, MAX_GRID, scope)?,
            block: evaluate_extents("block", &self.block, MAX_BLOCK, scope)?,
            shared_bytes: evaluate_within("shared_bytes", &self.shared_bytes, 0, u32::MAX, scope)?,
        };
        let threads: u64 = launch
            .block
            .iter()
            .map(|extent| u64::from(*extent))
            .product();
        if threads > MAX_BLOCK_THREADS {
            let [x, y, z] = launch.block;
            let reason = format!(
                "block of {x} x {y} x {z} is {threads} threads, more than {MAX_BLOCK_THREADS}"
            );
            return Err(InvalidConfig::new("launch_bounds", reason));
        }
        Ok(launch)
    }
}

fn evaluate_extents(
    what: &str,
    [x, y, z]: &[Expression; 3],
    [max_x, max_y, max_z]: [u32; 3],
    scope: Scope<'_>,
) -> Result<[u32; 3], InvalidConfig> {
    Ok([
        evaluate_within(&format!("{what}.x"), x, 1, max_x, scope)?,
        evaluate_within(&format!("{what}.y"), y, 1, max_y, scope)?,
        evaluate_within(&format!("{what}.z"), z, 1, max_z, scope)?,
    ])
}

fn evaluate_within(
    what: &str,
    expression: &Expression,
    minimum: u32,
    maximum: u32,
    scope: Scope<'_>,
) -> Result<u32, InvalidConfig> {
    let invalid = |reason: String| InvalidConfig::new("launch_bounds", reason);
    let value = scope
        .evaluate(expression)
        .map_err(|reason| invalid(format!("{what}: {reason}")))?;
    u32::try_from(value)
        .ok()
        .filter(|value| (minimum..=maximum).contains(value))
        .ok_or_else(|| {
            invalid(format!(
                "{what} of {value} is not within {minimum}..={maximum}"
            ))
        })
}
