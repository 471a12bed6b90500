/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/taken.c - see taken.h. Types are named as MPI does, not by MPI_Type_set_name(),
 * which is local: a setting is the same on all ranks.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "interpose/mpi/taken.h"

#define TW_TAKEN(ROW)  ROW(MPI_UINT16_T) ROW(MPI_INT16_T) ROW(MPI_UNSIGNED_SHORT) ROW(MPI_SHORT)
#define TW_TAKEN_BYTES 2

#define TW_TAKEN_NAME(type)   #type,
#define TW_TAKEN_HANDLE(type) type,

static const char *const taken_names[] = {TW_TAKEN(TW_TAKEN_NAME)};

enum { TW_TAKEN_COUNT = sizeof(taken_names) / sizeof(taken_names[0]) };

/* Written in MPI_Init, then read. */
static struct {
    tw_kind_t kind;
    bool      sum;
} taken[TW_TAKEN_COUNT];

static int taken_index(MPI_Datatype datatype)
{
    const MPI_Datatype handles[TW_TAKEN_COUNT] = {TW_TAKEN(TW_TAKEN_HANDLE)};

    for (int i = 0; i < TW_TAKEN_COUNT; i++) {
        if (handles[i] == datatype) {
            return i;
        }
    }
    return -1;
}

static void taken_accepted(const char *item, char *why, size_t size)
{
    size_t used =
        (size_t)snprintf(why, size, "'%.60s'; accepted: NAME=TYPE or NAME=TYPE:sum of", item);

    for (int i = 0; i < TW_TAKEN_COUNT && used < size; i++) {
        used +=
            (size_t)snprintf(why + used, size - used, "%s %s", i > 0 ? "," : "", taken_names[i]);
    }
    for (int t = 0; t < TW_DTYPE_ROWS && used < size; t++) {
        if (tw_dtype_size(tw_dtypes[t]) == TW_TAKEN_BYTES) {
            used += (size_t)snprintf(why + used, size - used, "%s %s",
                                     strstr(why, " and") != NULL ? "," : " and",
                                     tw_dtype_name(tw_dtypes[t]));
        }
    }
}

/* One "NAME=TYPE[:sum]", which is changed. */
static bool taken_item(char *item)
{
    char *type  = strchr(item, '='), *sum;
    int   index = 0;

    if (type == NULL) {
        return false;
    }
    *type++ = '\0';
    sum     = strchr(type, ':');
    if (sum != NULL) {
        *sum++ = '\0';
    }
    while (index < TW_TAKEN_COUNT && strcmp(taken_names[index], item) != 0) {
        index++;
    }
    if (index == TW_TAKEN_COUNT || (sum != NULL && strcmp(sum, "sum") != 0)) {
        return false;
    }
    for (int t = 0; t < TW_DTYPE_ROWS; t++) {
        if (strcmp(tw_dtype_name(tw_dtypes[t]), type) == 0 &&
            tw_dtype_size(tw_dtypes[t]) == TW_TAKEN_BYTES) {
            taken[index].kind = (tw_kind_t)(t + 1);
            taken[index].sum  = sum != NULL;
            return true;
        }
    }
    return false;
}

tw_status_t tw_taken_parse(const char *text, char *why, size_t size)
{
    char item[64], parsed[sizeof(item)];

    while (*text != '\0') {
        const size_t length = strcspn(text, ",");

        snprintf(item, sizeof(item), "%.*s", (int)(length < sizeof(item) ? length : sizeof(item)),
                 text);
        memcpy(parsed, item, sizeof(parsed));
        if (!taken_item(parsed)) {
            taken_accepted(item, why, size);
            return TW_ERR_SETTING;
        }
        text += length + (text[length] == ',');
    }
    return TW_OK;
}

tw_kind_t tw_taken_kind(MPI_Datatype datatype)
{
    const int index = taken_index(datatype);

    return index >= 0 ? taken[index].kind : TW_KIND_OTHER;
}

bool tw_taken_is_sum(MPI_Datatype datatype, MPI_Op op)
{
    const MPI_Op of_mpi[] = {MPI_OP_NULL, MPI_SUM,    MPI_MIN,    MPI_MAX,     MPI_PROD,
                             MPI_LAND,    MPI_BAND,   MPI_LOR,    MPI_BOR,     MPI_LXOR,
                             MPI_BXOR,    MPI_MINLOC, MPI_MAXLOC, MPI_REPLACE, MPI_NO_OP};
    const int    index    = taken_index(datatype);

    for (size_t i = 0; i < sizeof(of_mpi) / sizeof(of_mpi[0]); i++) {
        if (op == of_mpi[i]) {
            return false;
        }
    }
    return index >= 0 && taken[index].sum;
}
