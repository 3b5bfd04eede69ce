// c[BATCH][M][N] = a[BATCH][M][K] * b[BATCH][K][N]: a block makes a tile of each of TOGETHER matrices.

#define THREADS_X (TILE_N / THREAD_N)
#define THREADS_Y (TILE_M / THREAD_M)

#if TURNED
#define LEFT(i, k) left[threadIdx.z][k][i]
#define LEFT_SHAPE [TILE_K][TILE_M + SKEW]
#else
#define LEFT(i, k) left[threadIdx.z][i][k]
#define LEFT_SHAPE [TILE_M][TILE_K + SKEW]
#endif

extern "C" __global__ void __launch_bounds__(THREADS_X *THREADS_Y *TOGETHER)
    batched_matmul(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c) {
    __shared__ float left[TOGETHER] LEFT_SHAPE;
    __shared__ float right[TOGETHER][TILE_K][TILE_N];
    int n = blockIdx.z * TOGETHER + threadIdx.z, i0 = blockIdx.y * TILE_M, j0 = blockIdx.x * TILE_N;
    int thread = threadIdx.y * THREADS_X + threadIdx.x;
    // Threads of a matrix too many load nothing and store nothing, but wait with the others.
    bool exists = n < BATCH;
    a += (long long)n * M * K, b += (long long)n * K * N, c += (long long)n * M * N;
    float sum[THREAD_M][THREAD_N] = {};
    for (int k0 = 0; k0 < K; k0 += TILE_K) {
        for (int at = thread; at < TILE_M * TILE_K; at += THREADS_X * THREADS_Y) {
            int i = at / TILE_K, k = at % TILE_K;
            LEFT(i, k) = exists && i0 + i < M && k0 + k < K ? a[(i0 + i) * K + k0 + k] : 0;
        }
        for (int at = thread; at < TILE_K * TILE_N; at += THREADS_X * THREADS_Y) {
            int k = at / TILE_N, j = at % TILE_N;
            right[threadIdx.z][k][j] = exists && k0 + k < K && j0 + j < N ? b[(k0 + k) * N + j0 + j] : 0;
        }
        __syncthreads();
#pragma unroll UNROLL
        for (int k = 0; k < TILE_K; k++) {
            float x[THREAD_M], y[THREAD_N];
            for (int i = 0; i < THREAD_M; i++) x[i] = LEFT(threadIdx.y + i * THREADS_Y, k);
            for (int j = 0; j < THREAD_N; j++) y[j] = right[threadIdx.z][k][threadIdx.x + j * THREADS_X];
            for (int i = 0; i < THREAD_M; i++)
                for (int j = 0; j < THREAD_N; j++) sum[i][j] += x[i] * y[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < THREAD_M; i++)
        for (int j = 0; j < THREAD_N; j++) {
            int row = i0 + threadIdx.y + i * THREADS_Y, column = j0 + threadIdx.x + j * THREADS_X;
            if (exists && row < M && column < N) c[row * N + column] = sum[i][j];
        }
}
