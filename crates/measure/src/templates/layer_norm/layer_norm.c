/* Layer norm of each row of x[ROWS][COLUMNS]: WIDTH sums at once, TOGETHER rows at once. */

#define MIN(x, y) ((x) < (y) ? (x) : (y))

/* Sum and, where `squares`, sum of squares of x - shift. */
static inline void sums(const float *x, float shift, int squares, float *first, float *second) {
    float one[WIDTH] = {0}, two[WIDTH] = {0}, a = 0, b = 0;
    long j = 0;
    for (; j + WIDTH <= COLUMNS; j += WIDTH)
        for (int l = 0; l < WIDTH; l++) {
            float d = x[j + l] - shift;
            one[l] += d;
            if (squares) two[l] += d * d;
        }
    for (; j < COLUMNS; j++) {
        float d = x[j] - shift;
        a += d, b += d * d;
    }
    for (int l = 0; l < WIDTH; l++) a += one[l], b += two[l];
    *first = a, *second = b;
}

static inline void moments(const float *x, float epsilon, float *mean, float *scale) {
    float sum, squares, variance;
#if PASSES == 1
    /* Around the first element, so that a large mean does not swallow a small variance. */
    sums(x, x[0], 1, &sum, &squares);
    sum /= COLUMNS;
    *mean = x[0] + sum;
    variance = squares / COLUMNS - sum * sum;
#else
    sums(x, 0, 0, &sum, &squares);
    *mean = sum / COLUMNS;
    sums(x, *mean, 1, &sum, &squares);
    variance = squares / COLUMNS;
#endif
    *scale = 1 / __builtin_sqrtf((variance > 0 ? variance : 0) + epsilon);
}

void layer_norm(const float *restrict x, const float *restrict gamma, const float *restrict beta, float *restrict y,
                float epsilon) {
    for (long i = 0; i < ROWS; i += TOGETHER) {
        long rows = MIN(TOGETHER, ROWS - i);
        float mean[TOGETHER], scale[TOGETHER];
        for (long r = 0; r < rows; r++) moments(x + (i + r) * COLUMNS, epsilon, mean + r, scale + r);
#if INSIDE == 0
        for (long r = 0; r < rows; r++)
            for (long j = 0; j < COLUMNS; j++) {
                long at = (i + r) * COLUMNS + j;
                y[at] = (x[at] - mean[r]) * scale[r] * gamma[j] + beta[j];
            }
#else
        /* Tiles of columns, so that gamma and beta are read once for all rows. */
        for (long t = 0; t < COLUMNS; t += TILE)
            for (long r = 0; r < rows; r++)
                for (long j = t; j < MIN(t + TILE, COLUMNS); j++) {
                    long at = (i + r) * COLUMNS + j;
                    y[at] = (x[at] - mean[r]) * scale[r] * gamma[j] + beta[j];
                }
#endif
    }
}
