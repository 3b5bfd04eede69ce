class Program_weight_tensor_data_0:
    name = "data_0"
    shape = [4, 8]
    dtype = "float32"
    min_val = float("-0.4")
    max_val = float("0.5")
    mean = float("0.0371")
    data = None
