/* SPDX-License-Identifier: BSD-3-Clause
 * policy/taken.c - see taken.h.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/dtype.h"
#include "runtime/policy/taken.h"

#define TW_TAKEN_TEXT(type) #type,

static const char *const taken_names[] = {TW_TAKEN(TW_TAKEN_TEXT)};

enum { TW_TAKEN_COUNT = sizeof(taken_names) / sizeof(taken_names[0]) };

static void taken_accepted(const char *item, char *why, size_t size)
{
    size_t used =
        (size_t)snprintf(why, size, "'%.60s'; accepted: NAME=TYPE or NAME=TYPE:sum of", item);

    for (int i = 0; i < TW_TAKEN_COUNT && used < size; i++) {
        used +=
            (size_t)snprintf(why + used, size - used, "%s %s", i > 0 ? "," : "", taken_names[i]);
    }
    if (used < size) {
        used += (size_t)snprintf(why + used, size - used,
                                 ", or a type of 2 bytes that the program gives this name");
    }
    for (int t = 0; t < TW_DTYPE_ROWS && used < size; t++) {
        if (tw_dtype_row(tw_dtypes[t])->bytes == TW_TAKEN_BYTES) {
            used += (size_t)snprintf(why + used, size - used, "%s %s",
                                     strstr(why, " and") != NULL ? "," : " and",
                                     tw_dtype_name(tw_dtypes[t]));
        }
    }
}

bool tw_taken_is_of_mpi(const char *name)
{
    return strncmp(name, "MPI", 3) == 0;
}

tw_taken_t *tw_taken_find(tw_taken_list_t *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->row[i].name, name) == 0) {
            return &list->row[i];
        }
    }
    return NULL;
}

static bool taken_name_fits(const char *name)
{
    int i = 0;

    while (i < TW_TAKEN_COUNT && strcmp(taken_names[i], name) != 0) {
        i++;
    }
    return i < TW_TAKEN_COUNT ||
           (name[0] != '\0' && strlen(name) < TW_TAKEN_NAME && !tw_taken_is_of_mpi(name));
}

/* One "NAME=TYPE[:sum]", which is changed. */
static bool taken_item(tw_taken_list_t *list, char *item)
{
    char       *type = strchr(item, '='), *sum;
    tw_taken_t *row;
    tw_dtype_t  dtype;

    if (type == NULL) {
        return false;
    }
    *type++ = '\0';
    sum     = strchr(type, ':');
    if (sum != NULL) {
        *sum++ = '\0';
    }
    row = tw_taken_find(list, item);
    if (!taken_name_fits(item) || (sum != NULL && strcmp(sum, "sum") != 0) ||
        !tw_dtype_named(type, &dtype) || tw_dtype_row(dtype)->bytes != TW_TAKEN_BYTES ||
        (row == NULL && list->count == TW_TAKEN_MAX)) {
        return false;
    }
    row  = row != NULL ? row : &list->row[list->count++];
    *row = (tw_taken_t){.dtype = dtype, .sum = sum != NULL};
    strcpy(row->name, item);
    return true;
}

tw_status_t tw_taken_parse(tw_taken_list_t *list, const char *text, char *why, size_t size)
{
    char item[2 * TW_TAKEN_NAME], parsed[sizeof(item)];

    while (*text != '\0') {
        const size_t length = strcspn(text, ",");

        snprintf(item, sizeof(item), "%.*s", (int)(length < sizeof(item) ? length : sizeof(item)),
                 text);
        memcpy(parsed, item, sizeof(parsed));
        if (!taken_item(list, parsed)) {
            taken_accepted(item, why, size);
            return TW_ERR_SETTING;
        }
        text += length + (text[length] == ',');
    }
    return TW_OK;
}
