use super::*;
use crate::fs_root::write_files;

const WALL: Duration = Duration::from_secs(1);
const CORES: u64 = 4;

fn read_from_files(core: Option<usize>, files: &[(&str, &str)]) -> Conditions {
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path(), files);
    Conditions::read_at(&FsRoot::new(folder.path()), core)
}

/// Readings of a machine with [`CORES`] processors after `total` ticks each: ticks of all processors that
/// were busy and stolen, and busy ticks of the sibling.
fn conditions(busy: u64, steal: u64, sibling_busy: u64, total: u64) -> Conditions {
    let ticks = |busy, steal, total| Some(Ticks { busy, steal, total });
    Conditions {
        ticks: ticks(0, steal, total),
        all_ticks: ticks(busy, steal, CORES * total),
        sibling_ticks: ticks(sibling_busy, 0, total),
        ..Conditions::default()
    }
}

#[test]
fn the_kernels_files_are_read() {
    let found = read_from_files(
        Some(1),
        &[
            (
                "/proc/pressure/cpu",
                "some avg10=31.13 avg60=27.30 avg300=26.39 total=10212584771\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n",
            ),
            ("/proc/loadavg", "3.01 2.61 2.68 4/110 28049\n"),
            (
                "/proc/stat",
                "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 10 20 30 400 5 6 7 8 0 0\ncpu1 1 2 3 40 5 6 7 8 1 0\ncpu10 0 0 0 0 0 0 0 0 0 0\nprocs_running 6\n",
            ),
            ("/proc/meminfo", "SwapTotal: 100 kB\nSwapFree: 40 kB\n"),
            ("/proc/vmstat", "pswpin 3\npswpout 4\n"),
            (
                "/proc/cpuinfo",
                "processor : 0\ncpu MHz : 1000.000\n\nprocessor : 1\ncpu MHz : 2596.148\n",
            ),
            ("/proc/self/cgroup", "0::/a\n"),
            ("/sys/fs/cgroup/a/cpu.max", "50000 100000\n"),
            (
                "/sys/fs/cgroup/a/cpu.stat",
                "usage_usec 5\nnr_throttled 2\nthrottled_usec 1234\n",
            ),
            (
                "/sys/devices/system/cpu/cpu1/topology/thread_siblings_list",
                "0-1\n",
            ),
            (
                "/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count",
                "3\n",
            ),
            (
                "/sys/devices/system/cpu/cpu1/thermal_throttle/package_throttle_count",
                "4\n",
            ),
            ("/sys/class/hwmon/hwmon0/name", "coretemp\n"),
            ("/sys/class/hwmon/hwmon0/temp1_input", "41000\n"),
            ("/sys/class/hwmon/hwmon0/temp2_input", "55000\n"),
            ("/sys/class/hwmon/hwmon1/name", "nvme\n"),
            ("/sys/class/hwmon/hwmon1/temp1_input", "99000\n"),
            ("/sys/class/thermal/cooling_device0/type", "Processor\n"),
            ("/sys/class/thermal/cooling_device0/cur_state", "2\n"),
            ("/sys/class/thermal/cooling_device1/type", "Fan\n"),
            ("/sys/class/thermal/cooling_device1/cur_state", "9\n"),
            ("/sys/class/power_supply/BAT0/type", "Battery\n"),
            ("/sys/class/power_supply/BAT0/status", "Discharging\n"),
        ],
    );
    let expected = Conditions {
        core: Some(1),
        pressure_percent: Some(31.13),
        load: Some([3.01, 2.61, 2.68]),
        runnable: Some(6),
        ticks: Some(Ticks {
            busy: 19,
            steal: 8,
            total: 72,
        }),
        all_ticks: Some(Ticks {
            busy: 45,
            steal: 9,
            total: 72,
        }),
        sibling_ticks: Some(Ticks {
            busy: 73,
            steal: 8,
            total: 486,
        }),
        temperatures_mc: [("coretemp".to_owned(), 55000)].into_iter().collect(),
        clock_khz: Some(2_596_148),
        clock_limit_khz: None,
        throttle_count: Some(7),
        cooling_steps: Some(2),
        quota_stop_us: Some(1234),
        swap_used_bytes: Some(60 << 10),
        swapped_pages: Some(7),
        on_battery: Some(true),
    };
    assert_eq!(found, expected);
}

#[test]
fn missing_values_raise_no_flag() {
    let nothing = read_from_files(Some(0), &[]);
    assert_eq!(
        nothing,
        Conditions {
            core: Some(0),
            ..Conditions::default()
        }
    );
    let all = conditions(u64::MAX, 9, 9, 9);
    assert_eq!(condition_flags(&nothing, &nothing, WALL, WALL), [""; 0]);
    assert_eq!(
        condition_flags(&nothing, &all, WALL, Duration::ZERO),
        [""; 0]
    );
}

#[test]
fn load_and_stolen_time_are_reported() {
    let quiet = conditions(0, 0, 0, 0);
    let own_cpu_time = Duration::from_millis(600);
    // 60 of the ticks belong to this process. 10 ticks are 0.1 s, and 2 ticks are 1 % of 200.
    for (busy, steal, flags) in [
        (0, 0, vec![]),
        (69, 0, vec![]),
        (70, 0, vec!["busy_machine"]),
        (60, 1, vec![]),
        (60, 2, vec!["stolen"]),
    ] {
        let found = condition_flags(&quiet, &conditions(busy, steal, 0, 100), WALL, own_cpu_time);
        assert_eq!(found, flags, "{busy} {steal}");
    }
    // Two stolen ticks of 1000 are below one percent.
    assert!(
        condition_flags(&quiet, &conditions(0, 2, 0, 1000), 10 * WALL, own_cpu_time).is_empty()
    );
    // Three of four ticks can be a rounding error; one busy processor of a hundred is negligible.
    let short = WALL / 25;
    assert!(condition_flags(&quiet, &conditions(3, 0, 0, 4), short, Duration::ZERO).is_empty());
    let large = Conditions {
        all_ticks: Some(Ticks {
            busy: 100,
            steal: 0,
            total: 10_000,
        }),
        ..Conditions::default()
    };
    assert!(condition_flags(&quiet, &large, WALL, Duration::ZERO).is_empty());
}

#[test]
fn a_working_process_beside_this_one_is_seen() {
    let mut other = std::process::Command::new("sh");
    let mut other = other.args(["-c", "while :; do :; done"]).spawn().unwrap();
    let watch = Watch::begin(None);
    std::thread::sleep(Duration::from_millis(500));
    let flags: Vec<_> = watch.flags().collect();
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(flags.contains(&"busy_machine"), "{flags:?}");
}

#[test]
fn a_busy_sibling_differs_from_an_idle_one() {
    let before = conditions(0, 0, 1000, 50_000);
    for (busy, total, flagged) in [
        (0, 100, false),
        (4, 100, false),
        (5, 100, true),
        (1, 4, false),
    ] {
        let flags = condition_flags(
            &before,
            &conditions(0, 0, 1000 + busy, 50_000 + total),
            WALL,
            WALL,
        );
        assert_eq!(
            flags.contains(&"smt_sibling_busy"),
            flagged,
            "{busy} of {total}"
        );
    }
}

#[test]
fn heat_limits_and_quotas_throttle() {
    let before = Conditions {
        throttle_count: Some(3),
        quota_stop_us: Some(10),
        cooling_steps: Some(0),
        clock_limit_khz: Some(3_000_000),
        ..Conditions::default()
    };
    assert!(!is_throttled(&before, &before));
    for after in [
        Conditions {
            throttle_count: Some(4),
            ..before.clone()
        },
        Conditions {
            quota_stop_us: Some(11),
            ..before.clone()
        },
        Conditions {
            cooling_steps: Some(1),
            ..before.clone()
        },
        Conditions {
            clock_limit_khz: Some(2_900_000),
            ..before.clone()
        },
    ] {
        assert!(is_throttled(&before, &after));
        assert_eq!(condition_flags(&before, &after, WALL, WALL), ["throttled"]);
    }
    let raised = Conditions {
        clock_limit_khz: Some(3_100_000),
        ..before.clone()
    };
    assert!(!is_throttled(&before, &raised));
}

#[test]
fn this_machine_reports_load_and_ticks() {
    let before = Conditions::for_core(0);
    std::thread::sleep(Duration::from_millis(60));
    let after = Conditions::for_core(0);
    let (_, total) = tick_growth(before.ticks, after.ticks, |ticks| ticks.busy);
    assert!(total > 0, "no tick in 60 ms");
    assert!(after.load.is_some() && after.runnable >= Some(1));
}
