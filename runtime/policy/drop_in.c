/* SPDX-License-Identifier: BSD-3-Clause
 * policy/drop_in.c - the table.
 */
#include "config.h"

#include "runtime/policy/drop_in.h"

#define TW_DROP_IN_THRESHOLD "64k"

static const char *const tw_bcast_roots[] = {"same", "exact", NULL};

static const char *const tw_encodes[] = {"auto", "always", NULL};

static const tw_setting_field_t tw_drop_in_fields[] = {
    {"CODEC", "", "Codec of the drop-in where no rule decides; none only watches.",
     offsetof(tw_drop_in_config_t, codec), TW_SETTING_TEXT, 0, 0, NULL, false},
    {"THRESHOLD", TW_DROP_IN_THRESHOLD,
     "Vectors of fewer bytes stay as they are; equal on all ranks.",
     offsetof(tw_drop_in_config_t, threshold), TW_SETTING_MEMUNITS, 0, 0, NULL, false},
    {"RULES", "", "Which codec for which call: rules separated by ;, the first that holds decides.",
     offsetof(tw_drop_in_config_t, rules), TW_SETTING_TEXT, 0, 0, NULL, false},
    {"RULES_FILE", "", "File of rules, one per line; they come after those of THINWIRE_RULES.",
     offsetof(tw_drop_in_config_t, rules_file), TW_SETTING_TEXT, 0, 0, NULL, false},
    {"TYPES", "",
     "Types of MPI that are 16-bit floats of the program: MPI_UINT16_T=bfloat16, or a name that it "
     "gives; with :sum its own operations add them; separated by commas, equal on all ranks.",
     offsetof(tw_drop_in_config_t, types), TW_SETTING_TEXT, 0, 0, NULL, false},
    {"DOUBLE", "0", "What names no type means doubles too, not float32 alone.",
     offsetof(tw_drop_in_config_t, narrow), TW_SETTING_BOOL, 0, 0, NULL, false},
    {"VERIFY", "0",
     "One compressed call in N also runs exactly, to measure its error; 0 is none, or one in 256 "
     "where THINWIRE_MAX_ERROR is set.",
     offsetof(tw_drop_in_config_t, verify), TW_SETTING_INT, 0, 1000000000, NULL, false},
    {"MAX_ERROR", "0",
     "Largest rms(error) / rms(exact) of a call before its codec is replaced; 0 is no limit.",
     offsetof(tw_drop_in_config_t, max_error), TW_SETTING_NUMBER, 0, 0, NULL, false},
    {"ERROR_FEEDBACK", "0",
     "Add to each allreduce what the one before it, of the same shape, lost in its codec.",
     offsetof(tw_drop_in_config_t, error_feedback), TW_SETTING_BOOL, 0, 0, NULL, false},
    {"PCONTROL", "0",
     "MPI_Pcontrol(0) switches compression off, MPI_Pcontrol(1) on: for programs whose ranks all "
     "call it between the same collectives; equal on all ranks.",
     offsetof(tw_drop_in_config_t, pcontrol), TW_SETTING_BOOL, 0, 0, NULL, false},
    {"BCAST_ROOT", "same",
     "After a compressed broadcast the root has the values that the others have (same), or its own "
     "(exact).",
     offsetof(tw_drop_in_config_t, bcast_root), TW_SETTING_CHOICE, 0, 0, tw_bcast_roots, false},
    {"ENCODE", "auto",
     "For tests. always: encode whatever the size and gain, integers too by a lossless codec; "
     "equal "
     "on all ranks.",
     offsetof(tw_drop_in_config_t, encode), TW_SETTING_CHOICE, 0, 0, tw_encodes, true},
    {"FEEDBACK_MAX", "1G",
     "Bytes of the vectors, on each communicator, for which error feedback keeps residuals; the "
     "one not used for longest goes first; equal on all ranks.",
     offsetof(tw_drop_in_config_t, feedback_max), TW_SETTING_MEMUNITS, 0, 0, NULL, false},
    {"REPORT", "", "File of the drop-in's report; none is the standard error.",
     offsetof(tw_drop_in_config_t, report), TW_SETTING_TEXT, 0, 0, NULL, false},
    {"JSON", "", "File of the drop-in's report as JSON.", offsetof(tw_drop_in_config_t, json),
     TW_SETTING_TEXT, 0, 0, NULL, false},
    {"RECORD", "",
     "File of the job that the drop-in records, for thinwire scale; none records nothing.",
     offsetof(tw_drop_in_config_t, record), TW_SETTING_TEXT, 0, 0, NULL, false},
    {"QUIET", "0", "Print no report of the drop-in to the standard error.",
     offsetof(tw_drop_in_config_t, quiet), TW_SETTING_BOOL, 0, 0, NULL, false},
};

const tw_setting_table_t tw_drop_in_settings = {
    "drop-in", tw_drop_in_fields, sizeof(tw_drop_in_fields) / sizeof(tw_drop_in_fields[0])};
