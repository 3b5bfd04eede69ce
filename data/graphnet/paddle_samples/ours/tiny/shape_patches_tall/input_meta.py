class Program_weight_tensor_data_0:
    name = "data_0"
    shape = [64, 8]
    dtype = "float32"
    min_val = float("-6.4")
    max_val = float("inf")
    mean = float("0.0371")
    data = None
