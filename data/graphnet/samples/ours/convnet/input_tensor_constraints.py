from sympy import Symbol

S0 = Symbol("S0")
S1 = Symbol("S1")

dynamic_dim_constraint_symbols = [S0, S1]

dynamic_dim_constraint_symbol2example_value = {S0: 1, S1: 8}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([8], "L_self_modules_bn_buffers_running_mean_"),
    ([8], "L_self_modules_bn_buffers_running_var_"),
    ([8, 3, 3, 3], "L_self_modules_conv_parameters_weight_"),
    ([12], "L_self_modules_fc_parameters_bias_"),
    ([12, 8], "L_self_modules_fc_parameters_weight_"),
    ([S0, 3, S1, S1], "L_x_"),
]
