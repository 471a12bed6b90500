/* SPDX-License-Identifier: BSD-3-Clause
 * input/root.c - images that rank 0 reads for all: "root:" and a data set that only it has. As in
 * S0 (section III), where the root sends samples with the weights; a shared file system is not
 * needed.
 *
 * Labels and shapes are broadcast when the source is opened, in the header of record.h. Of each
 * batch rank 0 sends every other rank its share before the images are read: the number of bytes in
 * 8 bytes, and these: a size of 8 bytes for each image, and the records one after another, or where
 * the top bit of a size is set, a text that says what is wrong with the image. Words are in the
 * machine's own byte order. A rank keeps the shares of as many batches as can be in preparation,
 * and one more; images are looked for in the newest first, which is overwritten last.
 */
#include "config.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/watch.h"
#include "train/base/share.h"
#include "train/input/pipeline.h"
#include "train/input/record.h"
#include "train/input/root.h"
#include "train/input/sources.h"

enum { SHARES = TW_PIPELINE_DEPTH + 1, TAG = 1 };

#define BROKEN (UINT64_C(1) << 63)
#define PIECE  ((uint64_t)1 << 30) /* bytes of a message */

/* Memory that only grows and keeps what is in it. */
typedef struct tw_root_bytes {
    uint8_t *at;
    uint64_t room;
} tw_root_bytes_t;

/* Of one batch, as it arrived. */
typedef struct tw_root_share {
    tw_subset_t     part;
    size_t          n;
    size_t          next;  /* the place that is probably asked for, as images are read in order */
    tw_root_bytes_t image; /* uint32_t [n]                                                      */
    tw_root_bytes_t data;  /* where each record ends, uint64_t [n], with BROKEN; and the records */
} tw_root_share_t;

typedef struct tw_root {
    MPI_Comm           comm; /* of the caller, whose only messages with TAG are these */
    int                rank, size;
    tw_source_t        inner; /* on rank 0 */
    tw_source_reader_t reader;
    tw_root_bytes_t    sent;
    tw_root_share_t    share[SHARES];
    uint64_t           fetched; /* batches; the newest is share[(fetched - 1) % SHARES] */
    pthread_mutex_t    lock;    /* of fetched and share[].n, for the threads that read  */
} tw_root_t;

/* What is announced when the source is opened. */
typedef struct tw_root_facts {
    uint64_t header; /* bytes; 0: rank 0 has no images */
    uint64_t hash, in_memory;
} tw_root_facts_t;

/* No rank can do without these bytes, as the others wait for it. */
static uint8_t *need(const tw_root_t *root, tw_root_bytes_t *bytes, uint64_t n)
{
    const uint64_t room = n < 2 * bytes->room ? 2 * bytes->room : n;
    uint8_t       *more;

    if (n <= bytes->room) {
        return bytes->at;
    }
    more = realloc(bytes->at, (size_t)room);
    if (more == NULL) {
        fprintf(stderr, "thinwire-train: rank %d has no memory for %" PRIu64 " bytes of images\n",
                root->rank, room);
        MPI_Abort(root->comm, EXIT_FAILURE);
        exit(EXIT_FAILURE);
    }
    *bytes = (tw_root_bytes_t){more, room};
    return more;
}

/* ---- messages ------------------------------------------------------------------------------- */

static void broadcast(const tw_root_t *root, void *bytes, uint64_t n)
{
    watch_begin("MPI_Bcast");
    for (uint64_t at = 0; at < n; at += PIECE) {
        MPI_Bcast((uint8_t *)bytes + at, (int)(n - at < PIECE ? n - at : PIECE), MPI_BYTE, 0,
                  root->comm);
    }
    watch_end();
}

static void send_bytes(const tw_root_t *root, const void *bytes, uint64_t n, int to)
{
    watch_begin("MPI_Send");
    for (uint64_t at = 0; at < n; at += PIECE) {
        MPI_Send((const uint8_t *)bytes + at, (int)(n - at < PIECE ? n - at : PIECE), MPI_BYTE, to,
                 TAG, root->comm);
    }
    watch_end();
}

static void receive_bytes(const tw_root_t *root, void *bytes, uint64_t n)
{
    watch_begin("MPI_Recv");
    for (uint64_t at = 0; at < n; at += PIECE) {
        MPI_Recv((uint8_t *)bytes + at, (int)(n - at < PIECE ? n - at : PIECE), MPI_BYTE, 0, TAG,
                 root->comm, MPI_STATUS_IGNORE);
    }
    watch_end();
}

/* ---- a batch -------------------------------------------------------------------------------- */

/* An image behind the `*used` bytes that will be sent already. @return its size, with BROKEN. */
static uint64_t append(tw_root_t *root, tw_subset_t part, uint32_t image, uint64_t *used)
{
    tw_problem_t      problem = {0};
    tw_image_record_t record;
    const int         bad =
        root->inner.ops->read(&root->inner, part, image, &root->reader, &record, &problem) != 0;
    const uint64_t bytes = bad ? strlen(problem.text) : TW_STORED_RECORD + record.n;
    uint8_t       *at    = need(root, &root->sent, *used + bytes) + *used;

    if (bad) {
        memcpy(at, problem.text, (size_t)bytes);
    } else {
        tw_stored_put(&record, root->inner.part[part].labels[image], at);
        memcpy(at + TW_STORED_RECORD, record.bytes, record.n);
    }
    *used += bytes;
    return bad ? BROKEN | bytes : bytes;
}

static void send_share(tw_root_t *root, tw_subset_t part, const uint32_t *image, size_t n, int to)
{
    uint64_t used = sizeof(used) * n;

    (void)need(root, &root->sent, used);
    for (size_t i = 0; i < n; i++) {
        const uint64_t size = append(root, part, image[i], &used);

        memcpy(root->sent.at + sizeof(size) * i, &size, sizeof(size));
    }
    send_bytes(root, &used, sizeof(used), to);
    send_bytes(root, root->sent.at, used, to);
}

static void receive_share(tw_root_t *root, tw_subset_t part, const uint32_t *image, size_t n)
{
    tw_root_share_t *share = &root->share[root->fetched % SHARES];
    uint64_t         bytes, at = sizeof(at) * n, *end;

    pthread_mutex_lock(&root->lock);
    share->n = 0;
    pthread_mutex_unlock(&root->lock);
    receive_bytes(root, &bytes, sizeof(bytes));
    receive_bytes(root, need(root, &share->data, bytes), bytes);
    end = (uint64_t *)(void *)share->data.at;
    for (size_t i = 0; i < n; i++) {
        at += end[i] & ~BROKEN;
        end[i] = at | (end[i] & BROKEN);
    }
    if (n > 0) {
        memcpy(need(root, &share->image, n * sizeof(*image)), image, n * sizeof(*image));
    }
    pthread_mutex_lock(&root->lock);
    share->part = part;
    share->n    = n;
    share->next = 0;
    root->fetched++;
    pthread_mutex_unlock(&root->lock);
}

static void root_fetch(const tw_source_t *source, tw_subset_t part, const uint32_t *image, size_t n)
{
    tw_root_t *root = source->state;
    size_t     first, count;

    for (int r = 1; r < root->size; r++) {
        tw_share(n, root->size, r, &first, &count);
        if (root->rank == 0) {
            send_share(root, part, image + first, count, r);
        } else if (root->rank == r) {
            receive_share(root, part, image + first, count);
        }
    }
}

/* The place of an image in a share; its n: it is not there. */
static size_t place_of(const tw_root_share_t *share, tw_subset_t part, uint32_t image)
{
    const uint32_t *has = (const uint32_t *)(const void *)share->image.at;

    for (size_t k = 0; k < share->n && share->part == part; k++) {
        const size_t i = (share->next + k) % share->n;

        if (has[i] == image) {
            return i;
        }
    }
    return share->n;
}

/* The bytes of an image that has arrived, and its size, with BROKEN; NULL: it has not. */
static const uint8_t *find(tw_root_t *root, tw_subset_t part, uint32_t image, uint64_t *size_p)
{
    const uint8_t *found = NULL;

    pthread_mutex_lock(&root->lock);
    for (uint64_t back = 1; back <= SHARES && back <= root->fetched && found == NULL; back++) {
        tw_root_share_t *share = &root->share[(root->fetched - back) % SHARES];
        const uint64_t  *end   = (const uint64_t *)(const void *)share->data.at;
        const size_t     i     = place_of(share, part, image);

        if (i < share->n) {
            const uint64_t begin = i > 0 ? end[i - 1] & ~BROKEN : sizeof(*end) * share->n;

            found       = share->data.at + begin;
            *size_p     = end[i] - begin;
            share->next = i + 1;
        }
    }
    pthread_mutex_unlock(&root->lock);
    return found;
}

static int root_read(const tw_source_t *source, tw_subset_t part, uint32_t index,
                     tw_source_reader_t *reader, tw_image_record_t *record, tw_problem_t *problem)
{
    tw_root_t     *root = source->state;
    const uint8_t *at;
    const char    *wrong;
    uint64_t       size;
    uint16_t       label;

    if (root->rank == 0) {
        return root->inner.ops->read(&root->inner, part, index, reader, record, problem);
    }
    at = find(root, part, index, &size);
    if (at == NULL) {
        return tw_problem_machine(problem, "image %" PRIu32 " has not come from rank 0", index);
    }
    if ((size & BROKEN) != 0) {
        return tw_problem_set(problem, "rank 0: %.*s", (int)(size & ~BROKEN), (const char *)at);
    }
    wrong = tw_stored_take(at, (size_t)size, record, &label);
    return wrong == NULL ? 0
                         : tw_problem_set(problem, "image %" PRIu32 " of rank 0: %s", index, wrong);
}

/* ---- the set -------------------------------------------------------------------------------- */

/* The header of what rank 0 has opened; *bytes_p 0: nothing. */
static uint8_t *header_of(const tw_root_t *root, uint64_t *bytes_p)
{
    const tw_source_t *inner  = &root->inner;
    tw_stored_t        stored = {.classes  = inner->classes,
                                 .n        = {inner->part[0].n, inner->part[1].n},
                                 .shape    = inner->shape,
                                 .manifest = inner->manifest,
                                 .note     = "",
                                 .names    = ""};
    tw_root_bytes_t    bytes  = {.at = NULL};
    uint8_t           *at;

    *bytes_p = tw_stored_header_size(&stored);
    at       = tw_stored_put_header(&stored, need(root, &bytes, *bytes_p));
    at       = tw_stored_put_labels(inner->part[0].labels, inner->part[0].n, at);
    (void)tw_stored_put_labels(inner->part[1].labels, inner->part[1].n, at);
    return bytes.at;
}

/* From what rank 0 has told, on all ranks. */
static int adopt(tw_source_t *source, const uint8_t *header, uint64_t bytes, tw_problem_t *problem)
{
    tw_stored_t stored;
    const char *wrong = tw_stored_take_header(header, (size_t)bytes, &stored);

    if (wrong != NULL) {
        return tw_problem_set(problem, "the images of rank 0: %s", wrong);
    }
    source->classes  = stored.classes;
    source->shape    = stored.shape;
    source->manifest = stored.manifest;
    for (tw_subset_t part = 0; part < TW_SUBSETS; part++) {
        if (tw_source_part_create(&source->part[part], stored.n[part], problem) != 0) {
            return -1;
        }
        for (size_t i = 0; i < stored.n[part]; i++) {
            source->part[part].labels[i] = tw_stored_label(&stored, part, i);
        }
    }
    return 0;
}

/* Collective. */
static int exchange(tw_source_t *source, int have, tw_problem_t *problem)
{
    tw_root_t      *root   = source->state;
    tw_root_facts_t facts  = {0};
    tw_root_bytes_t header = {.at = NULL};
    int             status;

    if (have) {
        header.at       = header_of(root, &facts.header);
        facts.hash      = tw_source_hash(&root->inner);
        facts.in_memory = (uint64_t)root->inner.in_memory;
    }
    broadcast(root, &facts, sizeof(facts));
    if (facts.header == 0) {
        return tw_problem_set(problem, "rank 0 has no images to send");
    }
    broadcast(root, root->rank == 0 ? header.at : need(root, &header, facts.header), facts.header);
    source->hash      = facts.hash;
    source->in_memory = (int)facts.in_memory;
    source->fetch     = root_fetch;
    status            = adopt(source, header.at, facts.header, problem);
    free(header.at);
    return status;
}

static int root_open(tw_source_t *source, const char *spec, const char *arguments,
                     tw_problem_t *problem)
{
    tw_root_t *root;
    int        have = 0;

    if (source->ranks == NULL) {
        return tw_problem_set(problem,
                              "--data %s: rank 0 sends images to the ranks of a training, "
                              "and to nobody else",
                              spec);
    }
    if (source->skip) {
        return tw_problem_set(problem,
                              "--data %s: rank 0 sends the images of a batch, none in "
                              "place of broken ones: not with --bad-images skip",
                              spec);
    }
    root = calloc(1, sizeof(*root));
    if (root == NULL) {
        MPI_Abort(source->ranks->comm, EXIT_FAILURE);
        return -1;
    }
    source->state = root;
    pthread_mutex_init(&root->lock, NULL);
    root->comm = source->ranks->comm;
    MPI_Comm_rank(root->comm, &root->rank);
    MPI_Comm_size(root->comm, &root->size);
    if (root->rank == 0) {
        have = tw_source_open(&root->inner, arguments, 0, NULL, problem) == 0;
    }
    return exchange(source, have, problem);
}

static void root_name_of(const tw_source_t *source, tw_subset_t part, uint32_t index, char *name,
                         size_t size)
{
    const tw_root_t *root = source->state;

    if (root->rank == 0) {
        root->inner.ops->name_of(&root->inner, part, index, name, size);
    } else {
        snprintf(name, size, "%s image %" PRIu32 " of rank 0",
                 part == TW_SUBSET_TRAIN ? "training" : "test", index);
    }
}

static void root_close(tw_source_t *source)
{
    tw_root_t *root = source->state;

    if (root == NULL) {
        return;
    }
    for (int k = 0; k < SHARES; k++) {
        free(root->share[k].image.at);
        free(root->share[k].data.at);
    }
    free(root->sent.at);
    tw_reader_destroy(&root->reader);
    tw_source_close(&root->inner);
    pthread_mutex_destroy(&root->lock);
    free(root);
}

const tw_source_ops_t tw_source_root = {.name = "root",
                                        .form = "root:SET",
                                        .help = "one of the above that only rank 0 has, and sends",
                                        .open = root_open,
                                        .read = root_read,
                                        .name_of = root_name_of,
                                        .close   = root_close};
