/* SPDX-License-Identifier: BSD-3-Clause
 * train/report/report_profile.c - report of the time of steps.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "train/report/report.h"

static const struct {
    const char *name, *key;
} rows[TW_PROFILE_ROWS] = {[TW_PROFILE_WEIGHTS]      = {"weights travelling", "weights"},
                           [TW_PROFILE_GRADIENTS]    = {"gradients travelling", "gradients"},
                           [TW_PROFILE_CONVOLUTIONS] = {"convolutions", "convolutions"},
                           [TW_PROFILE_DENSE]        = {"dense layers", "dense_layers"},
                           [TW_PROFILE_LAYERS]       = {"other layers", "other_layers"},
                           [TW_PROFILE_UPDATE]       = {"gradient update", "update"},
                           [TW_PROFILE_NORM]         = {"AWP norm", "awp_norm"},
                           [TW_PROFILE_PACKING]      = {"packing", "packing"},
                           [TW_PROFILE_UNPACKING]    = {"unpacking", "unpacking"},
                           [TW_PROFILE_INPUT]        = {"input", "input"},
                           [TW_PROFILE_EVALUATION]   = {"evaluation", "evaluation"},
                           [TW_PROFILE_REST]         = {"rest", "rest"}};

/* NULL: none, or no step to speak of. */
static const tw_profile_facts_t *facts_of(const tw_training_t *t)
{
    const tw_profile_facts_t *facts = t->profile != NULL ? tw_profile_facts(t->profile) : NULL;

    return facts != NULL && facts->steps > 0 && facts->seconds > 0.0 ? facts : NULL;
}

static void report_device(const tw_profile_facts_t *f)
{
    fputs("above, by the host's clock: computing is putting work on the device's queue, the rest "
          "waits for it\non the device, by its own clock\n",
          stdout);
    for (int k = 0; k < TW_MARKEDS; k++) {
        printf("  %-22s %10.3f ms\n", tw_marked_name((tw_marked_t)k),
               1e3 * f->device[k] / (double)f->steps);
    }
}

/* null where the processor computes. */
static json_t *device_json(const tw_profile_facts_t *f)
{
    json_t *object;

    if (!f->on_device) {
        return json_null();
    }
    object = json_object();
    for (int k = 0; k < TW_MARKEDS; k++) {
        char *at, key[32];

        (void)snprintf(key, sizeof(key), "%s_ms", tw_marked_name((tw_marked_t)k));
        while ((at = strchr(key, ' ')) != NULL) {
            *at = '_';
        }
        json_object_set_new(object, key, json_real(1e3 * f->device[k] / (double)f->steps));
    }
    return object;
}

void tw_report_profile(const tw_training_t *t)
{
    const tw_profile_facts_t *f = facts_of(t);

    if (f == NULL) {
        return;
    }
    printf("profile of %" PRIu64 " steps of rank %d, the slowest%s\n", f->steps, f->rank,
           t->options->no_overlap ? "" : "; of exchanges, what nothing hid");
    for (int r = 0; r < TW_PROFILE_ROWS; r++) {
        if (r == TW_PROFILE_EVALUATION) {
            printf("  %-22s %10.3f ms in all, beside the steps\n", rows[r].name, 1e3 * f->row[r]);
        } else {
            printf("  %-22s %10.3f ms  %5.1f %%\n", rows[r].name,
                   1e3 * f->row[r] / (double)f->steps, 100.0 * f->row[r] / f->seconds);
        }
    }
    printf("  %-22s %10.3f ms\n", "step", 1e3 * f->seconds / (double)f->steps);
    if (f->on_device) {
        report_device(f);
    }
}

json_t *tw_report_profile_json(const tw_training_t *t)
{
    const tw_profile_facts_t *f = facts_of(t);
    json_t                   *object;

    if (f == NULL) {
        return json_null();
    }
    object = json_object();
    for (int r = 0; r < TW_PROFILE_ROWS; r++) {
        const int    step  = r != TW_PROFILE_EVALUATION;
        const double times = step ? (double)f->steps : 1.0;

        json_object_set_new(object, rows[r].key,
                            json_pack("{s:f, s:o}", "ms", 1e3 * f->row[r] / times, "share",
                                      step ? json_real(f->row[r] / f->seconds) : json_null()));
    }
    return json_pack("{s:i, s:I, s:f, s:b, s:o, s:o}", "rank", f->rank, "steps",
                     (json_int_t)f->steps, "step_ms", 1e3 * f->seconds / (double)f->steps,
                     "overlap", !t->options->no_overlap, "rows", object, "device", device_json(f));
}
