/* SPDX-License-Identifier: BSD-3-Clause
 * input/record.c - see record.h and docs/image-records.md.
 */
#include "config.h"

#include <string.h>

#include "train/base/hash.h"
#include "train/input/record.h"

enum { PIXELS = 0, A_FILE = 1, FORMAT = 1 };

static const char record_magic[4] = {'t', 'w', 'i', '0' + FORMAT};
static const char header_magic[8] = {'t', 'w', 'i', 'm', 'a', 'g', 'e', 's'};

const uint8_t tw_stored_stamp_key = 0x00, tw_stored_header_key = 0xff;

/* ---- little endian -------------------------------------------------------------------------- */

static void put(uint8_t *at, uint64_t value, int bytes)
{
    for (int k = 0; k < bytes; k++) {
        at[k] = (uint8_t)(value >> 8 * k);
    }
}

static uint64_t record_take(const uint8_t *at, int bytes)
{
    uint64_t value = 0;

    for (int k = bytes; k-- > 0;) {
        value = value << 8 | at[k];
    }
    return value;
}

static void put_shape(uint8_t *at, tw_shape_t shape)
{
    put(at, shape.c, 4);
    put(at + 4, shape.h, 4);
    put(at + 8, shape.w, 4);
}

static tw_shape_t take_shape(const uint8_t *at)
{
    return (tw_shape_t){record_take(at, 4), record_take(at + 4, 4), record_take(at + 8, 4)};
}

static int is_empty(tw_shape_t shape)
{
    return shape.c == 0 && shape.h == 0 && shape.w == 0;
}

/* Planes of pixels that differ in size. */
static int is_open(tw_shape_t shape)
{
    return shape.c >= 1 && shape.c <= TW_STORED_SIDE && shape.h == 0 && shape.w == 0;
}

/* Values of a shape; 0: it is none, or too large. */
static uint64_t values_of(tw_shape_t shape)
{
    uint64_t area;

    if (shape.c > TW_STORED_SIDE || shape.h > TW_STORED_SIDE || shape.w > TW_STORED_SIDE) {
        return 0;
    }
    area = (uint64_t)shape.h * shape.w; /* at most 2^48 */
    return area > TW_SOURCE_FILE_MAX || area * shape.c > TW_SOURCE_FILE_MAX ? 0 : area * shape.c;
}

/* ---- images --------------------------------------------------------------------------------- */

void tw_stored_key(tw_subset_t part, uint32_t index, uint8_t key[TW_STORED_KEY])
{
    memset(key, 0, TW_STORED_KEY);
    key[0] = (uint8_t)part;
    for (int k = 0; k < 4; k++) {
        key[8 - k] = (uint8_t)(index >> 8 * k);
    }
}

void tw_stored_put(const tw_image_record_t *record, uint16_t label, uint8_t bytes[TW_STORED_RECORD])
{
    memset(bytes, 0, TW_STORED_RECORD);
    memcpy(bytes, record_magic, sizeof(record_magic));
    bytes[4] = record->file ? A_FILE : PIXELS;
    put(bytes + 6, label, 2);
    if (!record->file) {
        put_shape(bytes + 8, record->shape);
    }
    put(bytes + 20, record->n, 4);
}

const char *tw_stored_take(const void *bytes, size_t n, tw_image_record_t *record,
                           uint16_t *label_p)
{
    const uint8_t *at = bytes;
    tw_shape_t     shape;
    uint64_t       count;

    if (n < TW_STORED_RECORD || memcmp(at, record_magic, sizeof(record_magic) - 1) != 0) {
        return "it is no record of thinwire-train";
    }
    if (at[3] != record_magic[3] || at[4] > A_FILE || at[5] != 0) {
        return "it is of a kind or version that this version does not know";
    }
    shape = take_shape(at + 8);
    count = record_take(at + 20, 4);
    if (count != n - TW_STORED_RECORD) {
        return "it is shorter or longer than it says";
    }
    if (count == 0 || count > TW_SOURCE_FILE_MAX ||
        (at[4] == A_FILE ? !is_empty(shape) : values_of(shape) != count)) {
        return "its shape and its number of bytes do not fit";
    }
    *record  = (tw_image_record_t){.file  = at[4] == A_FILE,
                                   .shape = shape,
                                   .bytes = at + TW_STORED_RECORD,
                                   .n     = (size_t)count};
    *label_p = (uint16_t)record_take(at + 6, 2);
    return NULL;
}

/* ---- the header ----------------------------------------------------------------------------- */

uint64_t tw_stored_header_size(const tw_stored_t *stored)
{
    return (uint64_t)TW_STORED_HEADER + stored->note_n + stored->names_n +
           2 * ((uint64_t)stored->n[0] + stored->n[1]);
}

uint8_t *tw_stored_put_header(const tw_stored_t *stored, uint8_t *bytes)
{
    uint8_t *at = bytes + TW_STORED_HEADER;

    memset(bytes, 0, TW_STORED_HEADER);
    memcpy(bytes, header_magic, sizeof(header_magic));
    put(bytes + 8, FORMAT, 4);
    put(bytes + 12, stored->classes, 4);
    put(bytes + 16, stored->n[TW_SUBSET_TRAIN], 8);
    put(bytes + 24, stored->n[TW_SUBSET_TEST], 8);
    put_shape(bytes + 32, stored->shape);
    put(bytes + 44, stored->resize, 4);
    put(bytes + 48, stored->quality, 4);
    put(bytes + 52, stored->note_n, 4);
    put(bytes + 56, stored->names_n, 4);
    put(bytes + 64, stored->manifest, 8);
    put(bytes + 72, stored->bytes, 8);
    if (stored->note_n > 0) {
        memcpy(at, stored->note, stored->note_n);
    }
    if (stored->names_n > 0) {
        memcpy(at + stored->note_n, stored->names, stored->names_n);
    }
    return at + stored->note_n + stored->names_n;
}

uint8_t *tw_stored_put_labels(const uint16_t *labels, size_t n, uint8_t *bytes)
{
    for (size_t i = 0; i < n; i++) {
        put(bytes + 2 * i, labels[i], 2);
    }
    return bytes + 2 * n;
}

/* Every class has a name of at least one character, none of them a control character. */
static int names_fit(const char *names, size_t n, size_t classes)
{
    size_t found = 0, length = 0;

    for (size_t i = 0; i < n; i++) {
        if (names[i] == '\0') {
            if (length == 0) {
                return 0;
            }
            found++;
            length = 0;
        } else if ((unsigned char)names[i] < ' ' || names[i] == 0x7f) {
            return 0;
        } else {
            length++;
        }
    }
    return n == 0 || (length == 0 && found == classes);
}

static int labels_fit(const tw_stored_t *stored, tw_subset_t part)
{
    for (size_t i = 0; i < stored->n[part]; i++) {
        if (tw_stored_label(stored, part, i) >= stored->classes) {
            return 0;
        }
    }
    return 1;
}

/* The fields of fixed size; whether each by itself is possible. */
static int take_fields(const uint8_t *at, tw_stored_t *stored)
{
    const uint64_t train = record_take(at + 16, 8), test = record_take(at + 24, 8);

    *stored = (tw_stored_t){.classes  = record_take(at + 12, 4),
                            .n        = {(size_t)train, (size_t)test},
                            .shape    = take_shape(at + 32),
                            .resize   = record_take(at + 44, 4),
                            .quality  = (unsigned)record_take(at + 48, 4),
                            .note_n   = record_take(at + 52, 4),
                            .names_n  = record_take(at + 56, 4),
                            .manifest = record_take(at + 64, 8),
                            .bytes    = record_take(at + 72, 8)};
    return stored->classes >= 1 && stored->classes <= TW_SOURCE_CLASSES_MAX && train >= 1 &&
           train <= TW_SOURCE_IMAGES_MAX && test >= 1 && test <= TW_SOURCE_IMAGES_MAX &&
           (is_empty(stored->shape) || is_open(stored->shape) || values_of(stored->shape) > 0) &&
           stored->quality <= 100 && record_take(at + 60, 4) == 0 &&
           stored->note_n <= TW_STORED_TEXT && stored->names_n <= TW_STORED_TEXT;
}

const char *tw_stored_take_header(const void *bytes, size_t n, tw_stored_t *stored)
{
    const uint8_t *at = bytes;
    tw_stored_t    is;

    if (n < TW_STORED_HEADER || memcmp(at, header_magic, sizeof(header_magic)) != 0) {
        return "it is none of thinwire-train";
    }
    if (record_take(at + 8, 4) != FORMAT) {
        return "it is of a version that this version does not know";
    }
    if (!take_fields(at, &is) || tw_stored_header_size(&is) != n) {
        return "its counts are not possible, or it is not as long as they say";
    }
    is.note                    = (const char *)at + TW_STORED_HEADER;
    is.names                   = is.note + is.note_n;
    is.labels[TW_SUBSET_TRAIN] = (const uint8_t *)is.names + is.names_n;
    is.labels[TW_SUBSET_TEST]  = is.labels[TW_SUBSET_TRAIN] + 2 * is.n[TW_SUBSET_TRAIN];
    if (!names_fit(is.names, is.names_n, is.classes)) {
        return "its names of classes do not fit";
    }
    if (!labels_fit(&is, TW_SUBSET_TRAIN) || !labels_fit(&is, TW_SUBSET_TEST)) {
        return "a label is beyond its classes";
    }
    *stored = is;
    return NULL;
}

int tw_stored_fits(tw_shape_t shape, const tw_image_record_t *record)
{
    const tw_shape_t is = record->shape;

    if (record->file || shape.c == 0) {
        return record->file && shape.c == 0;
    }
    return is.c == shape.c && (shape.h == 0 || (is.h == shape.h && is.w == shape.w));
}

uint64_t tw_stored_hash(const tw_stored_t *stored)
{
    const uint64_t fact[] = {stored->classes, stored->n[0],     stored->n[1],   stored->shape.c,
                             stored->shape.h, stored->shape.w,  stored->resize, stored->quality,
                             stored->bytes,   stored->manifest, stored->names_n};
    uint64_t       hash   = tw_hash(stored->manifest, fact, sizeof(fact));

    hash = tw_hash(hash, stored->names, stored->names_n);
    hash = tw_hash(hash, stored->labels[0], 2 * stored->n[0]);
    return tw_hash(hash, stored->labels[1], 2 * stored->n[1]);
}
