import paddle


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
