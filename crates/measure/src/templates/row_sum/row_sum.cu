// y[ROWS] = sums of the rows of x[ROWS][COLUMNS]: THREADS threads to a row, TOGETHER rows to a block.

#define WARPS (THREADS / 32)
#define STEP (THREADS * VECTOR)

#if VECTOR == 4
typedef float4 chunk;
#elif VECTOR == 2
typedef float2 chunk;
#else
typedef float chunk;
#endif

extern "C" __global__ void __launch_bounds__(THREADS *TOGETHER)
    row_sum(const float *__restrict__ x, float *__restrict__ y) {
    int row = blockIdx.x * TOGETHER + threadIdx.y, columns = row < ROWS ? COLUMNS : 0;
    x += (long long)row * COLUMNS;
    float sum[ITEMS] = {};
    // ITEMS loads are under way before the first is needed.
    for (int j = threadIdx.x * VECTOR; j < columns; j += STEP * ITEMS) {
        chunk held[ITEMS];
        for (int i = 0; i < ITEMS; i++)
            held[i] = j + i * STEP < columns ? *reinterpret_cast<const chunk *>(x + j + i * STEP) : chunk();
        for (int i = 0; i < ITEMS; i++)
            for (int v = 0; v < VECTOR; v++) sum[i] += reinterpret_cast<const float *>(&held[i])[v];
    }
    float value = 0;
    for (int i = 0; i < ITEMS; i++) value += sum[i];
#if SHUFFLE
    __shared__ float parts[TOGETHER][WARPS];
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
    if (threadIdx.x % 32 == 0) parts[threadIdx.y][threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x == 0) {
        value = 0;
        for (int w = 0; w < WARPS; w++) value += parts[threadIdx.y][w];
    }
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
    if (threadIdx.x == 0 && row < ROWS) y[row] = value;
}
