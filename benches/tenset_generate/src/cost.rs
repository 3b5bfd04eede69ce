//! The measurement of a program: repeats, error, wall time, time stamp.

use fastrand::Rng;

use crate::number::{normal, write_g6, write_int};
use crate::tasks::{Kind, Task};

/// A machine that programs are measured on.
pub struct Platform {
    pub name: &'static str,
    pub kind: Kind,
    /// The target as it stands in a log.
    pub target: &'static str,
    pub hardware: &'static str,
    /// Floating-point operations a second of a good program.
    peak: f64,
    /// Median of the standard deviation of repeats over their mean.
    noise: f64,
}

pub const PLATFORMS: [Platform; 6] = [
    Platform {
        name: "platinum-8272",
        kind: Kind::Llvm,
        target: "llvm -keys=cpu -link-params=0 -mcpu=skylake-avx512 -model=platinum-8272",
        hardware: "[16, 64, 64, 0, 0, 0, 0, 0]",
        peak: 9e11,
        noise: 0.028,
    },
    Platform {
        name: "e5-2673",
        kind: Kind::Llvm,
        target: "llvm -keys=cpu -link-params=0 -mcpu=core-avx2 -model=e5-2673",
        hardware: "[8, 32, 64, 0, 0, 0, 0, 0]",
        peak: 3e11,
        noise: 0.031,
    },
    Platform {
        name: "epyc-7452",
        kind: Kind::Llvm,
        target: "llvm -keys=cpu -link-params=0 -mcpu=core-avx2 -model=epyc-7452",
        hardware: "[4, 32, 64, 0, 0, 0, 0, 0]",
        peak: 2e11,
        noise: 0.02,
    },
    Platform {
        name: "graviton2",
        kind: Kind::Llvm,
        target: "llvm -keys=arm_cpu,cpu -device=arm_cpu -link-params=0 -mattr=+neon -model=graviton2 -mtriple=aarch64-linux-gnu",
        hardware: "[16, 16, 64, 0, 0, 0, 0, 0]",
        peak: 4e11,
        noise: 0.012,
    },
    Platform {
        name: "k80",
        kind: Kind::Cuda,
        target: "cuda -keys=cuda,gpu -arch=sm_37 -max_num_threads=1024 -max_threads_per_block=1024 -registers_per_block=65536 -shared_memory_per_block=49152 -thread_warp_size=32",
        hardware: "[-1, 16, 64, 49152, 2147483647, 1024, 8, 32]",
        peak: 2e12,
        noise: 0.002,
    },
    Platform {
        name: "t4",
        kind: Kind::Cuda,
        target: "cuda -keys=cuda,gpu -arch=sm_75 -max_num_threads=1024 -max_threads_per_block=1024 -registers_per_block=65536 -shared_memory_per_block=49152 -thread_warp_size=32",
        hardware: "[-1, 16, 64, 49152, 2147483647, 1024, 8, 32]",
        peak: 5e12,
        noise: 0.004,
    },
];

/// The measurements of a task on a platform, one after the other.
pub struct Measurements<'a> {
    platform: &'a Platform,
    repeat: usize,
    best_s: f64,
    time_s: u64,
    rng: Rng,
}

impl<'a> Measurements<'a> {
    pub fn new(platform: &'a Platform, task: &Task, mut rng: Rng) -> Self {
        let efficiency = (-0.9 + 0.6 * normal(&mut rng)).exp().min(1.0);
        let repeat = match platform.kind {
            Kind::Llvm if task.flop >= 2_416_443_392.0 => 4,
            Kind::Llvm if task.flop >= 834_928_640.0 => 6,
            Kind::Cuda if task.flop >= 834_928_640.0 => 2,
            Kind::Cuda if task.flop > 2_097_152.0 => 4,
            _ if task.flop <= 2_097_152.0 => 10,
            _ => 8,
        };
        Self {
            platform,
            repeat,
            best_s: task.flop / (platform.peak * efficiency) + 2e-6,
            time_s: 1_624_000_000 + task.number * 9_000 + rng.u64(..600),
            rng,
        }
    }

    /// Appends `[[...], 0, 3.90316, 1626295478]` of a program that is `slowdown` (natural
    /// logarithm) behind the best.
    pub fn write(&mut self, slowdown: f64, out: &mut Vec<u8>) {
        if self.rng.u8(..3) == 0 {
            self.time_s += self.rng.u64(..4);
        }
        let rng = &mut self.rng;
        if rng.f64() < 0.03 {
            let (error, all_cost) = match rng.u8(..20) {
                0 => (6, 15.0),
                1 | 2 => (4, 1.0 + rng.f64() * 4.0),
                3..6 => (7, 5.0 + rng.f64() * 3.0),
                _ => (2, 0.3 + rng.f64()),
            };
            out.extend_from_slice(b"[[1e+10], ");
            return self.end(error, all_cost, out);
        }
        let seconds = self.best_s * (slowdown + 0.2 * normal(rng)).max(0.0).exp();
        let mut costs = Vec::with_capacity(33);
        let mut repeat = self.repeat;
        for _ in 0..4 {
            let noise = self.platform.noise * 10_f64.powf(0.275 * normal(rng));
            costs.clear();
            costs.extend((0..repeat).map(|_| {
                let spike = if rng.f64() < 0.004 {
                    0.5 + rng.f64()
                } else {
                    0.0
                };
                seconds * (1.0 + spike + noise * normal(rng)).max(0.5)
            }));
            let mean = costs.iter().sum::<f64>() / costs.len() as f64;
            let square = |cost: &f64| (cost - mean) * (cost - mean);
            let deviation = (costs.iter().map(square).sum::<f64>() / costs.len() as f64).sqrt();
            if self.platform.kind == Kind::Cuda || deviation / mean <= 0.1 {
                break;
            }
            repeat = repeat * 3 / 2;
        }
        out.extend_from_slice(b"[[");
        for (place, &cost) in costs.iter().enumerate() {
            if place > 0 {
                out.extend_from_slice(b", ");
            }
            write_g6(cost, out);
        }
        out.extend_from_slice(b"], ");
        let build = (0.4 + 0.5 * normal(rng)).exp();
        self.end(0, build + costs.iter().sum::<f64>(), out);
    }

    fn end(&self, error: u64, all_cost: f64, out: &mut Vec<u8>) {
        write_int(error, out);
        out.extend_from_slice(b", ");
        write_g6(all_cost, out);
        out.extend_from_slice(b", ");
        write_int(self.time_s, out);
        out.push(b']');
    }
}
