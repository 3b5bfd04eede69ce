/* c[BATCH][M][N] = a[BATCH][M][K] * b[BATCH][K][N], for many small matrices as in attention. */

#define COLUMNS (VECTORS * LANES)
#define MIN(x, y) ((x) < (y) ? (x) : (y))

typedef float lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

#if FORM == 0
/* Outer products: a vector is some columns of a row of c. */
static inline void block(const float *a, const float *b, float *c) {
    lanes sum[ROWS][VECTORS] = {0};
    for (long k = 0; k < K; k++)
        for (int r = 0; r < ROWS; r++)
            for (int v = 0; v < VECTORS; v++)
                sum[r][v] += a[r * (long)K + k] * *(const lanes *)(b + k * (long)N + v * LANES);
    for (int r = 0; r < ROWS; r++)
        for (int v = 0; v < VECTORS; v++) *(lanes *)(c + r * (long)N + v * LANES) = sum[r][v];
}

static void rest(const float *a, const float *b, float *c, long rows, long columns) {
    for (long r = 0; r < rows; r++)
        for (long j = 0; j < columns; j++) {
            float sum = 0;
            for (long k = 0; k < K; k++) sum += a[r * K + k] * b[k * N + j];
            c[r * N + j] = sum;
        }
}
#define STEP COLUMNS
#define RIGHT(b, j) ((b) + (j))
#else
/* Inner products with b transposed: a vector is some of the K products that make one element. */
static float turned[N * K];

static inline float dot(const float *x, const float *y) {
    lanes sum[VECTORS] = {0};
    long k = 0;
    for (; k + COLUMNS <= K; k += COLUMNS)
        for (int v = 0; v < VECTORS; v++)
            sum[v] += *(const lanes *)(x + k + v * LANES) * *(const lanes *)(y + k + v * LANES);
    float total = 0;
    for (int v = 0; v < VECTORS; v++)
        for (int l = 0; l < LANES; l++) total += sum[v][l];
    for (; k < K; k++) total += x[k] * y[k];
    return total;
}

static void rest(const float *a, const float *b, float *c, long rows, long columns) {
    for (long r = 0; r < rows; r++)
        for (long j = 0; j < columns; j++) c[r * N + j] = dot(a + r * K, b + j * K);
}

static inline void block(const float *a, const float *b, float *c) { rest(a, b, c, ROWS, 1); }
#define STEP 1
#define RIGHT(b, j) (turned + (j) * (long)K)
#endif

static inline void part(const float *a, const float *b, float *c, long i, long j) {
    long rows = MIN(ROWS, M - i), columns = MIN(STEP, N - j);
    if (rows == ROWS && columns == STEP)
        block(a + i * K, RIGHT(b, j), c + i * N + j);
    else
        rest(a + i * K, RIGHT(b, j), c + i * N + j, rows, columns);
}

void batched_matmul(const float *restrict a, const float *restrict b, float *restrict c) {
    for (long n = 0; n < BATCH; n++, a += (long)M * K, b += (long)K * N, c += (long)M * N) {
#if FORM == 1
        for (long k = 0; k < K; k++)
            for (long j = 0; j < N; j++) turned[j * K + k] = b[k * N + j];
#endif
        for (long t = 0; t < (ORDER == 0 ? N : M); t += TILE)
            if (ORDER == 0) {
                for (long i = 0; i < M; i += ROWS)
                    for (long j = t; j < MIN(t + TILE, N); j += STEP) part(a, b, c, i, j);
            } else {
                for (long j = 0; j < N; j += STEP)
                    for (long i = t; i < MIN(t + TILE, M); i += ROWS) part(a, b, c, i, j);
            }
    }
}
