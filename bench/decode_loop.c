/* SPDX-License-Identifier: BSD-3-Clause
 * bench/decode_loop.c - what no loader can beat by much: libjpeg-turbo alone, decoding JPEG files
 * from memory into rows of RGB that are thrown away; for loader.sh.
 *
 *     bin/decode-loop SECONDS SIDE FILE...
 *
 * One thread. A file is decoded at the smallest of 1/8, 1/4, 1/2 and 1 of its size whose shorter
 * side is not below SIDE. Prints "decode: X images/s", in processor time.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <jpeglib.h>

typedef struct file {
    unsigned char *bytes;
    size_t         n;
} file_t;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static file_t read_file(const char *path)
{
    FILE  *stream = fopen(path, "rb");
    file_t file   = {NULL, 0};
    long   size;

    if (stream == NULL || fseek(stream, 0, SEEK_END) != 0 || (size = ftell(stream)) <= 0 ||
        (file.bytes = malloc((size_t)size)) == NULL) {
        perror(path);
        exit(1);
    }
    rewind(stream);
    file.n = fread(file.bytes, 1, (size_t)size, stream);
    fclose(stream);
    return file;
}

/* Rows go to an address that is not aligned to a vector: libjpeg-turbo's colour conversion then
 * writes through the cache, which is faster here. */
static void decode(const file_t *file, unsigned side, unsigned char *row)
{
    struct jpeg_decompress_struct info;
    struct jpeg_error_mgr         errors;
    unsigned                      shorter;

    info.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&info);
    jpeg_mem_src(&info, file->bytes, file->n);
    jpeg_read_header(&info, TRUE);
    info.out_color_space = JCS_RGB;
    shorter = info.image_height < info.image_width ? info.image_height : info.image_width;
    for (info.scale_denom = 8, info.scale_num = 1;
         info.scale_num < 8 && (shorter * info.scale_num + 7) / 8 < side; info.scale_num *= 2) {
    }
    jpeg_start_decompress(&info);
    while (info.output_scanline < info.output_height) {
        JSAMPROW rows[1] = {row + 1};

        jpeg_read_scanlines(&info, rows, 1);
    }
    jpeg_finish_decompress(&info);
    jpeg_destroy_decompress(&info);
}

int main(int argc, char **argv)
{
    const int      n = argc - 3;
    unsigned char *row;
    file_t        *files;
    size_t         images = 0;
    double         start;

    if (n < 1) {
        fputs("usage: decode-loop SECONDS SIDE FILE...\n", stderr);
        return 2;
    }
    files = calloc((size_t)n, sizeof(*files));
    row   = malloc((1 << 16) * 3 + 1);
    if (files == NULL || row == NULL) {
        return 1;
    }
    for (int i = 0; i < n; i++) {
        files[i] = read_file(argv[3 + i]);
    }
    start = now();
    while (now() - start < atof(argv[1])) {
        for (int i = 0; i < n; i++) {
            decode(&files[i], (unsigned)atoi(argv[2]), row);
        }
        images += (size_t)n;
    }
    printf("decode: %.0f images/s\n", (double)images / (now() - start));
    for (int i = 0; i < n; i++) {
        free(files[i].bytes);
    }
    free(files);
    free(row);
    return 0;
}
