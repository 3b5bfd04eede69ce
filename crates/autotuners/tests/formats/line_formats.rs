//! Formats of lines.

use super::*;

const PROBLEM: &str = "3-8-8-1x1-4-8-8-2-0x0-1x1-1x1-0-NCHW-FP32-F";

#[test]
fn both_dialects_of_miopen_are_read() {
    let text = format!(
        "{PROBLEM}=SolverA:0.5,1024,algoX;SolverB:0.75,0,algoY\n{PROBLEM}_g2=algoX:SolverC,2.5,16,algoX,<unused>\n\
         {PROBLEM}=SolverD:1.0,2\nbroken\n"
    );
    let file = read_at("gfx90a68.HIP.fdb.txt.bz2", &text, Format::MiopenFindDb);
    assert_eq!(seconds(&file), [Some(0.5e-3), Some(0.75e-3), Some(2.5e-3)]);
    assert_eq!(
        configuration(&file.trials[2]),
        r#"{"algorithm": "algoX", "solver": "SolverC"}"#
    );
    assert_eq!(metric(&file.trials[0], "workspace"), Some(1024.0));
    assert_eq!(file.document.counts.rejected, 2);
    assert_eq!(file.document.device.unwrap().name, "gfx90a 104 CU HIP");
    assert_eq!(text_of(&text, &file.trials[1]), "SolverB:0.75,0,algoY");
}

#[test]
fn blocks_of_inductor_are_found_in_a_log() {
    let text = "[rank0] noise ms 5\nI0101 x.py:1] AUTOTUNE addmm(4x8, 8x2)\n\
        strides: [8, 1], [2, 1]\n  bias_addmm 0.0100 ms 100.0% \n\
        \x20 triton_addmm_3 0.0200 ms 50.0% ALLOW_TF32=False, ACC='tl.float32', num_warps=4\n\
        \x20 triton_addmm_9 inf ms <DIVIDED BY ZERO ERROR> num_warps=8\n\
        \x20 triton_addmm_1 0.03 ms 10.0% num_warps=?\n\
        SubProcess AUTOTUNE benchmarking takes 1.5 seconds and 0.5 seconds precompiling for 7 choices\n\
        \x20 late 0.1 ms 100.0%\n";
    let file = read(text, Format::Inductor);
    assert_eq!(seconds(&file), [Some(1e-5), Some(2e-5), None]);
    assert_eq!(
        configuration(&file.trials[1]),
        r#"{"choice": "triton_addmm", "ALLOW_TF32": false, "ACC": "tl.float32", "num_warps": 4}"#
    );
    assert_eq!(failure(&file.trials[2]), Some(FailureKind::Unknown));
    assert_eq!(file.rejected, ["7: `?` is no literal"]);
    assert_eq!(file.document.coverage, Coverage::BestFew);
    let footers = file.document.settings[0].1.as_list().unwrap();
    let footer = &footers[0];
    assert_eq!(footers.len(), 1);
    assert_eq!(footer.get("choices").unwrap().to_json(), "7");
    assert_eq!(footer.get("precompiling_s").unwrap().to_json(), "0.5");
}

#[test]
fn the_first_of_equal_keys_of_tunableop_wins() {
    let text = "Validator,GCN_ARCH_NAME,gfx1\nGemmTunableOp_float_NN,nn_1_2_3,Gemm_Rocblas_4,0.5\n\
        GemmTunableOp_float_NN,nn_1_2_3,Gemm_Rocblas_9,0.25\nGemmTunableOp_float_NN,nn_1_2_4,Default,inf\n\
        GemmTunableOp_float_NN,nn_1_2_5,Default,0\nGemmTunableOp_float_NN,nn_1_2_6,Default\nx\n";
    let file = read(text, Format::TunableOp);
    assert_eq!(seconds(&file), [Some(0.5e-3), None, None, None]);
    assert_eq!(failure(&file.trials[1]), Some(FailureKind::Unknown));
    assert_eq!(file.document.counts.unmeasured, 2);
    assert_eq!(file.rejected.len(), 2);
    assert_eq!(file.trials[0].platform.as_ref().unwrap().name, "gfx1");
}

#[test]
fn traces_keep_infinite_errors_and_their_logs() {
    let trace = |status: &str, rest: &str| {
        format!(
            r#"{{"definition":"d","workload":{{"axes":{{"M":2}},"uuid":"u"}},"solution":"s","evaluation":{{"status":"{status}","environment":{{"hardware":"Toy"}},"timestamp":"t","log":"text",{rest}}}}}"#
        )
    };
    let text = [
        trace("PASSED", r#""correctness":{"max_relative_error":0.5,"max_absolute_error":0},"performance":{"latency_ms":0.5,"reference_latency_ms":1.5,"speedup_factor":3}"#),
        trace("INCORRECT_NUMERICAL", r#""correctness":{"max_relative_error":"inf","max_absolute_error":"nan"},"performance":null"#),
        trace("PASSED", r#""correctness":null,"performance":null"#),
        r#"{"definition":"d","solution":null,"workload":{"axes":{"M":2}},"evaluation":null}"#.to_owned(),
        "{\"definition\":".to_owned(),
    ]
    .join("\n");
    let file = read(&text, Format::FlashInferBench);
    assert_eq!(seconds(&file), [Some(0.5e-3), None]);
    assert_eq!(
        metric(&file.trials[1], "max_relative_error"),
        Some(f64::INFINITY)
    );
    assert!(
        metric(&file.trials[1], "max_absolute_error")
            .unwrap()
            .is_nan()
    );
    assert!(
        matches!(&file.trials[1].status, Status::Failed { message: Some(log), .. } if log == "text")
    );
    assert_eq!(file.rejected.len(), 2);
}

#[test]
fn costs_of_failures_of_autotvm_are_no_times() {
    let line = |result: &str| {
        format!(
            r#"{{"i": ["cuda", "dense", [["TENSOR", [2, 3], "float32"]], {{}}, ["dense", [2, 3]], {{"i": 5, "t": "direct", "c": null, "e": [["x", "sp", [2]]]}}], "r": {result}, "v": 0.1}}"#
        )
    };
    let text = [
        line("[[0.5, 1.5], 0, 2.5, 9.0]"),
        line("[[1000000000.0], 4, 2.5, 9.0]"),
        line("[[1000000000.0], 0, 2.5, 9.0]"),
        line("[[0.5], 0]"),
    ]
    .join("\n");
    let file = read(&text, Format::AutoTvm01);
    assert_eq!(seconds(&file), [Some(1.0), None]);
    assert_eq!(failure(&file.trials[1]), Some(FailureKind::Runtime));
    assert_eq!(file.document.counts.rejected, 2);
    assert_eq!(file.trials[0].graph.kernel.as_ref().unwrap().name, "dense");
}

#[test]
fn runs_of_kernelbench_have_two_variants() {
    let statistics =
        r#"{"mean": 2.0, "std": 0.1, "min": 1.9, "max": 2.1, "num_trials": 10, "hardware": "Toy"}"#;
    let text = format!(
        "{{\"level\": 1, \"problem_name\": \"1_a.py\", \"runtime_original_us\": 2.0, \"runtime_original_stats\": {statistics}, \"runtime_triton_stats\": null, \"kernel_path\": \"p\"}}\n{{}}\n"
    );
    let file = read(&text, Format::KernelBenchRuns);
    assert_eq!(seconds(&file), [Some(0.002), None]);
    assert_eq!(configuration(&file.trials[1]), r#"{"variant": "triton"}"#);
    assert!(
        file.trials[0]
            .attributes
            .iter()
            .all(|(name, _)| name != "kernel_path")
    );
    assert_eq!(file.rejected, ["2: no `problem_name`"]);
}
