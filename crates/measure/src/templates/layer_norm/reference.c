/* y[i][j] = (x[i][j] - mean) / sqrt(variance + epsilon) * gamma[j] + beta[j], over j */
void reference(const float *x, const float *gamma, const float *beta, float *y, float epsilon) {
    for (long i = 0; i < ROWS; i++, x += COLUMNS, y += COLUMNS) {
        double mean = 0, variance = 0;
        for (long j = 0; j < COLUMNS; j++) mean += x[j];
        mean /= COLUMNS;
        for (long j = 0; j < COLUMNS; j++) variance += (x[j] - mean) * (x[j] - mean);
        variance /= COLUMNS;
        for (long j = 0; j < COLUMNS; j++)
            y[j] = (float)((x[j] - mean) / __builtin_sqrt(variance + epsilon) * gamma[j] + beta[j]);
    }
}
