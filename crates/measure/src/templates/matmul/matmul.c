/* c[M][N] = a[M][K] * b[K][N]: loops over tiles, and ROWS x (VECTORS * LANES) sums in registers. */

#define COLUMNS (VECTORS * LANES)
#define MIN(x, y) ((x) < (y) ? (x) : (y))

typedef float lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

/* A whole block: all of its sums fit into registers. */
static inline void block(const float *a, const float *b, long b_stride, float *c, long depth) {
    lanes sum[ROWS][VECTORS];
    for (int r = 0; r < ROWS; r++)
        for (int v = 0; v < VECTORS; v++) sum[r][v] = *(const lanes *)(c + r * (long)N + v * LANES);
    for (long k = 0; k < depth; k++) {
        lanes right[VECTORS];
        for (int v = 0; v < VECTORS; v++) right[v] = *(const lanes *)(b + k * b_stride + v * LANES);
        for (int r = 0; r < ROWS; r++)
            for (int v = 0; v < VECTORS; v++) sum[r][v] += a[r * (long)K + k] * right[v];
    }
    for (int r = 0; r < ROWS; r++)
        for (int v = 0; v < VECTORS; v++) *(lanes *)(c + r * (long)N + v * LANES) = sum[r][v];
}

/* What blocks leave at the edges. */
static void rest(const float *a, const float *b, long b_stride, float *c, long depth, long rows, long columns) {
    for (long r = 0; r < rows; r++)
        for (long k = 0; k < depth; k++)
            for (long j = 0; j < columns; j++) c[r * N + j] += a[r * K + k] * b[k * b_stride + j];
}

/* The rows i0.. of a tile, with the tile of b at `b`. */
static void rows(const float *a, const float *b, long b_stride, float *c, long i0, long j0, long k0) {
    long i1 = MIN(i0 + TILE_M, M), j1 = MIN(j0 + TILE_N, N), depth = MIN(TILE_K, K - k0);
    for (long i = i0; i < i1; i += ROWS)
        for (long j = j0; j < j1; j += COLUMNS) {
            const float *left = a + i * K + k0, *right = b + (j - j0);
            if (i + ROWS <= i1 && j + COLUMNS <= j1)
                block(left, right, b_stride, c + i * N + j, depth);
            else
                rest(left, right, b_stride, c + i * N + j, depth, MIN(ROWS, i1 - i), MIN(COLUMNS, j1 - j));
        }
}

#if PACK
/* A copy of the tile of b whose rows lie beside one another: fewer pages and no conflicts in the cache. */
static float packed[TILE_K * TILE_N];

static const float *tile(const float *b, long j0, long k0) {
    long columns = MIN(TILE_N, N - j0), depth = MIN(TILE_K, K - k0);
    for (long k = 0; k < depth; k++)
        for (long j = 0; j < columns; j++) packed[k * TILE_N + j] = b[(k0 + k) * N + j0 + j];
    return packed;
}
#define B_STRIDE TILE_N
#else
static const float *tile(const float *b, long j0, long k0) { return b + k0 * N + j0; }
#define B_STRIDE N
#endif

void matmul(const float *restrict a, const float *restrict b, float *restrict c) {
    for (long i = 0; i < (long)M * N; i++) c[i] = 0;
#if ORDER == 0
    for (long i = 0; i < M; i += TILE_M)
        for (long j = 0; j < N; j += TILE_N)
            for (long k = 0; k < K; k += TILE_K) rows(a, tile(b, j, k), B_STRIDE, c, i, j, k);
#elif ORDER == 1
    for (long j = 0; j < N; j += TILE_N)
        for (long k = 0; k < K; k += TILE_K) {
            const float *right = tile(b, j, k);
            for (long i = 0; i < M; i += TILE_M) rows(a, right, B_STRIDE, c, i, j, k);
        }
#else
    for (long k = 0; k < K; k += TILE_K)
        for (long i = 0; i < M; i += TILE_M)
            for (long j = 0; j < N; j += TILE_N) rows(a, tile(b, j, k), B_STRIDE, c, i, j, k);
#endif
}
