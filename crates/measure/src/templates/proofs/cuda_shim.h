// Enough of CUDA to run a kernel on the host: the threads of a block are fibers, which change places at barriers.
// The order in which they run is turned round with SHIM_ORDER, so that a missing barrier shows.
#pragma once
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <vector>
struct uint3 { unsigned x, y, z; };
struct dim3 { unsigned x, y, z; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(8) float2 { float x, y; };
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static __attribute__((section("shared_memory")))
static uint3 threadIdx, blockIdx;
static dim3 blockDim, gridDim;
extern char __start_shared_memory[] __attribute__((weak)), __stop_shared_memory[] __attribute__((weak));

namespace shim {
struct fiber { ucontext_t context; uint3 index; int waits; bool done; float given; char *stack; };
static std::vector<fiber> fibers;
static ucontext_t scheduler;
static int running;
static void (*body)();
enum { RUNS, BLOCK, WARP };
static void start() { body(); fibers[running].done = true; swapcontext(&fibers[running].context, &scheduler); }
static void wait(int what) { int me = running; fibers[me].waits = what; swapcontext(&fibers[me].context, &scheduler); }
static void run_block(int order) {
    size_t n = fibers.size();
    for (auto &f : fibers) {
        getcontext(&f.context);
        f.context.uc_stack.ss_sp = f.stack, f.context.uc_stack.ss_size = 128 << 10, f.context.uc_link = nullptr;
        makecontext(&f.context, start, 0), f.waits = RUNS, f.done = false;
    }
    for (;;) {
        bool any = false;
        for (size_t k = 0; k < n; k++) {
            running = order ? n - 1 - k : k;
            fiber &f = fibers[running];
            if (f.done || f.waits != RUNS) continue;
            any = true, threadIdx = f.index, swapcontext(&scheduler, &f.context);
        }
        // A warp goes on when all of it waits for the warp; a thread that left or waits elsewhere is a fault.
        for (size_t w = 0; w < n; w += 32) {
            size_t end = w + 32 < n ? w + 32 : n, waiting = 0;
            for (size_t k = w; k < end; k++) waiting += !fibers[k].done && fibers[k].waits == WARP;
            if (waiting == end - w) for (size_t k = w; k < end; k++) fibers[k].waits = RUNS, any = true;
            else if (waiting) { printf("shuffle: %zu of %zu threads\n", waiting, end - w); exit(3); }
        }
        if (any) continue;
        size_t waiting = 0, done = 0;
        for (auto &f : fibers) waiting += !f.done && f.waits == BLOCK, done += f.done;
        if (done == n) return;
        if (waiting != n) { printf("barrier: %zu of %zu threads\n", waiting, n); exit(3); }
        for (auto &f : fibers) f.waits = RUNS;
    }
}
static void launch(const unsigned *grid, const unsigned *block, void (*kernel)()) {
    body = kernel, gridDim = {grid[0], grid[1], grid[2]}, blockDim = {block[0], block[1], block[2]};
    fibers.resize(size_t(block[0]) * block[1] * block[2]);
    size_t at = 0;
    for (unsigned z = 0; z < block[2]; z++)
        for (unsigned y = 0; y < block[1]; y++)
            for (unsigned x = 0; x < block[0]; x++, at++) fibers[at].index = {x, y, z}, fibers[at].stack = (char *)malloc(128 << 10);
    int turn = getenv("SHIM_ORDER") ? atoi(getenv("SHIM_ORDER")) : 0;
    for (unsigned z = 0; z < grid[2]; z++)
        for (unsigned y = 0; y < grid[1]; y++)
            for (unsigned x = 0; x < grid[0]; x++) {
                // What shared memory holds at the start is not a number.
                if (__start_shared_memory) memset(__start_shared_memory, 0xff, __stop_shared_memory - __start_shared_memory);
                blockIdx = {x, y, z}, run_block(turn);
            }
}
}
static inline void __syncthreads() { shim::wait(shim::BLOCK); }
static inline float __shfl_xor_sync(unsigned, float value, int mask) {
    int me = shim::running;
    shim::fibers[me].given = value;
    shim::wait(shim::WARP);
    float taken = shim::fibers[(me & ~31) | ((me & 31) ^ mask)].given;
    shim::wait(shim::WARP);
    return taken;
}
// glibc has a function of that name.
#define __expf expf
static inline float rsqrtf(float x) { return 1 / sqrtf(x); }
