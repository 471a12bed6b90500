/* SPDX-License-Identifier: BSD-3-Clause
 * input/sink.c - rows of a file become planes as the image is seen, see decode_inside.h.
 */
#include "config.h"

#include <string.h>

#include "train/input/decode_inside.h"

/* ---- orientation --------------------------------------------------------------------------- */

static uint64_t number(const uint8_t *bytes, size_t n, int little)
{
    uint64_t value = 0;

    for (size_t i = 0; i < n; i++) {
        value = value << 8 | bytes[little ? n - 1 - i : i];
    }
    return value;
}

/* Bytes of a whole number of a TIFF type; 0: it is another type. */
static size_t width_of(uint32_t type)
{
    enum { SHORT = 3, LONG = 4, SBYTE = 6, SSHORT = 8, SLONG = 9, IFD = 13, LONG8 = 16 };

    switch (type) {
    case SBYTE:
        return 1;
    case SHORT:
    case SSHORT:
        return 2;
    case LONG:
    case SLONG:
    case IFD:
        return 4;
    case LONG8:
        return 8;
    default:
        return 0;
    }
}

/* The first value of an entry: tag, type (2 bytes each), count (4 bytes), and the values, or where
 * they begin if they have more than 4 bytes together.
 * @return it; UINT64_MAX: it has none. */
static uint64_t value_of(const uint8_t *tiff, size_t n, const uint8_t *entry, int little)
{
    enum { INSIDE = 4 };
    const size_t   width = width_of((uint32_t)number(entry + 2, 2, little));
    const uint64_t bytes = width * number(entry + 4, 4, little);
    const uint64_t at    = number(entry + 8, 4, little);

    if (width == 0) {
        return 0; /* of another type */
    }
    if (bytes <= INSIDE) {
        return bytes > 0 ? number(entry + 8, width, little) : UINT64_MAX;
    }
    return bytes <= n && at <= n - bytes ? number(tiff + at, width, little) : UINT64_MAX;
}

/* A first directory: the number of entries, and they. The first one that has a value counts. */
int tw_tiff_orientation(const uint8_t *tiff, size_t n)
{
    enum { HEAD = 8, ENTRY = 12, ORIENTATION = 0x112 };
    int      little;
    uint64_t at, entries;

    if (n < HEAD || (memcmp(tiff, "II*", 4) != 0 && memcmp(tiff, "II\0*", 4) != 0 &&
                     memcmp(tiff, "MM*", 4) != 0 && memcmp(tiff, "MM\0*", 4) != 0)) {
        return 0;
    }
    little = tiff[0] == 'I';
    at     = number(tiff + 4, 4, little);
    if (at < HEAD || at > n - 2) {
        return 0;
    }
    entries = number(tiff + at, 2, little);
    at += 2;
    for (; entries > 0 && n - at >= ENTRY; entries--, at += ENTRY) {
        if (number(tiff + at, 2, little) == ORIENTATION) {
            const uint64_t value = value_of(tiff, n, tiff + at, little);

            if (value != UINT64_MAX) {
                return value <= 8 ? (int)value : 0;
            }
        }
    }
    return 0;
}

int tw_exif_orientation(const uint8_t *bytes, size_t n)
{
    enum { HEAD = 6 };

    return n >= HEAD && memcmp(bytes, "Exif\0", HEAD) == 0
               ? tw_tiff_orientation(bytes + HEAD, n - HEAD)
               : 0;
}

/* An orientation is: are stored rows seen as columns, and from which end are rows and columns
 * counted? 1 to 8, as the EXIF standard names the sides of the first row and column. */
int tw_orientation_turns(int orientation)
{
    return orientation >= 5;
}

static int rows_from_end(int orientation)
{
    return orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
}

static int columns_from_end(int orientation)
{
    return orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
}

/* What of the stored image the region is; h and w: the whole image, as it is seen. */
tw_region_t tw_orientation_region(tw_region_t seen, size_t h, size_t w, int orientation)
{
    tw_region_t stored = seen;

    if (tw_orientation_turns(orientation)) {
        stored = (tw_region_t){.top = seen.left, .left = seen.top, .h = seen.w, .w = seen.h};
    }
    if (rows_from_end(orientation)) {
        stored.top = (tw_orientation_turns(orientation) ? w : h) - stored.top - stored.h;
    }
    if (columns_from_end(orientation)) {
        stored.left = (tw_orientation_turns(orientation) ? h : w) - stored.left - stored.w;
    }
    return stored;
}

/* ---- rows into planes ---------------------------------------------------------------------- */

int tw_sink_open(tw_sink_t *sink, tw_buffer_t *strip, tw_region_t seen, int orientation)
{
    const ptrdiff_t w = (ptrdiff_t)seen.w;

    sink->across = tw_orientation_turns(orientation) ? w : 1;
    sink->down   = tw_orientation_turns(orientation) ? 1 : w;
    if (rows_from_end(orientation)) {
        sink->origin += (sink->stored.h - 1) * (size_t)sink->down;
        sink->down = -sink->down;
    }
    if (columns_from_end(orientation)) {
        sink->origin += (sink->stored.w - 1) * (size_t)sink->across;
        sink->across = -sink->across;
    }
    if (orientation != 1 && orientation != 4) {
        sink->strip = tw_buffer_need(strip, sink->channels * TW_SINK_STRIP * sink->stored.w);
        return sink->strip != NULL ? 0 : -1;
    }
    return 0;
}

static uint8_t *plane_of(const tw_sink_t *sink, size_t c)
{
    return sink->pixels + c * sink->stored.h * sink->stored.w;
}

/* Where row i of a plane is to be written; tw_sink_...() then calls row_done(). */
static uint8_t *line_of(const tw_sink_t *sink, size_t c, size_t i)
{
    if (sink->strip == NULL) {
        return plane_of(sink, c) + ((ptrdiff_t)sink->origin + (ptrdiff_t)i * sink->down);
    }
    return sink->strip + (c * TW_SINK_STRIP + i % TW_SINK_STRIP) * sink->stored.w;
}

static void mirror(const tw_sink_t *sink, size_t c, size_t i)
{
    const uint8_t *line = line_of(sink, c, i);
    uint8_t       *end  = plane_of(sink, c) + ((ptrdiff_t)sink->origin + (ptrdiff_t)i * sink->down);

    for (size_t x = 0; x < sink->stored.w; x++) {
        end[-(ptrdiff_t)x] = line[x];
    }
}

/* Rows first .. last of the strip become columns: as many bytes side by side as it has rows. */
static void turn(const tw_sink_t *sink, size_t c, size_t first, size_t last)
{
    const uint8_t *lines = line_of(sink, c, first);
    uint8_t *at = plane_of(sink, c) + ((ptrdiff_t)sink->origin + (ptrdiff_t)first * sink->down);

    for (size_t x = 0; x < sink->stored.w; x++) {
        for (size_t k = 0; k <= last - first; k++) {
            at[(ptrdiff_t)k * sink->down + (ptrdiff_t)x * sink->across] =
                lines[k * sink->stored.w + x];
        }
    }
}

static void row_done(const tw_sink_t *sink, size_t planes_written, size_t i)
{
    const int strip_done = i % TW_SINK_STRIP == TW_SINK_STRIP - 1 || i == sink->stored.h - 1;

    for (size_t c = 0; sink->strip != NULL && c < planes_written; c++) {
        if (sink->down != 1 && sink->down != -1) {
            mirror(sink, c, i);
        } else if (strip_done) {
            turn(sink, c, i - i % TW_SINK_STRIP, i);
        }
    }
}

static inline void luma(const uint8_t *restrict rgb, size_t n, uint8_t *restrict grey)
{
    for (size_t i = 0; i < n; i++) {
        grey[i] = (uint8_t)((19595u * rgb[3 * i] + 38470u * rgb[3 * i + 1] +
                             7471u * rgb[3 * i + 2] + 32768u) >>
                            16);
    }
}

void tw_sink_rgb(tw_sink_t *sink, size_t i, const uint8_t *rgb)
{
    if (sink->channels == 1) {
        luma(rgb, sink->stored.w, line_of(sink, 0, i));
    } else {
        sink->loops->planes(rgb, sink->stored.w, line_of(sink, 0, i), line_of(sink, 1, i),
                            line_of(sink, 2, i));
    }
    row_done(sink, sink->channels, i);
}

void tw_sink_grey(tw_sink_t *sink, size_t i, const uint8_t *grey)
{
    memcpy(line_of(sink, 0, i), grey, sink->stored.w);
    row_done(sink, 1, i);
    sink->is_grey = 1;
}
