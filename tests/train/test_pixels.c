/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_pixels.c - the loops over single pixels of every instruction set, beside their
 * definitions.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "config.h"

#include "tests/train/pixels_rig.h"

static const size_t sizes[] = {0,   1,   2,   3,   7,   8,   9,   15,  16,   17,   23,   31,  32,
                               33,  47,  48,  63,  64,  65,  79,  95,  96,   97,   127,  128, 129,
                               191, 192, 193, 251, 255, 256, 257, 511, 1021, 4099, 65537};

START_TEST(planes_are_separated)
{
    const size_t n = sizes[_i];

    EACH_CASE(k, last)
    {
        const uint8_t *rgb    = drawn(IN, 3 * n, last);
        uint8_t *const out[3] = {marked(OUT, n, last), marked(OUT_2, n, !last),
                                 marked(OUT_3, n, last)};
        uint8_t       *want   = bytes_at(WANT, n, last);

        levels[k]->planes(rgb, n, out[0], out[1], out[2]);
        for (size_t c = 0; c < 3; c++) {
            for (size_t i = 0; i < n; i++) {
                want[i] = rgb[3 * i + c];
            }
            check_bytes(out[c], want, n);
        }
    }
}
END_TEST

START_TEST(bytes_are_reversed_and_added)
{
    const size_t n = sizes[_i];

    EACH_CASE(k, last)
    {
        const uint8_t *in  = drawn(IN, n, last);
        uint8_t       *out = marked(OUT, n, !last), *want = bytes_at(WANT, n, last);
        uint64_t       sum = 0;

        for (size_t i = 0; i < n; i++) {
            want[i] = in[n - 1 - i];
            sum += in[i];
        }
        levels[k]->reverse(in, n, out);
        check_bytes(out, want, n);
        ck_assert_uint_eq(levels[k]->sum(in, n), sum);
    }
}
END_TEST

START_TEST(sums_are_wide)
{
    const size_t   n  = (size_t)1 << 25; /* of 255 they do not fit into 32 bits */
    uint8_t *const in = malloc(n);

    ck_assert_ptr_nonnull(in);
    memset(in, 255, n);
    for (int k = 0; k < LEVELS; k++) {
        if (levels[k] != NULL) {
            ck_assert_uint_eq(levels[k]->sum(in, n), 255 * (uint64_t)n);
        }
    }
    free(in);
}
END_TEST

/* ---- floats --------------------------------------------------------------------------------- */

/* Floats of all sizes, but no NaN, whose bits nobody promises; and halves, as pixels are. */
static float *drawn_floats(place_t place, size_t n, int last)
{
    float *floats = bytes_at(place, n * sizeof(*floats), last);

    for (size_t i = 0; i < n; i++) {
        const int kind = test_below(&random_state, 20);

        if (kind == 0) {
            floats[i] = 1e-42f;
        } else if (kind == 1) {
            floats[i] = -0.0f;
        } else if (kind < 10) {
            floats[i] = ldexpf((float)test_below(&random_state, 1 << 20),
                               test_below(&random_state, 200) - 120);
        } else {
            floats[i] = (float)test_below(&random_state, 512) * 0.5f - 64.0f;
        }
    }
    return floats;
}

START_TEST(bytes_become_floats)
{
    const size_t n = sizes[_i], bytes = n * sizeof(float);

    EACH_CASE(k, last)
    {
        const uint8_t *in   = drawn(IN, n, !last);
        const float   *mean = drawn_floats(IN_2, n, last);
        float         *out = marked(OUT, bytes, last), *want = bytes_at(WANT, bytes, 0);
        const float    middle = (float)test_below(&random_state, 1000) / 3.0f, scale = 1.0f / 57.3f;

        levels[k]->convert(in, n, middle, scale, out);
        for (size_t i = 0; i < n; i++) {
            want[i] = ((float)in[i] - middle) * scale;
        }
        check_bytes(out, want, bytes);
        levels[k]->convert_reversed(in, n, middle, scale, marked(OUT, bytes, last));
        for (size_t i = 0; i < n; i++) {
            want[i] = ((float)in[n - 1 - i] - middle) * scale;
        }
        check_bytes(out, want, bytes);
        levels[k]->subtract(in, mean, n, marked(OUT, bytes, last));
        for (size_t i = 0; i < n; i++) {
            want[i] = (float)in[i] - mean[i];
        }
        check_bytes(out, want, bytes);
    }
}
END_TEST

/* Into themselves as well. */
START_TEST(floats_are_changed)
{
    const size_t n = sizes[_i], bytes = n * sizeof(float);

    EACH_CASE(k, last)
    {
        const float *in = drawn_floats(IN, n, last), *mean = drawn_floats(IN_2, n, !last);
        float       *out = marked(OUT, bytes, last), *same = bytes_at(OUT_2, bytes, last);
        float       *want = bytes_at(WANT, bytes, 0);

        for (size_t i = 0; i < n; i++) {
            want[i] = (in[i] - 103.25f) * 0.0171f;
        }
        levels[k]->shift(in, n, 103.25f, 0.0171f, out);
        check_bytes(out, want, bytes);
        memcpy(same, in, bytes);
        levels[k]->shift(same, n, 103.25f, 0.0171f, same);
        check_bytes(same, want, bytes);
        for (size_t i = 0; i < n; i++) {
            want[i] = in[i] - mean[i];
        }
        levels[k]->subtract_floats(in, mean, n, marked(OUT, bytes, last));
        check_bytes(out, want, bytes);
        memcpy(same, in, bytes);
        levels[k]->subtract_floats(same, mean, n, same);
        check_bytes(same, want, bytes);
        for (size_t i = 0; i < n; i++) {
            want[i] = in[n - 1 - i];
        }
        levels[k]->reverse_floats(in, n, marked(OUT, bytes, last));
        check_bytes(out, want, bytes);
    }
}
END_TEST

/* ---- colours -------------------------------------------------------------------------------- */

static uint8_t blended(int64_t in, int64_t grey, int64_t a)
{
    const double v = floor((double)(in * a + grey * (65536 - a) + 32768) / 65536.0);

    return (uint8_t)(v < 0.0 ? 0.0 : v > 255.0 ? 255.0 : v);
}

START_TEST(colours_are_blended)
{
    const size_t n = sizes[_i];

    EACH_CASE(k, last)
    {
        const uint8_t *in = drawn(IN, n, last), *grey = drawn(IN_2, n, last);
        uint8_t       *out = marked(OUT, n, last), *same = bytes_at(OUT_2, n, last);
        uint8_t       *want = bytes_at(WANT, n, last);
        const int32_t  a    = test_below(&random_state, 1 << 18);
        const uint8_t  one  = (uint8_t)test_below(&random_state, 256);

        for (size_t i = 0; i < n; i++) {
            want[i] = blended(in[i], one, a);
        }
        levels[k]->blend(in, n, a, one, out);
        check_bytes(out, want, n);
        memcpy(same, in, n);
        levels[k]->blend(same, n, a, one, same);
        check_bytes(same, want, n);
        for (size_t i = 0; i < n; i++) {
            want[i] = blended(in[i], grey[i], a);
        }
        levels[k]->blend_each(in, grey, n, a, marked(OUT, n, last));
        check_bytes(out, want, n);
        memcpy(same, in, n);
        levels[k]->blend_each(same, grey, n, a, same);
        check_bytes(same, want, n);
    }
}
END_TEST

static const int32_t factors[] = {0,     1,      2,      32767,  32768,  32769,   65535,   65536,
                                  65537, 98303,  98304,  98305,  131072, 1000003, 4194303, 4194304,
                                  -1,    -32767, -32768, -32769, -65536, -4194304};

/* Every pixel with every grey. */
START_TEST(every_blend_is_right)
{
    enum { ALL = 256 * 256 };
    const int32_t a  = factors[_i];
    uint8_t      *in = bytes_at(IN, ALL, 0), *grey = bytes_at(IN_2, ALL, 0);
    uint8_t      *want = bytes_at(WANT, ALL, 0);

    for (size_t i = 0; i < ALL; i++) {
        in[i]   = (uint8_t)(i % 256);
        grey[i] = (uint8_t)(i / 256);
        want[i] = blended(in[i], grey[i], a);
    }
    for (int k = 0; k < LEVELS; k++) {
        uint8_t *out = marked(OUT, ALL, 0);

        if (levels[k] != NULL) {
            levels[k]->blend_each(in, grey, ALL, a, out);
            check_bytes(out, want, ALL);
            marked(OUT, ALL, 0);
            for (size_t g = 0; g < 256; g++) {
                levels[k]->blend(in, 256, a, (uint8_t)g, out + 256 * g);
            }
            check_bytes(out, want, ALL);
        }
    }
}
END_TEST

static uint8_t luma_of(unsigned r, unsigned g, unsigned b)
{
    return (uint8_t)((19595 * r + 38470 * g + 7471 * b + 32768) >> 16);
}

START_TEST(luma_of_sizes)
{
    const size_t n = sizes[_i];

    EACH_CASE(k, last)
    {
        const uint8_t *r = drawn(IN, n, last), *g = drawn(IN_2, n, !last);
        const uint8_t *b   = drawn(IN_3, n, last);
        uint8_t       *out = marked(OUT, n, last), *want = bytes_at(WANT, n, last);

        for (size_t i = 0; i < n; i++) {
            want[i] = luma_of(r[i], g[i], b[i]);
        }
        levels[k]->luma(r, g, b, n, out);
        check_bytes(out, want, n);
    }
}
END_TEST

START_TEST(luma_of_every_colour)
{
    enum { ALL = 256 * 256 };
    uint8_t *r = bytes_at(IN, ALL, 0), *g = bytes_at(IN_2, ALL, 0), *b = bytes_at(IN_3, ALL, 0);
    uint8_t *want = bytes_at(WANT, ALL, 0);

    for (unsigned i = 0; i < ALL; i++) {
        g[i] = (uint8_t)(i / 256);
        b[i] = (uint8_t)(i % 256);
    }
    for (unsigned red = 0; red < 256; red++) {
        memset(r, (int)red, ALL);
        for (unsigned i = 0; i < ALL; i++) {
            want[i] = luma_of(red, i / 256, i % 256);
        }
        for (int k = 0; k < LEVELS; k++) {
            uint8_t *out = marked(OUT, ALL, 0);

            if (levels[k] != NULL) {
                levels[k]->luma(r, g, b, ALL, out);
                check_bytes(out, want, ALL);
            }
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("train/pixels");
    TCase *tcase = test_case_within(suite, "pixels", 60);

    rig_init();
    TEST_EACH(tcase, planes_are_separated, sizes);
    TEST_EACH(tcase, bytes_are_reversed_and_added, sizes);
    tcase_add_test(tcase, sums_are_wide);
    TEST_EACH(tcase, bytes_become_floats, sizes);
    TEST_EACH(tcase, floats_are_changed, sizes);
    TEST_EACH(tcase, colours_are_blended, sizes);
    TEST_EACH(tcase, every_blend_is_right, factors);
    TEST_EACH(tcase, luma_of_sizes, sizes);
    tcase_add_test(tcase, luma_of_every_colour);
    return test_main(suite);
}
