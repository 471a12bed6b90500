/* SPDX-License-Identifier: BSD-3-Clause
 * transport/comm/settings.h - the settings of the transport.
 */
#ifndef TW_TRANSPORT_COMM_SETTINGS_H
#define TW_TRANSPORT_COMM_SETTINGS_H

#include "runtime/base/settings.h"

enum { TW_PROGRESS_NONE, TW_PROGRESS_THREAD };

typedef struct tw_transport_config {
    int         transport;     /* index into tw_transports; equal on all ranks              */
    size_t      chunk;         /* bytes of elements in a fragment; equal on all ranks          */
    size_t      message_limit; /* bytes of the largest MPI message; equal on all ranks      */
    int         window;        /* fragments of an operation in flight; equal on all ranks      */
    int         check;         /* compare every call over the ranks; equal on all ranks     */
    const char *calibration;   /* file of facts; "": the one in the cache folder        */
    int         explain;       /* log each decision of auto                                 */
    const char *decisions;     /* file of decisions; "": none                             */
    int         device_path;   /* TW_DEVICE_PATH_...; may differ                            */
    int         progress;      /* TW_PROGRESS_...; may differ between ranks                 */
    double      timeout;       /* seconds without progress until the communicator dies; 0 = never */
    int         node_read; /* process_vm_readv inside a node; equal on all ranks                  */
    const char *address;   /* of this process, for tw_comm_create_store(); "": chosen; may differ */
    int node_ranks;        /* ranks of a machine that count as a node; 0: all; equal on all ranks */
} tw_transport_config_t;

extern const tw_setting_table_t tw_transport_settings;

/* Names of the endpoints for THINWIRE_TRANSPORT, NULL-terminated. */
extern const char *const tw_transports[];

#endif /* TW_TRANSPORT_COMM_SETTINGS_H */
