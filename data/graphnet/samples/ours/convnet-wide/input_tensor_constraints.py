from sympy import Symbol

S0 = Symbol("S0")
S1 = Symbol("S1")

dynamic_dim_constraint_symbols = [S0, S1]

dynamic_dim_constraint_symbol2example_value = {S0: 1, S1: 8}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([16], "L_self_modules_bn_buffers_running_mean_"),
    ([16], "L_self_modules_bn_buffers_running_var_"),
    ([16, 3, 3, 3], "L_self_modules_conv_parameters_weight_"),
    ([20], "L_self_modules_fc_parameters_bias_"),
    ([20, 16], "L_self_modules_fc_parameters_weight_"),
    ([S0, 3, S1, S1], "L_x_"),
]
