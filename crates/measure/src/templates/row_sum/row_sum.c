/* y[ROWS] = sums of the rows of x[ROWS][COLUMNS]: WIDTH sums at once, TOGETHER rows at once, TILE columns at a time. */

#define MIN(x, y) ((x) < (y) ? (x) : (y))

static inline void part(const float *x, float *y, long rows, long columns) {
    float sum[TOGETHER][WIDTH] = {{0}};
    long j = 0;
    for (; j + WIDTH <= columns; j += WIDTH)
        for (long r = 0; r < rows; r++) {
            const float *from = x + r * COLUMNS + j;
#if AHEAD
            __builtin_prefetch((const char *)from + 64 * AHEAD);
#endif
            for (int l = 0; l < WIDTH; l++) sum[r][l] += from[l];
        }
    for (long r = 0; r < rows; r++) {
        float total = 0;
        for (long k = j; k < columns; k++) total += x[r * COLUMNS + k];
        for (int l = 0; l < WIDTH; l++) total += sum[r][l];
        y[r] += total;
    }
}

void row_sum(const float *restrict x, float *restrict y) {
    for (long i = 0; i < ROWS; i++) y[i] = 0;
    for (long i = 0; i < ROWS; i += TOGETHER)
        for (long t = 0; t < COLUMNS; t += TILE) {
            long columns = MIN(TILE, COLUMNS - t);
            /* The first is the rule, and its loop has a fixed length. */
            if (i + TOGETHER <= ROWS)
                part(x + i * COLUMNS + t, y + i, TOGETHER, columns);
            else
                part(x + i * COLUMNS + t, y + i, ROWS - i, columns);
        }
}
