/* SPDX-License-Identifier: BSD-3-Clause
 * policy/taken.h - integers of MPI that a program takes for floats of as many bytes, as it says by
 * THINWIRE_TYPES: "MPI_UINT16_T=bfloat16", and with ":sum", that its own operations (MPI_Op_create)
 * on them are the sum. No MPI: types are known by their names.
 */
#ifndef TW_POLICY_TAKEN_H
#define TW_POLICY_TAKEN_H

#include <stdbool.h>
#include <stddef.h>

#include <thinwire/codec.h>
#include <thinwire/status.h>

/* The types that may be taken so; ROW(a type of MPI). */
#define TW_TAKEN(ROW)  ROW(MPI_UINT16_T) ROW(MPI_INT16_T) ROW(MPI_UNSIGNED_SHORT) ROW(MPI_SHORT)
#define TW_TAKEN_BYTES 2

enum {
#define TW_TAKEN_ONE(type) +1
    TW_TAKEN_COUNT = TW_TAKEN(TW_TAKEN_ONE)
#undef TW_TAKEN_ONE
};

typedef struct tw_taken {
    bool       is; /* else it is what MPI says */
    bool       sum;
    tw_dtype_t dtype;
} tw_taken_t;

/* Into `taken`, in the order of TW_TAKEN, a list separated by commas: TW_OK, or TW_ERR_SETTING with
 * `why`, a line that says what is accepted; 512 bytes hold it. */
tw_status_t tw_taken_parse(tw_taken_t taken[TW_TAKEN_COUNT], const char *text, char *why,
                           size_t size);

#endif /* TW_POLICY_TAKEN_H */
