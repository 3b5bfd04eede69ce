/* output[n][f][y][x] = sum over c, r, s of input[n][c][y*STRIDE+r-PAD][x*STRIDE+s-PAD] * weight[f][c][r][s] */
#define OUT_H ((HEIGHT + 2 * PAD - KERNEL) / STRIDE + 1)
#define OUT_W ((WIDTH + 2 * PAD - KERNEL) / STRIDE + 1)

void reference(const float *input, const float *weight, float *output) {
    for (long n = 0; n < BATCH; n++)
        for (long f = 0; f < FILTERS; f++)
            for (long y = 0; y < OUT_H; y++)
                for (long x = 0; x < OUT_W; x++) {
                    double sum = 0;
                    for (long c = 0; c < CHANNELS; c++)
                        for (long r = 0; r < KERNEL; r++)
                            for (long s = 0; s < KERNEL; s++) {
                                long row = y * STRIDE + r - PAD, column = x * STRIDE + s - PAD;
                                if (row < 0 || row >= HEIGHT || column < 0 || column >= WIDTH) continue;
                                sum += (double)input[((n * CHANNELS + c) * HEIGHT + row) * WIDTH + column] *
                                       weight[((f * CHANNELS + c) * KERNEL + r) * KERNEL + s];
                            }
                    output[((n * FILTERS + f) * OUT_H + y) * OUT_W + x] = (float)sum;
                }
}
