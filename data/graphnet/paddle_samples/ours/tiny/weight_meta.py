class Program_weight_tensor_parameter_0:
    name = "parameter_0"
    shape = [8]
    dtype = "float32"
    min_val = float("-0.8")
    max_val = float("0.5")
    mean = float("0.0371")
    data = None


class Program_weight_tensor_parameter_1:
    name = "parameter_1"
    shape = [8]
    dtype = "float32"
    min_val = float("-0.8")
    max_val = float("0.5")
    mean = float("0.0371")
    data = None
