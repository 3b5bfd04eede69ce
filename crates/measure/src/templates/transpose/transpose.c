/* y[COLUMNS][ROWS] = transposed x[ROWS][COLUMNS]: tiles for the caches, MICRO x MICRO blocks for the registers. */

#define MIN(x, y) ((x) < (y) ? (x) : (y))

static inline void block(const float *x, float *y) {
    float held[MICRO][MICRO];
    for (int r = 0; r < MICRO; r++)
        for (int c = 0; c < MICRO; c++) held[r][c] = x[r * (long)COLUMNS + c];
    for (int c = 0; c < MICRO; c++)
        for (int r = 0; r < MICRO; r++) y[c * (long)ROWS + r] = held[r][c];
}

static void rest(const float *x, float *y, long rows, long columns) {
    for (long c = 0; c < columns; c++)
        for (long r = 0; r < rows; r++) y[c * ROWS + r] = x[r * COLUMNS + c];
}

static inline void part(const float *x, float *y, long r, long c, long r1, long c1) {
    const float *from = x + r * COLUMNS + c;
    float *to = y + c * ROWS + r;
    if (r + MICRO <= r1 && c + MICRO <= c1)
        block(from, to);
    else
        rest(from, to, MIN(MICRO, r1 - r), MIN(MICRO, c1 - c));
}

static inline void tile(const float *x, float *y, long r0, long c0) {
    long r1 = MIN(r0 + TILE_R, ROWS), c1 = MIN(c0 + TILE_C, COLUMNS);
#if INNER == 0
    for (long r = r0; r < r1; r += MICRO)
        for (long c = c0; c < c1; c += MICRO) part(x, y, r, c, r1, c1);
#else
    for (long c = c0; c < c1; c += MICRO)
        for (long r = r0; r < r1; r += MICRO) part(x, y, r, c, r1, c1);
#endif
}

void transpose(const float *restrict x, float *restrict y) {
#if OUTER == 0
    for (long r = 0; r < ROWS; r += TILE_R)
        for (long c = 0; c < COLUMNS; c += TILE_C) tile(x, y, r, c);
#else
    for (long c = 0; c < COLUMNS; c += TILE_C)
        for (long r = 0; r < ROWS; r += TILE_R) tile(x, y, r, c);
#endif
}
