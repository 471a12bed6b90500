/* SPDX-License-Identifier: BSD-3-Clause
 * transport/comm/settings.c - table of the transport's settings.
 */
#include "config.h"

#include "runtime/transport/comm/settings.h"

const char *const tw_transports[] = {"mpi", "ucx", NULL};

static const char *const tw_device_paths[] = {"auto", "direct", "staged", NULL};

static const char *const tw_progresses[] = {"none", "thread", NULL};

static const tw_setting_field_t tw_transport_fields[] = {
    {"TRANSPORT", "mpi", "What carries the messages of collectives; equal on all ranks.",
     offsetof(tw_transport_config_t, transport), TW_SETTING_CHOICE, 0, 0, tw_transports, false},
    {"CHUNK", "256k",
     "Most bytes of elements that are encoded and sent as one fragment, in device memory four "
     "times "
     "as many; equal on all ranks.",
     offsetof(tw_transport_config_t, chunk), TW_SETTING_MEMUNITS, 0, 0, NULL, true},
    {"MESSAGE_LIMIT", "1G", "Bytes of the largest MPI message, at most 2G - 1; equal on all ranks.",
     offsetof(tw_transport_config_t, message_limit), TW_SETTING_MEMUNITS, 0, 0, NULL, true},
    {"WINDOW", "8", "Fragments of one operation that are in flight together; equal on all ranks.",
     offsetof(tw_transport_config_t, window), TW_SETTING_INT, 1, 8, NULL, true},
    {"CHECK", "0",
     "Compare each call (sequence, operation, count, codec) over the ranks and name one that "
     "differs.",
     offsetof(tw_transport_config_t, check), TW_SETTING_BOOL, 0, 0, NULL, false},
    {"CALIBRATION", "", "File of measurements for the codec auto; empty: in the cache folder.",
     offsetof(tw_transport_config_t, calibration), TW_SETTING_TEXT, 0, 0, NULL, false},
    {"EXPLAIN", "0", "Say on rank 0 what the codec auto decides, and from what.",
     offsetof(tw_transport_config_t, explain), TW_SETTING_BOOL, 0, 0, NULL, false},
    {"DECISIONS", "", "File of what the codec auto decided: replayed if it exists, else written.",
     offsetof(tw_transport_config_t, decisions), TW_SETTING_TEXT, 0, 0, NULL, false},
    {"DEVICE_PATH", "auto",
     "How codes in device memory reach MPI: directly, or staged through pinned memory of the host; "
     "may differ between ranks.",
     offsetof(tw_transport_config_t, device_path), TW_SETTING_CHOICE, 0, 0, tw_device_paths, true},
    {"PROGRESS", "none",
     "Who advances outstanding operations while the program computes; a thread needs "
     "MPI_THREAD_MULTIPLE.",
     offsetof(tw_transport_config_t, progress), TW_SETTING_CHOICE, 0, 0, tw_progresses, false},
    {"TIMEOUT", "0",
     "Seconds without any progress after which a communicator is declared dead; 0 is never.",
     offsetof(tw_transport_config_t, timeout), TW_SETTING_SECONDS, 0, 0, NULL, false},
    {"ADDRESS", "",
     "Interface or address of this machine at which ranks without MPI reach this one; empty: the "
     "one towards the store.",
     offsetof(tw_transport_config_t, address), TW_SETTING_TEXT, 0, 0, NULL, false},
    {"NODE_RANKS", "0",
     "Take each so many consecutive ranks of a machine for a node; 0: all of them. Equal on all "
     "ranks.",
     offsetof(tw_transport_config_t, node_ranks), TW_SETTING_INT, 0, 1 << 20, NULL, true},
    {"NODE_READ", "1",
     "Read long blocks in the memory of other ranks of the node, where the system allows it. Equal "
     "on all "
     "ranks.",
     offsetof(tw_transport_config_t, node_read), TW_SETTING_BOOL, 0, 0, NULL, true},
};

const tw_setting_table_t tw_transport_settings = {
    "transport", tw_transport_fields, sizeof(tw_transport_fields) / sizeof(tw_transport_fields[0])};
