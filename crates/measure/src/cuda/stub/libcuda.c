/* A CUDA driver for tests, without a device: memory is the host's, a launch computes at once (or
 * fails, hangs, takes a while), events are a clock. Environment variables say what goes wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ALL __attribute__((visibility("default")))

static int setting(const char *name, int otherwise) {
    const char *value = getenv(name);
    return value ? atoi(value) : otherwise;
}

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

static int spoilt = 0; /* A sticky error: everything fails with it from now on. */
static int launches = 0;

ALL int cuInit(unsigned flags) { return setting("STUB_INIT", 0); }
/* NVRTC asks for it wherever there is a driver, and does without. */
ALL int cuGetExportTable(const void **table, const void *id) { *table = 0; return 500; }
ALL int cuDriverGetVersion(int *version) { *version = 13000; return 0; }
ALL int cuDeviceGetCount(int *count) { *count = setting("STUB_DEVICES", 1); return 0; }
ALL int cuDeviceGet(int *device, int ordinal) {
    *device = ordinal;
    return ordinal < setting("STUB_DEVICES", 1) ? 0 : 101;
}
ALL int cuDeviceGetName(char *name, int length, int device) {
    snprintf(name, length, "Stub GPU");
    return 0;
}
ALL int cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = 1ull << 30; return 0; }
ALL int cuDeviceGetAttribute(int *value, int attribute, int device) {
    switch (attribute) {
    case 1: *value = 1024; break;            /* threads of a block */
    case 2: case 3: *value = 1024; break;    /* block x, y */
    case 4: *value = 64; break;              /* block z */
    case 5: *value = 2147483647; break;      /* grid x */
    case 6: case 7: *value = 65535; break;   /* grid y, z */
    case 8: *value = 49152; break;           /* shared memory */
    case 16: *value = 132; break;            /* multiprocessors */
    case 32: *value = 1; break;              /* ECC */
    case 38: *value = 1 << 20; break;        /* L2 */
    case 75: *value = 9; break;              /* compute capability */
    case 76: *value = 0; break;
    case 97: *value = 232448; break;         /* shared memory, asked for */
    default: return 1;
    }
    return 0;
}
ALL int cuDeviceGetUuid_v2(char *uuid, int device) { memset(uuid, 7, 16); return 0; }
ALL int cuDeviceGetPCIBusId(char *text, int length, int device) {
    snprintf(text, length, "0000:00:1f.0");
    return 0;
}

ALL int cuDevicePrimaryCtxRetain(void **context, int device) {
    *context = &spoilt;
    return setting("STUB_CONTEXT", 0);
}
ALL int cuDevicePrimaryCtxRelease_v2(int device) { return spoilt; }
ALL int cuCtxSetCurrent(void *context) { return spoilt; }
ALL int cuStreamCreate(void **stream, unsigned flags) { *stream = &launches; return spoilt; }
ALL int cuStreamDestroy_v2(void *stream) { return spoilt; }
ALL int cuStreamSynchronize(void *stream) { return spoilt; }

ALL int cuMemAlloc_v2(unsigned long long *address, size_t bytes) {
    if (bytes > (size_t)setting("STUB_MEMORY", 1 << 28)) return 2;
    *address = (unsigned long long)malloc(bytes);
    return spoilt;
}
ALL int cuMemFree_v2(unsigned long long address) { free((void *)address); return spoilt; }
ALL int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes, void *stream) {
    memcpy((void *)to, from, bytes);
    return spoilt;
}
ALL int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t bytes, void *stream) {
    memcpy(to, (void *)from, bytes);
    return spoilt;
}
ALL int cuMemsetD8Async(unsigned long long to, unsigned char byte, size_t bytes, void *stream) {
    memset((void *)to, byte, bytes);
    return spoilt;
}

ALL int cuModuleLoadData(void **module, const void *image) {
    *module = &launches;
    return memcmp(image, "\177ELF", 4) ? 200 : spoilt;
}
ALL int cuModuleUnload(void *module) { return spoilt; }
static const char *const kernels[] = {"scale", "wrong", "silent", "hang", "crash", "chatty", "fault"};
ALL int cuModuleGetFunction(void **function, void *module, const char *name) {
    for (unsigned at = 0; at < sizeof kernels / sizeof *kernels; at++)
        if (!strcmp(name, kernels[at])) {
            *function = (void *)kernels[at];
            return spoilt;
        }
    return 500;
}
ALL int cuFuncGetAttribute(int *value, int attribute, void *function) {
    *value = attribute == 0 ? setting("STUB_KERNEL_THREADS", 1024) : 0;
    return spoilt;
}
static int allowed = 48 * 1024;
ALL int cuFuncSetAttribute(void *function, int attribute, int value) {
    if (attribute == 8) allowed = value;
    return spoilt;
}
/* All kernels are (const float *x, float *y, int n). */
ALL int cuFuncGetParamInfo(void *function, size_t index, size_t *offset, size_t *bytes) {
    if (index > 2) return 1;
    *offset = 8 * index;
    *bytes = index == 2 ? 4 : 8;
    return spoilt;
}

ALL int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                       unsigned bz, unsigned shared, void *stream, void **parameters, void **extra) {
    const char *name = function;
    launches++;
    if (spoilt) return spoilt;
    if (shared > allowed) return 1;
    if (!strcmp(name, "fault") && launches > setting("STUB_GOOD_LAUNCHES", 0)) {
        int code = setting("STUB_LAUNCH", 700);
        /* As the driver does: the error shows in a later call. */
        if (code >= 700 && code != 701) { spoilt = code; return 0; }
        return code;
    }
    if (!strcmp(name, "hang")) for (;;) sleep(1);
    if (!strcmp(name, "crash")) *(volatile int *)8 = 1;
    if (!strcmp(name, "chatty")) { printf("{\"ready\": no newline"); fflush(stdout); }
    const float *x = *(float **)parameters[0];
    float *y = *(float **)parameters[1];
    int n = *(int *)parameters[2];
    float factor = strcmp(name, "wrong") ? 2 : 3;
    if (strcmp(name, "silent")) for (int i = 0; i < n; i++) y[i] = factor * x[i];
    for (double end = now_ms() + setting("STUB_KERNEL_US", 0) * 1e-3; now_ms() < end;) {}
    return 0;
}

ALL int cuEventCreate(void **event, unsigned flags) { *event = calloc(1, sizeof(double)); return spoilt; }
ALL int cuEventRecord(void *event, void *stream) { *(double *)event = now_ms(); return spoilt; }
ALL int cuEventSynchronize(void *event) { return spoilt; }
#ifndef OLD
ALL int cuEventElapsedTime_v2(float *ms, void *from, void *to) {
    *ms = *(double *)to - *(double *)from;
    return spoilt;
}
#endif
ALL int cuEventDestroy_v2(void *event) { free(event); return spoilt; }
