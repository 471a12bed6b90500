/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/source_rig.c - see source_rig.h.
 */
#include "config.h"

#include <check.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/train/decode_files.h"
#include "tests/train/source_rig.h"

static char         root[64];
static tw_problem_t problem;

int rig_skip;

void rig_create(void)
{
    strcpy(root, "/tmp/thinwire-sources.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *place)
{
    (void)info;
    (void)type;
    (void)place;
    return remove(path);
}

void rig_remove(void)
{
    nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *rig_path(const char *format, ...)
{
    static char paths[16][8192];
    static int  next;
    char       *path = paths[next++ % 16];
    const int   n    = snprintf(path, sizeof(paths[0]), "%s/", root);
    va_list     args;

    va_start(args, format);
    vsnprintf(path + n, sizeof(paths[0]) - (size_t)n, format, args);
    va_end(args);
    return path;
}

void rig_folder(const char *name)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s", rig_path("%s", name));
    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        mkdir(path, 0777);
        *at = '/';
    }
    mkdir(path, 0777);
}

void rig_write(const char *name, const void *bytes, size_t n)
{
    char  folder[4096];
    FILE *file;

    snprintf(folder, sizeof(folder), "%s", name);
    if (strrchr(folder, '/') != NULL) {
        *strrchr(folder, '/') = '\0';
        rig_folder(folder);
    }
    file = fopen(rig_path("%s", name), "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, n, file), n);
    ck_assert_int_eq(fclose(file), 0);
}

void rig_text(const char *name, const char *text)
{
    rig_write(name, text, strlen(text));
}

/* What it is follows from the last letter: .jpg and .JPEG, or .png. */
static void write_image(const char *name, size_t h, size_t w)
{
    static uint8_t bytes[1 << 16];
    const char     last = name[strlen(name) - 1];
    plain_t        rgb = {0}, grey = {0};
    const size_t   n = last == 'g' && name[strlen(name) - 2] == 'n'
                           ? made_png(&made_pngs[3], h, w, bytes, sizeof(bytes), &rgb, &grey)
                           : made_jpeg(&made_jpegs[6], h, w, NULL, 0, bytes, sizeof(bytes));

    free(rgb.pixels);
    free(grey.pixels);
    rig_write(name, bytes, n);
}

void rig_images(const char *folder, const char *const *names, size_t n)
{
    char name[4096];

    for (size_t k = 0; k < n; k++) {
        snprintf(name, sizeof(name), "%s/%s", folder, names[k]);
        write_image(name, 5 + k % 7, 9 + k % 11);
    }
}

void rig_many(const char *folder, size_t n)
{
    char        name[32];
    const char *names[] = {name};

    for (size_t k = 0; k < n; k++) {
        snprintf(name, sizeof(name), "%05zu.png", k);
        rig_images(folder, names, 1);
    }
}

uint8_t *rig_read(const char *name, size_t *n_p)
{
    FILE       *file = fopen(rig_path("%s", name), "rb");
    uint8_t    *bytes;
    struct stat info;

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fstat(fileno(file), &info), 0);
    bytes = malloc((size_t)info.st_size + 1);
    ck_assert_ptr_nonnull(bytes);
    *n_p = fread(bytes, 1, (size_t)info.st_size, file);
    ck_assert_int_eq((int)*n_p, (int)info.st_size);
    fclose(file);
    return bytes;
}

const char *rig_open(tw_source_t *source, const char *spec)
{
    char whole[16384];
    int  n = 0, status;

    for (; *spec != '\0'; spec++) {
        n += snprintf(whole + n, sizeof(whole) - (size_t)n, *spec == '%' ? "%s" : "%.1s",
                      *spec == '%' ? root : spec);
    }
    whole[n] = '\0';
    problem  = (tw_problem_t){0};
    status   = tw_source_open(source, whole, rig_skip, NULL, &problem);
    ck_assert_int_eq(status, problem.set ? -1 : 0);
    return problem.text;
}

void rig_opened(tw_source_t *source, const char *spec)
{
    const char *text = rig_open(source, spec);

    if (*text != '\0') {
        ck_abort_msg("%s: %s", spec, text);
    }
    for (int part = 0; part < TW_SUBSETS; part++) {
        ck_assert_uint_gt(source->part[part].n, 0);
        for (size_t i = 0; i < source->part[part].n; i++) {
            ck_assert_uint_lt(source->part[part].labels[i], source->classes);
        }
    }
}

void rig_says(const char *text, const char *a, const char *b)
{
    if (strstr(text, a) == NULL || strstr(text, b) == NULL || strchr(text, '\n') != NULL) {
        ck_abort_msg("wanted '%s' and '%s', got '%s'", a, b, text);
    }
}

void rig_refused(const char *spec, const char *a, const char *b)
{
    tw_source_t source;

    rig_says(rig_open(&source, spec), a, b);
}

const char *rig_name(const tw_source_t *source, tw_subset_t part, uint32_t index)
{
    static char name[4096];

    source->ops->name_of(source, part, index, name, sizeof(name));
    return strncmp(name, root, strlen(root)) == 0 ? name + strlen(root) + 1 : name;
}

void rig_has(const tw_source_t *source, tw_subset_t part, const char *const *names,
             const uint16_t *labels, size_t n)
{
    tw_source_reader_t reader = {.buffer = {.bytes = NULL}};

    ck_assert_uint_eq(source->part[part].n, n);
    for (uint32_t i = 0; i < n; i++) {
        tw_image_record_t record;
        size_t            want;
        uint8_t          *bytes = rig_read(names[i], &want);

        ck_assert_str_eq(rig_name(source, part, i), names[i]);
        ck_assert_uint_eq(source->part[part].labels[i], labels[i]);
        if (source->ops->read(source, part, i, &reader, &record, &problem) != 0) {
            ck_abort_msg("%s", problem.text);
        }
        ck_assert_int_eq(record.file, 1);
        ck_assert_uint_eq(record.shape.c + record.shape.h + record.shape.w, 0);
        ck_assert_uint_eq(record.n, want);
        ck_assert_mem_eq(record.bytes, bytes, want);
        free(bytes);
    }
    tw_reader_destroy(&reader);
}

static void same_image(const tw_source_t *a, const tw_source_t *b, tw_subset_t part, uint32_t index,
                       tw_source_reader_t reader[2])
{
    tw_image_record_t x, y;

    if (a->ops->read(a, part, index, &reader[0], &x, &problem) != 0 ||
        b->ops->read(b, part, index, &reader[1], &y, &problem) != 0) {
        ck_abort_msg("%s", problem.text);
    }
    ck_assert_int_eq(x.file, y.file);
    ck_assert_uint_eq(x.n, y.n);
    ck_assert_mem_eq(x.bytes, y.bytes, x.n);
    ck_assert_uint_eq(x.shape.c, y.shape.c);
    ck_assert_uint_eq(x.shape.h, y.shape.h);
    ck_assert_uint_eq(x.shape.w, y.shape.w);
}

void rig_same(const tw_source_t *a, const tw_source_t *b)
{
    tw_source_reader_t reader[2] = {{.buffer = {.bytes = NULL}}};

    problem = (tw_problem_t){0};
    ck_assert_uint_eq(a->classes, b->classes);
    ck_assert_int_eq(a->class_names == NULL, b->class_names == NULL);
    for (size_t k = 0; a->class_names != NULL && k < a->classes; k++) {
        ck_assert_str_eq(a->class_names[k], b->class_names[k]);
    }
    for (tw_subset_t part = 0; part < TW_SUBSETS; part++) {
        ck_assert_uint_eq(a->part[part].n, b->part[part].n);
        ck_assert_mem_eq(a->part[part].labels, b->part[part].labels,
                         a->part[part].n * sizeof(uint16_t));
        for (uint32_t i = 0; i < a->part[part].n; i++) {
            same_image(a, b, part, i, reader);
        }
    }
    tw_reader_destroy(&reader[0]);
    tw_reader_destroy(&reader[1]);
}
