/* SPDX-License-Identifier: BSD-3-Clause
 * base/status.c - names and texts of statuses, from the list in thinwire/status.h.
 */
#include "config.h"

#include <thinwire/status.h>

const char *tw_status_name(tw_status_t status)
{
    switch (status) {
#define TW_STATUS_NAME(name, value, text)                                                          \
    case TW_##name:                                                                                \
        return "TW_" #name;
        TW_STATUS_MAP(TW_STATUS_NAME)
#undef TW_STATUS_NAME
    }
    return "TW_ERR_UNKNOWN";
}

const char *tw_status_text(tw_status_t status)
{
    switch (status) {
#define TW_STATUS_TEXT(name, value, text)                                                          \
    case TW_##name:                                                                                \
        return text;
        TW_STATUS_MAP(TW_STATUS_TEXT)
#undef TW_STATUS_TEXT
    }
    return "unknown status";
}
