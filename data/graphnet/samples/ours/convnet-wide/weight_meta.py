class Program_weight_tensor_meta_L_self_modules_conv_parameters_weight_:
    name = "L_self_modules_conv_parameters_weight_"
    shape = [16, 3, 3, 3]
    dtype = "torch.float32"
    device = "cuda:0"
    mean = 0.001
    std = 0.101
    data = None


class Program_weight_tensor_meta_L_x_:
    name = "L_x_"
    shape = [1, 3, 8, 8]
    dtype = "torch.float32"
    device = "cuda:0"
    mean = 0.500
    std = 0.289
    data = None


class Program_weight_tensor_meta_L_self_modules_bn_buffers_running_mean_:
    name = "L_self_modules_bn_buffers_running_mean_"
    shape = [16]
    dtype = "torch.float32"
    device = "cuda:0"
    mean = 0.002
    std = 0.049
    data = [
        -0.005,
        0.002,
        -0.002,
        0.005,
        0.001,
        -0.003,
        0.004,
        0.0,
        -0.004,
        0.003,
        -0.001,
        -0.005,
        0.002,
        -0.002,
        0.005,
        0.001,
    ]


class Program_weight_tensor_meta_L_self_modules_bn_buffers_running_var_:
    name = "L_self_modules_bn_buffers_running_var_"
    shape = [16]
    dtype = "torch.float32"
    device = "cuda:0"
    mean = 1.000
    std = 0.000
    data = [
        1.0,
        1.0,
        1.0,
        1.0,
        1.0,
        1.0,
        1.0,
        1.0,
        1.0,
        1.0,
        1.0,
        1.0,
        1.0,
        1.0,
        1.0,
        1.0,
    ]


class Program_weight_tensor_meta_L_self_modules_fc_parameters_weight_:
    name = "L_self_modules_fc_parameters_weight_"
    shape = [20, 16]
    dtype = "torch.float32"
    device = "cuda:0"
    mean = 0.000
    std = 0.130
    data = None


class Program_weight_tensor_meta_L_self_modules_fc_parameters_bias_:
    name = "L_self_modules_fc_parameters_bias_"
    shape = [20]
    dtype = "torch.float32"
    device = "cuda:0"
    mean = 0.000
    std = 0.010
    data = [
        0.0,
        1e-05,
        2e-05,
        3e-05,
        4e-05,
        5e-05,
        6e-05,
        7e-05,
        8e-05,
        9e-05,
        0.0001,
        0.00011,
        0.00012,
        0.00013,
        0.00014,
        0.00015,
        0.00016,
        0.00017,
        0.00018,
        0.00019,
    ]
