/* SPDX-License-Identifier: BSD-3-Clause
 * train/pack/pack.c - see pack.h.
 *
 * All threads convert a group of images, which are then stored in order. A batch is a transaction.
 * If the memory map is too small, the batch is aborted and repeated with a map of twice the size,
 * which is rare and so has no noticeable cost.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/clock.h"
#include "train/base/hash.h"
#include "train/pack/pack_inside.h"

#define TW_PACK_BATCH_BYTES ((uint64_t)64 << 20)
#define TW_PACK_PERIOD      0.5 /* seconds between two reports */

enum { BATCH_IMAGES = 1000, SLOTS_PER_THREAD = 4, FORMAT = 1 };

static double seconds_now(void)
{
    return 1e-9 * (double)tw_clock_ns();
}

static tw_subset_t part_of(const tw_packer_t *p, uint64_t number, uint32_t *index_p)
{
    const size_t      n    = p->source.part[TW_SUBSET_TRAIN].n;
    const tw_subset_t part = number < n ? TW_SUBSET_TRAIN : TW_SUBSET_TEST;

    *index_p = (uint32_t)(part == TW_SUBSET_TRAIN ? number : number - n);
    return part;
}

static void report(tw_packer_t *p, int always)
{
    const double now = seconds_now();

    if (p->config->progress != NULL && (always || now - p->reported >= TW_PACK_PERIOD)) {
        p->config->progress(p->config->arg, p->stamp.next, p->total, now - p->begun);
        p->reported = now;
    }
}

/* ---- a batch -------------------------------------------------------------------------------- */

typedef enum tw_batch_end { BATCH_FULL, BATCH_STOPPED, BATCH_BROKEN } tw_batch_end_t;

/* Make the next images, as many as there are slots for. */
static void fill_slots(tw_packer_t *p)
{
    const uint64_t first = p->stamp.next, left = p->total - first;

    p->ready_from = first;
    p->ready      = left < p->slots ? (size_t)left : p->slots;
#pragma omp parallel for num_threads(p->config->threads) schedule(dynamic, 1)
    for (size_t k = 0; k < p->ready; k++) {
        uint32_t          index;
        const tw_subset_t part = part_of(p, first + k, &index);

        tw_pack_slot_fill(&p->slot[k], &p->source, &p->list, p->config, part, index);
    }
}

/* The next image, made; NULL where more would have to be made. */
static const tw_pack_slot_t *ready(const tw_packer_t *p)
{
    const uint64_t next = p->stamp.next;

    return next >= p->ready_from && next - p->ready_from < p->ready ? &p->slot[next - p->ready_from]
                                                                    : NULL;
}

static int leave_out(tw_packer_t *p, const char *line)
{
    if (p->stamp.next >= p->told) {
        p->told = p->stamp.next + 1;
        if (p->config->skipped != NULL) {
            p->config->skipped(p->config->arg, line);
        }
    }
    return tw_pack_stamp_skip(&p->stamp) == 0 ? 0 : ENOMEM;
}

/* Store an image. @return a result of LMDB. */
static int put(tw_packer_t *p, const tw_pack_slot_t *slot)
{
    uint32_t          index;
    const tw_subset_t part   = part_of(p, p->stamp.next, &index);
    const uint16_t    label  = p->source.part[part].labels[index];
    const uint32_t    number = (uint32_t)p->stamp.n[part];

    return tw_pack_stamp_add(&p->stamp, part, &slot->record) == 0
               ? tw_pack_store_put(&p->store, part, number, &slot->record, label)
               : EINVAL;
}

/* Put images until the batch is full, a broken one or the end. What is in a batch does not depend
 * on how many are made at a time. @return a result of LMDB. */
static int fill_batch(tw_packer_t *p, tw_batch_end_t *end_p, tw_problem_t *problem)
{
    const uint64_t first = p->stamp.next, bytes = p->stamp.bytes;
    int            error = 0;

    *end_p = BATCH_FULL;
    while (error == 0 && p->stamp.next < p->total && p->stamp.next - first < BATCH_IMAGES &&
           p->stamp.bytes - bytes < TW_PACK_BATCH_BYTES) {
        const tw_pack_slot_t *slot = ready(p);

        if (slot == NULL) {
            report(p, 0);
            if (p->stamp.next > first && p->config->cancelled != NULL &&
                p->config->cancelled(p->config->arg)) {
                *end_p = BATCH_STOPPED;
                return 0;
            }
            fill_slots(p);
        } else if (slot->problem.set && !p->config->skip) {
            *end_p = BATCH_BROKEN;
            tw_problem_set(problem, "%s", slot->problem.text);
            return 0;
        } else {
            error = slot->problem.set ? leave_out(p, slot->problem.text) : put(p, slot);
        }
    }
    return error;
}

/* Fill a batch and commit it. @return a result of LMDB. */
static int run_batch(tw_packer_t *p, tw_batch_end_t *end_p, tw_problem_t *problem)
{
    int error = tw_pack_store_begin(&p->store);

    if (error == 0) {
        error = fill_batch(p, end_p, problem);
    }
    return error == 0 ? tw_pack_store_commit(&p->store, &p->stamp) : error;
}

/* The numbers left out since then stay where they are, behind the end. */
static void go_back(tw_pack_stamp_t *stamp, const tw_pack_stamp_t *to)
{
    uint64_t    *skipped = stamp->skipped;
    const size_t room    = stamp->room;

    *stamp         = *to;
    stamp->skipped = skipped;
    stamp->room    = room;
}

static int pack_images(tw_packer_t *p, tw_problem_t *problem)
{
    while (p->stamp.next < p->total) {
        const tw_pack_stamp_t before = p->stamp;
        tw_batch_end_t        end    = BATCH_FULL;
        int                   error  = run_batch(p, &end, problem);

        if (error == MDB_MAP_FULL) {
            tw_pack_store_abort(&p->store);
            go_back(&p->stamp, &before);
            error = tw_pack_store_grow(&p->store);
            if (error == 0) {
                *problem = (tw_problem_t){.set = 0};
                continue;
            }
        }
        if (error != 0) {
            /* Not behind a broken image: that the next run will find again. */
            *problem = (tw_problem_t){.set = 0};
            return tw_pack_store_failed(&p->store, error, problem);
        }
        if (end == BATCH_BROKEN) {
            return -1;
        }
        if (end == BATCH_STOPPED) {
            return tw_problem_set(problem,
                                  "stopped after %" PRIu64 " of %" PRIu64
                                  " images: the same command goes on with '%s'",
                                  p->stamp.next, p->total, p->store.part);
        }
    }
    return 0;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static uint64_t key_of(const tw_packer_t *p)
{
    const uint64_t fact[] = {FORMAT,
                             tw_source_hash(&p->source),
                             p->config->resize,
                             p->config->quality,
                             (uint64_t)(p->config->skip != 0),
                             (uint64_t)(p->config->stored != 0)};

    return tw_hash(p->total, fact, sizeof(fact));
}

static int pack_check(const tw_pack_config_t *config, tw_problem_t *problem)
{
    if (config->resize > TW_PACK_RESIZE_MAX) {
        return tw_problem_set(problem, "resize to %zu; accepted are 1 to %u", config->resize,
                              TW_PACK_RESIZE_MAX);
    }
    if (config->quality > 100) {
        return tw_problem_set(problem, "a JPEG quality of %u; accepted are 1 to 100",
                              config->quality);
    }
    return 0;
}

static int create_slots(tw_packer_t *p, tw_problem_t *problem)
{
    const tw_pixels_t *pixels = p->config->pixels;

    p->slot = calloc(SLOTS_PER_THREAD * (size_t)p->config->threads, sizeof(*p->slot));
    while (p->slot != NULL && p->slots < SLOTS_PER_THREAD * (size_t)p->config->threads) {
        if (tw_pack_slot_create(&p->slot[p->slots], pixels != NULL ? pixels : &tw_pixels_scalar) !=
            0) {
            return tw_problem_set(problem, "out of memory");
        }
        p->slots++;
    }
    return p->slot != NULL ? 0 : tw_problem_set(problem, "out of memory");
}

static int pack_run(tw_packer_t *p, tw_pack_result_t *result, tw_problem_t *problem)
{
    uint64_t continued;

    if (create_slots(p, problem) != 0 ||
        tw_pack_transforms(&p->list, p->config, p->source.shape, problem) != 0) {
        return -1;
    }
    p->stamp.key = key_of(p);
    if (tw_pack_store_open(&p->store, p->config->out, &p->stamp, problem) != 0) {
        return -1;
    }
    continued = p->stamp.next;
    if (continued > p->total) {
        return tw_problem_set(problem, "'%s' is damaged: remove it", p->store.part);
    }
    p->told = continued;
    if (pack_images(p, problem) != 0 || tw_pack_complete(p, problem) != 0 ||
        tw_pack_store_finish(&p->store, problem) != 0) {
        return -1;
    }
    report(p, 1);
    *result = (tw_pack_result_t){.images    = p->stamp.n[0] + p->stamp.n[1],
                                 .bytes     = p->stamp.bytes,
                                 .skipped   = p->stamp.skipped_n,
                                 .continued = continued,
                                 .seconds   = seconds_now() - p->begun};
    return 0;
}

int tw_pack(const tw_pack_config_t *config, tw_pack_result_t *result, tw_problem_t *problem)
{
    tw_packer_t p = {.config = config, .store = {.fd = -1}, .begun = seconds_now()};
    int         status;

    if (pack_check(config, problem) != 0 ||
        tw_source_open(&p.source, config->source, config->skip, NULL, problem) != 0) {
        return -1;
    }
    p.total = (uint64_t)p.source.part[TW_SUBSET_TRAIN].n + p.source.part[TW_SUBSET_TEST].n;
    status  = pack_run(&p, result, problem);
    for (size_t k = 0; k < p.slots; k++) {
        tw_pack_slot_destroy(&p.slot[k]);
    }
    free(p.slot);
    tw_pack_store_close(&p.store);
    tw_pack_stamp_destroy(&p.stamp);
    tw_transforms_destroy(&p.list);
    tw_source_close(&p.source);
    return status;
}
