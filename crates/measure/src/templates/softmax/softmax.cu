// Softmax of each row of x[ROWS][COLUMNS]: THREADS threads to a row, TOGETHER rows to a block.

#define WARPS (THREADS / 32)

#if FAST
#define EXP(x) __expf(x)
#else
#define EXP(x) expf(x)
#endif

__device__ __forceinline__ float larger(float x, float y) { return x > y ? x : y; }
__device__ __forceinline__ float plus(float x, float y) { return x + y; }

// One value of all threads of the row, for all of them. Every thread of the block calls it.
template <float (*combine)(float, float)>
__device__ __forceinline__ float reduce(float value) {
#if SHUFFLE
    __shared__ float parts[TOGETHER][WARPS];
    for (int offset = 16; offset > 0; offset /= 2) value = combine(value, __shfl_xor_sync(0xffffffffu, value, offset));
    if (threadIdx.x % 32 == 0) parts[threadIdx.y][threadIdx.x / 32] = value;
    __syncthreads();
    value = parts[threadIdx.y][0];
    for (int w = 1; w < WARPS; w++) value = combine(value, parts[threadIdx.y][w]);
#else
    __shared__ float parts[TOGETHER][THREADS];
    parts[threadIdx.y][threadIdx.x] = value;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            parts[threadIdx.y][threadIdx.x] =
                combine(parts[threadIdx.y][threadIdx.x], parts[threadIdx.y][threadIdx.x + half]);
        __syncthreads();
    }
    value = parts[threadIdx.y][0];
#endif
    __syncthreads();
    return value;
}

extern "C" __global__ void __launch_bounds__(THREADS *TOGETHER)
    softmax(const float *__restrict__ x, float *__restrict__ y) {
    int row = blockIdx.x * TOGETHER + threadIdx.y;
    // Threads of a row too many have no columns, but wait with the others.
    int columns = row < ROWS ? COLUMNS : 0;
    x += (long long)row * COLUMNS, y += (long long)row * COLUMNS;
#if KEEP
    __shared__ float kept[TOGETHER][COLUMNS];
    // A thread reads only what it wrote itself.
    for (int j = threadIdx.x; j < columns; j += THREADS) kept[threadIdx.y][j] = x[j];
#define X(j) kept[threadIdx.y][j]
#else
#define X(j) x[j]
#endif
    float most = -3.402823466e38f, sum = 0;
#if PASSES == 2
    for (int j = threadIdx.x; j < columns; j += THREADS) {
        float value = X(j), top = larger(most, value);
        sum = sum * EXP(most - top) + EXP(value - top);
        most = top;
    }
    float top = reduce<larger>(most);
    sum = reduce<plus>(sum * EXP(most - top));
    most = top;
#else
#pragma unroll UNROLL
    for (int j = threadIdx.x; j < columns; j += THREADS) most = larger(most, X(j));
    most = reduce<larger>(most);
#pragma unroll UNROLL
    for (int j = threadIdx.x; j < columns; j += THREADS) sum += EXP(X(j) - most);
    sum = reduce<plus>(sum);
#endif
    float scale = 1 / sum;
#pragma unroll UNROLL
    for (int j = threadIdx.x; j < columns; j += THREADS) y[j] = EXP(X(j) - most) * scale;
}
