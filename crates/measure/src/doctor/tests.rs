use std::path::PathBuf;

use super::probe::{AccessError, Clock, DiskSpace};
use super::*;
use crate::conditions::Ticks;
use crate::machine::Toolchain;

/// A machine without findings.
fn good() -> (Machine, Conditions, Probe) {
    let mut machine = Machine::default();
    machine.processor.hypervisor = Some("none".to_owned());
    machine.processor.core_kinds = Some(1);
    machine.topology.threads = Some(8);
    machine.topology.smt_active = Some(false);
    machine.frequency.governor = Some("performance".to_owned());
    machine.frequency.boost = Some(false);
    machine.system.aslr = Some(0);
    machine.system.clocksource = Some("tsc".to_owned());
    machine.system.isolated_cpus = Some("2-3".to_owned());
    machine.memory.transparent_huge_pages = Some("madvise".to_owned());
    machine.memory.swap_bytes = Some(0);
    machine.container.cpu_max = Some("max".to_owned());
    machine.toolchain = Some(Toolchain {
        path: "/usr/bin/cc".to_owned(),
        version_line: "cc 14".to_owned(),
        flags: Vec::new(),
    });
    let conditions = Conditions {
        pressure_percent: Some(0.5),
        load: Some([0.2, 0.1, 0.1]),
        ticks: Some(Ticks {
            busy: 10,
            steal: 0,
            total: 1000,
        }),
        throttle_count: Some(0),
        temperatures_mc: [("coretemp".to_owned(), 45_000)].into_iter().collect(),
        swapped_pages: Some(5),
        swap_used_bytes: Some(0),
        on_battery: Some(false),
        clock_limit_khz: Some(3_000_000),
        ..Conditions::default()
    };
    let probe = Probe {
        counters: Ok(()),
        realtime: Ok(()),
        clock: Clock {
            step_ns: 20,
            lost: 0.001,
            longest_gap_us: 25,
        },
        scratch: Some(DiskSpace {
            folder: PathBuf::from("/tmp"),
            free_bytes: 2 << 30,
            total_bytes: 4 << 30,
        }),
        allowed_cores: 8,
        after: Conditions {
            ticks: Some(Ticks {
                busy: 30,
                steal: 0,
                total: 1160,
            }),
            ..conditions.clone()
        },
    };
    (machine, conditions, probe)
}

/// Level and hint of `what` after `spoil`.
fn finding_after(
    topic: &str,
    spoil: impl FnOnce(&mut Machine, &mut Conditions, &mut Probe),
) -> (Level, bool) {
    let (mut machine, mut conditions, mut probe) = good();
    spoil(&mut machine, &mut conditions, &mut probe);
    let found = findings(&machine, &conditions, &probe);
    let finding = found.iter().find(|finding| finding.topic == topic).unwrap();
    (finding.level, finding.hint.is_some())
}

#[test]
fn a_good_machine_is_all_ok() {
    let (machine, conditions, probe) = good();
    let found = findings(&machine, &conditions, &probe);
    assert!(
        found
            .iter()
            .all(|finding| finding.level == Level::Ok && finding.hint.is_none()),
        "{found:?}"
    );
    let topics: Vec<_> = found.iter().map(|finding| finding.topic.as_str()).collect();
    let expected = [
        "hypervisor",
        "busy",
        "interruptions",
        "steal",
        "quota",
        "cores",
        "smt",
        "isolation",
        "governor",
        "boost",
        "throttling",
        "temperature",
        "power",
        "clock",
        "clocksource",
        "counters",
        "realtime",
        "aslr",
        "huge pages",
        "compiler",
        "scratch",
        "swap",
    ];
    assert_eq!(topics, expected);
}

#[test]
fn each_fault_of_the_processor_is_found() {
    let warning = (Level::Warning, true);
    let note = (Level::Note, true);
    assert_eq!(
        finding_after("governor", |machine, _, _| machine.frequency.governor =
            Some("powersave".into())),
        warning
    );
    let hardware = |machine: &mut Machine| {
        machine.frequency.governor = Some("powersave".into());
        machine.frequency.preference = Some("performance".into());
    };
    assert_eq!(
        finding_after("governor", |machine, _, _| hardware(machine)).0,
        Level::Ok
    );
    assert_eq!(
        finding_after("governor", |machine, _, _| machine.frequency.governor =
            None)
        .0,
        Level::Note
    );
    assert_eq!(
        finding_after("boost", |machine, _, _| machine.frequency.boost =
            Some(true)),
        note
    );
    assert_eq!(
        finding_after("smt", |machine, _, _| machine.topology.smt_active =
            Some(true)),
        note
    );
    assert_eq!(
        finding_after("hybrid", |machine, _, _| machine.processor.core_kinds =
            Some(2)),
        note
    );
    assert_eq!(
        finding_after("hypervisor", |machine, _, _| machine.processor.hypervisor =
            Some("kvm".into())),
        note
    );
    assert_eq!(
        finding_after("throttling", |_, _, probe| probe.after.throttle_count =
            Some(1)),
        warning
    );
    assert_eq!(
        finding_after("throttling", |_, _, probe| probe.after.clock_limit_khz =
            Some(1)),
        warning
    );
    assert_eq!(
        finding_after("throttling", |_, conditions, probe| {
            conditions.throttle_count = Some(9);
            probe.after.throttle_count = Some(9);
        }),
        note
    );
    assert_eq!(
        finding_after("temperature", |_, conditions, _| _ =
            conditions.temperatures_mc.insert("k10temp".into(), 95_000)),
        warning
    );
    assert_eq!(
        finding_after("power", |_, conditions, _| conditions.on_battery =
            Some(true)),
        warning
    );
    assert_eq!(
        finding_after("clock", |_, _, probe| probe.clock.step_ns = 4_000_000),
        warning
    );
    assert_eq!(
        finding_after("clocksource", |machine, _, _| machine.system.clocksource =
            Some("hpet".into())),
        warning
    );
    assert_eq!(
        finding_after("clocksource", |machine, _, _| machine.system.clocksource =
            Some("kvm-clock".into()))
        .0,
        Level::Note
    );
}

#[test]
fn each_other_user_of_the_processor_is_found() {
    let warning = (Level::Warning, true);
    assert_eq!(
        finding_after("busy", |_, conditions, _| conditions.pressure_percent =
            Some(31.0)),
        warning
    );
    assert_eq!(
        finding_after("busy", |_, conditions, _| (
            conditions.pressure_percent,
            conditions.runnable
        ) = (None, Some(9))),
        warning
    );
    assert_eq!(
        finding_after("busy", |_, conditions, _| (
            conditions.pressure_percent,
            conditions.runnable
        ) = (None, Some(8)))
        .0,
        Level::Ok
    );
    assert_eq!(
        finding_after("busy", |_, conditions, _| conditions.pressure_percent =
            None)
        .0,
        Level::Note
    );
    assert_eq!(
        finding_after("interruptions", |_, _, probe| probe.clock.lost = 0.02),
        warning
    );
    let stolen = |probe: &mut Probe| {
        probe.after.ticks = Some(Ticks {
            busy: 30,
            steal: 3,
            total: 1160,
        })
    };
    assert_eq!(finding_after("steal", |_, _, probe| stolen(probe)), warning);
    assert_eq!(
        finding_after("quota", |machine, _, _| machine.container.cpu_max =
            Some("150000 100000".into())),
        warning
    );
    assert_eq!(
        finding_after("cores", |_, _, probe| probe.allowed_cores = 1),
        warning
    );
}

#[test]
fn each_thing_that_is_missing_or_forbidden_is_found() {
    let warning = (Level::Warning, true);
    let note = (Level::Note, true);
    assert_eq!(
        finding_after("counters", |_, _, probe| probe.counters =
            Err(AccessError::Forbidden)),
        note
    );
    assert_eq!(
        finding_after("counters", |_, _, probe| probe.counters =
            Err(AccessError::Missing)),
        (Level::Note, false)
    );
    assert_eq!(
        finding_after("realtime", |_, _, probe| probe.realtime =
            Err(AccessError::Forbidden)),
        note
    );
    assert_eq!(
        finding_after("aslr", |machine, _, _| machine.system.aslr = Some(2)),
        note
    );
    assert_eq!(
        finding_after("huge pages", |machine, _, _| machine
            .memory
            .transparent_huge_pages =
            Some("always".into()))
        .0,
        Level::Note
    );
    assert_eq!(
        finding_after("compiler", |machine, _, _| machine.toolchain = None),
        warning
    );
    assert_eq!(
        finding_after("scratch", |_, _, probe| probe
            .scratch
            .as_mut()
            .unwrap()
            .free_bytes = 1 << 20),
        warning
    );
    assert_eq!(
        finding_after("scratch", |_, _, probe| probe.scratch = None),
        warning
    );
    assert_eq!(
        finding_after("swap", |_, _, probe| probe.after.swapped_pages = Some(6)),
        warning
    );
    assert_eq!(
        finding_after("swap", |_, conditions, _| conditions.swap_used_bytes =
            Some(1 << 20))
        .0,
        Level::Note
    );
}

#[test]
fn hints_are_below_their_findings() {
    let found = [
        Finding::ok("clock", "20 ns"),
        Finding::warning("governor", "`powersave`").with_hint("change it\nor not"),
    ];
    assert_eq!(
        format_table(&found),
        [
            "ok       clock     20 ns",
            "warning  governor  `powersave`",
            "                   hint: change it",
            "                   hint: or not",
        ]
    );
}

#[test]
fn this_machine_can_be_examined() {
    let found = examine(&Machine::read(), &Conditions::now(), &std::env::temp_dir());
    assert!(found.len() >= 12, "{found:?}");
    assert_eq!(
        found
            .iter()
            .find(|finding| finding.topic == "compiler")
            .unwrap()
            .level,
        Level::Warning
    );
}
