/* SPDX-License-Identifier: BSD-3-Clause
 * input/transforms/noise.c - colour noise along the principal components of photographs' colours
 * (Krizhevsky, Sutskever and Hinton, "ImageNet classification with deep convolutional neural
 * networks", 2012, section 4.1; S4 trains with it). Pixels become floats.
 *
 * Each image is shifted, as a whole, by sum over k of a_k l_k v_k, with a_k Gaussian of standard
 * deviation S, and the components v_k and l_k of ImageNet's training images, which are widely used:
 * values of pixels as 0 .. 1, l_k applied as it is.
 */
#include "config.h"

#include "train/input/transforms.h"
#include "train/input/transforms/settings.h"
#include "train/base/random.h"

enum { COMPONENTS = 3, UNIFORMS = 12 };

static const float strength[COMPONENTS]     = {0.2175f, 0.0188f, 0.0045f};
static const float direction[3][COMPONENTS] = {
    {-0.5675f, 0.7192f, 0.4009f}, {-0.5808f, -0.0045f, -0.8140f}, {-0.5836f, -0.6948f, 0.4203f}};

static int noise_parse(void *own, const char *arguments, tw_problem_t *problem)
{
    float *deviation = own;

    (void)problem;
    return tw_setting_numbers(arguments, 0.0, 10.0, deviation, 1) == 1 ? 0 : -1;
}

static int noise_follow(void *own, tw_image_form_t *form, tw_problem_t *problem)
{
    (void)own;
    form->type = TW_IMAGE_FLOATS;
    return form->shape.c == 3
               ? 0
               : tw_problem_set(problem, "images have %zu planes; accepted are 3", form->shape.c);
}

/* The sum of 12 uniform numbers is close to Gaussian, and the same on every machine. */
static float gaussian(uint64_t key, unsigned draw)
{
    float sum = -6.0f;

    for (unsigned i = 0; i < UNIFORMS; i++) {
        sum += tw_random_uniform(key, draw + i);
    }
    return sum;
}

static int noise_plan(const void *own, const tw_transform_t *next, const tw_image_t *image,
                      uint64_t key, unsigned draw, tw_transform_step_t *step, tw_work_t *work,
                      tw_problem_t *problem)
{
    const float *deviation = own;
    float        a[COMPONENTS];

    (void)next;
    (void)image;
    (void)work;
    (void)problem;
    for (unsigned k = 0; k < COMPONENTS; k++) {
        a[k] = *deviation * gaussian(key, draw + k * UNIFORMS) * strength[k] * 255.0f;
    }
    for (int c = 0; c < 3; c++) {
        step->drawn.real[c] =
            -(a[0] * direction[c][0] + a[1] * direction[c][1] + a[2] * direction[c][2]);
    }
    return 0;
}

static int noise_run(const void *own, const tw_transform_step_t *step, tw_image_t *image,
                     tw_work_t *work, tw_buffer_t *out, tw_problem_t *problem)
{
    const float one = 1.0f;

    (void)own;
    return tw_setting_affine(image, step->drawn.real, 3, &one, 1, work, out, problem);
}

static void affine(const void *own, const tw_transform_step_t *step, const float **mean,
                   const float **scale, size_t *n)
{
    (void)own;
    (void)scale;
    *mean = step->drawn.real;
    *n    = 3;
}

const tw_transform_ops_t tw_transform_noise = {
    .name     = "noise",
    .form     = "noise:S, 0 to 10",
    .help     = "colour noise of standard deviation S along ImageNet's principal components",
    .own      = sizeof(float),
    .parse    = noise_parse,
    .follow   = noise_follow,
    .draws    = COMPONENTS * UNIFORMS,
    .plan     = noise_plan,
    .run      = noise_run,
    .affine   = affine,
    .in_tests = tw_setting_dropped};
