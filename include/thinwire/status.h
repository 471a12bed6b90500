/* SPDX-License-Identifier: BSD-3-Clause
 * thinwire/status.h - statuses: the return values of all thinwire functions that can fail.
 */
#ifndef THINWIRE_STATUS_H
#define THINWIRE_STATUS_H

#include <thinwire/declare.h>

TW_BEGIN_DECLS

/* X(name, value, text). Values are never reused. */
#define TW_STATUS_MAP(X)                                                                           \
    X(OK, 0, "success")                                                                            \
    X(ERR_INVALID_ARG, -1, "invalid argument")                                                     \
    X(ERR_UNSUPPORTED, -2, "not supported")                                                        \
    X(ERR_NO_MEMORY, -3, "out of memory")                                                          \
    X(ERR_RANGE, -4, "size or count out of range")                                                 \
    X(ERR_SPEC, -5, "malformed codec spec")                                                        \
    X(ERR_SETTING, -6, "malformed setting")                                                        \
    X(ERR_MISMATCH, -7, "ranks disagree")                                                          \
    X(ERR_MPI, -8, "an MPI call failed")                                                           \
    X(ERR_TIMEOUT, -9, "no progress within the time limit")                                        \
    X(ERR_DEAD, -10, "the communicator is dead after an earlier error")                            \
    X(ERR_BUSY, -11, "still in use")                                                               \
    X(ERR_IO, -12, "input or output failed")                                                       \
    X(ERR_FORMAT, -13, "not a valid file of this kind")                                            \
    X(ERR_NETWORK, -14, "a peer cannot be reached")

typedef enum tw_status {
#define TW_STATUS_ENUM(name, value, text) TW_##name = (value),
    TW_STATUS_MAP(TW_STATUS_ENUM)
#undef TW_STATUS_ENUM
} tw_status_t;

/** Name of a status, such as "TW_ERR_SPEC"; "TW_ERR_UNKNOWN" for any other value.
 * The string is static. Safe from any thread. */
const char *tw_status_name(tw_status_t status);

/** One line of English for a status, such as "malformed codec spec"; "unknown status" for any other
 * value. The string is static. */
const char *tw_status_text(tw_status_t status);

TW_END_DECLS

#endif /* THINWIRE_STATUS_H */
