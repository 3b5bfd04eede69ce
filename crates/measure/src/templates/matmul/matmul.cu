// c[M][N] = a[M][K] * b[K][N]: tiles in shared memory, THREAD_M x THREAD_N sums in the registers of each thread.

#define THREADS_X (TILE_N / THREAD_N)
#define THREADS_Y (TILE_M / THREAD_M)
#define THREADS (THREADS_X * THREADS_Y)

#if VECTOR == 4
typedef float4 chunk;
#else
typedef float chunk;
#endif

#if STRIDED
#define ROW(i) (threadIdx.y + (i) * THREADS_Y)
#define COLUMN(j) (threadIdx.x + (j) * THREADS_X)
#else
#define ROW(i) (threadIdx.y * THREAD_M + (i))
#define COLUMN(j) (threadIdx.x * THREAD_N + (j))
#endif

// VECTOR elements from `from`, or zeros. Sizes are multiples of VECTOR, so that all of them exist or none.
__device__ __forceinline__ void fetch(float *to, const float *from, bool exists) {
    chunk held = chunk();
    if (exists) held = *reinterpret_cast<const chunk *>(from);
    const float *values = reinterpret_cast<const float *>(&held);
    for (int v = 0; v < VECTOR; v++) to[v] = values[v];
}

// `left` lies transposed: all threads of a row of the block then read one of its rows.
__device__ __forceinline__ void load(const float *a, const float *b, float (*left)[TILE_M + SKEW],
                                     float (*right)[TILE_N], int k0) {
    int thread = threadIdx.y * THREADS_X + threadIdx.x, i0 = blockIdx.y * TILE_M, j0 = blockIdx.x * TILE_N;
    float values[VECTOR];
    for (int at = thread * VECTOR; at < TILE_M * TILE_K; at += THREADS * VECTOR) {
        int i = at / TILE_K, k = at % TILE_K;
        fetch(values, a + (long long)(i0 + i) * K + k0 + k, i0 + i < M && k0 + k < K);
        for (int v = 0; v < VECTOR; v++) left[k + v][i] = values[v];
    }
    for (int at = thread * VECTOR; at < TILE_K * TILE_N; at += THREADS * VECTOR) {
        int k = at / TILE_N, j = at % TILE_N;
        fetch(values, b + (long long)(k0 + k) * N + j0 + j, k0 + k < K && j0 + j < N);
        for (int v = 0; v < VECTOR; v++) right[k][j + v] = values[v];
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    matmul(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c) {
    __shared__ float left[STAGES][TILE_K][TILE_M + SKEW];
    __shared__ float right[STAGES][TILE_K][TILE_N];
    float sum[THREAD_M][THREAD_N] = {};
    int stage = 0;
    load(a, b, left[0], right[0], 0);
    __syncthreads();
    for (int k0 = 0; k0 < K; k0 += TILE_K) {
        int next = k0 + TILE_K;
#if STAGES == 2
        if (next < K) load(a, b, left[stage ^ 1], right[stage ^ 1], next);
#endif
#pragma unroll UNROLL
        for (int k = 0; k < TILE_K; k++) {
            float x[THREAD_M], y[THREAD_N];
            for (int i = 0; i < THREAD_M; i++) x[i] = left[stage][k][ROW(i)];
            for (int j = 0; j < THREAD_N; j++) y[j] = right[stage][k][COLUMN(j)];
            for (int i = 0; i < THREAD_M; i++)
                for (int j = 0; j < THREAD_N; j++) sum[i][j] += x[i] * y[j];
        }
        __syncthreads();
#if STAGES == 2
        stage ^= 1;
#else
        if (next < K) load(a, b, left[0], right[0], next);
        __syncthreads();
#endif
    }
    for (int i = 0; i < THREAD_M; i++)
        for (int j = 0; j < THREAD_N; j++) {
            int row = blockIdx.y * TILE_M + ROW(i), column = blockIdx.x * TILE_N + COLUMN(j);
            if (row < M && column < N) c[(long long)row * N + column] = sum[i][j];
        }
}
