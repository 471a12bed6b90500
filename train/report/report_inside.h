/* SPDX-License-Identifier: BSD-3-Clause
 * train/report/report_inside.h - values in both the lines (report.c) and the JSON file
 * (report_json.c).
 */
#ifndef TW_TRAIN_REPORT_INSIDE_H
#define TW_TRAIN_REPORT_INSIDE_H

#include "train/report/report.h"

typedef struct tw_means {
    double seconds, images_per_second, step_seconds, exposed, bytes_sent, bytes_uncompressed;
} tw_means_t;

tw_means_t tw_report_means(const tw_training_t *t);

/** NULL: there was no test. */
const tw_evaluation_t *tw_report_last_test(const tw_training_t *t);

/** The first test that meets --until; NULL: none yet, or no --until. */
const tw_evaluation_t *tw_report_reached(const tw_training_t *t);

/** The network, as one word. */
void tw_report_shape(const tw_network_t *net, char *text, size_t size);

int tw_report_on_device(const tw_training_t *t);

#endif /* TW_TRAIN_REPORT_INSIDE_H */
