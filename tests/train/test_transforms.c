/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_transforms.c - lists of operations on images beside a plain version, which does
 * one after the other to the whole image; every transfer index; lists that are refused.
 */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <thinwire/thinwire.h>

#include "tests/suite.h"
#include "tests/train/levels.h"
#include "train/input/transforms.h"
#include "train/base/random.h"

static tw_problem_t problem;

/* ---- the plain version --------------------------------------------------------------------- */

enum { MOST = 3 * 64 * 64, AT_RANDOM = -1, CENTRE = 4 };

typedef struct plain_image {
    size_t  c, h, w;
    int     floats;
    uint8_t pixel[MOST], there[MOST]; /* there: not in the border */
    float   value[MOST];
} plain_image_t;

static size_t at(const plain_image_t *p, size_t c, size_t y, size_t x)
{
    return (c * p->h + y) * p->w + x;
}

/* A value taken from another place of an image. */
static void take(plain_image_t *to, size_t i, const plain_image_t *from, size_t k)
{
    to->pixel[i] = from->pixel[k];
    to->value[i] = from->value[k];
    to->there[i] = from->there[k];
}

/* Views: corners from the left to the right, then from the top to the bottom, and the centre. */
static size_t plain_corner(size_t room, int view, int far, uint64_t key, unsigned draw)
{
    return view == AT_RANDOM ? tw_random_below(key, draw, (uint32_t)room + 1)
           : view == CENTRE  ? room / 2
           : far             ? room
                             : 0;
}

static void plain_crop(plain_image_t *p, size_t h, size_t w, size_t pad, int view, uint64_t key,
                       unsigned draw)
{
    static plain_image_t old;
    const size_t         top  = plain_corner(p->h + 2 * pad - h, view, view >= 2, key, draw);
    const size_t         left = plain_corner(p->w + 2 * pad - w, view, view % 2, key, draw + 1);

    old  = *p;
    p->h = h;
    p->w = w;
    for (size_t c = 0; c < p->c; c++) {
        for (size_t y = 0; y < h; y++) {
            for (size_t x = 0; x < w; x++) {
                const size_t in_y = top + y - pad, in_x = left + x - pad; /* may wrap: outside */

                if (in_y < old.h && in_x < old.w) {
                    take(p, at(p, c, y, x), &old, at(&old, c, in_y, in_x));
                } else {
                    p->there[at(p, c, y, x)] = 0;
                }
            }
        }
    }
}

static void plain_mirror(plain_image_t *p, int view, uint64_t key, unsigned draw)
{
    static plain_image_t old;
    const int            turned = view == AT_RANDOM ? tw_random_below(key, draw, 2) == 1 : view;

    old = *p;
    for (size_t c = 0; c < p->c && turned; c++) {
        for (size_t y = 0; y < p->h; y++) {
            for (size_t x = 0; x < p->w; x++) {
                take(p, at(p, c, y, x), &old, at(&old, c, y, p->w - 1 - x));
            }
        }
    }
}

/* One direction: `step` from one value to the next, lines side by side. */
static void plain_line(const uint8_t *in, size_t n, size_t step, uint8_t *out, size_t m)
{
    const size_t taps = tw_resize_taps(n, m);
    int16_t      weight[128];
    int32_t      first;

    ck_assert_uint_le(taps, 128);
    for (size_t i = 0; i < m; i++) {
        int32_t sum = 8192;

        tw_resize_weights(n, m, i, 1, &first, weight);
        for (size_t k = 0; k < taps; k++) {
            sum += weight[k] * in[((size_t)first + k) * step];
        }
        out[i * step] = (uint8_t)(sum >> 14);
    }
}

static void plain_resize(plain_image_t *p, size_t h, size_t w)
{
    static uint8_t high[MOST * 4], wide[MOST * 4];

    for (size_t c = 0; c < p->c; c++) {
        for (size_t x = 0; x < p->w; x++) {
            plain_line(p->pixel + at(p, c, 0, x), p->h, p->w, high + x, h);
        }
        for (size_t y = 0; y < h; y++) {
            plain_line(high + y * p->w, p->w, 1, wide + (c * h + y) * w, w);
        }
    }
    p->h = h;
    p->w = w;
    memcpy(p->pixel, wide, p->c * h * w);
    memset(p->there, 1, sizeof(p->there));
}

static uint8_t mix(int32_t value, int32_t grey, int32_t factor)
{
    const int32_t mixed = (value * factor + grey * (65536 - factor) + 32768) >> 16;

    return (uint8_t)(mixed < 0 ? 0 : mixed > 255 ? 255 : mixed);
}

static uint8_t luma(const plain_image_t *p, size_t i)
{
    const size_t n = p->h * p->w;

    return p->c == 1 ? p->pixel[i]
                     : (uint8_t)((19595 * p->pixel[i] + 38470 * p->pixel[i + n] +
                                  7471 * p->pixel[i + 2 * n] + 32768) >>
                                 16);
}

static void plain_colour(plain_image_t *p, const double most[3], uint64_t key, unsigned draw)
{
    const size_t n = p->h * p->w;

    for (unsigned way = 0; way < 3; way++) {
        const double  u      = 2.0 * (double)tw_random_uniform(key, draw + way) - 1.0;
        const int32_t factor = (int32_t)(65536.0 * (1.0 + u * most[way]) + 0.5);
        uint64_t      sum = 0, count = 0;

        for (size_t i = 0; i < n; i++) {
            sum += p->there[i] ? luma(p, i) : 0;
            count += p->there[i];
        }
        for (size_t i = 0; i < n && most[way] > 0.0; i++) {
            const uint8_t grey = way == 0   ? 0
                                 : way == 1 ? (uint8_t)(count ? (sum + count / 2) / count : 0)
                                            : luma(p, i);

            for (size_t c = 0; c < p->c; c++) {
                p->pixel[c * n + i] = mix(p->pixel[c * n + i], grey, factor);
            }
        }
    }
}

static void plain_affine(plain_image_t *p, const float *mean, size_t means, const float *scale,
                         size_t scales)
{
    const size_t n = p->h * p->w;

    for (size_t i = 0; i < p->c * n; i++) {
        const float x = p->floats ? p->value[i] : (float)p->pixel[i];

        p->value[i] = (x - mean[means > 1 ? i / n : 0]) * scale[scales > 1 ? i / n : 0];
    }
    p->floats = 1;
}

static void plain_out(const plain_image_t *p, float *out)
{
    for (size_t i = 0; i < p->c * p->h * p->w; i++) {
        out[i] = !p->there[i] ? 0.0f : p->floats ? p->value[i] : (float)p->pixel[i];
    }
}

/* ---- lists drawn at random ----------------------------------------------------------------- */

/* Views of an image: how many, and which one is taken, the first operation's changing first. */
typedef struct views {
    size_t count, taken;
} views_t;

static int take_view(test_random_t *r, views_t *views, int of)
{
    const int one = test_below(r, of);

    views->taken += (size_t)one * views->count;
    views->count *= (size_t)of;
    return one;
}

/* One word more of a list, done to the plain image as well. */
static void add_word(test_random_t *r, plain_image_t *p, char *text, uint64_t key, unsigned *draw,
                     int *bordered, views_t *views)
{
    static const char *const places[] = {"random", "centre", "five"};
    const float              zero = 0.0f, one = 1.0f, means[3] = {104.0f, 117.5f, 123.25f};
    char                    *word = text + strlen(text);
    const float              half = 0.5f;

    switch (test_below(r, 8)) {
    case 0: {
        const size_t h  = (size_t)test_below(r, (int)p->h) + 1,
                     w  = (size_t)test_below(r, (int)p->w) + 1;
        const int place = test_below(r, 3);

        sprintf(word, " crop:%zux%zu,%s", h, w, places[place]);
        plain_crop(p, h, w, 0,
                   place == 0   ? AT_RANDOM
                   : place == 1 ? CENTRE
                                : take_view(r, views, 5),
                   key, *draw);
        *draw += 2;
        break;
    }
    case 1: {
        const size_t pad = (size_t)test_below(r, 9);

        sprintf(word, " crop:pad=%zu", pad);
        plain_crop(p, p->h, p->w, pad, AT_RANDOM, key, *draw);
        *draw += 2;
        *bordered |= pad > 0;
        break;
    }
    case 2:
        if (test_below(r, 2)) {
            strcpy(word, " mirror");
            plain_mirror(p, AT_RANDOM, key, *draw);
        } else {
            strcpy(word, " mirror:both");
            plain_mirror(p, take_view(r, views, 2), key, *draw);
        }
        (*draw)++;
        break;
    case 3:
        if (!p->floats && !*bordered) {
            const size_t h = (size_t)test_below(r, 64) + 1, w = (size_t)test_below(r, 64) + 1;

            sprintf(word, " resize:%zux%zu", h, w);
            plain_resize(p, h, w);
        }
        break;
    case 4:
        if (!p->floats && p->c != 2) {
            const double most[3] = {0.25, 0.5, p->c == 3 ? 1.0 : 0.0};

            strcpy(word, p->c == 3 ? " colour:brightness=0.25,contrast=0.5,saturation=1"
                                   : " colour:contrast=0.5,brightness=0.25");
            plain_colour(p, most, key, *draw);
            *draw += 3;
        }
        break;
    case 5:
        strcpy(word, p->c == 3 ? " mean:104,117.5,123.25" : " mean:104");
        plain_affine(p, means, p->c == 3 ? 3 : 1, &one, 1);
        break;
    case 6:
        strcpy(word, " deviation:2");
        plain_affine(p, &zero, 1, &half, 1);
        break;
    default:
        strcpy(word, " scale:0.5");
        plain_affine(p, &zero, 1, &half, 1);
        break;
    }
}

static void draw_image(test_random_t *r, plain_image_t *p)
{
    static const size_t planes[] = {1, 2, 3};

    *p   = (plain_image_t){.c = planes[test_below(r, 3)]};
    p->h = (size_t)test_below(r, 40) + 1;
    p->w = (size_t)test_below(r, 40) + 1;
    for (size_t i = 0; i < MOST; i++) {
        p->pixel[i] = (uint8_t)test_next(r);
    }
    memset(p->there, 1, sizeof(p->there));
}

static const tw_pixels_t *pixels_of(const tw_compute_kernels_t *kernels)
{
    return TW_KERNELS_OF(kernels, tw_pixels);
}

/* The list on an image, moved at an index. */
static void run_list(const tw_transforms_t *list, const plain_image_t *image, size_t transfer,
                     size_t view, uint64_t key, const tw_compute_kernels_t *kernels, float *out)
{
    tw_work_t front = {.pixels = pixels_of(kernels)}, behind = {.pixels = pixels_of(kernels_at(0))};
    tw_buffer_t  device  = {.room = 0};
    tw_planned_t planned = {.image = {.type    = TW_IMAGE_PIXELS,
                                      .data    = image->pixel,
                                      .shape   = {image->c, image->h, image->w},
                                      .present = {.h = image->h, .w = image->w},
                                      .row     = image->w,
                                      .plane   = image->h * image->w},
                            .key   = key,
                            .view  = view};

    problem = (tw_problem_t){0};
    ck_assert_msg(tw_transforms_run(list, 0, transfer, &planned, &front, &device, &problem) == 0,
                  "%s: %s", list->text, problem.text);
    ck_assert_uint_ne(tw_image_move(&planned.image, front.pixels, &device), SIZE_MAX);
    /* Nothing may be left behind in the memory of whoever did the first part. */
    for (int k = 0; k < 2; k++) {
        memset(front.scratch[k].bytes != NULL ? front.scratch[k].bytes : out, 0x5a,
               front.scratch[k].room);
    }
    ck_assert_msg(tw_transforms_run(list, transfer, list->n, &planned, &behind, NULL, &problem) ==
                      0,
                  "%s: %s", list->text, problem.text);
    memset(out, 0xff, tw_shape_size(list->form.shape) * sizeof(*out));
    tw_image_floats(&planned.image, behind.pixels, out);
    tw_work_destroy(&front);
    tw_work_destroy(&behind);
    tw_buffer_destroy(&device);
}

START_TEST(every_index_gives_what_the_plain_version_gives)
{
    test_random_t               r = {test_seed() + (uint64_t)_i};
    static plain_image_t        image, p;
    static float                want[MOST], got[MOST];
    const tw_compute_kernels_t *kernels = kernels_at(_i % LEVELS);

    for (int round = 0; round < 400 && kernels != NULL; round++) {
        char            text[600] = "";
        unsigned        draw      = 0;
        int             bordered  = 0, words;
        views_t         views     = {.count = 1};
        const uint64_t  key       = test_next(&r);
        tw_transforms_t list;

        draw_image(&r, &image);
        p     = image;
        words = test_below(&r, 7);
        for (int k = 0; k < words; k++) {
            add_word(&r, &p, text, key, &draw, &bordered, &views);
        }
        problem = (tw_problem_t){0};
        ck_assert_msg(tw_transforms_parse(&list, text,
                                          (tw_image_form_t){.type  = TW_IMAGE_PIXELS,
                                                            .shape = {image.c, image.h, image.w}},
                                          "list", &problem) == 0,
                      "%s", problem.text);
        ck_assert_uint_eq(list.form.shape.h, p.h);
        ck_assert_uint_eq(list.form.shape.w, p.w);
        ck_assert_uint_eq(list.views, views.count);
        plain_out(&p, want);
        for (size_t transfer = 0; transfer <= list.n; transfer++) {
            run_list(&list, &image, transfer, views.taken, key, kernels, got);
            for (size_t i = 0; i < p.c * p.h * p.w; i++) {
                ck_assert_msg(memcmp(&want[i], &got[i], sizeof(*got)) == 0,
                              "%zux%zux%zu,%s, view %zu, index %zu: value %zu is %.9g, not %.9g",
                              image.c, image.h, image.w, text, views.taken, transfer, i,
                              (double)got[i], (double)want[i]);
            }
        }
        tw_transforms_destroy(&list);
    }
}
END_TEST

/* ---- means of training images -------------------------------------------------------------- */

/* Of what comes in front: learned from five images, and taken from a sixth, mirrored and
 * cropped. */
START_TEST(a_learned_mean_is_that_of_the_images)
{
    enum { LEARNED = 5, H = 11, W = 13, N = 3 * H * W };
    static const char *const lists[] = {"mean:planes mirror crop:5", "mean:pixels mirror crop:5",
                                        "mirror crop:11x13 mean:pixels"};
    const tw_image_form_t    from    = {.type = TW_IMAGE_PIXELS, .shape = {3, H, W}};
    test_random_t            r       = {test_seed()};
    static plain_image_t     image, p;
    static float             want[MOST], got[MOST];
    static uint64_t          sums[1 + N];
    double                   mean[N] = {0.0};
    tw_transforms_t          list;
    tw_transform_t          *op;
    const float              one = 1.0f;

    problem = (tw_problem_t){0};
    ck_assert_int_eq(tw_transforms_parse(&list, lists[_i], from, "list", &problem), 0);
    op = &list.op[_i == 2 ? 2 : 0];
    memset(sums, 0, sizeof(sums));
    ck_assert_uint_eq(op->ops->learns(op->own), _i == 0 ? 1 + 3 : 1 + N);
    for (int k = 0; k <= LEARNED; k++) {
        const tw_image_t view = {.type    = TW_IMAGE_PIXELS,
                                 .data    = image.pixel,
                                 .shape   = {3, H, W},
                                 .present = {.h = H, .w = W},
                                 .row     = W,
                                 .plane   = H * W};

        draw_image(&r, &image);
        image.c = 3;
        image.h = H;
        image.w = W;
        for (size_t i = 0; i < N && k < LEARNED; i++) {
            mean[_i == 0 ? i / (H * W) : i] += image.pixel[i];
        }
        if (k < LEARNED) {
            op->ops->add(op->own, &view, pixels_of(kernels_at(0)), sums);
        }
    }
    op->ops->learn(op->own, sums);
    p = image;
    if (_i == 2) {
        plain_mirror(&p, AT_RANDOM, 77, 0);
    }
    for (size_t i = 0; i < N; i++) {
        const double x = mean[_i == 0 ? i / (H * W) : i] / (_i == 0 ? LEARNED * H * W : LEARNED);

        p.value[i] = ((float)p.pixel[i] - (float)x) * one;
    }
    p.floats = 1;
    if (_i < 2) {
        plain_mirror(&p, AT_RANDOM, 77, 0);
        plain_crop(&p, 5, 5, 0, AT_RANDOM, 77, 1);
    }
    plain_out(&p, want);
    for (size_t transfer = 0; transfer <= list.n; transfer++) {
        run_list(&list, &image, transfer, 0, 77, best_kernels(), got);
        ck_assert_mem_eq(got, want, p.c * p.h * p.w * sizeof(*got));
    }
    tw_transforms_destroy(&list);
}
END_TEST

/* ---- drawn places -------------------------------------------------------------------------- */

START_TEST(places_are_drawn_evenly)
{
    enum { PAD = 4, PLACES = 2 * PAD + 1, DRAWN = 90000 };
    static size_t   count[PLACES][PLACES][2];
    static uint8_t  image[32 * 32];
    tw_transforms_t list;
    tw_work_t       work = {.pixels = pixels_of(kernels_at(0))};

    memset(count, 0, sizeof(count));
    ck_assert_int_eq(
        tw_transforms_parse(&list, "crop:pad=4 mirror",
                            (tw_image_form_t){.type = TW_IMAGE_PIXELS, .shape = {1, 32, 32}},
                            "list", &problem),
        0);
    for (uint32_t i = 0; i < DRAWN; i++) {
        tw_planned_t   planned = {.image = {.type    = TW_IMAGE_PIXELS,
                                            .data    = image,
                                            .shape   = {1, 32, 32},
                                            .present = {.h = 32, .w = 32},
                                            .row     = 32,
                                            .plane   = 32 * 32},
                                  .key   = tw_random_key(1, TW_RANDOM_AUGMENT, 1, i)};
        const int32_t *drawn   = planned.step[0].drawn.whole;

        ck_assert_int_eq(tw_transforms_run(&list, 0, 2, &planned, &work, NULL, &problem), 0);
        ck_assert(drawn[0] >= 0 && drawn[0] < PLACES && drawn[1] >= 0 && drawn[1] < PLACES);
        count[drawn[0]][drawn[1]][planned.image.mirrored]++;
    }
    for (size_t k = 0; k < sizeof(count) / sizeof(count[0][0][0]); k++) {
        ck_assert_uint_gt((&count[0][0][0])[k], 440); /* 556 expected, 5 standard deviations: 117 */
        ck_assert_uint_lt((&count[0][0][0])[k], 680);
    }
    ck_assert_uint_eq(tw_work_grown(&work), 0); /* the view changes, and no bytes move */
    tw_work_destroy(&work);
    tw_transforms_destroy(&list);
}
END_TEST

/* ---- texts --------------------------------------------------------------------------------- */

static const struct {
    const char *text, *fragment;
} bad[] = {{"turn", "'turn' is no operation; accepted are decode, resize"},
           {"resize", "accepted is resize:N or resize:HxW"},
           {"resize:", "accepted is resize:N"},
           {"resize:0", "accepted is resize:N"},
           {"resize:16385", "accepted is resize:N"},
           {"resize:5x", "accepted is resize:N"},
           {"resize:5x5x5", "accepted is resize:N"},
           {"resize:5,", "accepted is resize:N"},
           {"resize:-5", "accepted is resize:N"},
           {"crop", "accepted is crop:N or crop:HxW"},
           {"crop:5,middle", "accepted is crop:N"},
           {"crop:5,random,centre", "accepted is crop:N"},
           {"crop:5,pad=1,pad=2", "accepted is crop:N"},
           {"crop:5,randomly", "accepted is crop:N"},
           {"crop:pad=1025", "accepted is crop:N"},
           {"crop:5,fives", "accepted is crop:N"},
           {"crop:5,five,", "accepted is crop:N"},
           {"mirror:bothways", "accepted is mirror or mirror:both"},
           {"crop:pad=1.5", "accepted is crop:N"},
           {"crop:33", "an image of 32x32 is smaller than the crop of 33x33"},
           {"resize:20 crop:21", "an image of 20x20 is smaller than the crop of 21x21"},
           {"mirror:1", "accepted is mirror"},
           {"mean", "accepted is mean:M"},
           {"mean:1,2", "2 numbers, and images have 3 planes"},
           {"mean:1,x,3", "accepted is mean:M"},
           {"mean:nan", "accepted is mean:M"},
           {"mean:all", "accepted is mean:M"},
           {"scale:2 mean:planes", "a mean of training images is of pixels"},
           {"crop:pad=2 mean:pixels", "a mean of training images is of pixels"},
           {"scale:0", "accepted is scale:S"},
           {"deviation:0", "accepted is deviation:D"},
           {"deviation:1,1", "2 numbers, and images have 3 planes"},
           {"colour", "accepted is colour:brightness=X"},
           {"colour:hue=1", "accepted is colour:brightness=X"},
           {"colour:contrast=1.5", "accepted is colour:brightness=X"},
           {"mean:1 colour:contrast=1", "colours change before pixels become floats"},
           {"noise", "accepted is noise:S"},
           {"mean:1 resize:5", "images are resized before they become floats"},
           {"crop:pad=2 resize:5", "images are resized before a crop with a border"},
           {"mirror decode", "decode comes first"},
           {"mirror decode:orientation=stored", "decode comes first"},
           {"decode:orientation=6", "accepted is decode[:orientation=exif|stored]"},
           {"decode:stored", "accepted is decode[:orientation=exif|stored]"},
           {"mirror mirror mirror mirror mirror mirror mirror mirror mirror mirror mirror mirror "
            "mirror mirror mirror mirror mirror",
            "more than 16 operations"}};

START_TEST(lists_are_checked)
{
    tw_transforms_t list;

    problem = (tw_problem_t){0};
    ck_assert_int_eq(
        tw_transforms_parse(&list, bad[_i].text,
                            (tw_image_form_t){.type = TW_IMAGE_PIXELS, .shape = {3, 32, 32}},
                            "--augment", &problem),
        -1);
    ck_assert_msg(strstr(problem.text, bad[_i].fragment) != NULL, "'%s' gave '%s'", bad[_i].text,
                  problem.text);
    ck_assert_int_eq(strncmp(problem.text, "--augment: ", 11), 0);
    ck_assert_ptr_null(strchr(problem.text, '\n'));
}
END_TEST

START_TEST(files_need_one_size)
{
    const tw_image_form_t files = {.type = TW_IMAGE_FILE, .shape = {3, 0, 0}};
    tw_transforms_t       list;

    problem = (tw_problem_t){0};
    ck_assert_int_eq(tw_transforms_parse(&list, "resize:40 mirror", files, "--augment", &problem),
                     -1);
    ck_assert_ptr_nonnull(strstr(problem.text, "images differ in size"));
    problem = (tw_problem_t){0};
    ck_assert_int_eq(tw_transforms_parse(&list, "resize:40 crop:41", files, "--augment", &problem),
                     -1);
    ck_assert_ptr_nonnull(strstr(problem.text, "smaller than the crop of 41x41"));
    problem = (tw_problem_t){0};
    ck_assert_int_eq(
        tw_transforms_parse(&list, "resize:40 crop:32 mirror", files, "--augment", &problem), 0);
    ck_assert_uint_eq(list.n, 4);
    ck_assert_str_eq(list.op[0].ops->name, "decode");
    ck_assert_uint_eq(list.form.shape.h, 32);
    ck_assert_int_eq(list.form.type, TW_IMAGE_PIXELS);
    tw_transforms_destroy(&list);
}
END_TEST

START_TEST(tests_have_no_chance)
{
    char            text[TW_TRANSFORMS_TEXT];
    tw_transforms_t list;

    ck_assert_int_eq(
        tw_transforms_parse(&list,
                            "decode resize:40 crop:32,random crop:pad=4 mirror "
                            "colour:contrast=0.4 noise:0.1 mean:1,2,3 deviation:2",
                            (tw_image_form_t){.type = TW_IMAGE_FILE, .shape = {3, 0, 0}},
                            "--augment", &problem),
        0);
    tw_transforms_for_tests(&list, text, sizeof(text));
    ck_assert_str_eq(text, "decode resize:40 crop:32x32,centre mean:1,2,3 deviation:2");
    tw_transforms_destroy(&list);
    /* The border stays where the image is too small without it. */
    ck_assert_int_eq(
        tw_transforms_parse(&list, "crop:40,random,pad=4",
                            (tw_image_form_t){.type = TW_IMAGE_PIXELS, .shape = {3, 32, 36}},
                            "--augment", &problem),
        0);
    tw_transforms_for_tests(&list, text, sizeof(text));
    ck_assert_str_eq(text, "crop:40x40,pad=4,centre");
    tw_transforms_destroy(&list);
}
END_TEST

/* A thin image, which its file says is no large one, must not take memory by being resized. */
START_TEST(thin_images_take_no_memory)
{
    enum { LONG = 4000000 };
    const tw_image_form_t from = {.type = TW_IMAGE_PIXELS, .shape = {1, 0, 0}};
    tw_planned_t          planned;
    tw_work_t             work = {.pixels = pixels_of(kernels_at(0))};
    tw_transforms_t       list;

    for (int across = 0; across < 2; across++) {
        problem = (tw_problem_t){0};
        ck_assert_int_eq(tw_transforms_parse(&list,
                                             across ? "resize:224x224" : "resize:224 crop:224",
                                             from, "list", &problem),
                         0);
        planned = (tw_planned_t){.image = {.type    = TW_IMAGE_PIXELS,
                                           .data    = &list,
                                           .shape   = {1, 1, LONG},
                                           .present = {.h = 1, .w = LONG},
                                           .row     = LONG,
                                           .plane   = LONG}};
        ck_assert_int_eq(tw_transforms_run(&list, 0, 1, &planned, &work, NULL, &problem), -1);
        ck_assert_ptr_nonnull(strstr(problem.text, "1x4000000 pixels, resized, would be 224x"));
        tw_transforms_destroy(&list);
    }
    ck_assert_uint_eq(tw_work_grown(&work), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("train/operations");
    TCase *tcase = test_case_within(suite, "operations", 60.0);

    tcase_add_loop_test(tcase, every_index_gives_what_the_plain_version_gives, 0, 2 * LEVELS);
    tcase_add_loop_test(tcase, a_learned_mean_is_that_of_the_images, 0, 3);
    tcase_add_test(tcase, places_are_drawn_evenly);
    TEST_EACH(tcase, lists_are_checked, bad);
    tcase_add_test(tcase, files_need_one_size);
    tcase_add_test(tcase, tests_have_no_chance);
    tcase_add_test(tcase, thin_images_take_no_memory);
    return test_main(suite);
}
