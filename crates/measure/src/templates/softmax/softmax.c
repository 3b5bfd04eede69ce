/* Softmax of each row of x[ROWS][COLUMNS]: WIDTH maxima and sums at once, so that loops turn into vectors. */

/* e^x for x <= 0, without a library that would stay scalar: e^x = 2^n * e^r with |r| <= ln(2)/2, and e^r by its
   Taylor series. Degree 4 is within 5e-5, degree 7 within 1e-7. */
static inline float exponential(float x) {
    static const float inverse[] = {1, 1, 1 / 2.f, 1 / 3.f, 1 / 4.f, 1 / 5.f, 1 / 6.f, 1 / 7.f};
    x = x < -87.f ? -87.f : x;
#if ROUND == 0
    /* Adding 1.5 * 2^23 leaves no bits for a fraction. */
    float n = (x * 1.442695041f + 12582912.f) - 12582912.f;
#else
    float n = (float)(int)(x * 1.442695041f - 0.5f);
#endif
    float r = (x - n * 0.693359375f) + n * 2.12194440e-4f, series = 1;
    for (int k = DEGREE; k >= 1; k--) series = 1 + series * r * inverse[k];
    union {
        int bits;
        float value;
    } power = {((int)n + 127) << 23};
    return series * power.value;
}

static float maximum(const float *x) {
    float top[WIDTH], most = x[0];
    long j = 0;
    for (int l = 0; l < WIDTH; l++) top[l] = x[0];
    for (; j + WIDTH <= COLUMNS; j += WIDTH)
        for (int l = 0; l < WIDTH; l++) top[l] = x[j + l] > top[l] ? x[j + l] : top[l];
    for (; j < COLUMNS; j++) most = x[j] > most ? x[j] : most;
    for (int l = 0; l < WIDTH; l++) most = top[l] > most ? top[l] : most;
    return most;
}

#if STORE
#define KEEP(j, e) (y[j] = (e))
#define AGAIN(j) y[j]
#else
#define KEEP(j, e) (e)
#define AGAIN(j) exponential(x[j] - most)
#endif

static void row(const float *restrict x, float *restrict y) {
    float sum[WIDTH] = {0}, total = 0, most = maximum(x);
    long j = 0;
    for (; j + WIDTH <= COLUMNS; j += WIDTH)
        for (int l = 0; l < WIDTH; l++) sum[l] += KEEP(j + l, exponential(x[j + l] - most));
    for (; j < COLUMNS; j++) total += KEEP(j, exponential(x[j] - most));
    for (int l = 0; l < WIDTH; l++) total += sum[l];
#if DIVIDE
    for (j = 0; j < COLUMNS; j++) y[j] = AGAIN(j) / total;
#else
    float scale = 1 / total;
    for (j = 0; j < COLUMNS; j++) y[j] = AGAIN(j) * scale;
#endif
}

void softmax(const float *restrict x, float *restrict y) {
    for (long i = 0; i < ROWS; i++) row(x + i * COLUMNS, y + i * COLUMNS);
}
