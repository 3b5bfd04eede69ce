"""Makes `data/graphnet`: small captured graphs and benchmark logs of our own, in GraphNet's formats.

Usage: graphnet.py [FOLDER]. The graphs are two small networks and a shape variant of one; names,
sizes and statistics are invented, and so are the times in the logs, which are there to be parsed.
"""

import hashlib
import json
import pathlib
import sys

TORCH = '''import torch


class GraphModule(torch.nn.Module):
    def forward(
        self,
        L_self_modules_conv_parameters_weight_: torch.nn.parameter.Parameter,
        L_x_: torch.Tensor,
        L_self_modules_bn_buffers_running_mean_: torch.Tensor,
        L_self_modules_bn_buffers_running_var_: torch.Tensor,
        L_self_modules_fc_parameters_weight_: torch.nn.parameter.Parameter,
        L_self_modules_fc_parameters_bias_: torch.nn.parameter.Parameter,
    ):
        l_self_modules_conv_parameters_weight_ = L_self_modules_conv_parameters_weight_
        l_x_ = L_x_
        l_self_modules_bn_buffers_running_mean_ = L_self_modules_bn_buffers_running_mean_
        l_self_modules_bn_buffers_running_var_ = L_self_modules_bn_buffers_running_var_
        l_self_modules_fc_parameters_weight_ = L_self_modules_fc_parameters_weight_
        l_self_modules_fc_parameters_bias_ = L_self_modules_fc_parameters_bias_
        x = torch.conv2d(
            l_x_, l_self_modules_conv_parameters_weight_, None, (1, 1), (1, 1), (1, 1), 1
        )
        l_x_ = l_self_modules_conv_parameters_weight_ = None
        x_1 = torch.nn.functional.batch_norm(
            x,
            l_self_modules_bn_buffers_running_mean_,
            l_self_modules_bn_buffers_running_var_,
            None,
            None,
            False,
            0.1,
            1e-05,
        )
        l_self_modules_bn_buffers_running_mean_ = (
            l_self_modules_bn_buffers_running_var_
        ) = None
        x_1 += x
        x_2 = x_1
        x_1 = x = None
        x_3 = torch.nn.functional.relu(x_2, inplace=True)
        x_2 = None
        x_4 = x_3.mean(dim=[2, 3])
        x_3 = None
        x_5 = torch._C._nn.linear(
            x_4,
            l_self_modules_fc_parameters_weight_,
            l_self_modules_fc_parameters_bias_,
        )
        x_4 = (
            l_self_modules_fc_parameters_weight_
        ) = l_self_modules_fc_parameters_bias_ = None
        chunk = x_5.view(-1, %(groups)d, 2).chunk(2, dim=1)
        getitem = chunk[0]
        getitem_1 = chunk[(slice(None, None, None), 1)]
        chunk = None
        add = getitem + getitem_1
        getitem = getitem_1 = None
        mask = torch.zeros(%(groups)d, device=device(type="cpu"))
        mask[0] = 1
        setitem = mask
        setitem = None
        mul = add * -0.5
        add = None
        return (mul, x_5, mask)
'''

PADDLE = '''import paddle


class GraphModule(paddle.nn.Layer):
    def __init__(self):
        super().__init__()

    def forward(self, parameter_0, parameter_1, data_0):
        # pd_op.full: (1xf32) <- ()
        full_0 = paddle._C_ops.full(
            [1], float("0.5"), paddle.float32, paddle.core.CPUPlace()
        )

        # pd_op.scale: (-1x8xf32) <- (-1x8xf32, 1xf32)
        scale_0 = paddle._C_ops.scale(data_0, full_0, float("0"), True)
        del data_0, full_0

        # pd_op.layer_norm: (-1x8xf32, -1xf32, -1xf32) <- (-1x8xf32, 8xf32, 8xf32)
        layer_norm_0, layer_norm_1, layer_norm_2 = (lambda x, f: f(x))(
            paddle._C_ops.layer_norm(
                scale_0, parameter_1, parameter_0, float("1e-05"), 1
            ),
            lambda out: out if isinstance(out, (list, tuple)) else (out, None, None),
        )
        del parameter_0, parameter_1

        # pd_op.full_int_array: (1xi64) <- ()
        full_int_array_0 = [1]

        # builtin.combine: ([-1x8xf32, -1x8xf32]) <- (-1x8xf32, -1x8xf32)
        combine_0 = [scale_0, layer_norm_0]
        del layer_norm_0, scale_0

        # pd_op.add_n: (-1x8xf32) <- ([-1x8xf32, -1x8xf32])
        add_n_0 = paddle._C_ops.add_n(combine_0)
        del combine_0

        return add_n_0
'''


def torch_tensors(features, outputs):
    """Name, shape, dtype, device, mean, std, data."""
    return [
        ("L_self_modules_conv_parameters_weight_", [features, 3, 3, 3], "float32", "0.001", "0.101", None),
        ("L_x_", [1, 3, 8, 8], "float32", "0.500", "0.289", None),
        ("L_self_modules_bn_buffers_running_mean_", [features], "float32", "0.002", "0.049",
         [round(0.001 * (7 * i % 11) - 0.005, 6) for i in range(features)]),
        ("L_self_modules_bn_buffers_running_var_", [features], "float32", "1.000", "0.000",
         [1.0] * features),
        ("L_self_modules_fc_parameters_weight_", [outputs, features], "float32", "0.000", "0.130", None),
        ("L_self_modules_fc_parameters_bias_", [outputs], "float32", "0.000", "0.010",
         [round(1e-05 * i, 6) for i in range(outputs)]),
    ]


def wrapped(key, values):
    line = f"    {key} = [{', '.join(values)}]"
    if len(line) <= 88:
        return line
    return "\n".join([f"    {key} = ["] + [f"        {value}," for value in values] + ["    ]"])


def weight_meta(tensors):
    classes = []
    for name, shape, dtype, mean, std, data in tensors:
        lines = [
            f"class Program_weight_tensor_meta_{name}:",
            f'    name = "{name}"',
            f"    shape = {shape}",
            f'    dtype = "torch.{dtype}"',
            '    device = "cuda:0"',
            f"    mean = {mean}",
            f"    std = {std}",
            "    data = None" if data is None else wrapped("data", [repr(one) for one in data]),
        ]
        classes.append("\n".join(lines) + "\n")
    return "\n\n".join(classes)


def constraints(tensors):
    entries = []
    for name, shape, *_ in sorted(tensors):
        shape = "[S0, 3, S1, S1]" if name == "L_x_" else str(shape)
        entries.append(f'    ({shape}, "{name}"),\n')
    return (
        "from sympy import Symbol\n\n"
        'S0 = Symbol("S0")\nS1 = Symbol("S1")\n\n'
        "dynamic_dim_constraint_symbols = [S0, S1]\n\n"
        "dynamic_dim_constraint_symbol2example_value = {S0: 1, S1: 8}\n\n"
        "dynamic_dim_constraint_relations = []\n\n"
        "dynamic_dim_constraint_input_shapes = [\n" + "".join(entries) + "]\n"
    )


def paddle_meta(names, rows):
    classes = []
    for name in names:
        size = rows if name.startswith("data") else 8
        shape = [rows, 8] if name.startswith("data") else [8]
        lines = [
            f"class Program_weight_tensor_{name}:",
            f'    name = "{name}"',
            f"    shape = {shape}",
            '    dtype = "float32"',
            f'    min_val = float("-{size / 10}")',
            '    max_val = float("inf")' if size > 8 else '    max_val = float("0.5")',
            '    mean = float("0.0371")',
            "    data = None",
        ]
        classes.append("\n".join(lines) + "\n")
    return "\n\n".join(classes)


def sample(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def torch_sample(folder, tag, features, outputs):
    model = TORCH % {"groups": outputs // 2}
    tensors = torch_tensors(features, outputs)
    metadata = {
        "framework": "torch",
        "num_devices_required": 1,
        "num_nodes_required": 1,
        "source": "tsql",
        "heuristic_tag": tag,
        "dynamic": False,
    }
    sample(folder, {
        "graph_net.json": json.dumps(metadata, indent=4),
        "graph_hash.txt": hashlib.sha256(model.encode()).hexdigest(),
        "model.py": model,
        "weight_meta.py": weight_meta(tensors),
        "input_meta.py": "",
        "input_tensor_constraints.py": constraints(tensors),
    })


def paddle_sample(folder):
    metadata = {"framework": "paddle", "model_name": "tiny", "num_devices_required": 1}
    sample(folder, {
        "graph_net.json": json.dumps(metadata, indent=4),
        "graph_hash.txt": hashlib.sha256(PADDLE.encode()).hexdigest(),
        "model.py": PADDLE,
        "weight_meta.py": paddle_meta(["parameter_0", "parameter_1"], 4),
        "input_meta.py": paddle_meta(["data_0"], 4),
        "shape_patches_tall/weight_meta.py": paddle_meta(["parameter_0", "parameter_1"], 64),
        "shape_patches_tall/input_meta.py": paddle_meta(["data_0"], 64),
    })


DTYPES = {"float16": (3 / 5, 1), "bfloat16": (1.796 / 5, 1), "float32": (5.886 / 5, 1), "float64": (7 / 5, 7 / 5)}


def run(path, compiler, eager, compiled, error, failure=None):
    prompt = "graph-net-test-compiler-log"
    yield f"{prompt} [Processing] {path}"
    config = {
        "model": path.rsplit("/", 1)[1], "device": "cpu", "hardware": "example CPU", "compiler": compiler,
        "warmup": 1, "trials": len(eager), "compile_framework_version": "0.0",
    }
    for key, value in config.items():
        yield f"{prompt} [Config] {key}: {value}"
    for block in [eager] if failure else [eager, compiled]:
        yield f"[Profiling] Using device: cpu example CPU, warm up 1, trials {len(block)}"
        for number, time in enumerate(block, 1):
            yield f"Trial {number}: e2e={time:.5f} ms"
    if failure:
        yield "a child process says something in between"
        yield f"{prompt} [Result] status: failed"
        yield f"{prompt} [Fail due to {failure}.]"
        return
    yield f"{prompt} [Datatype][eager]: float32"
    yield f"{prompt} [Datatype][compiled]: float32"
    yield f"{prompt} [DataType] eager:['float32'] compiled:['float32'] match:True"
    yield f"{prompt} [Correctness][equal]: {int(error == 0)}"
    for t in range(-10, 6):
        for relative, absolute in DTYPES.values():
            atol, rtol = 10 ** (t * absolute), 10 ** (t * relative)
            yield f"{prompt} [Correctness][all_close_atol_{atol:.2E}_rtol_{rtol:.2E}]: {int(error <= atol)}"
    yield f"{prompt} [Correctness][max_diff]: {error}"
    yield f"{prompt} [Correctness][mean_diff]: {error / 2}"
    yield f"{prompt} [Result] status: success"
    means = []
    for side, block in (("eager", eager), ("compiled", compiled)):
        mean = sum(block) / len(block)
        std = (sum((one - mean) ** 2 for one in block) / len(block)) ** 0.5
        means.append(mean)
        statistics = {"mean": mean, "std": std, "min": min(block), "max": max(block)}
        statistics = {key: float(f"{value:.6g}") for key, value in statistics.items()}
        yield f"{prompt} [Performance][{side}]: {json.dumps({'e2e': statistics})}"
    yield f"{prompt} [Speedup][e2e]: {means[0] / means[1]:.5f}"


def log(path, runs):
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ["noise before the first record"]
    for one in runs:
        lines.extend(run(*one))
    path.write_text("\n".join(lines) + "\n")


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "data/graphnet")
    torch_sample(root / "samples/ours/convnet", "computer_vision", 8, 12)
    torch_sample(root / "samples/ours/convnet-wide", "computer_vision", 16, 20)
    paddle_sample(root / "paddle_samples/ours/tiny")
    at = "/somewhere/samples/ours/"
    eager = [2.0, 2.1, 1.9]
    log(root / "logs/reference.log", [
        (at + "convnet", "inductor", eager, [1.0, 1.02, 0.98], 0),
        (at + "convnet-wide", "inductor", eager, [1.5, 1.5, 1.5], 1e-06),
        (at + "gone", "inductor", eager, [0.5, 0.5, 0.5], 0),
    ])
    log(root / "logs/run.log", [
        (at + "convnet", "inductor", eager, [1.25, 1.26, 1.24], 0),
        (at + "convnet-wide", "inductor", eager, [1.51, 1.5, 1.5], 1e-06),
        (at + "gone", "inductor", eager, [2.5, 2.6, 2.4], 0.5),
        (at + "broken", "inductor", eager, [], 0, "compiled model execution error"),
    ])


if __name__ == "__main__":
    main()
