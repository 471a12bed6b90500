/* SPDX-License-Identifier: BSD-3-Clause
 * model/network_file.h - shared declarations for reading a model.
 */
#ifndef TW_MODEL_NETWORK_FILE_H
#define TW_MODEL_NETWORK_FILE_H

#include "train/model/network.h"

/* The built-in models, as lines; generated from zoo/ by zoo.awk. Ends with a NULL name. */
typedef struct tw_zoo_entry {
    const char        *name;
    const char *const *lines;
} tw_zoo_entry_t;

extern const tw_zoo_entry_t tw_zoo[];

/** Check a text before libconfig parses it. @return 0, or -1 with "SOURCE:LINE: ..." set. */
int tw_network_check_text(const char *text, const char *source, tw_problem_t *problem);

/** Set the problem "SOURCE:LINE: layer 'NAME': ...". @return -1 */
int tw_network_wrong(const tw_network_t *net, size_t l, tw_problem_t *problem, const char *format,
                     ...) __attribute__((format(printf, 4, 5)));

/** Compute the shapes of all layers, first_dense and drop, and check them.
 * @return 0, or -1 with "SOURCE:LINE: layer 'NAME': ..." set. */
int tw_network_check(tw_network_t *net, tw_problem_t *problem);

/** The name most similar to word, NULL if none is similar. */
const char *tw_nearest(const char *word, const char *const *names, size_t n);

/** "a, b and c", truncated at size - 1 bytes. @return text */
const char *tw_join(char *text, size_t size, const char *const *names, size_t n);

/** User input for a message: truncated at size - 1 bytes, non-printable or non-ASCII bytes as '?'.
 * @return text */
const char *tw_shown(char *text, size_t size, const char *word);

#endif /* TW_MODEL_NETWORK_FILE_H */
