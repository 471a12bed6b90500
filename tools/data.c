/* SPDX-License-Identifier: BSD-3-Clause
 * tools/data.c - random numbers by position, so that threads and pieces change nothing, and files.
 * The generator is a 64-bit counter put through two rounds of xor-shift and multiply; pairs of
 * normal values by Box and Muller (1958).
 */
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/measure.h"

#define PIECE 4096 /* values a thread makes at once; even */

static uint64_t mix(uint64_t v)
{
    v = (v ^ (v >> 32)) * UINT64_C(0xd6e8feb86659fd93);
    v = (v ^ (v >> 32)) * UINT64_C(0xd6e8feb86659fd93);
    return v ^ (v >> 32);
}

/* In (0, 1], a multiple of 2^-53. */
static double uniform(uint64_t seed, uint64_t index)
{
    const uint64_t bits = mix(mix(seed + 1) + index * UINT64_C(0x9e3779b97f4a7c15));

    return (double)((bits >> 11) + 1) * 0x1p-53;
}

static void normal_piece(float *x, size_t first, size_t n, uint64_t seed, double deviation)
{
    for (size_t i = 0; i < n; i += 2) {
        const double radius = deviation * sqrt(-2.0 * log(uniform(seed, first + i)));
        const double angle  = 2.0 * M_PI * uniform(seed, first + i + 1);

        x[first + i] = (float)(radius * cos(angle));
        if (i + 1 < n) {
            x[first + i + 1] = (float)(radius * sin(angle));
        }
    }
}

void data_normal(float *x, size_t n, uint64_t seed, double deviation)
{
#ifdef _OPENMP
#pragma omp parallel for schedule(static) if (n > 16 * PIECE)
#endif
    for (size_t first = 0; first < n; first += PIECE) {
        normal_piece(x, first, n - first < PIECE ? n - first : PIECE, seed, deviation);
    }
}

void data_uniform(float *x, size_t n, uint64_t seed)
{
#ifdef _OPENMP
#pragma omp parallel for schedule(static) if (n > 16 * PIECE)
#endif
    for (size_t i = 0; i < n; i++) {
        x[i] = (float)uniform(seed, i);
    }
}

void data_measured(float *x, size_t n, uint64_t seed, const tw_quantiles_t *table, double times)
{
#ifdef _OPENMP
#pragma omp parallel for schedule(static) if (n > 16 * PIECE)
#endif
    for (size_t i = 0; i < n; i++) {
        x[i] = (float)times * tw_quantiles_draw(table, uniform(seed, 3 * i),
                                                uniform(seed, 3 * i + 1), uniform(seed, 3 * i + 2));
    }
}

/* Values in the file; 0 with the problem set if it is none of ours. */
static size_t file_values(FILE *file, const char *path, tw_problem_t *problem)
{
    struct stat st;

    if (fstat(fileno(file), &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0 ||
        st.st_size % 4 != 0) {
        tw_problem_set(problem,
                       "--data %.200s: not a file of float32 values; accepted: raw little-endian "
                       "float32, a multiple of 4 bytes, or the word normal",
                       path);
        return 0;
    }
    return (size_t)st.st_size / 4;
}

static int read_values(FILE *file, size_t values, size_t first, float *x, size_t n)
{
    for (size_t done = 0; done < n;) {
        const size_t from = (first + done) % values;
        const size_t take = values - from < n - done ? values - from : n - done;

        if (fseeko(file, (off_t)(from * 4), SEEK_SET) != 0 ||
            fread(x + done, 4, take, file) != take) {
            return -1;
        }
        done += take;
    }
    return 0;
}

int data_read(const char *path, int part, int parts, float *x, size_t n, tw_problem_t *problem)
{
    FILE  *file = fopen(path, "rb");
    size_t values, first;
    int    well;

    if (file == NULL) {
        return tw_problem_set(problem,
                              "--data %.200s: %s; accepted: a file of raw little-endian float32, "
                              "or the word normal",
                              path, strerror(errno));
    }
    values = file_values(file, path, problem);
    first  = values / (size_t)parts * (size_t)part;
    well   = values > 0 && read_values(file, values, first, x, n) == 0;
    if (values > 0 && !well) {
        tw_problem_set(problem, "--data %.200s: cannot be read: %s", path,
                       ferror(file) ? strerror(errno) : "it ended early");
    }
    fclose(file);
    for (size_t i = 0; well && i < n; i++) {
        uint32_t bits;

        memcpy(&bits, &x[i], sizeof(bits));
        bits = le32toh(bits);
        memcpy(&x[i], &bits, sizeof(bits));
        if (!isfinite(x[i])) {
            return tw_problem_set(
                problem,
                "--data %.200s: value %zu is not finite; an error cannot be measured on it", path,
                (first + i) % values);
        }
    }
    return well ? 0 : -1;
}
