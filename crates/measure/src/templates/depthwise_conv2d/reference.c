/* output[n][y][x][c] = sum over r, s of input[n][y*STRIDE+r-PAD][x*STRIDE+s-PAD][c] * weight[r][s][c] */
#define OUT_H ((HEIGHT + 2 * PAD - KERNEL) / STRIDE + 1)
#define OUT_W ((WIDTH + 2 * PAD - KERNEL) / STRIDE + 1)

void reference(const float *input, const float *weight, float *output) {
    for (long n = 0; n < BATCH; n++)
        for (long y = 0; y < OUT_H; y++)
            for (long x = 0; x < OUT_W; x++)
                for (long c = 0; c < CHANNELS; c++) {
                    double sum = 0;
                    for (long r = 0; r < KERNEL; r++)
                        for (long s = 0; s < KERNEL; s++) {
                            long row = y * STRIDE + r - PAD, column = x * STRIDE + s - PAD;
                            if (row < 0 || row >= HEIGHT || column < 0 || column >= WIDTH) continue;
                            sum += (double)input[((n * HEIGHT + row) * WIDTH + column) * CHANNELS + c] *
                                   weight[(r * KERNEL + s) * CHANNELS + c];
                        }
                    output[((n * OUT_H + y) * OUT_W + x) * CHANNELS + c] = (float)sum;
                }
}
