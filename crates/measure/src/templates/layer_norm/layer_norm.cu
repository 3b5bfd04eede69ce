// Layer norm of each row of x[ROWS][COLUMNS]: THREADS threads to a row, TOGETHER rows to a block.

#define WARPS (THREADS / 32)

#if VECTOR == 4
typedef float4 chunk;
#elif VECTOR == 2
typedef float2 chunk;
#else
typedef float chunk;
#endif

__device__ __forceinline__ void fetch(float *to, const float *from) {
    chunk held = *reinterpret_cast<const chunk *>(from);
    const float *values = reinterpret_cast<const float *>(&held);
    for (int v = 0; v < VECTOR; v++) to[v] = values[v];
}

// The sum over all threads of the row, for all of them. Every thread of the block calls it.
__device__ __forceinline__ float total(float value) {
#if SHUFFLE
    __shared__ float parts[TOGETHER][WARPS];
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
    if (threadIdx.x % 32 == 0) parts[threadIdx.y][threadIdx.x / 32] = value;
    __syncthreads();
    value = 0;
    for (int w = 0; w < WARPS; w++) value += parts[threadIdx.y][w];
#else
    __shared__ float parts[TOGETHER][THREADS];
    parts[threadIdx.y][threadIdx.x] = value;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.y][threadIdx.x] += parts[threadIdx.y][threadIdx.x + half];
        __syncthreads();
    }
    value = parts[threadIdx.y][0];
#endif
    __syncthreads();
    return value;
}

extern "C" __global__ void __launch_bounds__(THREADS *TOGETHER)
    layer_norm(const float *__restrict__ x, const float *__restrict__ gamma, const float *__restrict__ beta,
               float *__restrict__ y, float epsilon) {
    int row = blockIdx.x * TOGETHER + threadIdx.y, columns = row < ROWS ? COLUMNS : 0;
    x += (long long)row * COLUMNS, y += (long long)row * COLUMNS;
    float sum = 0, squares = 0, values[VECTOR];
#if PASSES == 1
    // Around the first element, so that a large mean does not swallow a small variance.
    float shift = columns ? x[0] : 0;
#else
    float shift = 0;
#endif
#pragma unroll UNROLL
    for (int j = threadIdx.x * VECTOR; j < columns; j += THREADS * VECTOR) {
        fetch(values, x + j);
        for (int v = 0; v < VECTOR; v++) {
            float d = values[v] - shift;
            sum += d, squares += d * d;
        }
    }
    float mean = total(sum) / COLUMNS, variance;
#if PASSES == 1
    variance = total(squares) / COLUMNS - mean * mean;
    mean += shift;
#else
    squares = 0;
#pragma unroll UNROLL
    for (int j = threadIdx.x * VECTOR; j < columns; j += THREADS * VECTOR) {
        fetch(values, x + j);
        for (int v = 0; v < VECTOR; v++) squares += (values[v] - mean) * (values[v] - mean);
    }
    variance = total(squares) / COLUMNS;
#endif
    float scale = rsqrtf((variance > 0 ? variance : 0) + epsilon);
#pragma unroll UNROLL
    for (int j = threadIdx.x * VECTOR; j < columns; j += THREADS * VECTOR) {
        float factor[VECTOR], offset[VECTOR];
        fetch(values, x + j), fetch(factor, gamma + j), fetch(offset, beta + j);
        chunk held;
        float *result = reinterpret_cast<float *>(&held);
        for (int v = 0; v < VECTOR; v++) result[v] = (values[v] - mean) * scale * factor[v] + offset[v];
        *reinterpret_cast<chunk *>(y + j) = held;
    }
}
