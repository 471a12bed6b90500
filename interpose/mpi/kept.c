/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/kept.c - what a communicator keeps from call to call: residuals, and the codecs of
 * the error contract. Both lists have the one in use first, and lose those that were not used for
 * longest.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/mpi/comms.h"
#include "interpose/mpi/device.h"
#include "interpose/state.h"
#include "runtime/transport/feedback/feedback.h"

/* ---- error feedback -------------------------------------------------------------------------- */

static uint64_t tw_feedback_bytes(const tw_entry_feedback_t *f)
{
    return f->count * tw_dtype_size(f->dtype);
}

static void tw_feedbacks_drop(tw_entry_t *entry, tw_entry_feedback_t **at)
{
    tw_entry_feedback_t *dropped = *at;

    *at = dropped->next;
    entry->feedback_bytes -= tw_feedback_bytes(dropped);
    tw_feedback_destroy(dropped->feedback);
    free(dropped);
}

void tw_comms_drop_feedbacks(tw_entry_t *entry)
{
    while (entry->feedbacks != NULL) {
        tw_feedbacks_drop(entry, &entry->feedbacks);
    }
}

/* Room for `bytes` more: those that were not used for longest go. One that is larger than all that
 * may be kept is kept alone, or it would have no feedback at all. */
static uint64_t tw_feedbacks_make_way(tw_entry_t *entry, uint64_t bytes)
{
    const uint64_t most    = tw_state.config.feedback_max;
    uint64_t       dropped = 0;

    while (entry->feedbacks != NULL && (bytes > most || entry->feedback_bytes > most - bytes)) {
        tw_entry_feedback_t **last = &entry->feedbacks;

        while ((*last)->next != NULL) {
            last = &(*last)->next;
        }
        tw_feedbacks_drop(entry, last);
        dropped++;
    }
    return dropped;
}

/* The one in use comes first. */
static tw_entry_feedback_t *tw_feedbacks_find(tw_entry_t *entry, const char *type, tw_dtype_t dtype,
                                              uint64_t count)
{
    for (tw_entry_feedback_t **at = &entry->feedbacks; *at != NULL; at = &(*at)->next) {
        tw_entry_feedback_t *found = *at;

        if (found->count == count && found->dtype == dtype && strcmp(found->type, type) == 0) {
            *at              = found->next;
            found->next      = entry->feedbacks;
            entry->feedbacks = found;
            return found;
        }
    }
    return NULL;
}

tw_feedback_t *tw_comms_feedback(tw_entry_t *entry, const char *type, tw_dtype_t dtype,
                                 uint64_t count, uint64_t *dropped)
{
    char                 name[48];
    tw_entry_feedback_t *made = tw_feedbacks_find(entry, type, dtype, count);

    if (made != NULL) {
        if (made->feedback != NULL && entry->device != NULL && tw_device_gone(entry->device)) {
            tw_feedback_forget_device(made->feedback);
        }
        return made->feedback;
    }
    made = calloc(1, sizeof(*made));
    if (made == NULL) {
        tw_give_up(entry->handle, "no memory for error feedback");
    }
    snprintf(name, sizeof(name), "%s-%" PRIu64, tw_dtype_name(dtype), count);
    snprintf(made->type, sizeof(made->type), "%s", type);
    made->count = count;
    made->dtype = dtype;
    *dropped += tw_feedbacks_make_way(entry, tw_feedback_bytes(made));
    if (tw_feedback_create(entry->duplicate, name, dtype, (size_t)count, &made->feedback) !=
        TW_OK) {
        made->feedback = NULL; /* on all ranks alike */
    }
    entry->feedback_bytes += tw_feedback_bytes(made);
    made->next       = entry->feedbacks;
    entry->feedbacks = made;
    return made->feedback;
}

/* ---- error contract -------------------------------------------------------------------------- */

#define TW_LEVELS_MOST 4096 /* of a communicator */

tw_entry_level_t *tw_comms_level(tw_entry_t *entry, tw_rule_op_t op, tw_dtype_t dtype,
                                 tw_reduction_t reduction, uint64_t count, const char *spec)
{
    tw_entry_level_t *level, **at = &entry->levels;

    for (int kept = 0; *at != NULL; kept++) {
        level = *at;
        if (level->op == op && level->dtype == dtype && level->reduction == reduction &&
            level->count == count) {
            *at           = level->next;
            level->next   = entry->levels;
            entry->levels = level;
            return level;
        }
        if (kept == TW_LEVELS_MOST - 1) { /* the last of as many as are kept */
            *at = NULL;
            free(level);
        } else {
            at = &level->next;
        }
    }
    level = calloc(1, sizeof(*level));
    if (level == NULL) {
        tw_give_up(entry->handle, "no memory for the error contract");
    }
    level->op        = op;
    level->dtype     = dtype;
    level->reduction = reduction;
    level->count     = count;
    snprintf(level->spec, sizeof(level->spec), "%s", spec);
    level->next   = entry->levels;
    entry->levels = level;
    return level;
}

void tw_comms_drop_levels(tw_entry_t *entry)
{
    while (entry->levels != NULL) {
        tw_entry_level_t *next = entry->levels->next;

        free(entry->levels);
        entry->levels = next;
    }
}
