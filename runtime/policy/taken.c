/* SPDX-License-Identifier: BSD-3-Clause
 * policy/taken.c - see taken.h. Types are named as MPI does, not by MPI_Type_set_name(), which is
 * local: a setting is the same on all ranks.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/dtype.h"
#include "runtime/policy/taken.h"

#define TW_TAKEN_NAME(type) #type,

static const char *const taken_names[] = {TW_TAKEN(TW_TAKEN_NAME)};

static void taken_accepted(const char *item, char *why, size_t size)
{
    size_t used =
        (size_t)snprintf(why, size, "'%.60s'; accepted: NAME=TYPE or NAME=TYPE:sum of", item);

    for (int i = 0; i < TW_TAKEN_COUNT && used < size; i++) {
        used +=
            (size_t)snprintf(why + used, size - used, "%s %s", i > 0 ? "," : "", taken_names[i]);
    }
    for (int t = 0; t < TW_DTYPE_ROWS && used < size; t++) {
        if (tw_dtype_row(tw_dtypes[t])->bytes == TW_TAKEN_BYTES) {
            used += (size_t)snprintf(why + used, size - used, "%s %s",
                                     strstr(why, " and") != NULL ? "," : " and",
                                     tw_dtype_name(tw_dtypes[t]));
        }
    }
}

/* One "NAME=TYPE[:sum]", which is changed. */
static bool taken_item(tw_taken_t taken[TW_TAKEN_COUNT], char *item)
{
    char      *type  = strchr(item, '='), *sum;
    int        index = 0;
    tw_dtype_t dtype;

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
    if (index == TW_TAKEN_COUNT || (sum != NULL && strcmp(sum, "sum") != 0) ||
        !tw_dtype_named(type, &dtype) || tw_dtype_row(dtype)->bytes != TW_TAKEN_BYTES) {
        return false;
    }
    taken[index] = (tw_taken_t){.is = true, .sum = sum != NULL, .dtype = dtype};
    return true;
}

tw_status_t tw_taken_parse(tw_taken_t taken[TW_TAKEN_COUNT], const char *text, char *why,
                           size_t size)
{
    char item[64], parsed[sizeof(item)];

    while (*text != '\0') {
        const size_t length = strcspn(text, ",");

        snprintf(item, sizeof(item), "%.*s", (int)(length < sizeof(item) ? length : sizeof(item)),
                 text);
        memcpy(parsed, item, sizeof(parsed));
        if (!taken_item(taken, parsed)) {
            taken_accepted(item, why, size);
            return TW_ERR_SETTING;
        }
        text += length + (text[length] == ',');
    }
    return TW_OK;
}
