//! Formats that are tables.

use super::*;

#[test]
fn two_rows_of_helion_are_one_trial() {
    let text = "# hardware=Toy\r\ntimestamp_s,config_index,generation,status,perf_ms,compile_time_s,config\r\n\
        0.10,1,0,started,,0.5,\"Config(b=[1, None], p='flat')\"\r\n\
        0.20,2,0,ok,0.250000,0.5,\"Config(b=[1, None], p='flat')\"\r\n\
        0.30,3,1,started,,0.1,\"Config(b=[2], p='it\\'s')\"\r\n\
        0.40,4,1,timeout,,0.1,\"Config(b=[2], p='it\\'s')\"\r\n\
        0.50,5,1,bad,,,\"Config(b=[3])\"\r\n\
        0.60,6,1,ok,,,\"Config(b=[3])\"\r\n\
        0.70,7,2,started,,,\"Config(b=[4])\"\r\n";
    let file = read_at("l/softmax_s0.csv", text, Format::Helion);
    assert_eq!(seconds(&file), [Some(0.25e-3), None, None]);
    assert_eq!(
        configuration(&file.trials[0]),
        r#"{"b": [1, null], "p": "flat"}"#
    );
    assert_eq!(
        (file.trials[0].line, file.trials[0].timestamp.as_deref()),
        (3, Some("0.20"))
    );
    assert_eq!(failure(&file.trials[1]), Some(FailureKind::RunTimeout));
    assert!(matches!(&file.trials[2].status, Status::Unmeasured { reason } if reason == "started"));
    assert_eq!(
        file.rejected,
        [
            "7: unknown status `bad`",
            "8: status `ok` without `perf_ms`"
        ]
    );
    assert_eq!(file.document.settings[0].1.as_text(), Some("hardware=Toy"));
}

#[test]
fn placeholders_and_zeros_of_aiter_are_no_times() {
    let text = "N,M,K,gfx,cu_num,kernelId,us,tflops,errRatio\n\
        8,4,2,gfx1,7,1,2.50,1.0,0.0\n8,4,2,gfx1,7,2,0,0,0\n8,4,2,gfx1,7,3,1.0,0.0,0.0\n\
        8,4,2,gfx1,7,4,inf,0,1.0\n8,4,2,gfx1,7,5,-1,0,1.0\n8,4,2,gfx1,7,6,2.5,1\n\
        8,4,2,gfx1,7,7,x,1,0\n8,4,2,gfx1,7,8,1.0,1,0,9\n";
    let file = read_at("t/toy_tuned.csv", text, Format::Aiter);
    assert_eq!(
        seconds(&file),
        [Some(2.5e-6), None, None, None, None, Some(2.5e-6)]
    );
    let unmeasured = |at: usize| matches!(file.trials[at].status, Status::Unmeasured { .. });
    assert!(unmeasured(1) && unmeasured(2));
    assert_eq!(failure(&file.trials[3]), Some(FailureKind::Unknown));
    assert_eq!(failure(&file.trials[4]), Some(FailureKind::Unknown));
    assert_eq!(file.document.counts.rejected, 2);
    assert_eq!(file.trials[0].platform.as_ref().unwrap().name, "gfx1 7");
    assert_eq!(
        Value::Object(file.trials[0].graph.problem.clone()).to_json(),
        r#"{"N": "8", "M": "4", "K": "2"}"#
    );
    assert_eq!(file.trials[0].time.as_ref().unwrap().number.text(), "2.50");
}

#[test]
fn shapes_alone_are_no_records() {
    let found = detect(b"M,N,K\n1,2,3\n");
    assert_eq!(found, Detected::NoRecords(NoRecords::ShapesToTune));
}

#[test]
fn repeated_names_of_flashinfer_are_numbered() {
    let text = "routine,median_time,std_time,tflops,tb_per_sec,backend,top_k,n,top_k,refcheck\n\
        moe,0.5,0.1,3.0,1.0,cutlass,2,,4,True\nmoe,,,,,cutlass,2,,4,True\n";
    let file = read(text, Format::FlashInferCsv);
    assert_eq!(seconds(&file), [Some(0.5e-3), None]);
    assert_eq!(
        Value::Object(file.trials[0].graph.problem.clone()).to_json(),
        r#"{"top_k": "2", "top_k#2": "4"}"#
    );
}

#[test]
fn counters_end_the_parameters_of_ktt() {
    let text = "Kernel name,Computation duration (us),Global size,Local size,TX,a__b.sum,Registers count\n\
        k,1e+3,64,32,4,2.5e+06,12\nk,,64,32,8,1,12\n";
    let file = read(text, Format::KttCsv);
    assert_eq!(seconds(&file), [Some(0.001)]);
    assert_eq!(configuration(&file.trials[0]), r#"{"TX": 4}"#);
    assert_eq!(metric(&file.trials[0], "a__b.sum"), Some(2.5e6));
    assert_eq!(file.rejected, ["3: a row without its duration"]);
}

#[test]
fn a_quote_without_end_rejects_one_row() {
    let text = "Benchmark,Device,Device Name,N,Skipped,CPU Time (sec),Noise,GPU Time (sec),Noise,T\n\
        b,0,\"Toy\",8,No,0.5,0.1,0.25,0.2,I8\nb,0,\"Toy,8,No,0.5,0.1,0.25,0.2,\n\
        b,0,Toy,9,Yes,,,,,\n";
    let file = read(text, Format::NvbenchCsv);
    assert_eq!(seconds(&file), [Some(0.25), None]);
    assert_eq!(file.rejected, ["3: a quote without its end"]);
    assert_eq!(metric(&file.trials[0], "GPU Time (sec) Noise"), Some(0.2));
    assert_eq!(configuration(&file.trials[0]), r#"{"N": "8", "T": "I8"}"#);
}

const MAPPING: &str = "kernel = 'gemm'\nproblem = ['m']\nconfiguration = ['tile']\n\
    platform_column = 'gpu'\ntime_column = 't'\ntime_unit_column = 'unit'\nthousands = ','\n\
    [only]\nkind = 'time'\n[metrics]\npower = 'W'\n";

#[test]
fn a_mapping_explains_a_table() {
    let text = "m,tile,gpu,kind,t,unit,power,note\n8,2,Toy,time,\"1,500\",ns,30,n\n\
        8,2,Toy,count,7,,,\n8,4,Toy,time,inf,ms,,\n8,8,Toy,time,1,week,,\n8,8,Toy,time,,ms,,\n";
    let mapping = Mapping::parse(MAPPING).unwrap();
    let options = ReadOptions {
        mapping: Some(mapping),
        ..ReadOptions::default()
    };
    let file = read_with(text, Format::Table, options);
    assert_eq!(seconds(&file), [Some(1.5e-6), None, None]);
    assert_eq!(metric(&file.trials[0], "power"), Some(30.0));
    assert_eq!(failure(&file.trials[1]), Some(FailureKind::Unknown));
    assert_eq!(file.rejected, ["5: no unit of time for `t`"]);
}

#[test]
fn a_wrong_mapping_is_an_error() {
    for text in [
        "",
        "time_column = 't'",
        "time_column = 't'\ntime_unit = 'h'",
        "x = 1",
        "[",
    ] {
        assert!(Mapping::parse(text).is_err(), "{text}");
    }
    let options = ReadOptions {
        mapping: Some(Mapping::parse("time_column = 't'\ntime_unit = 'ms'").unwrap()),
        ..ReadOptions::default()
    };
    let mut reader = Reader::new(Format::Table, b"a,b\n1,2\n".as_slice(), options);
    assert!(reader.next().unwrap().is_err());
    assert!(reader.next().is_none());
}
