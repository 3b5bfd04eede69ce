/* y[i] = sum of x[i][j] over j */
void reference(const float *x, float *y) {
    for (long i = 0; i < ROWS; i++) {
        double sum = 0;
        for (long j = 0; j < COLUMNS; j++) sum += x[i * COLUMNS + j];
        y[i] = (float)sum;
    }
}
