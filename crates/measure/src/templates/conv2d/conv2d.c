/* Convolution, NCHW: TILE_F filters x TILE_W columns of sums in registers. */

#define OUT_H ((HEIGHT + 2 * PAD - KERNEL) / STRIDE + 1)
#define OUT_W ((WIDTH + 2 * PAD - KERNEL) / STRIDE + 1)
#define MIN(x, y) ((x) < (y) ? (x) : (y))

#if PADDED
/* A copy of an image with zeros around it and after it: no bounds in the inner loops. */
#define ROW (WIDTH + 2 * PAD)
#define ROWS (HEIGHT + 2 * PAD)
static float padded[CHANNELS * (long)ROWS * ROW + TILE_W * STRIDE];

static const float *prepare(const float *image) {
    for (long c = 0; c < CHANNELS; c++)
        for (long y = 0; y < HEIGHT; y++)
            for (long x = 0; x < WIDTH; x++)
                padded[(c * ROWS + y + PAD) * ROW + x + PAD] = image[(c * HEIGHT + y) * WIDTH + x];
    return padded;
}

static inline void fetch(float *line, const float *image, long c, long y, long x) {
    const float *from = image + (c * ROWS + y) * ROW + x;
    for (int t = 0; t < TILE_W; t++) line[t] = from[t * STRIDE];
}
#else
static const float *prepare(const float *image) { return image; }

static inline void fetch(float *line, const float *image, long c, long y, long x) {
    y -= PAD, x -= PAD;
    if (y < 0 || y >= HEIGHT) {
        for (int t = 0; t < TILE_W; t++) line[t] = 0;
        return;
    }
    const float *row = image + (c * HEIGHT + y) * WIDTH;
    if (x >= 0 && x + (TILE_W - 1) * STRIDE < WIDTH)
        for (int t = 0; t < TILE_W; t++) line[t] = row[x + t * STRIDE];
    else
        for (int t = 0; t < TILE_W; t++) {
            long at = x + t * STRIDE;
            line[t] = at >= 0 && at < WIDTH ? row[at] : 0;
        }
}
#endif

/* Adds channels c0.. to TILE_F filters from f, TILE_W columns from x, in row y. */
static void part(const float *image, const float *weight, float *output, long f, long y, long x, long c0) {
    float sum[TILE_F][TILE_W] = {{0}};
    long filters = MIN(TILE_F, FILTERS - f), columns = MIN(TILE_W, OUT_W - x);
    for (long c = c0; c < MIN(c0 + TILE_C, CHANNELS); c++)
        for (long r = 0; r < KERNEL; r++)
            for (long s = 0; s < KERNEL; s++) {
                float line[TILE_W];
                fetch(line, image, c, y * STRIDE + r, x * STRIDE + s);
                for (int g = 0; g < TILE_F; g++) {
                    /* A filter too many repeats the last: its sums are not stored. */
                    long filter = f + (g < filters ? g : filters - 1);
                    float factor = weight[((filter * CHANNELS + c) * KERNEL + r) * KERNEL + s];
                    for (int t = 0; t < TILE_W; t++) sum[g][t] += factor * line[t];
                }
            }
    for (long g = 0; g < filters; g++) {
        float *to = output + ((f + g) * OUT_H + y) * OUT_W + x;
        for (long t = 0; t < columns; t++) to[t] = c0 == 0 ? sum[g][t] : to[t] + sum[g][t];
    }
}

void conv2d(const float *restrict input, const float *restrict weight, float *restrict output) {
    for (long n = 0; n < BATCH; n++) {
        const float *image = prepare(input + n * CHANNELS * HEIGHT * WIDTH);
        for (long c = 0; c < CHANNELS; c += TILE_C)
#if ORDER == 0
            for (long f = 0; f < FILTERS; f += TILE_F)
                for (long y = 0; y < OUT_H; y++)
                    for (long x = 0; x < OUT_W; x += TILE_W) part(image, weight, output, f, y, x, c);
#elif ORDER == 1
            for (long y = 0; y < OUT_H; y++)
                for (long f = 0; f < FILTERS; f += TILE_F)
                    for (long x = 0; x < OUT_W; x += TILE_W) part(image, weight, output, f, y, x, c);
#else
            for (long y = 0; y < OUT_H; y++)
                for (long x = 0; x < OUT_W; x += TILE_W)
                    for (long f = 0; f < FILTERS; f += TILE_F) part(image, weight, output, f, y, x, c);
#endif
        output += (long)FILTERS * OUT_H * OUT_W;
    }
}
