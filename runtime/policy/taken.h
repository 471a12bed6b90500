/* SPDX-License-Identifier: BSD-3-Clause
 * policy/taken.h - types of MPI that a program takes for floats of as many bytes, as it says by
 * THINWIRE_TYPES: "MPI_UINT16_T=bfloat16", and with ":sum", that its own operations (MPI_Op_create)
 * on them are the sum. They are integers of MPI, or types of its own that it gives a name. No MPI.
 */
#ifndef TW_POLICY_TAKEN_H
#define TW_POLICY_TAKEN_H

#include <stdbool.h>
#include <stddef.h>

#include <thinwire/codec.h>
#include <thinwire/status.h>

/* The integers that may be taken so; ROW(a type of MPI). */
#define TW_TAKEN(ROW)  ROW(MPI_UINT16_T) ROW(MPI_INT16_T) ROW(MPI_UNSIGNED_SHORT) ROW(MPI_SHORT)
#define TW_TAKEN_BYTES 2

#define TW_TAKEN_MAX  16 /* names */
#define TW_TAKEN_NAME 64 /* bytes of one, with its NUL */

typedef struct tw_taken {
    char       name[TW_TAKEN_NAME];
    tw_dtype_t dtype;
    bool       sum;
} tw_taken_t;

typedef struct tw_taken_list {
    size_t     count;
    tw_taken_t row[TW_TAKEN_MAX];
} tw_taken_list_t;

/* Add the types of a list separated by commas: TW_OK, or TW_ERR_SETTING with `why`, a line that
 * says what is accepted; 512 bytes hold it. */
tw_status_t tw_taken_parse(tw_taken_list_t *list, const char *text, char *why, size_t size);

/* NULL: it is not in the list. */
tw_taken_t *tw_taken_find(tw_taken_list_t *list, const char *name);

/* Is it a name that only MPI gives? */
bool tw_taken_is_of_mpi(const char *name);

#endif /* TW_POLICY_TAKEN_H */
