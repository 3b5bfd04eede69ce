// Convolution, NCHW: a thread makes one pixel of TILE_F filters; a block shares a patch of TILE_C channels.

#define OUT_H ((HEIGHT + 2 * PAD - KERNEL) / STRIDE + 1)
#define OUT_W ((WIDTH + 2 * PAD - KERNEL) / STRIDE + 1)
#define GROUPS ((FILTERS + TILE_F - 1) / TILE_F)
#define PATCH_H ((TILE_H - 1) * STRIDE + KERNEL)
#define PATCH_W ((TILE_W - 1) * STRIDE + KERNEL)
#define THREADS (TILE_H * TILE_W)
#define TAPS (KERNEL * KERNEL)

#if SHARED_WEIGHT
#define FACTOR(g, c, tap) factors[g][c][tap]
#else
#define FACTOR(g, c, tap) \
    (f0 + (g) < FILTERS && c0 + (c) < CHANNELS ? weight[((f0 + (g)) * CHANNELS + c0 + (c)) * TAPS + (tap)] : 0)
#endif

extern "C" __global__ void __launch_bounds__(THREADS)
    conv2d(const float *__restrict__ input, const float *__restrict__ weight, float *__restrict__ output) {
    __shared__ float patch[TILE_C][PATCH_H][PATCH_W];
#if SHARED_WEIGHT
    __shared__ float factors[TILE_F][TILE_C][TAPS];
#endif
    int n = blockIdx.z / GROUPS, f0 = blockIdx.z % GROUPS * TILE_F;
    int y0 = blockIdx.y * TILE_H, x0 = blockIdx.x * TILE_W, thread = threadIdx.y * TILE_W + threadIdx.x;
    float sum[TILE_F] = {};
    for (int c0 = 0; c0 < CHANNELS; c0 += TILE_C) {
        for (int at = thread; at < TILE_C * PATCH_H * PATCH_W; at += THREADS) {
            int c = at / (PATCH_H * PATCH_W), r = at / PATCH_W % PATCH_H, s = at % PATCH_W;
            int row = y0 * STRIDE + r - PAD, column = x0 * STRIDE + s - PAD;
            bool exists = c0 + c < CHANNELS && row >= 0 && row < HEIGHT && column >= 0 && column < WIDTH;
            patch[c][r][s] =
                exists ? input[(((long long)n * CHANNELS + c0 + c) * HEIGHT + row) * WIDTH + column] : 0;
        }
#if SHARED_WEIGHT
        for (int at = thread; at < TILE_F * TILE_C * TAPS; at += THREADS) {
            int g = at / (TILE_C * TAPS), c = at / TAPS % TILE_C, tap = at % TAPS;
            bool exists = f0 + g < FILTERS && c0 + c < CHANNELS;
            factors[g][c][tap] = exists ? weight[((f0 + g) * CHANNELS + c0 + c) * TAPS + tap] : 0;
        }
#endif
        __syncthreads();
#pragma unroll UNROLL
        for (int c = 0; c < TILE_C; c++)
            for (int r = 0; r < KERNEL; r++)
                for (int s = 0; s < KERNEL; s++) {
                    float value = patch[c][threadIdx.y * STRIDE + r][threadIdx.x * STRIDE + s];
                    for (int g = 0; g < TILE_F; g++) sum[g] += value * FACTOR(g, c, r * KERNEL + s);
                }
        __syncthreads();
    }
    int y = y0 + threadIdx.y, x = x0 + threadIdx.x;
    for (int g = 0; g < TILE_F; g++)
        if (f0 + g < FILTERS && y < OUT_H && x < OUT_W)
            output[(((long long)n * FILTERS + f0 + g) * OUT_H + y) * OUT_W + x] = sum[g];
}
