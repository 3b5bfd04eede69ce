// y[COLUMNS][ROWS] = transposed x[ROWS][COLUMNS]: through shared memory both sides are read and written in rows.

extern "C" __global__ void __launch_bounds__(THREADS_X *THREADS_Y)
    transpose(const float *__restrict__ x, float *__restrict__ y) {
    int r0 = blockIdx.y * TILE_R, c0 = blockIdx.x * TILE_C;
#if SHARED
    __shared__ float tile[TILE_R][TILE_C + SKEW];
#pragma unroll UNROLL
    for (int r = threadIdx.y; r < TILE_R; r += THREADS_Y)
        for (int c = threadIdx.x; c < TILE_C; c += THREADS_X)
            if (r0 + r < ROWS && c0 + c < COLUMNS) tile[r][c] = x[(long long)(r0 + r) * COLUMNS + c0 + c];
    __syncthreads();
#pragma unroll UNROLL
    for (int c = threadIdx.y; c < TILE_C; c += THREADS_Y)
        for (int r = threadIdx.x; r < TILE_R; r += THREADS_X)
            if (r0 + r < ROWS && c0 + c < COLUMNS) y[(long long)(c0 + c) * ROWS + r0 + r] = tile[r][c];
#else
#pragma unroll UNROLL
    for (int c = threadIdx.y; c < TILE_C; c += THREADS_Y)
        for (int r = threadIdx.x; r < TILE_R; r += THREADS_X)
            if (r0 + r < ROWS && c0 + c < COLUMNS)
                y[(long long)(c0 + c) * ROWS + r0 + r] = x[(long long)(r0 + r) * COLUMNS + c0 + c];
#endif
}
