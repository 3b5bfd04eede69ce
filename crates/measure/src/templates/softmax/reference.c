/* y[i][j] = e^(x[i][j] - max) / sum of these over j */

/* e^x for x <= 0, so that nothing need be linked: halved until the series is short, then squared as often. */
static double exponential(double x) {
    double y = x / 1024, term = 1, sum = 1;
    for (int k = 1; k < 16; k++) sum += term *= y / k;
    for (int k = 0; k < 10; k++) sum *= sum;
    return sum;
}

void reference(const float *x, float *y) {
    for (long i = 0; i < ROWS; i++, x += COLUMNS, y += COLUMNS) {
        double most = x[0], sum = 0;
        for (long j = 0; j < COLUMNS; j++) most = x[j] > most ? x[j] : most;
        for (long j = 0; j < COLUMNS; j++) sum += exponential(x[j] - most);
        for (long j = 0; j < COLUMNS; j++) y[j] = (float)(exponential(x[j] - most) / sum);
    }
}
