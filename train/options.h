/* SPDX-License-Identifier: BSD-3-Clause
 * train/options.h - the command line of thinwire-train.
 */
#ifndef TW_TRAIN_OPTIONS_H
#define TW_TRAIN_OPTIONS_H

#include <stdint.h>
#include <stddef.h>

#include "command/problem.h"
#include "scaling/scheme.h"

typedef struct tw_train_options {
    const char *model, *data, *codec, *storage;
    const char *checkpoint, *json, *trace, *record; /* NULL: none                    */
    const char *quantiles;                          /* NULL: none                              */
    const char *plan;                               /* of thinwire plan; NULL: none            */
    const char *describe, *show;                    /* a model to describe or print; or NULL  */
    const char *schedule;                           /* of the learning rate; NULL: the model's */
    const char *dropout_schedule;                   /* of the dropout rates; NULL: the model's */
    const char *scheme, *update, *lr_scale, *bn;
    const char *augment, *augment_test; /* operations on images; NULL: the model's      */
    const char *bad_images, *loader_text, *transfer_text;
    const char *device_text;
    const char *show_images;             /* NULL: none */
    const char *rate_text, *until_text;  /* NULL: not given */
    const char *allow_text;              /* NULL: nothing   */
    const char *export_to, *import_from; /* weights; NULL: none */
    uint64_t    epochs, batch;           /* 0: the model's                          */
    uint64_t    steps;                   /* stop after so many; 0: by epochs        */
    uint64_t    eval_every;              /* steps from one test to the next; 0: one per epoch */
    uint64_t    seed, threads;
    uint64_t    update_period;          /* of the dense layers, in passes; 0: once per step */
    uint64_t    bn_group, bn_max_batch; /* 0: all ranks; 0: no limit               */
    uint64_t    bn_patience;
    uint64_t    bucket; /* bytes                                   */
    uint64_t    max_pixels;
    double      momentum, decay; /* negative: the model's                   */
    double      bn_tolerance;
    int         resume, force, help, version, awp_calibrate, profile, no_overlap, no_train;
    int         tf32, fast, recompute, evaluate_only;

    /* Parsed from the texts. */
    const char *chosen; /* a given option that --plan sets, too; or NULL                 */
    struct {
        char     model[4096], scheme[64], update[16], codec[400];
        uint64_t batch;
    } planned;         /* by --plan */
    scheme_t division; /* of the network among the ranks */
    unsigned allowed;  /* set of tw_change_t */
    int      owners;   /* tw_weights_owners_t; 0: every rank updates all          */
    int      device;   /* its number, TW_BIND_AUTO or TW_BIND_NONE (the processor)  */
    int64_t  loader_threads, transfer_index; /* -1: automatic */
    uint64_t loader_most;                    /* most to try; 0: by the cores */
    int      loader_all;                     /* the search leaves no state out */
    double   rate;       /* negative: the model's                                    */
    double   until;      /* stop at this test error, as a fraction; negative: do not */
    int      until_five; /* it is the top-5 error                               */
} tw_train_options_t;

/** Fill options from the command line, defaults included; strings point into argv.
 * @return 0, or -1 with the problem set. */
int tw_train_options_parse(tw_train_options_t *options, int argc, char **argv,
                           tw_problem_t *problem);

/** Check the options together; call it again after a change. @return 0, or -1 with the problem
 * set. */
int tw_train_options_check(tw_train_options_t *options, tw_problem_t *problem);

/** Print the text of --help. */
void tw_train_options_help(void);

/** The options that must be equal on all ranks, as one line, truncated at size - 1 characters. */
void tw_train_options_text(tw_train_options_t *options, char *text, size_t size);

#endif /* TW_TRAIN_OPTIONS_H */
