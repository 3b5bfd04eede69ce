/* y[j][i] = x[i][j] */
void reference(const float *x, float *y) {
    for (long i = 0; i < ROWS; i++)
        for (long j = 0; j < COLUMNS; j++) y[j * ROWS + i] = x[i * COLUMNS + j];
}
