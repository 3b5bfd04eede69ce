/* c[M][N] = a[M][K] * b[K][N] */
void reference(const float *a, const float *b, float *c) {
    for (long i = 0; i < M; i++)
        for (long j = 0; j < N; j++) {
            double sum = 0;
            for (long k = 0; k < K; k++) sum += (double)a[i * K + k] * b[k * N + j];
            c[i * N + j] = (float)sum;
        }
}
