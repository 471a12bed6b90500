/* SPDX-License-Identifier: BSD-3-Clause
 * base/dtype.c - the list of element types.
 */
#include "config.h"

#include <string.h>

#include "runtime/base/dtype.h"

#define TW_DTYPE_ID(dtype, row, ...) dtype,
const tw_dtype_t tw_dtypes[TW_DTYPE_ROWS] = {TW_DTYPES(TW_DTYPE_ID)};

#define TW_DTYPE_REF(dtype, row, ...) [dtype] = &tw_dtype_##row,
static const tw_dtype_row_t *const tw_dtype_rows[] = {TW_DTYPES(TW_DTYPE_REF)};

const tw_dtype_row_t *tw_dtype_row(tw_dtype_t dtype)
{
    return (size_t)dtype < sizeof(tw_dtype_rows) / sizeof(tw_dtype_rows[0]) ? tw_dtype_rows[dtype]
                                                                            : NULL;
}

bool tw_dtype_named(const char *name, tw_dtype_t *dtype_p)
{
    for (size_t i = 0; i < TW_DTYPE_ROWS; i++) {
        if (strcmp(tw_dtype_name(tw_dtypes[i]), name) == 0) {
            *dtype_p = tw_dtypes[i];
            return true;
        }
    }
    return false;
}

const char *tw_dtype_name(tw_dtype_t dtype)
{
    return tw_dtype_rows[dtype]->name;
}

bool tw_dtype_is_half(tw_dtype_t dtype)
{
    return tw_dtype_rows[dtype]->sum != dtype;
}

size_t tw_dtype_size(tw_dtype_t dtype)
{
    const tw_dtype_row_t *row = tw_dtype_row(dtype);

    return row != NULL ? row->bytes : dtype == TW_BYTE;
}

bool tw_dtype_is_lossless(tw_dtype_t dtype, const char *spec)
{
    return strcmp(spec, tw_dtype_row(dtype)->lossless) == 0;
}

int tw_tensor_is_small(size_t elements, int axes)
{
    return elements < (axes == 1 ? 65536 : 1024);
}
