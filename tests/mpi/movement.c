/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/movement.c - bcast, allgather(v), alltoall(v): exact against encode-then-decode; and of
 * rooted.h, scatter(v) and gather(v).
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/mpi/job.h"
#include "tests/mpi/rooted.h"

/* Counts that matter for a codec: nothing, one, a prime, and the edges of its blocks. */
static size_t edge_count(size_t i, size_t block)
{
    const size_t counts[] = {0, 1, 101, block - 1, block, block + 1, 2 * block + 17};

    return i < sizeof(counts) / sizeof(counts[0]) ? counts[i] : SIZE_MAX;
}

static void each_count(t_shape_t *shape)
{
    const size_t block = t_block(shape->spec, shape->dtype);
    size_t       last  = SIZE_MAX;

    for (size_t i = 0; edge_count(i, block) != SIZE_MAX; i++) {
        shape->count = edge_count(i, block);
        if (shape->count == last) {
            continue;
        }
        last            = shape->count;
        shape->seed     = t_seed + i;
        shape->misalign = (i * 5) % 8;
        t_job_once(t_world, shape);
    }
}

static void each_codec(t_op_t kind)
{
    t_shape_t shape = {.kind = kind, .dtype = TW_F32};

    for (size_t i = 0; t_specs_f32[i] != NULL; i++) {
        shape.spec     = t_specs_f32[i];
        shape.root     = (int)(i % (size_t)t_size);
        shape.in_place = (int)(i % 2);
        shape.flags    = kind == T_BCAST && i % 2 == 0 ? TW_BCAST_SAME : 0;
        each_count(&shape);
        shape.in_place = !shape.in_place;
        shape.flags    = kind == T_BCAST && i % 2 != 0 ? TW_BCAST_SAME : 0;
        shape.count    = 1237;
        t_job_once(t_world, &shape);
    }
    for (int d = TW_F64; d <= TW_F16 + 1; d++) {
        const char *const *specs;

        shape.dtype = d <= TW_F16 ? (tw_dtype_t)d : TW_BYTE;
        specs       = t_specs(shape.dtype);
        for (size_t i = 0; specs[i] != NULL; i++) {
            shape.spec     = specs[i];
            shape.in_place = (int)(i % 2);
            each_count(&shape);
        }
    }
}

static void bcast_moves_what_the_codec_makes_of_it(void)
{
    each_codec(T_BCAST);
}
static void allgather_moves_what_the_codec_makes_of_it(void)
{
    each_codec(T_ALLGATHER);
}
static void alltoall_moves_what_the_codec_makes_of_it(void)
{
    each_codec(T_ALLTOALL);
}

static void bcast_from_every_root(void)
{
    t_shape_t shape = {.kind = T_BCAST, .dtype = TW_F32};

    for (shape.root = 0; shape.root < t_size; shape.root++) {
        for (unsigned same = 0; same < 2; same++) {
            shape.flags = same * TW_BCAST_SAME;
            shape.seed  = t_seed + (unsigned)shape.root;
            shape.spec  = "tree8:block=64,split=0.55";
            shape.count = 1000;
            t_job_once(t_world, &shape);
            shape.spec  = "onebit";
            shape.count = 5000;
            t_job_once(t_world, &shape);
            shape.spec  = "";
            shape.count = 3;
            t_job_once(t_world, &shape);
        }
    }
}

/* With TW_BCAST_SAME all ranks hold the same bits, the root too. */
static void bcast_same_is_the_same(void)
{
    float x[777];

    for (size_t i = 0; t_specs_f32[i] != NULL; i++) {
        const tw_how_t how = {.codec = t_codec(t_specs_f32[i], TW_F32), .flags = TW_BCAST_SAME};

        t_note("bcast %s", t_specs_f32[i]);
        t_fill(TW_F32, t_seed + (unsigned)t_rank, 0, 777, x);
        T_OK(tw_bcast(t_world, x, 777, t_size - 1, &how));
        T_SAME_EVERYWHERE(MPI_COMM_WORLD, x, sizeof(x));
    }
}

/* Uneven counts with zeros among them, gaps between the pieces, every alignment. */
static void uneven_counts_and_gaps(void)
{
    static const t_op_t kinds[] = {T_ALLGATHERV, T_ALLTOALLV};
    uint64_t            random  = t_seed;
    t_shape_t           shape;

    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; t_specs_f32[i] != NULL; i++) {
            for (int in_place = 0; in_place < 2; in_place++) {
                const size_t block = t_block(t_specs_f32[i], TW_F32);

                t_shape_random(&shape, &random, t_size, 2 * block + 2000);
                shape.kind     = kinds[k];
                shape.dtype    = TW_F32;
                shape.spec     = t_specs_f32[i];
                shape.in_place = in_place;
                shape.flags    = 0;
                for (int s = 0; s < t_size; s++) {
                    for (int r = s; r < t_size; r++) {
                        shape.counts[s][r] = t_below(&random, 3) == 0 ? 0 : shape.counts[s][r];
                        shape.counts[r][s] = in_place ? shape.counts[s][r] : shape.counts[r][s];
                    }
                }
                t_job_once(t_world, &shape);
            }
        }
    }
}

static void nobody_has_anything(void)
{
    t_shape_t shape = {.spec = "int8", .dtype = TW_F32};

    for (int kind = 0; kind < T_OPS; kind++) {
        for (int place = 0; place < 2; place++) {
            shape.kind     = (t_op_t)kind;
            shape.in_place = place;
            t_job_once(t_world, &shape);
        }
    }
}

/* Only one rank has something to give, or one rank gets everything. */
static void one_rank_has_it_all(void)
{
    t_shape_t shape = {.kind = T_ALLTOALLV, .spec = "tree8", .dtype = TW_F32, .gap = 3};

    for (int one = 0; one < t_size; one++) {
        memset(shape.counts, 0, sizeof(shape.counts));
        for (int r = 0; r < t_size; r++) {
            shape.counts[one][r] = 4099;
        }
        t_job_once(t_world, &shape);
        memset(shape.counts, 0, sizeof(shape.counts));
        for (int r = 0; r < t_size; r++) {
            shape.counts[r][one] = 517;
        }
        t_job_once(t_world, &shape);
    }
    shape.kind = T_ALLGATHERV;
    memset(shape.counts, 0, sizeof(shape.counts));
    shape.counts[0][t_size - 1] = 10007;
    t_job_once(t_world, &shape);
}

/* What the codec makes of NaN, Inf, denormals and -0 arrives, payload and all. */
static void special_values_arrive(void)
{
    enum { N = 600 };
    float *x = t_malloc(N * sizeof(float)), *want = t_malloc(N * sizeof(float));
    float *mine = t_malloc(N * sizeof(float));

    for (size_t i = 0; t_specs_f32[i] != NULL; i++) {
        static const uint32_t odd[] = {0x7fc00000u, 0x7fc12345u, 0xffc00001u, 0x7f800000u,
                                       0xff800000u, 0x80000000u, 0x00000001u, 0x807fffffu,
                                       0x7f7fffffu, 0x7f812345u};
        const tw_how_t        how   = {.codec = t_codec(t_specs_f32[i], TW_F32)};

        t_note("bcast %s of special values", t_specs_f32[i]);
        t_fill(TW_F32, t_seed, 0, N, x);
        for (size_t k = 0; k < sizeof(odd) / sizeof(odd[0]); k++) {
            memcpy(&x[k * k], &odd[k], sizeof(float));
        }
        t_model_round_trip(how.codec, TW_F32, x, N, want);
        memcpy(mine, x, N * sizeof(float));
        if (t_rank != 0) {
            memset(mine, 0, N * sizeof(float));
        }
        T_OK(tw_bcast(t_world, mine, N, 0, &how));
        T_SAME(TW_F32, mine, t_rank == 0 ? x : want, N);
    }
    free(x);
    free(want);
    free(mine);
}

static void large_enough_to_be_cut(void)
{
    static const t_op_t kinds[] = {T_BCAST, T_ALLGATHER, T_ALLTOALL};
    t_shape_t           shape   = {.dtype = TW_F32, .count = 300007};

    for (int k = 0; k < 3; k++) {
        shape.kind  = kinds[k];
        shape.count = k == 0 ? 700001 : 700001 / (size_t)t_size;
        shape.spec  = k == 1 ? "onebit" : "";
        t_job_once(t_world, &shape);
        shape.spec     = "tree8";
        shape.in_place = 1;
        t_job_once(t_world, &shape);
        shape.spec  = "bytes";
        shape.dtype = TW_BYTE;
        shape.count *= 4;
        t_job_once(t_world, &shape);
        shape.dtype    = TW_F32;
        shape.in_place = 0;
    }
}

/* Every second rank is in place, in all forms of a call. */
static void mixed(tw_comm_t *comm, t_shape_t *shape)
{
    t_job_t job;

    shape->in_place = t_rank % 2;
    shape->seed     = t_seed;
    t_job_open(&job, comm, shape, NULL, NULL);
    for (uint64_t round = 0; round < 4; round++) {
        t_note("%s of %zu, %s, form %d", t_op_names[shape->kind], shape->count,
               shape->spec != NULL ? shape->spec : "", (int)round);
        t_job_turn(&job, (t_form_t)(round % T_FORMS), round); /* blocking again after plans */
    }
    t_job_close(&job);
}

/* Who is in place is known to that rank alone. On many ranks, without TW_ALL, each way and kind
 * with one count, by turns. */
static void some_ranks_in_place(void)
{
    static const struct {
        const char    *settings[4];
        const char    *spec;
        tw_algorithm_t algorithm;
    } ways[]                    = {{{NULL}, "", TW_ALGORITHM_AUTO},
                                   {{NULL}, "tree8", TW_ALGORITHM_AUTO},
                                   {{"NODE_READ=0", NULL}, "", TW_ALGORITHM_AUTO},
                                   {{"ALLGATHER=pairwise", "ALLTOALL=pairwise", "ALLREDUCE=two_pass", NULL}, "", 0},
                                   {{"ALLGATHER=grid", "ALLTOALL=grid", "ALLREDUCE=grid", NULL}, "tree8", 0},
                                   {{NULL}, "", TW_ALGORITHM_MPI}};
    static const t_op_t kinds[] = {
        T_ALLTOALL,       T_ALLTOALLV, T_ALLGATHER,           T_ALLGATHERV,
        T_REDUCE_SCATTER, T_ALLREDUCE, T_REDUCE_SCATTER_BLOCK};
    static const size_t counts[] = {3, 30011};
    const size_t        step     = t_size > 4 && getenv("TW_ALL") == NULL ? 2 : 1;

    for (size_t w = 0; w < sizeof(ways) / sizeof(ways[0]); w++) {
        tw_context_t *ctx;
        tw_comm_t    *comm = t_comm_under(ways[w].settings, MPI_COMM_WORLD, &ctx);

        for (size_t k = 0; k < 2 * sizeof(kinds) / sizeof(kinds[0]); k++) {
            t_shape_t shape = {.kind      = kinds[k / 2],
                               .spec      = ways[w].spec,
                               .count     = counts[k % 2],
                               .algorithm = ways[w].algorithm};

            for (int r = 0; r < t_size * t_size; r++) {
                shape.counts[r / t_size][r % t_size] = counts[k % 2];
            }
            if ((w + k / 2 + k) % step == 0 &&
                (shape.algorithm != TW_ALGORITHM_MPI ||
                 (shape.kind < T_ALLREDUCE && shape.kind != T_ALLTOALLV))) {
                mixed(comm, &shape);
            }
        }
        t_comm_done(comm, ctx);
    }
}

/* MPI adds in its own order: whole numbers. */
static void some_ranks_in_place_by_mpi(void)
{
    enum { N = 840 * 40 };
    const tw_how_t how  = {.algorithm = TW_ALGORITHM_MPI};
    const size_t   mine = N / (size_t)t_size;
    float         *in = t_malloc(N * sizeof(*in)), *out = t_malloc(N * sizeof(*out));

    for (int form = 0; form < 4; form++) {
        const void   *send    = t_rank % 2 != 0 ? TW_IN_PLACE : in;
        tw_request_t *request = NULL;

        for (size_t i = 0; i < N; i++) {
            in[i] = out[i] = (float)(i % 100) + (float)t_rank;
        }
        T_OK(form == 0   ? tw_allreduce(t_world, send, out, N, TW_SUM, &how)
             : form == 1 ? tw_iallreduce(t_world, send, out, N, TW_SUM, &how, &request)
             : form == 2
                 ? tw_reduce_scatter_block(t_world, send, out, mine, TW_SUM, &how)
                 : tw_ireduce_scatter_block(t_world, send, out, mine, TW_SUM, &how, &request));
        T_OK(tw_wait(&request));
        for (size_t i = 0; i < (form < 2 ? N : mine); i++) {
            const size_t at = form < 2 ? i : (size_t)t_rank * mine + i;
            const float  want =
                (float)t_size * (float)(at % 100) + (float)(t_size * (t_size - 1) / 2);

            if (out[i] < want || out[i] > want) {
                T_CHECK(0, "form %d: value %zu is %g, not %g", form, i, (double)out[i],
                        (double)want);
                break;
            }
        }
    }
    free(in);
    free(out);
}

static const t_case_t cases[] = {
    {"bcast moves what the codec makes of it", bcast_moves_what_the_codec_makes_of_it, 1},
    {"bcast from every root", bcast_from_every_root, 1},
    {"bcast same is the same", bcast_same_is_the_same, 1},
    {"allgather moves what the codec makes of it", allgather_moves_what_the_codec_makes_of_it, 1},
    {"alltoall moves what the codec makes of it", alltoall_moves_what_the_codec_makes_of_it, 1},
    {"uneven counts and gaps", uneven_counts_and_gaps, 1},
    {"nobody has anything", nobody_has_anything, 1},
    {"one rank has it all", one_rank_has_it_all, 1},
    {"special values arrive", special_values_arrive, 1},
    {"large enough to be cut", large_enough_to_be_cut, 1},
    {"a root scatters and gathers", a_root_scatters_and_gathers, 1},
    {"what a root and bytes refuse", what_a_root_and_bytes_refuse, 1},
    {"some ranks in place", some_ranks_in_place, 2},
    {"some ranks in place, by MPI", some_ranks_in_place_by_mpi, 2},
};

T_MAIN(cases)
