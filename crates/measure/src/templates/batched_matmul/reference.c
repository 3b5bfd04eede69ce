/* c[BATCH][M][N] = a[BATCH][M][K] * b[BATCH][K][N] */
void reference(const float *a, const float *b, float *c) {
    for (long n = 0; n < BATCH; n++)
        for (long i = 0; i < M; i++)
            for (long j = 0; j < N; j++) {
                double sum = 0;
                for (long k = 0; k < K; k++) sum += (double)a[(n * M + i) * K + k] * b[(n * K + k) * N + j];
                c[(n * M + i) * N + j] = (float)sum;
            }
}
