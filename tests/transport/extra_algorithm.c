/* SPDX-License-Identifier: BSD-3-Clause
 * tests/transport/extra_algorithm.c - the algorithm of star.c in a list of its own. It goes through
 * the driver in every form; what it gives is computed with the codec alone.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/transport/api/collective.h"
#include "runtime/transport/coll/allreduce/reduction.h"
#include "tests/mpi/harness.h"

extern const tw_algorithm_row_t tw_reduction_star;

/* ---- its neighbours in the list -------------------------------------------------------------- */

static tw_status_t never(const tw_collective_call_t *call)
{
    (void)call;
    return TW_ERR_UNSUPPORTED;
}

static bool not_usual(const tw_collective_call_t *call)
{
    (void)call;
    return false;
}

static tw_algorithm_row_t unusual = {
    .name = "two_pass", .number = TW_ALGORITHM_TWO_PASS, .usual = not_usual};
static const tw_algorithm_row_t impossible = {
    .name = "grid", .number = TW_ALGORITHM_GRID, .serves = never, .needs = "another world"};
static const tw_algorithm_row_t *const rows[] = {&tw_reduction_star, &unusual, &impossible, NULL};
static const tw_collective_t           allreduce = {
              .operation = TW_OPERATION_ALLREDUCE, .rows = rows, .arrays = 2, .check = tw_reduction_check};

static tw_collective_call_t call_of(const float *in, float *out, size_t count,
                                    tw_reduction_t reduction, const tw_how_t *how)
{
    tw_collective_call_t call;

    unusual.shape = tw_reduction_star.shape;
    tw_collective_begin(&call, t_world, &allreduce, "allreduce", in, out, how);
    call.count     = count;
    call.reduction = reduction;
    return call;
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* What comes out, by the codec alone. */
static void expected(const tw_codec_t *codec, size_t count, tw_reduction_t reduction, float *sum)
{
    float   *one   = t_malloc((count + 1) * sizeof(*one));
    size_t   bytes = 0;
    uint8_t *codes;

    T_OK(tw_codec_size(codec, count, &bytes));
    codes = t_malloc(bytes + 1);
    for (int r = 0; r < t_size; r++) {
        t_fill(TW_F32, t_seed + (uint64_t)r, 0, count, one);
        T_OK(tw_codec_encode(codec, NULL, one, count, codes));
        T_OK(r == 0 ? tw_codec_decode(codec, NULL, codes, count, sum)
                    : tw_codec_decode_add(codec, NULL, codes, count, sum));
    }
    T_OK(tw_codec_encode(codec, NULL, sum, count, codes));
    T_OK(tw_codec_decode(codec, NULL, codes, count, sum));
    for (size_t i = 0; i < count && reduction == TW_AVERAGE; i++) {
        sum[i] /= (float)t_size;
    }
    free(one);
    free(codes);
}

static void one(const char *spec, size_t count, tw_reduction_t reduction)
{
    const tw_how_t how  = {.codec = t_codec(spec, TW_F32)};
    float         *in   = t_alloc(count * sizeof(*in), 0);
    float         *want = t_malloc((count + 1) * sizeof(*want));
    tw_request_t  *request;

    expected(how.codec, count, reduction, want);
    for (int form = 0; form < 4; form++) {
        const bool           in_place = form == 1;
        float               *out      = t_alloc(count * sizeof(*out), 4);
        tw_collective_call_t call =
            call_of(in_place ? TW_IN_PLACE : in, out, count, reduction, &how);

        t_note("%s, %zu values, form %d", spec, count, form);
        t_fill(TW_F32, t_seed + (uint64_t)t_rank, 0, count, in_place ? out : in);
        if (form < 2) {
            T_OK(tw_collective(&call, TW_BLOCKING, NULL));
        } else if (form == 2) {
            T_OK(tw_collective(&call, TW_NONBLOCKING, &request));
            T_OK(tw_wait(&request));
        } else {
            T_OK(tw_collective(&call, TW_PLAN, &request));
            T_CHECK(strcmp(tw_request_algorithm(request), "star") == 0, "%s was taken",
                    tw_request_algorithm(request));
            for (int turn = 0; turn < 2; turn++) {
                T_OK(tw_start(request));
                T_OK(tw_wait(&request));
            }
            T_OK(tw_request_free(&request));
        }
        T_SAME(TW_F32, out, want, count);
        t_free(out);
    }
    t_free(in);
    free(want);
}

static void it_is_what_the_codec_says(void)
{
    static const size_t      counts[] = {0, 1, 4097, 100003};
    static const char *const specs[]  = {"fp32", "bitpack:2", "tree8", "onebit", "bf16"};

    for (size_t s = 0; s < sizeof(specs) / sizeof(specs[0]); s++) {
        for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
            one(specs[s], counts[c], c % 2 == 0 ? TW_SUM : TW_AVERAGE);
        }
    }
}

/* What is not usual is taken by name alone; what cannot serve is refused by name, else passed over.
 */
static void names_decide(void)
{
    float                x[100] = {0}, y[100];
    tw_how_t             how    = {.codec = t_codec("tree8", TW_F32)};
    tw_collective_call_t call   = call_of(x, y, 100, TW_SUM, &how);
    tw_request_t        *plan;

    T_OK(tw_collective(&call, TW_PLAN, &plan));
    T_CHECK(call.algorithm == &tw_reduction_star, "%s", call.algorithm->name);
    T_OK(tw_request_free(&plan));
    how.algorithm = TW_ALGORITHM_TWO_PASS;
    call          = call_of(x, y, 100, TW_SUM, &how);
    T_OK(tw_collective(&call, TW_PLAN, &plan));
    T_CHECK(call.algorithm == &unusual, "%s", call.algorithm->name);
    T_OK(tw_request_free(&plan));
    how.algorithm = TW_ALGORITHM_GRID;
    call          = call_of(x, y, 100, TW_SUM, &how);
    T_STATUS(tw_collective(&call, TW_PLAN, &plan), TW_ERR_UNSUPPORTED);
    how.algorithm = TW_ALGORITHM_DIRECT; /* not in the list */
    call          = call_of(x, y, 100, TW_SUM, &how);
    T_OK(tw_collective(&call, TW_PLAN, &plan));
    T_CHECK(call.algorithm == &tw_reduction_star, "%s", call.algorithm->name);
    T_OK(tw_request_free(&plan));
    how.algorithm = (tw_algorithm_t)99;
    call          = call_of(x, y, 100, TW_SUM, &how);
    T_STATUS(tw_collective(&call, TW_BLOCKING, NULL), TW_ERR_INVALID_ARG);
}

/* A row has the name of its place, in the settings and where requests are reported. */
static void rows_have_their_names(void)
{
    static const tw_collective_t *const all[] = {
        &tw_collective_allreduce, &tw_collective_reduce,    &tw_collective_reduce_scatter,
        &tw_collective_bcast,     &tw_collective_allgather, &tw_collective_alltoall};

    for (size_t c = 0; c < sizeof(all) / sizeof(all[0]); c++) {
        const tw_collective_t *collective = all[c];
        int                    count      = 0;

        for (; collective->rows[count] != NULL; count++) {
            const char *name = tw_policy_name(collective->operation, count + 1);

            T_CHECK(name != NULL && strcmp(collective->rows[count]->name, name) == 0,
                    "%s stands in the place of %s", collective->rows[count]->name, name);
            T_CHECK(tw_collective_row(collective, name) == collective->rows[count], "%s", name);
            T_CHECK((collective->rows[count]->serves == NULL) ==
                        (collective->rows[count]->needs == NULL),
                    "%s refuses, and does not say what it needs", name);
        }
        T_CHECK(tw_policy_name(collective->operation, count + 1) == NULL, "more names than rows");
        T_CHECK(collective->rows[0]->serves == NULL, "the first may not serve");
    }
}

static const t_case_t cases[] = {{"it is what the codec says", it_is_what_the_codec_says, 1},
                                 {"names decide", names_decide, 1},
                                 {"rows have their names", rows_have_their_names, 1}};

T_MAIN(cases)
