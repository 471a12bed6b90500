/* SPDX-License-Identifier: BSD-3-Clause
 * tests/transport/device_nodes.c - see device_nodes.h.
 */
#include "config.h"

#include <string.h>

#include "runtime/transport/device/device.h"
#include "tests/transport/device_job.h"
#include "tests/transport/device_nodes.h"

/* The algorithm of a plan for this shape. */
static void chosen(tw_comm_t *comm, const t_shape_t *shape, int on_device, int say,
                   const char *want)
{
    tw_request_t *plan = NULL;
    device_job_t  job;

    t_shape_note(shape);
    device_job_open(&job, comm, shape, on_device, NULL, say, NULL, NULL);
    T_OK(t_job_plan(&job.on, &plan));
    T_CHECK(strcmp(tw_request_algorithm(plan), want) == 0, "%s memory%s: %s, not %s",
            on_device ? "device" : "host", say ? ", as said" : "", tw_request_algorithm(plan),
            want);
    T_OK(tw_request_free(&plan));
    device_job_close(&job);
}

static int lossless(tw_comm_t *comm, const char *spec)
{
    tw_codec_traits_t traits;
    tw_codec_t       *codec = NULL;

    if (spec[0] == '\0') {
        return 1;
    }
    T_OK(tw_codec_create(comm->ctx, spec, TW_F32, &codec, NULL, 0));
    tw_codec_traits(codec, &traits);
    tw_codec_destroy(codec);
    return traits.lossless;
}

/* Sizes for which nodes are used in host memory: where calls say device memory, too, if ranks of a
 * node share that of their devices; if one rank's cannot, codes are sent by every rank. Who names
 * `hierarchical` gets it. */
static void from_node_to_node(int shares)
{
    static const char *const settings[][5] = {
        {"NODE_RANKS=2", "DIRECT_MAX=1", "CHUNK=1k", NULL},
        {"NODE_RANKS=2", "ALLREDUCE=hierarchical", "BCAST=hierarchical", "CHUNK=1k", NULL}};
    static const t_op_t kinds[] = {T_ALLREDUCE, T_REDUCE, T_BCAST};
    const int           could   = stub_shares;
    tw_context_t       *ctx;

    stub_shares = could && (shares || t_rank < t_size - 1);
    for (int named = 0; named < 2; named++) {
        tw_comm_t *comm = device_comm(named ? DIRECT : STAGED, settings[named], &ctx);

        for (size_t i = 0; i < 12; i++) {
            const t_op_t kind   = kinds[i % 3];
            const int    values = could && shares && t_size == 2 && lossless(comm, t_specs_f32[i]);
            const char  *flat   = kind == T_BCAST ? "tree" : t_size > 2 ? "two_pass" : "direct";
            const int    nodes  = named || (could && shares && t_size == 4);
            t_shape_t    shape;

            flat = values ? "node" : flat; /* the ranks share one */
            device_shape(&shape, kind, i);
            shape.spec       = t_specs_f32[i];
            shape.node_ranks = 2;
            shape.count      = 3001;
            shape.algorithm  = TW_ALGORITHM_AUTO;
            chosen(comm, &shape, 1, 1, nodes ? "hierarchical" : flat);
            if (named || t_size == 4) { /* else a node has one rank */
                chosen(comm, &shape, i % 2 != 0 || t_rank > 0, 0, "hierarchical");
            }
            device_job_once(comm, &shape, 1, NULL, 1);
            shape.algorithm = TW_ALGORITHM_HIERARCHICAL;
            device_job_once(comm, &shape, 1, NULL, 1);
            device_job_once(comm, &shape, i % 2 != 0 || t_rank > 0, NULL, 0);
        }
        T_CHECK((comm->device->slots.state == TW_NODE_THERE) == (could && shares),
                "slots in memory of devices: %d", (int)comm->device->slots.state);
        device_comm_done(comm, ctx);
    }
    stub_shares = could;
}

void from_node_to_node_shared(void)
{
    from_node_to_node(1);
}

void from_node_to_node_apart(void)
{
    from_node_to_node(0);
}

/* Values as they are, in the memory of one node's devices if these share theirs: short and long, of
 * either type. Who names `node` gets it without, too. */
void in_a_node(void)
{
    static const char *const settings[] = {"CHUNK=2k", "WINDOW=4", NULL};
    tw_context_t            *ctx;
    tw_comm_t               *comm = device_comm(STAGED, settings, &ctx);

    for (int kind = 0; kind < T_OPS; kind++) {
        for (size_t i = 0; i < 8; i++) {
            t_shape_t shape;

            device_shape(&shape, (t_op_t)kind, i);
            shape.spec      = i % 2 == 0 ? "" : "bitpack:8";
            shape.dtype     = i % 2 == 0 ? TW_F32 : TW_F64;
            shape.count     = i < 4 ? 7 + i : 9001 + i;
            shape.algorithm = TW_ALGORITHM_AUTO;
            if (stub_shares && kind != T_ALLTOALLV) {
                chosen(comm, &shape, 1, 1, "node");
            }
            if (kind == T_ALLREDUCE || kind == T_REDUCE || kind == T_BCAST) {
                shape.algorithm = TW_ALGORITHM_NODE;
            }
            device_job_once(comm, &shape, 1, NULL, 1);
        }
    }
    device_comm_done(comm, ctx);
}

/* The root is many rounds ahead of what the others' devices have taken: it must not write over
 * that. */
void slow_readers(void)
{
    static const char *const settings[] = {"CHUNK=1k", "WINDOW=8", NULL};
    static const t_op_t      kinds[]    = {T_BCAST, T_REDUCE, T_BCAST};
    tw_context_t            *ctx;
    tw_comm_t               *comm = device_comm(STAGED, settings, &ctx);

    for (size_t i = 0; i < 3; i++) {
        t_shape_t shape;

        device_shape(&shape, kinds[i], i);
        shape.spec      = "fp32";
        shape.count     = 20000;
        shape.algorithm = i < 2 ? TW_ALGORITHM_HIERARCHICAL : TW_ALGORITHM_NODE;
        stub_diligence  = (t_rank == shape.root) == (shape.kind == T_BCAST) ? 1024 : 4;
        device_job_once(comm, &shape, 1, NULL, 1);
    }
    stub_diligence = 512;
    device_comm_done(comm, ctx);
}
