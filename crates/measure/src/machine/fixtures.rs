//! Folders with `/proc` and `/sys` files of machines that are not available to tests.

use std::path::Path;

use tempfile::TempDir;

use crate::fs_root::{FsRoot, write_files};

/// Files of a machine, removed on drop.
pub(crate) struct Fixture(TempDir);

impl Fixture {
    pub(crate) fn root(&self) -> FsRoot {
        FsRoot::new(self.0.path())
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        write_files(self.0.path(), &[(path, text)]);
    }
}

fn file(folder: &Path, path: &str, text: &str) {
    write_files(folder, &[(path, text)]);
}

fn cache(folder: &Path, cpu: usize, index: usize, facts: [&str; 4]) {
    let index_folder = format!("/sys/devices/system/cpu/cpu{cpu}/cache/index{index}");
    for (name, text) in ["level", "type", "size", "shared_cpu_list"]
        .into_iter()
        .zip(facts)
    {
        file(folder, &format!("{index_folder}/{name}"), text);
    }
    file(
        folder,
        &format!("{index_folder}/coherency_line_size"),
        "64\n",
    );
}

/// Two sockets with two cores of two threads each. Threads 0 to 3 are the first threads of their cores.
pub(crate) fn intel_two_sockets() -> Fixture {
    let fixture = Fixture(tempfile::tempdir().unwrap());
    let folder = fixture.0.path();
    let mut cpuinfo = String::new();
    for cpu in 0..8 {
        let (core, socket) = (cpu % 4, cpu % 4 / 2);
        cpuinfo += &format!(
            "processor\t: {cpu}\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 106\n\
             model name\t: Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz\nstepping\t: 6\nmicrocode\t: 0xd0003b9\n\
             cpu MHz\t\t: 80{cpu}.000\nphysical id\t: {socket}\ncore id\t\t: {}\n\
             flags\t\t: lm constant_tsc nonstop_tsc cx16 lahf_lm popcnt pni ssse3 sse4_1 sse4_2 avx avx2 bmi1 \
             bmi2 f16c fma abm movbe xsave avx512f avx512bw avx512cd avx512dq avx512vl\n\n",
            cpu % 2
        );
        let pair = format!("{core},{}\n", core + 4);
        let all = if socket == 0 {
            "0-1,4-5\n"
        } else {
            "2-3,6-7\n"
        };
        let topology = format!("/sys/devices/system/cpu/cpu{cpu}/topology");
        file(
            folder,
            &format!("{topology}/physical_package_id"),
            &format!("{socket}\n"),
        );
        file(
            folder,
            &format!("{topology}/core_id"),
            &format!("{}\n", cpu % 2),
        );
        file(folder, &format!("{topology}/thread_siblings_list"), &pair);
        cache(folder, cpu, 0, ["1\n", "Data\n", "48K\n", &pair]);
        cache(folder, cpu, 1, ["1\n", "Instruction\n", "32K\n", &pair]);
        cache(folder, cpu, 2, ["2\n", "Unified\n", "1280K\n", &pair]);
        cache(folder, cpu, 3, ["3\n", "Unified\n", "49152K\n", all]);
        let policy = format!("/sys/devices/system/cpu/cpufreq/policy{cpu}");
        let governor = if cpu == 7 {
            "powersave\n"
        } else {
            "performance\n"
        };
        file(folder, &format!("{policy}/scaling_governor"), governor);
        file(
            folder,
            &format!("{policy}/scaling_driver"),
            "intel_pstate\n",
        );
        file(folder, &format!("{policy}/base_frequency"), "2000000\n");
        file(folder, &format!("{policy}/cpuinfo_min_freq"), "800000\n");
        file(folder, &format!("{policy}/cpuinfo_max_freq"), "3200000\n");
    }
    write_files(
        folder,
        &[
            ("/proc/cpuinfo", &cpuinfo),
            (
                "/proc/meminfo",
                "MemTotal:  263856732 kB\nMemFree: 5 kB\nSwapTotal: 0 kB\nHugepagesize: 2048 kB\nHugePages_Total: 64\nHugePages_Surp: 4\n",
            ),
            (
                "/proc/self/status",
                "Name:\ttsql\nCpus_allowed_list:\t0-7\n",
            ),
            ("/sys/devices/system/cpu/online", "0-7\n"),
            ("/sys/devices/system/cpu/isolated", "\n"),
            ("/sys/devices/system/cpu/smt/active", "1\n"),
            ("/sys/devices/system/cpu/intel_pstate/no_turbo", "0\n"),
            ("/sys/devices/system/node/online", "0-1\n"),
            ("/sys/class/dmi/id/sys_vendor", "Maker Inc.\n"),
            ("/sys/class/dmi/id/product_name", "Server 650\n"),
            ("/sys/class/dmi/id/product_serial", "SN-4711-SECRET\n"),
            (
                "/sys/kernel/mm/transparent_hugepage/enabled",
                "[always] madvise never\n",
            ),
        ],
    );
    fixture
}

/// Two processors of a cloud machine: no clocks, no firmware, a generic name.
pub(crate) fn amd_virtual() -> Fixture {
    let fixture = Fixture(tempfile::tempdir().unwrap());
    let folder = fixture.0.path();
    let block = |cpu: usize| {
        format!(
            "processor\t: {cpu}\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\n\
             stepping\t: 1\nmicrocode\t: 0x1000065\nphysical id\t: 0\ncore id\t\t: {cpu}\n\
             flags\t\t: lm hypervisor constant_tsc nonstop_tsc avx2 fma\n\n"
        )
    };
    for cpu in 0..2 {
        let cpu_list = format!("{cpu}\n");
        file(
            folder,
            &format!("/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id"),
            "0\n",
        );
        file(
            folder,
            &format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"),
            &cpu_list,
        );
        cache(folder, cpu, 0, ["1\n", "Data\n", "32K\n", &cpu_list]);
        cache(folder, cpu, 3, ["3\n", "Unified\n", "32768K\n", "0-1\n"]);
    }
    write_files(
        folder,
        &[
            ("/proc/cpuinfo", &(block(0) + &block(1))),
            ("/proc/meminfo", "MemTotal: 24684096 kB\nSwapTotal: 0 kB\n"),
            ("/sys/devices/system/cpu/online", "0-1\n"),
            ("/sys/devices/system/cpu/smt/active", "0\n"),
        ],
    );
    fixture
}

/// Four ARM cores without a name, in a sandbox that hides sysfs.
pub(crate) fn arm_nameless() -> Fixture {
    let fixture = Fixture(tempfile::tempdir().unwrap());
    let block = |cpu: usize| {
        format!(
            "processor\t: {cpu}\nBogoMIPS\t: 243.75\nFeatures\t: fp asimd aes asimdhp asimddp sve\n\
             CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: 0xd40\nCPU revision\t: 1\n\n"
        )
    };
    let cpuinfo: String = (0..4).map(block).collect();
    file(fixture.0.path(), "/proc/cpuinfo", &cpuinfo);
    fixture
}
