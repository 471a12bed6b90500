/* SPDX-License-Identifier: BSD-3-Clause
 * simulation/fifo.c - the calls of world.h without SimGrid: the MPI calls of the transport
 * (link/mpi_ops.h) between ranks of one process, over the links of links.h.
 *
 * The time that a message takes of its two ranks' processors is added to a rank's work as it posts
 * it, or has received it, and passes before the rank's next test. A batch that was tested and not
 * complete wakes its rank when the last of its messages will be, so that no rank polls. Handles of
 * requests are numbers; no handle reaches an MPI library. Collectives are those of setting up, and
 * take no time.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "simulation/events.h"
#include "simulation/links.h"
#include "simulation/posts.h"
#include "simulation/setup.h"
#include "simulation/world.h"

typedef struct fifo_rank {
    double deferred; /* seconds of work for messages, not yet passed */
    int    found;    /* something, by its last test                  */
    int    polls;    /* waits for more than messages                 */
    int    waking;   /* an event is to wake it                       */
} fifo_rank_t;

static const script_t *script;
static fifo_rank_t    *states;

/* ---- requests ------------------------------------------------------------------------------ */

static MPI_Request handle_of(uint32_t post)
{
    return (MPI_Request)(intptr_t)(post + 1);
}

static post_t *post_of(MPI_Request request)
{
    return post_at((uint32_t)(intptr_t)request - 1);
}

/* The time is known now; its batch waits for those of all. */
static void complete_post(post_t *post, double when)
{
    post_batch_t *batch = post->batch;

    post->time = when;
    if (batch != NULL) {
        batch->last = fmax(batch->last, when);
        if (--batch->unknown == 0) {
            event_wake(batch->rank, batch->last);
        }
    }
}

static void message_sent(const transfer_t *transfer, double when)
{
    complete_post(post_at(transfer->sender), when);
}

static void message_arrived(const transfer_t *transfer, double when)
{
    const uint32_t number  = transfer->number;
    post_t        *message = post_at(number);

    message->time = when;
    if (message->pair != POST_NONE) {
        complete_post(post_at(message->pair), when);
        post_free(number);
    }
}

/* ---- messages ------------------------------------------------------------------------------ */

static int send_message(const void *bytes, int count, MPI_Datatype type, int to, int tag,
                        MPI_Comm comm, MPI_Request *request)
{
    const int      from = event_rank();
    fifo_rank_t   *me   = &states[from];
    const uint32_t send = post_new(), carried = post_new();
    post_t        *message = post_at(carried);

    (void)bytes, (void)type, (void)comm;
    me->deferred += 0.5 * links_overhead(from, to);
    *request          = handle_of(send);
    message->transfer = (transfer_t){
        .from = from, .to = to, .bytes = (uint32_t)count, .number = carried, .sender = send};
    message->pair = post_match(POST_MESSAGE, carried, from, to, tag);
    links_send(&message->transfer, event_now() + me->deferred);
    return MPI_SUCCESS;
}

static int receive_message(void *bytes, int count, MPI_Datatype type, int from, int tag,
                           MPI_Comm comm, MPI_Request *request)
{
    const int      to   = event_rank();
    const uint32_t mine = post_new(), carried = post_match(POST_RECEIVE, mine, from, to, tag);
    post_t        *post = post_at(mine);

    (void)bytes, (void)count, (void)type, (void)comm;
    *request      = handle_of(mine);
    post->receive = 0.5 * links_overhead(from, to);
    if (carried != POST_NONE) {
        post_t *message = post_at(carried);

        if (message->time >= 0.0) {
            post->time = fmax(event_now(), message->time);
            post_free(carried);
        } else {
            message->pair = mine;
        }
    }
    return MPI_SUCCESS;
}

static void batch_add(post_batch_t *batch, post_t *post)
{
    post->batch = batch;
    if (post->time < 0.0) {
        batch->unknown++;
    } else {
        batch->last = fmax(batch->last, post->time);
    }
}

static void batch_end(post_batch_t *batch, int count, MPI_Request requests[])
{
    for (int i = 0; i < count; i++) {
        states[batch->rank].deferred += post_of(requests[i])->receive;
        post_free((uint32_t)(intptr_t)requests[i] - 1);
        requests[i] = MPI_REQUEST_NULL;
    }
    free(batch);
}

static void pass_work(fifo_rank_t *me)
{
    const double seconds = me->deferred;

    if (seconds > 0.0) {
        me->deferred = 0.0;
        event_sleep(seconds);
    }
}

static int test_all(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    post_batch_t *batch;

    (void)statuses;
    pass_work(&states[event_rank()]);
    *flag = count == 0 || requests[0] == MPI_REQUEST_NULL;
    if (*flag) {
        return MPI_SUCCESS;
    }
    batch = post_of(requests[0])->batch;
    if (batch == NULL) {
        batch = calloc(1, sizeof(*batch));
        if (batch == NULL) {
            world_fail("out of memory");
        }
        batch->rank = event_rank();
    }
    if (batch->count < count) {
        while (batch->count < count) {
            batch_add(batch, post_of(requests[batch->count++]));
        }
        if (batch->unknown == 0 && batch->last > event_now()) {
            event_wake(batch->rank, batch->last);
        }
    }
    *flag = batch->unknown == 0 && batch->last <= event_now();
    if (*flag) {
        states[batch->rank].found = 1;
        batch_end(batch, count, requests);
    }
    return MPI_SUCCESS;
}

/* ---- collectives --------------------------------------------------------------------------- */

/* All parts are there: the requests of all ranks are complete. */
static void setup_done(const uint32_t *posts, int count)
{
    for (int i = 0; i < count; i++) {
        complete_post(post_at(posts[i]), event_now());
    }
}

static int start_setup(const setup_part_t *part, MPI_Comm comm, MPI_Request *request)
{
    const uint32_t post = post_new();

    *request = handle_of(post);
    setup_join(part, setup_is_node(comm), event_rank(), post, setup_done);
    return MPI_SUCCESS;
}

static int gather_all(const void *in, int count, MPI_Datatype type, void *out, int out_count,
                      MPI_Datatype out_type, MPI_Comm comm, MPI_Request *request)
{
    (void)type, (void)out_count, (void)out_type;
    return start_setup(
        &(setup_part_t){.kind = SETUP_GATHER, .in = in, .out = out, .bytes = (size_t)count}, comm,
        request);
}

static int broadcast(void *bytes, int count, MPI_Datatype type, int root, MPI_Comm comm,
                     MPI_Request *request)
{
    (void)root; /* 0, always */
    return start_setup(
        &(setup_part_t){.kind  = SETUP_BCAST,
                        .in    = bytes,
                        .out   = bytes,
                        .bytes = (size_t)count * (type == MPI_INT ? sizeof(int) : 1)},
        comm, request);
}

static int reduce_all(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
                      MPI_Comm comm, MPI_Request *request)
{
    const size_t element = type == MPI_INT ? sizeof(int) : 8;

    return start_setup(&(setup_part_t){.kind  = type == MPI_INT        ? SETUP_INT
                                                : type == MPI_UINT64_T ? SETUP_UINT64
                                                                       : SETUP_DOUBLE,
                                       .sign  = op == MPI_MIN   ? -1
                                                : op == MPI_MAX ? 1
                                                                : 0,
                                       .in    = in,
                                       .out   = out,
                                       .bytes = (size_t)count * element},
                       comm, request);
}

/* ---- communicators ------------------------------------------------------------------------- */

static int same_comm(MPI_Comm comm, MPI_Comm *copy)
{
    *copy = comm;
    return MPI_SUCCESS;
}

static int comm_free(MPI_Comm *comm)
{
    (void)comm;
    return MPI_SUCCESS;
}

static int comm_node(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *node)
{
    (void)comm, (void)type, (void)key, (void)info;
    *node = setup_comm(1);
    return MPI_SUCCESS;
}

static int comm_rank(MPI_Comm comm, int *rank)
{
    *rank = setup_is_node(comm) ? event_rank() % script->per_node : event_rank();
    return MPI_SUCCESS;
}

static int comm_size(MPI_Comm comm, int *size)
{
    *size = setup_size(setup_is_node(comm), event_rank());
    return MPI_SUCCESS;
}

static int comm_is_inter(MPI_Comm comm, int *flag)
{
    (void)comm;
    *flag = 0;
    return MPI_SUCCESS;
}

static int comm_handler(MPI_Comm comm, MPI_Errhandler handler)
{
    (void)comm, (void)handler;
    return MPI_SUCCESS;
}

static int comm_attribute(MPI_Comm comm, int key, void *value, int *flag)
{
    static int most = 1 << 30; /* of tags */

    (void)comm, (void)key;
    memcpy(value, &(int *){&most}, sizeof(int *));
    *flag = 1;
    return MPI_SUCCESS;
}

/* ---- the world ----------------------------------------------------------------------------- */

tw_mpi_ops_t world_ops(void)
{
    return (tw_mpi_ops_t){.Comm_dup            = same_comm,
                          .Comm_free           = comm_free,
                          .Comm_rank           = comm_rank,
                          .Comm_size           = comm_size,
                          .Comm_test_inter     = comm_is_inter,
                          .Comm_split_type     = comm_node,
                          .Comm_set_errhandler = comm_handler,
                          .Comm_get_attr       = comm_attribute,
                          .Testall             = test_all,
                          .Isend               = send_message,
                          .Irecv               = receive_message,
                          .Ibcast              = broadcast,
                          .Iallreduce          = reduce_all,
                          .Iallgather          = gather_all};
}

int world_rank(void)
{
    return event_rank();
}

MPI_Comm world_comm(void)
{
    return setup_comm(0);
}

double world_now(void)
{
    return event_now();
}

void world_work(double seconds)
{
    fifo_rank_t *me = &states[event_rank()];

    me->deferred += seconds;
    pass_work(me);
}

/* Others of its node may see at once what it does next. */
void world_code(double seconds)
{
    if (script->per_node > 1) {
        world_work(seconds);
    } else {
        states[event_rank()].deferred += seconds;
    }
}

void world_idle(double until, int polls)
{
    fifo_rank_t *me = &states[event_rank()];

    if (me->deferred > 0.0 || me->found) { /* it will look again */
        me->found = 0;
        pass_work(me);
        return;
    }
    me->polls = polls;
    event_wait(until);
    me->polls = 0;
}

static void wake_rank(void *context, uint64_t rank)
{
    (void)context;
    states[rank].waking = 0;
    event_wake_now((int)rank);
}

void world_moved(void)
{
    const int me = event_rank(), first = me - me % script->per_node;

    for (int r = first; r < first + script->per_node && r < script->ranks; r++) {
        if (r != me && states[r].polls && !states[r].waking) {
            states[r].waking = 1;
            event_at(event_now(), wake_rank, NULL, (uint64_t)r);
        }
    }
}

/* There is no platform. */
void world_describe(void) {}

int world_run(const script_t *given, void (*play)(int rank))
{
    script = given;
    states = calloc((size_t)given->ranks, sizeof(*states));
    if (states == NULL) {
        world_fail("out of memory");
    }
    links_open(given, message_sent, message_arrived);
    posts_open(given->ranks);
    setup_open(given);
    if (event_run(given->ranks, play) != 0) {
        world_fail("the ranks wait for each other");
    }
    return 1;
}
