/* Depthwise convolution, NHWC: TILE_W columns x (VECTORS * LANES) channels of sums in registers. */

#define OUT_H ((HEIGHT + 2 * PAD - KERNEL) / STRIDE + 1)
#define OUT_W ((WIDTH + 2 * PAD - KERNEL) / STRIDE + 1)
#define GROUP (VECTORS * LANES)
#define MIN(x, y) ((x) < (y) ? (x) : (y))

typedef float lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

/* TILE_W columns from x; all of them and all channels exist. */
static inline void block(const float *image, const float *weight, float *to, long y, long x) {
    lanes sum[TILE_W][VECTORS] = {{{0}}};
    for (long r = 0; r < KERNEL; r++) {
        long row = y * STRIDE + r - PAD;
        if (row < 0 || row >= HEIGHT) continue;
        for (long s = 0; s < KERNEL; s++) {
            lanes factor[VECTORS];
            for (int v = 0; v < VECTORS; v++)
                factor[v] = *(const lanes *)(weight + (r * KERNEL + s) * CHANNELS + v * LANES);
            for (int t = 0; t < TILE_W; t++) {
                long column = (x + t) * STRIDE + s - PAD;
                if (column < 0 || column >= WIDTH) continue;
                const float *from = image + (row * WIDTH + column) * CHANNELS;
                for (int v = 0; v < VECTORS; v++) sum[t][v] += factor[v] * *(const lanes *)(from + v * LANES);
            }
        }
    }
    for (int t = 0; t < TILE_W; t++)
        for (int v = 0; v < VECTORS; v++) *(lanes *)(to + t * (long)CHANNELS + v * LANES) = sum[t][v];
}

/* What blocks leave at the edges. */
static void rest(const float *image, const float *weight, float *to, long y, long x, long columns, long channels) {
    for (long t = 0; t < columns; t++)
        for (long c = 0; c < channels; c++) {
            float sum = 0;
            for (long r = 0; r < KERNEL; r++)
                for (long s = 0; s < KERNEL; s++) {
                    long row = y * STRIDE + r - PAD, column = (x + t) * STRIDE + s - PAD;
                    if (row < 0 || row >= HEIGHT || column < 0 || column >= WIDTH) continue;
                    sum += image[(row * WIDTH + column) * CHANNELS + c] * weight[(r * KERNEL + s) * CHANNELS + c];
                }
            to[t * CHANNELS + c] = sum;
        }
}

static inline void part(const float *image, const float *weight, float *output, long y, long x, long c) {
    long columns = MIN(TILE_W, OUT_W - x), channels = MIN(GROUP, CHANNELS - c);
    float *to = output + (y * OUT_W + x) * CHANNELS + c;
    if (columns == TILE_W && channels == GROUP)
        block(image + c, weight + c, to, y, x);
    else
        rest(image + c, weight + c, to, y, x, columns, channels);
}

void depthwise_conv2d(const float *restrict input, const float *restrict weight, float *restrict output) {
    for (long n = 0; n < BATCH; n++) {
#if ORDER == 0
        for (long y = 0; y < OUT_H; y++)
            for (long x = 0; x < OUT_W; x += TILE_W)
                for (long c = 0; c < CHANNELS; c += GROUP) part(input, weight, output, y, x, c);
#elif ORDER == 1
        for (long y = 0; y < OUT_H; y++)
            for (long c = 0; c < CHANNELS; c += GROUP)
                for (long x = 0; x < OUT_W; x += TILE_W) part(input, weight, output, y, x, c);
#else
        for (long c = 0; c < CHANNELS; c += GROUP)
            for (long y = 0; y < OUT_H; y++)
                for (long x = 0; x < OUT_W; x += TILE_W) part(input, weight, output, y, x, c);
#endif
        input += (long)HEIGHT * WIDTH * CHANNELS;
        output += (long)OUT_H * OUT_W * CHANNELS;
    }
}
