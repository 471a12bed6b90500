/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/split.c - see split.h.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/train/split.h"

static void part_make(split_t *f, part_t *part, const tw_head_how_t *how, int rank, int ranks,
                      size_t rows)
{
    const size_t x       = (rows * INPUTS + 1) * sizeof(float);
    tw_problem_t problem = {0};

    T_CHECK(tw_params_create(&part->params, &f->net, f->backend, rank, ranks, 1, &problem) == 0,
            "%s", problem.text);
    T_CHECK(tw_head_create(&part->head, &f->net, &part->params, how, rows, &problem) == 0, "%s",
            problem.text);
    part->value    = t_malloc((part->params.total + 1) * sizeof(float));
    part->gradient = t_malloc((part->params.total + 1) * sizeof(float));
    part->gx       = t_malloc(x);
    part->x_there  = on_backend_copy(f->backend, NULL, x);
    part->gx_there = on_backend_copy(f->backend, NULL, x);
    part->outputs_there =
        on_backend_copy(f->backend, NULL, (tw_head_outputs(part->head) * rows + 1) * sizeof(float));
    memset(part->gradient, 0, part->params.total * sizeof(float));
}

static void part_free(split_t *f, part_t *part)
{
    tw_backend_release(f->backend, part->x_there);
    tw_backend_release(f->backend, part->gx_there);
    tw_backend_release(f->backend, part->outputs_there);
    tw_head_destroy(part->head);
    tw_params_destroy(&part->params);
    free(part->value);
    free(part->gradient);
    free(part->gx);
}

/* Every rank has the whole as well; the split values are copies of its. */
void split_make(split_t *f, const char *text, tw_loss_t loss, size_t rows,
                const tw_head_how_t *split)
{
    const tw_head_how_t whole = {.comm = NULL};

    backend_of_rank(t_rank);
    *f = (split_t){.backend = on_backend(tw_kernels_for(tw_cpu_level(t_ctx)), 1)};
    dense_net_make(&f->net, (tw_shape_t){INPUTS, 1, 1}, loss, text);
    part_make(f, &f->whole, &whole, 0, 1, rows);
    part_make(f, &f->split, split, t_rank, t_size, rows);
    dense_net_fill(f->whole.value, f->whole.params.total, t_seed, 0.5f);
    for (size_t i = 0; i < f->whole.params.count; i++) {
        const tw_param_t *from = &f->whole.params.param[i], *to = &f->split.params.param[i];

        memcpy(f->split.value + to->first,
               f->whole.value + from->first + to->units_first * to->per_unit,
               to->count * sizeof(float));
    }
    f->x        = t_malloc((rows * INPUTS + 1) * sizeof(float));
    f->labels   = t_malloc((rows + 1) * sizeof(*f->labels));
    f->examples = t_malloc((rows + 1) * sizeof(*f->examples));
    dense_net_fill(f->x, rows * INPUTS, t_seed + 1, 1.0f);
    dense_net_examples(rows, f->net.classes, t_seed + 2, f->labels, f->examples);
    f->pass = (tw_head_pass_t){.n        = rows,
                               .x        = f->x,
                               .examples = f->examples,
                               .labels   = f->labels,
                               .training = 1,
                               .count    = 1,
                               .five     = 1,
                               .seed     = t_seed,
                               .step     = 5,
                               .scale    = 1.0f / 64.0f};
}

void split_free(split_t *f)
{
    part_free(f, &f->whole);
    part_free(f, &f->split);
    tw_backend_destroy(f->backend);
    dense_net_destroy(&f->net);
    free(f->x);
    free(f->labels);
    free(f->examples);
}

tw_head_how_t split_how(void)
{
    return (tw_head_how_t){.comm = t_world};
}

void split_run(split_t *f, part_t *part, int with_gx)
{
    const size_t   total   = part->params.total * sizeof(float);
    const size_t   x       = f->pass.n * INPUTS * sizeof(float);
    tw_problem_t   problem = {0};
    tw_head_pass_t pass    = f->pass;

    pass.x       = part->x_there;
    pass.gx      = with_gx ? part->gx_there : NULL;
    pass.outputs = pass.outputs != NULL ? part->outputs_there : NULL;
    on_backend_put(f->backend, part->x_there, f->pass.x, x);
    on_backend_put(f->backend, part->params.value, part->value, total);
    on_backend_put(f->backend, part->params.gradient, part->gradient, total);
    T_CHECK(tw_head_run(part->head, &pass, &problem) == 0 &&
                tw_head_take(part->head, &part->loss, &part->wrong, &problem) == 0,
            "%s", problem.text);
    on_backend_get(f->backend, part->gradient, part->params.gradient, total);
    on_backend_get(f->backend, part->gx, part->gx_there, x);
}

/* ---- comparing ------------------------------------------------------------------------------ */

static double largest(const float *x, size_t n)
{
    double most = 1e-30;

    for (size_t i = 0; i < n; i++) {
        most = fabs((double)x[i]) > most ? fabs((double)x[i]) : most;
    }
    return most;
}

static void near(const char *what, const float *got, const float *want, size_t n, double most)
{
    for (size_t i = 0; i < n; i++) {
        T_CHECK(fabs((double)got[i] - (double)want[i]) <= 1e-5 * most,
                "%s: element %zu is %.9g, wanted %.9g (largest %g)", what, i, (double)got[i],
                (double)want[i], most);
    }
}

/* The gradients of the units that this rank holds. */
void split_compare_gradients(const split_t *f)
{
    for (size_t i = 0; i < f->whole.params.count; i++) {
        const tw_param_t *all = &f->whole.params.param[i], *own = &f->split.params.param[i];
        const float      *want = f->whole.gradient + all->first;

        near(own->name, f->split.gradient + own->first, want + own->units_first * own->per_unit,
             own->count, largest(want, all->count));
    }
}

void split_compare_sums(split_t *f, int with_gx)
{
    const size_t n       = f->pass.n * INPUTS;
    double       loss    = 0.0;
    uint64_t     mine[2] = {f->split.wrong.one, f->split.wrong.five}, wrong[2];
    float       *total   = t_malloc((n + 1) * sizeof(float));

    MPI_Allreduce(&f->split.loss, &loss, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(mine, wrong, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    T_CHECK(fabs(loss - f->whole.loss) <= 1e-5 * fabs(f->whole.loss), "loss %.9g, on one rank %.9g",
            loss, f->whole.loss);
    T_CHECK(wrong[0] == f->whole.wrong.one && wrong[1] == f->whole.wrong.five,
            "%d and %d wrong, on one rank %d and %d", (int)wrong[0], (int)wrong[1],
            (int)f->whole.wrong.one, (int)f->whole.wrong.five);
    if (with_gx) {
        MPI_Allreduce(f->split.gx, total, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        near("gx", total, f->whole.gx, n, largest(f->whole.gx, n));
    }
    free(total);
}
