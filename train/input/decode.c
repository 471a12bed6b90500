/* SPDX-License-Identifier: BSD-3-Clause
 * input/decode.c - see decode.h: which decoder takes a file, and what of it.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "train/input/decode_inside.h"

struct tw_decoder {
    const tw_pixels_t *pixels;
    tw_buffer_t        rows;  /* as libjpeg and libpng give them */
    tw_buffer_t        strip; /* of images to be turned          */
};

tw_decoder_t *tw_decoder_create(const tw_pixels_t *pixels)
{
    tw_decoder_t *decoder = calloc(1, sizeof(*decoder));

    if (decoder != NULL) {
        decoder->pixels = pixels;
    }
    return decoder;
}

void tw_decoder_destroy(tw_decoder_t *decoder)
{
    if (decoder != NULL) {
        tw_buffer_destroy(&decoder->rows);
        tw_buffer_destroy(&decoder->strip);
        free(decoder);
    }
}

uint64_t tw_decoder_grown(const tw_decoder_t *decoder)
{
    return decoder->rows.grown + decoder->strip.grown;
}

size_t tw_decode_scaled(size_t size, int eighths)
{
    return size / 8 * (size_t)eighths + (size % 8 * (size_t)eighths + 7) / 8;
}

/* ---- files --------------------------------------------------------------------------------- */

static int is_jpeg(const uint8_t *bytes, size_t n)
{
    return n >= 3 && bytes[0] == 0xff && bytes[1] == 0xd8 && bytes[2] == 0xff;
}

/* The facts with height and width exchanged: stored from seen and seen from stored. */
static tw_file_facts_t turned(const tw_file_facts_t *facts)
{
    tw_file_facts_t other = *facts;

    if (tw_orientation_turns(facts->orientation)) {
        other.h = facts->w;
        other.w = facts->h;
    }
    return other;
}

int tw_decode_facts(tw_decoder_t *decoder, const uint8_t *bytes, size_t n, uint64_t most,
                    tw_file_facts_t *facts, tw_problem_t *problem)
{
    tw_file_facts_t stored = {.orientation = 1, .jpeg = is_jpeg(bytes, n)};
    int             status;

    (void)decoder;
    if (!stored.jpeg && !tw_png_is(bytes, n)) {
        return tw_problem_set(problem, "is neither a JPEG nor a PNG file");
    }
    status = stored.jpeg ? tw_jpeg_header(bytes, n, &stored, problem)
                         : tw_png_header(bytes, n, &stored, problem);
    if (status != 0) {
        return -1;
    }
    stored = turned(&stored);
    if ((uint64_t)stored.h * stored.w > most) {
        return tw_problem_set(problem,
                              "%zux%zu pixels (height x width); accepted are up to %llu pixels",
                              stored.h, stored.w, (unsigned long long)most);
    }
    *facts = stored;
    return 0;
}

void tw_decode_as_stored(tw_file_facts_t *facts)
{
    *facts             = turned(facts);
    facts->orientation = 1;
}

static int is_inside(tw_region_t region, size_t h, size_t w)
{
    return region.h > 0 && region.w > 0 && region.top < h && region.left < w &&
           region.h <= h - region.top && region.w <= w - region.left;
}

int tw_decode_region(tw_decoder_t *decoder, const uint8_t *bytes, size_t n,
                     const tw_file_facts_t *facts, size_t channels, int eighths, tw_region_t region,
                     tw_buffer_t *buffer, tw_problem_t *problem)
{
    const size_t h = tw_decode_scaled(facts->h, eighths), w = tw_decode_scaled(facts->w, eighths);
    const size_t plane           = region.h * region.w;
    const tw_file_facts_t stored = turned(facts);
    tw_sink_t             sink   = {.loops = decoder->pixels, .channels = channels};
    int                   status;

    if (!is_inside(region, h, w) || (!facts->jpeg && eighths != 8)) {
        return tw_problem_set(problem, "has no such part at %d/8 of its size", eighths);
    }
    sink.stored = tw_orientation_region(region, h, w, facts->orientation);
    sink.pixels = tw_buffer_need(buffer, channels * plane);
    if (sink.pixels == NULL ||
        tw_sink_open(&sink, &decoder->strip, region, facts->orientation) != 0) {
        return tw_problem_machine(problem, "no memory for %zux%zu pixels", region.h, region.w);
    }
    status = facts->jpeg ? tw_jpeg_rows(&decoder->rows, bytes, n, &stored, eighths, &sink, problem)
                         : tw_png_rows(&decoder->rows, bytes, n, &stored, &sink, problem);
    for (size_t c = 1; status == 0 && sink.is_grey && c < channels; c++) {
        memcpy(sink.pixels + c * plane, sink.pixels, plane);
    }
    return status;
}
