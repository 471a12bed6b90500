/* SPDX-License-Identifier: BSD-3-Clause
 * policy/drop_in.h - the settings of the drop-in (interpose/), as `thinwire run` passes them on.
 */
#ifndef TW_POLICY_DROP_IN_H
#define TW_POLICY_DROP_IN_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/settings.h"

/* What the root of a compressed broadcast has in its buffer afterwards. */
typedef enum tw_bcast_root { TW_BCAST_ROOT_SAME, TW_BCAST_ROOT_EXACT } tw_bcast_root_t;

/* Are calls encoded where that pays, or, for tests, wherever it can be done? */
typedef enum tw_encode { TW_ENCODE_AUTO, TW_ENCODE_ALWAYS } tw_encode_t;

typedef struct tw_drop_in_config {
    const char *codec;          /* THINWIRE_CODEC; "": watch only                              */
    size_t      threshold;      /* THINWIRE_THRESHOLD: vectors of fewer bytes stay as they are */
    const char *rules;          /* THINWIRE_RULES: separated by ; (see policy/rules.h)         */
    const char *rules_file;     /* THINWIRE_RULES_FILE; "": none. Its rules come after those   */
    const char *types;          /* THINWIRE_TYPES: integers that are floats, NAME=TYPE,...      */
    int         narrow;         /* THINWIRE_DOUBLE: float32 codecs for doubles too             */
    int         verify;         /* THINWIRE_VERIFY: one call in N is verified; 0: none, or one
                                   in 256 with a contract                                      */
    double      max_error;      /* THINWIRE_MAX_ERROR: rms(error) / rms(exact); 0: none        */
    int         error_feedback; /* THINWIRE_ERROR_FEEDBACK                                     */
    int         pcontrol;       /* THINWIRE_PCONTROL                                           */
    size_t      feedback_max;   /* THINWIRE_FEEDBACK_MAX: bytes of the vectors of a communicator
                                   that residuals are kept for                                 */
    const char *report;         /* THINWIRE_REPORT: file of the text report; "": stderr        */
    const char *json;           /* THINWIRE_JSON: file; "": none                               */
    const char *record;         /* THINWIRE_RECORD: file of a job, thinwire-job(5); "": none   */
    int         quiet;          /* THINWIRE_QUIET: no report on stderr                         */
    int         encode;         /* THINWIRE_ENCODE: tw_encode_t                                */
    int         bcast_root;     /* THINWIRE_BCAST_ROOT: tw_bcast_root_t                        */
} tw_drop_in_config_t;

/* Does a call stay as it is for its size? And where --double does not ask for doubles: does a codec
 * that is named mean them? What is said of floats does not: bitpack:4 keeps all of the one and half
 * of the other. Only a codec that floats have not, bitpack:5, can mean nothing else. `thinwire run`
 * and `thinwire scale` decide by these. */
static inline bool tw_drop_in_small(double bytes, double threshold)
{
    return bytes < threshold;
}

static inline bool tw_drop_in_means_doubles(bool asked, bool floats_have_it)
{
    return asked || !floats_have_it;
}

extern const tw_setting_table_t tw_drop_in_settings; /* module "drop-in" */

#endif /* TW_POLICY_DROP_IN_H */
