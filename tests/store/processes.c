/* SPDX-License-Identifier: BSD-3-Clause
 * tests/store/processes.c - communicators without MPI, through the public face of
 * libthinwire-store: for each case the program forks the ranks, which meet in a folder. Prints TAP.
 *
 * processes [CASE]: only the cases whose name contains that. TW_ALL: more groups.
 */
#include "config.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <malloc.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <thinwire/thinwire.h>

#include "tests/store/folder.h"

#define LIMIT 60 /* seconds of a case */

static char folder[256];
static int  failures;
static int  rank, size;

static char lines[4000]; /* what was logged */
static int  line_count;

static void log_take(void *arg, tw_log_level_t level, int of, const char *line)
{
    const size_t at = strlen(lines);

    (void)arg;
    (void)level;
    (void)of;
    line_count++;
    snprintf(lines + at, sizeof(lines) - at, "%s\n", line);
}

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            failures++;                                                                            \
            printf("# rank %d of %d: %s:%d: %s; log: %s\n", rank, size, __FILE__, __LINE__,        \
                   #condition, lines);                                                             \
        }                                                                                          \
    } while (0)

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static tw_context_t *context(void)
{
    tw_context_t *ctx = NULL;

    CHECK(tw_context_create(&ctx) == TW_OK);
    CHECK(tw_context_set_log(ctx, log_take, NULL) == TW_OK);
    return ctx;
}

static tw_status_t meet(tw_context_t *ctx, int as, int of, const char *name, tw_comm_t **comm)
{
    const tw_store_t store = t_folder(folder);

    return tw_comm_create_store(ctx, as, of, &store, name, "localhost", comm);
}

static tw_comm_t *world(tw_context_t *ctx)
{
    tw_comm_t *comm = NULL;

    CHECK(meet(ctx, rank, size, "world", &comm) == TW_OK);
    if (comm == NULL) {
        exit(1);
    }
    return comm;
}

static void done(tw_comm_t *comm, tw_context_t *ctx)
{
    CHECK(tw_comm_destroy(comm) == TW_OK);
    tw_context_destroy(ctx);
}

/* ---- collectives beside an oracle ------------------------------------------------------------ */

static float element(int of, size_t i)
{
    return (float)((of + 1) * (int)(i % 251 + 1));
}

static void sums(tw_comm_t *comm, size_t n, float *x, float *y, float *all)
{
    const int pairs = size * (size + 1) / 2;
    size_t    wrong = 0;

    for (size_t i = 0; i < n; i++) {
        x[i] = element(rank, i);
    }
    CHECK(tw_allreduce(comm, x, y, n, TW_SUM, NULL) == TW_OK);
    for (size_t i = 0; i < n; i++) {
        wrong += y[i] != (float)(pairs * (int)(i % 251 + 1));
    }
    for (int r = 0; r < size; r++) {
        for (size_t i = 0; i < n; i++) {
            all[(size_t)r * n + i] = element(rank, i + (size_t)r);
        }
    }
    CHECK(tw_reduce_scatter_block(comm, all, y, n, TW_SUM, NULL) == TW_OK);
    for (size_t i = 0; i < n; i++) {
        wrong += y[i] != (float)(pairs * (int)((i + (size_t)rank) % 251 + 1));
    }
    CHECK(wrong == 0);
}

static void moves(tw_comm_t *comm, size_t n, float *x, float *y, float *all)
{
    const int root  = size - 1;
    size_t    wrong = 0;

    for (size_t i = 0; i < n; i++) {
        y[i] = element(rank, i);
    }
    CHECK(tw_bcast(comm, y, n, root, NULL) == TW_OK);
    for (size_t i = 0; i < n; i++) {
        wrong += y[i] != element(root, i);
    }
    CHECK(tw_allgather(comm, x, all, n, NULL) == TW_OK);
    for (int r = 0; r < size; r++) {
        for (size_t i = 0; i < n; i++) {
            wrong += all[(size_t)r * n + i] != element(r, i);
        }
    }
    for (int r = 0; r < size; r++) {
        for (size_t i = 0; i < n; i++) {
            all[(size_t)r * n + i] = element(rank, i + (size_t)r);
        }
    }
    CHECK(tw_alltoall(comm, TW_IN_PLACE, all, n, NULL) == TW_OK);
    for (int r = 0; r < size; r++) {
        for (size_t i = 0; i < n; i++) {
            wrong += all[(size_t)r * n + i] != element(r, i + (size_t)rank);
        }
    }
    CHECK(wrong == 0);
}

/* The algorithm "mpi", whose messages may be long; and a codec. */
static void others(tw_context_t *ctx, tw_comm_t *comm, size_t n, float *x, float *y)
{
    tw_codec_t    *codec = NULL;
    const tw_how_t plain = {.algorithm = TW_ALGORITHM_MPI};
    tw_how_t       tree8 = {0};
    size_t         wrong = 0;
    const int      pairs = size * (size + 1) / 2;

    CHECK(tw_allreduce(comm, x, y, n, TW_SUM, &plain) == TW_OK);
    for (size_t i = 0; i < n; i++) {
        wrong += y[i] != (float)(pairs * (int)(i % 251 + 1));
    }
    CHECK(tw_codec_create(ctx, "tree8", TW_F32, &codec, NULL, 0) == TW_OK);
    tree8.codec = codec;
    CHECK(tw_allreduce(comm, x, y, n, TW_SUM, &tree8) == TW_OK);
    for (size_t i = 0; i < n; i++) {
        wrong += fabsf(y[i] - (float)(pairs * (int)(i % 251 + 1))) > 0.06f * 252.0f * (float)pairs;
    }
    CHECK(wrong == 0);
    tw_codec_destroy(codec);
}

static void collectives(void)
{
    const size_t  counts[] = {0, 1, 1000, 100003};
    tw_context_t *ctx      = context();
    tw_comm_t    *comm     = world(ctx);

    CHECK(tw_comm_rank(comm) == rank && tw_comm_size(comm) == size);
    for (int c = 0; c < 4; c++) {
        const size_t n = counts[c];
        float       *x = calloc(n + 1, sizeof(*x)), *y = calloc(n + 1, sizeof(*y));
        float       *all = calloc((size_t)size * n + 1, sizeof(*all));

        sums(comm, n, x, y, all);
        moves(comm, n, x, y, all);
        others(ctx, comm, n, x, y);
        free(x);
        free(y);
        free(all);
    }
    CHECK(lines[0] == '\0');
    done(comm, ctx);
}

/* Messages by TCP inside the machine, too. */
static void by_messages(void)
{
    setenv("THINWIRE_NODE_RANKS", "1", 1);
    collectives();
}

static void by_six(void)
{
    setenv("THINWIRE_ADDRESS", "::1", 1);
    by_messages();
}

static void by_interface(void)
{
    setenv("THINWIRE_ADDRESS", "lo", 1);
    by_messages();
}

#ifdef HAVE_UCX
static void by_ucx(void)
{
    setenv("THINWIRE_TRANSPORT", "ucx", 1);
    by_messages();
}
#endif

/* ---- a progress thread ---------------------------------------------------------------------- */

static tw_comm_t *world_by_thread(tw_context_t *ctx)
{
    tw_comm_t *comm;

    setenv("THINWIRE_NODE_RANKS", "1", 1);
    comm = world(ctx);
    CHECK(tw_comm_start_progress(comm) == TW_OK);
    return comm;
}

static tw_status_t sum_by_thread(tw_comm_t *comm, const float *x, float *y, size_t n)
{
    tw_request_t *request = NULL;
    tw_status_t   status  = tw_iallreduce(comm, x, y, n, TW_SUM, NULL, &request);

    for (int done = 0; status == TW_OK && !done;) {
        status = tw_wait_for(&request, 1000, &done);
    }
    return status;
}

static long sleeps(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw;
}

/* It sleeps until a message comes, not for a time. */
static void by_thread(void)
{
    enum { TIMES = 20, EACH = 16 }; /* of some 60 where it looks from time to time */
    tw_context_t *ctx  = context();
    tw_comm_t    *comm = world_by_thread(ctx);
    float         x[100], y[100];
    long          before = sleeps(), spent;

    for (int t = 0; t < TIMES; t++) {
        x[99] = element(rank, (size_t)t);
        if (rank == t % size) {
            usleep(20000);
        }
        CHECK(sum_by_thread(comm, x, y, 100) == TW_OK);
        CHECK(y[99] == (float)(size * (size + 1) / 2 * (t + 1)));
    }
    spent = sleeps() - before;
    if (spent > (long)TIMES * EACH) {
        printf("# rank %d slept %ld times in %d calls\n", rank, spent, TIMES);
        failures++;
    }
    CHECK(lines[0] == '\0');
    done(comm, ctx);
}

/* ---- a wait with a limit --------------------------------------------------------------------- */

static double longest; /* sleep of the library, in seconds */

/* In place of the one of libc. */
__attribute__((visibility("default"))) int
ppoll(struct pollfd *looked, nfds_t count, const struct timespec *most, const sigset_t *signals)
{
    struct timespec spent = most != NULL ? *most : (struct timespec){LIMIT, 0};

    longest = fmax(longest, (double)spent.tv_sec + 1e-9 * (double)spent.tv_nsec);
    (void)signals;
    return (int)syscall(SYS_ppoll, looked, count, most != NULL ? &spent : NULL, NULL, (size_t)0);
}

/* However long the other rank has been missing, no sleep outlasts the limit of a call. */
static void by_limit(void)
{
    tw_context_t *ctx     = context();
    tw_request_t *request = NULL;
    tw_comm_t    *comm;
    float         x[100] = {0}, y[100];

    setenv("THINWIRE_NODE_RANKS", "1", 1);
    comm = world(ctx);
    CHECK(tw_allreduce(comm, x, y, 100, TW_SUM, NULL) == TW_OK); /* the first may wait inside */
    if (rank == 1) {
        usleep(400000);
    }
    CHECK(tw_iallreduce(comm, x, y, 100, TW_SUM, NULL, &request) == TW_OK);
    longest = 0.0;
    for (int over = 0; !over;) {
        CHECK(tw_wait_for(&request, 1, &over) == TW_OK);
    }
    CHECK(longest <= 0.002);
    done(comm, ctx);
}

#ifdef HAVE_UCX
static void by_thread_and_ucx(void)
{
    setenv("THINWIRE_TRANSPORT", "ucx", 1);
    by_thread();
}
#endif

/* ---- ranks that are lost --------------------------------------------------------------------- */

static tw_status_t sum(tw_comm_t *comm, const float *x, float *y, size_t n)
{
    return tw_allreduce(comm, x, y, n, TW_SUM, NULL);
}

static void killed_in(tw_context_t *ctx, tw_comm_t *comm,
                      tw_status_t (*call)(tw_comm_t *, const float *, float *, size_t))
{
    float       x[50000] = {0}, y[50000];
    double      start;
    tw_status_t status = TW_OK;

    start = now();
    for (int i = 0; status == TW_OK; i++) { /* the others may see it in any of them */
        status = call(comm, x, y, 50000);
        if (rank == 2 && i == 1) {
            kill(getpid(), SIGKILL);
        }
    }
    if (status == TW_ERR_NETWORK && getenv("THINWIRE_TRANSPORT") != NULL) { /* UCX saw it first */
        CHECK(strstr(lines, "rank 2 cannot be reached by UCX: ") != NULL);
    } else {
        CHECK(status == TW_ERR_MPI && strstr(lines, "rank 2 was lost") != NULL);
    }
    CHECK(now() - start < 20.0);
    CHECK(tw_allreduce(comm, x, y, 50000, TW_SUM, NULL) == TW_ERR_DEAD);
    CHECK(tw_bcast(comm, x, 1, 0, NULL) == TW_ERR_DEAD);
    CHECK(line_count == 1);
    done(comm, ctx);
}

static void killed(void)
{
    tw_context_t *ctx = context();

    killed_in(ctx, world(ctx), sum);
}

static void killed_by_thread(void)
{
    tw_context_t *ctx = context();

    killed_in(ctx, world_by_thread(ctx), sum_by_thread);
}

static void killed_by_messages(void)
{
    setenv("THINWIRE_NODE_RANKS", "1", 1);
    killed();
}

#ifdef HAVE_UCX
static void killed_by_ucx(void)
{
    setenv("THINWIRE_TRANSPORT", "ucx", 1);
    killed_by_messages();
}
#endif

static void late(void)
{
    tw_context_t *ctx = context();
    tw_comm_t    *comm;
    float         x[1000] = {0}, y[1000];

    setenv("THINWIRE_TIMEOUT", "0.5", 1);
    comm = world(ctx);
    if (rank == 0) {
        sleep(2);
    } else {
        const tw_status_t status = tw_allreduce(comm, x, y, 1000, TW_SUM, NULL);

        CHECK(status == TW_ERR_TIMEOUT ||
              (status == TW_ERR_MPI && strstr(lines, "gave up") != NULL));
    }
    CHECK(tw_comm_destroy(comm) == TW_OK);
    comm = NULL;
    if (rank != 0) { /* nor does it come to this one */
        CHECK(meet(ctx, rank, size, "other", &comm) == TW_ERR_TIMEOUT);
        CHECK(strstr(lines, "rank 0 did not come") != NULL);
    }
    tw_context_destroy(ctx);
}

/* ---- ranks that leave ------------------------------------------------------------------------ */

static void tell(const char *what)
{
    CHECK(t_folder_put(folder, what, "", 0) == 0);
}

static void hear(const char *what)
{
    char none;

    CHECK(t_folder_get(folder, what, &none, 0, LIMIT) == 0);
}

static void complete(tw_message_t *message)
{
    int done = message == NULL;

    while (!done) {
        CHECK(tw_message_test(&message, &done, NULL) == TW_OK);
        done = done || message == NULL;
    }
}

/* Each behind one that is awaited, and before one that is awaited, too. */
static void untimely(void)
{
    const size_t  counts[] = {0, 1, 2000, 50000, 100003};
    tw_context_t *ctx;
    tw_comm_t    *comm;

    setenv("THINWIRE_NODE_RANKS", "1", 1);
    ctx  = context();
    comm = world(ctx);
    for (int c = 0; c < 5; c++) {
        const size_t  n = counts[c], bytes = n * sizeof(float);
        float        *x[3], *y[3];
        tw_message_t *sent[3] = {NULL}, *received[3] = {NULL};
        size_t        wrong = 0;

        for (int tag = 0; tag < 3; tag++) {
            x[tag] = calloc(n + 1, sizeof(float));
            y[tag] = calloc(n + 1, sizeof(float));
            for (size_t i = 0; i < n; i++) {
                x[tag][i] = element(rank + tag, i);
            }
        }
        for (int tag = 0; tag < 3; tag += 2) {
            CHECK(tw_message_recv(comm, y[tag], bytes, (rank + 1) % size, tag, &received[tag]) ==
                  TW_OK);
        }
        for (int tag = 0; tag < 3; tag++) {
            CHECK(tw_message_send(comm, x[tag], bytes, (rank + size - 1) % size, tag, &sent[tag]) ==
                  TW_OK);
        }
        complete(received[0]);
        complete(received[2]);
        CHECK(tw_message_recv(comm, y[1], bytes, (rank + 1) % size, 1, &received[1]) == TW_OK);
        complete(received[1]);
        for (int tag = 0; tag < 3; tag++) {
            complete(sent[tag]);
            for (size_t i = 0; i < n; i++) {
                wrong += y[tag][i] != element((rank + 1) % size + tag, i);
            }
            free(x[tag]);
            free(y[tag]);
        }
        CHECK(wrong == 0);
    }
    done(comm, ctx);
}

/* Ranks 1 and 3, which set-up does not connect, connect to each other at once. Rank 3 leaves before
 * it sees the other's connection, which is reset; what it has sent, and that it has left, stands in
 * its own, which rank 1 has not seen either. */
static void crossing(void)
{
    tw_context_t *ctx;
    tw_comm_t    *comm;
    tw_message_t *message = NULL;
    float         x       = (float)rank;

    setenv("THINWIRE_NODE_RANKS", "1", 1);
    ctx  = context();
    comm = world(ctx);
    if (rank == 3) {
        hear("ready");
        CHECK(tw_message_send(comm, &x, sizeof(x), 1, 0, &message) == TW_OK);
        complete(message);
        tell("sent");
        hear("awaited");
    } else if (rank == 1) {
        tell("ready");
        hear("sent");
        CHECK(tw_message_recv(comm, &x, sizeof(x), 3, 0, &message) == TW_OK);
        tell("awaited");
        hear("left");
        complete(message);
        CHECK(x == 3.0f);
    }
    CHECK(tw_comm_status(comm) == TW_OK && lines[0] == '\0');
    done(comm, ctx);
    if (rank == 3) {
        tell("left");
    }
}

/* ---- strangers ------------------------------------------------------------------------------- */

/* The ports at which this process listens. */
static int own_ports(int *ports, int most)
{
    int count = 0;

    for (int fd = 3; fd < 200 && count < most; fd++) {
        struct sockaddr_in6 at     = {0};
        socklen_t           length = sizeof(at), four = sizeof(int);
        int                 listens = 0;

        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &four) == 0 && listens &&
            getsockname(fd, (struct sockaddr *)&at, &length) == 0) {
            ports[count++] = ntohs(at.sin6_port);
        }
    }
    return count;
}

static int visit(int port, const void *bytes, size_t n)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    const int          fd = socket(AF_INET, SOCK_STREAM, 0);

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0);
    CHECK(send(fd, bytes, n, MSG_NOSIGNAL) == (ssize_t)n);
    return fd;
}

/* Says nothing, too much, too little, and what a rank says without knowing the cookie. */
static void strangers(void)
{
    tw_context_t *ctx       = context();
    tw_comm_t    *comm      = world(ctx);
    uint32_t      hello[10] = {1, 1, 0, 0, (uint32_t)rank};
    int           port      = 0, fds[100];
    float         x[30000]  = {0}, y[30000];
    char          noise[500];

    memset(noise, 'x', sizeof(noise));
    CHECK(own_ports(&port, 1) == 1);
    close(visit(port, noise, 0));
    fds[0] = visit(port, noise, sizeof(noise));
    fds[1] = visit(port, noise, 3);
    fds[2] = visit(port, hello, sizeof(hello));
    for (int i = 3; i < 100; i++) {
        fds[i] = visit(port, noise, 0);
    }
    for (int i = 0; i < 50; i++) {
        CHECK(tw_allreduce(comm, x, y, 30000, TW_SUM, NULL) == TW_OK);
    }
    CHECK(line_count == 1 && strstr(lines, "from outside the job") != NULL);
    for (int i = 0; i < 100; i++) {
        close(fds[i]);
    }
    done(comm, ctx);
}

/* ---- many communicators ---------------------------------------------------------------------- */

static int descriptors(void)
{
    DIR *dir   = opendir("/proc/self/fd");
    int  count = -3;

    while (readdir(dir) != NULL) {
        count++;
    }
    closedir(dir);
    return count;
}

static size_t memory(void)
{
    return mallinfo2().uordblks;
}

/* Groups made together and destroyed in an order of each rank's own. */
static void groups(void)
{
    enum { MOST = 64 };
    const int     many  = getenv("TW_ALL") != NULL ? MOST : 8;
    const int     times = getenv("TW_ALL") != NULL ? 100 : 6;
    tw_context_t *ctx   = context();
    tw_comm_t    *comms[MOST];
    size_t        bytes = 0;
    int           open  = descriptors();

    for (int t = 0; t < times; t++) {
        for (int g = 0; g < many; g++) {
            char  name[40];
            float x = (float)rank, y = 0.0f;

            snprintf(name, sizeof(name), "group-%d-%d", t, g);
            CHECK(meet(ctx, rank, size, name, &comms[g]) == TW_OK);
            CHECK(tw_allreduce(comms[g], &x, &y, 1, TW_SUM, NULL) == TW_OK);
            CHECK(y == (float)(size * (size - 1) / 2));
        }
        for (int g = 0; g < many; g++) {
            CHECK(tw_comm_destroy(comms[(g * (2 * rank + 1)) % many]) == TW_OK);
        }
        CHECK(descriptors() == open);
        bytes = t == 1 ? memory() : bytes; /* the first times, lists grow */
    }
    /* Rank 0's context remembers each; free chunks that malloc keeps count, too. */
    CHECK(memory() <= bytes + 8192 + 32 * (size_t)(many * times));
    CHECK(lines[0] == '\0');
    tw_context_destroy(ctx);
}

/* Each by its members alone, while others exist. */
static void members(void)
{
    tw_context_t *ctx = context();
    tw_comm_t    *all = world(ctx), *part = NULL;
    const int     odd = rank % 2, of = odd ? size / 2 : (size + 1) / 2;
    float         x = (float)rank, y = 0.0f;
    int           want = 0;

    for (int r = odd; r < size; r += 2) {
        want += r;
    }
    if (odd) {
        usleep(20000);
    }
    CHECK(meet(ctx, rank / 2, of, odd ? "odd" : "even", &part) == TW_OK);
    CHECK(tw_allreduce(part, &x, &y, 1, TW_SUM, NULL) == TW_OK);
    CHECK(y == (float)want);
    if (odd) {
        CHECK(tw_comm_destroy(part) == TW_OK);
    }
    CHECK(tw_allreduce(all, &x, &y, 1, TW_SUM, NULL) == TW_OK);
    CHECK(y == (float)(size * (size - 1) / 2));
    CHECK(tw_comm_destroy(all) == TW_OK);
    if (!odd) {
        CHECK(tw_comm_destroy(part) == TW_OK);
    }
    CHECK(meet(ctx, rank, size, "world", &all) != TW_OK); /* the keys are there, of another one */
    CHECK(rank == 0 || strstr(lines, "name of its own") != NULL);
    tw_context_destroy(ctx);
}

/* ---- children, settings ---------------------------------------------------------------------- */

static void forked(void)
{
    tw_context_t *ctx = context();
    tw_comm_t    *comm;
    float         x[30000] = {0}, y[30000];
    int           status = -1, before = descriptors();
    pid_t         child;

    setenv("THINWIRE_NODE_RANKS", "1", 1);
    comm = world(ctx);
    CHECK(tw_allreduce(comm, x, y, 30000, TW_SUM, NULL) == TW_OK);
    child = fork();
    if (child == 0) {
        const tw_status_t found = tw_allreduce(comm, x, y, 30000, TW_SUM, NULL);

        CHECK(found == TW_ERR_MPI);
        CHECK(descriptors() == before);
        CHECK(tw_comm_destroy(comm) == TW_OK);
        fflush(stdout);
        _exit(failures);
    }
    waitpid(child, &status, 0);
    CHECK(status == 0);
    CHECK(tw_allreduce(comm, x, y, 30000, TW_SUM, NULL) == TW_OK);
    CHECK(lines[0] == '\0');
    done(comm, ctx);
}

static void refused(void)
{
    tw_context_t    *ctx   = context();
    const tw_store_t store = t_folder(folder), empty = {NULL, NULL, NULL};
    tw_comm_t       *comm = NULL;

    CHECK(tw_comm_create_store(ctx, 0, 0, &store, "x", NULL, &comm) == TW_ERR_INVALID_ARG);
    CHECK(tw_comm_create_store(ctx, 2, 2, &store, "x", NULL, &comm) == TW_ERR_INVALID_ARG);
    CHECK(tw_comm_create_store(ctx, 0, 1, &empty, "x", NULL, &comm) == TW_ERR_INVALID_ARG);
    CHECK(tw_comm_create_store(ctx, 0, 1, &store, "", NULL, &comm) == TW_ERR_INVALID_ARG);
    CHECK(comm == NULL && lines[0] == '\0');
    setenv("THINWIRE_ADDRESS", "192.0.2.77", 1);
    CHECK(meet(ctx, 0, 1, "x", &comm) == TW_ERR_SETTING);
    CHECK(comm == NULL && strstr(lines, "THINWIRE_ADDRESS=192.0.2.77") != NULL);
    tw_context_destroy(ctx);
}

/* ---- the program ----------------------------------------------------------------------------- */

typedef struct trial {
    const char *name;
    void (*run)(void);
    int ranks[6]; /* 0 ends the list */
    int victim;   /* a rank that is killed; 0: none */
} trial_t;

static const trial_t trials[] = {{"collectives", collectives, {1, 2, 3, 4, 7}, 0},
                                 {"collectives by messages", by_messages, {2, 3, 4, 7}, 0},
                                 {"collectives over IPv6", by_six, {3}, 0},
                                 {"collectives over an interface", by_interface, {2}, 0},
#ifdef HAVE_UCX
                                 {"collectives by UCX", by_ucx, {1, 4}, 0},
                                 {"a thread that sleeps, by UCX", by_thread_and_ucx, {3}, 0},
                                 {"a killed rank, by UCX", killed_by_ucx, {3}, 2},
#endif
                                 {"a thread that sleeps", by_thread, {2, 3, 4}, 0},
                                 {"a limit", by_limit, {2}, 0},
                                 {"a killed rank", killed, {3, 4, 7}, 2},
                                 {"a killed rank, by messages", killed_by_messages, {3, 4, 7}, 2},
                                 {"a killed rank, a thread", killed_by_thread, {3, 4}, 2},
                                 {"a late rank", late, {3}, 0},
                                 {"messages that nobody awaits", untimely, {1, 3}, 0},
                                 {"connections that cross", crossing, {4}, 0},
                                 {"strangers", strangers, {2, 4}, 0},
                                 {"groups", groups, {3}, 0},
                                 {"members", members, {4, 7}, 0},
                                 {"children", forked, {3}, 0},
                                 {"refused", refused, {1}, 0}};

static int has_six(void)
{
    struct sockaddr_in6 at   = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    const int           fd   = socket(AF_INET6, SOCK_STREAM, 0);
    const int           well = fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0;

    close(fd);
    return well;
}

/* The ranks, each a child of this process; 0: all did well. */
static int launch(const trial_t *trial, int ranks)
{
    pid_t children[8];
    int   wrong = 0;

    for (int r = 0; r < ranks; r++) {
        children[r] = fork();
        if (children[r] == 0) {
            alarm(getenv("TW_ALL") != NULL ? 10 * LIMIT : LIMIT);
            rank = r;
            size = ranks;
            trial->run();
            fflush(stdout);
            _exit(failures != 0);
        }
    }
    for (int r = 0; r < ranks; r++) {
        int status = -1;

        waitpid(children[r], &status, 0);
        if (trial->victim > 0 && r == trial->victim) {
            wrong += !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL;
        } else if (status != 0) {
            printf("# rank %d ended with %#x\n", r, (unsigned)status);
            wrong++;
        }
    }
    return wrong;
}

int main(int argc, char **argv)
{
    const char *scratch = getenv("TMPDIR");
    int         number = 0, wrong = 0;

    for (size_t t = 0; t < sizeof(trials) / sizeof(trials[0]); t++) {
        if (argc > 1 && strstr(trials[t].name, argv[1]) == NULL) {
            continue;
        }
        for (const int *ranks = trials[t].ranks; *ranks > 0; ranks++) {
            char command[300];
            int  bad;

            if (trials[t].run == by_six && !has_six()) {
                printf("ok %d - %s # SKIP no IPv6 here\n", ++number, trials[t].name);
                continue;
            }
            snprintf(folder, sizeof(folder), "%s/thinwire-store.XXXXXX",
                     scratch != NULL ? scratch : "/tmp");
            if (mkdtemp(folder) == NULL) {
                return 99;
            }
            fflush(stdout);
            bad = launch(&trials[t], *ranks);
            wrong += bad;
            printf("%sok %d - %s, %d ranks\n", bad ? "not " : "", ++number, trials[t].name, *ranks);
            snprintf(command, sizeof(command), "rm -rf '%s'", folder);
            wrong += system(command) != 0;
        }
    }
    printf("1..%d\n", number);
    return wrong != 0;
}
