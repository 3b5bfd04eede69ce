// Depthwise convolution, NHWC: a thread makes TILE_W columns of VECTOR channels, neighbours have neighbouring channels.

#define OUT_H ((HEIGHT + 2 * PAD - KERNEL) / STRIDE + 1)
#define OUT_W ((WIDTH + 2 * PAD - KERNEL) / STRIDE + 1)
#define TAPS (KERNEL * KERNEL)
#define GROUP (THREADS_C * VECTOR)

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

extern "C" __global__ void __launch_bounds__(THREADS_C *THREADS_W)
    depthwise_conv2d(const float *__restrict__ input, const float *__restrict__ weight, float *__restrict__ output) {
    int c = (blockIdx.x * THREADS_C + threadIdx.x) * VECTOR;
    int x0 = (blockIdx.y * THREADS_W + threadIdx.y) * TILE_W, y = blockIdx.z % OUT_H, n = blockIdx.z / OUT_H;
#if SHARED_WEIGHT
    __shared__ float factors[TAPS][GROUP];
    for (int at = threadIdx.y * THREADS_C + threadIdx.x; at < TAPS * GROUP; at += THREADS_C * THREADS_W) {
        int channel = blockIdx.x * GROUP + at % GROUP;
        factors[at / GROUP][at % GROUP] = channel < CHANNELS ? weight[at / GROUP * CHANNELS + channel] : 0;
    }
    __syncthreads();
#endif
    // Channels are a multiple of VECTOR: all of a thread exist or none.
    if (c >= CHANNELS) return;
    float sum[TILE_W][VECTOR] = {};
#pragma unroll UNROLL
    for (int tap = 0; tap < TAPS; tap++) {
        int row = y * STRIDE + tap / KERNEL - PAD;
        if (row < 0 || row >= HEIGHT) continue;
        float factor[VECTOR];
#if SHARED_WEIGHT
        for (int v = 0; v < VECTOR; v++) factor[v] = factors[tap][threadIdx.x * VECTOR + v];
#else
        fetch(factor, weight + tap * CHANNELS + c);
#endif
        for (int t = 0; t < TILE_W; t++) {
            int column = (x0 + t) * STRIDE + tap % KERNEL - PAD;
            if (column < 0 || column >= WIDTH) continue;
            float values[VECTOR];
            fetch(values, input + (((long long)n * HEIGHT + row) * WIDTH + column) * CHANNELS + c);
            for (int v = 0; v < VECTOR; v++) sum[t][v] += factor[v] * values[v];
        }
    }
    for (int t = 0; t < TILE_W; t++)
        if (x0 + t < OUT_W)
            for (int v = 0; v < VECTOR; v++)
                output[(((long long)n * OUT_H + y) * OUT_W + x0 + t) * CHANNELS + c + v] = sum[t][v];
}
