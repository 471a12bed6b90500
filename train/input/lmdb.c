/* SPDX-License-Identifier: BSD-3-Clause
 * input/lmdb.c - a database that thinwire-train pack has made: "lmdb:DIR", DIR/data.mdb, or the
 * file itself. docs/image-records.md has its format.
 *
 * The file is mapped, for reading only and without LMDB's lock file: nobody writes to it, since a
 * packer renames a whole one to its place. Images are handed out where they lie. Neither records
 * nor the pages around them are believed: LMDB, which believes its pages, does not read it
 * (input/lmdb_file.c).
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "train/input/lmdb_file.h"
#include "train/input/record.h"
#include "train/input/sources.h"

#define TW_LMDB_FORM "lmdb:DIR"

enum { PATH = 4096, AHEAD = 1 << 14 };

/* Bytes of a file of which not all stay in the memory of this process, and of how many at a time: a
 * record and what the system maps around it. */
#define LARGE  ((uint64_t)1 << 28)
#define KEPT   ((uint64_t)1 << 26)
#define AROUND ((uint64_t)1 << 18)

typedef struct tw_lmdb {
    tw_lmdb_file_t    file;
    size_t            page;        /* bytes of a page of memory             */
    int               large;       /* the file is: see let_go()             */
    _Atomic uintptr_t first, last; /* addresses between which records lie   */
    _Atomic uint64_t  mapped;      /* bytes since pages have been let go    */
    char              path[PATH];  /* of the file                           */
} tw_lmdb_t;

static int unfit(const tw_lmdb_t *db, const char *why, tw_problem_t *problem)
{
    return tw_problem_set(problem, "cannot read '%s': %s", db->path, why);
}

/* ---- opening -------------------------------------------------------------------------------- */

/* The file in a folder, or the file itself. */
static int find_file(tw_lmdb_t *db, const char *path, tw_problem_t *problem)
{
    static const char file[] = "/data.mdb", part[] = ".part";
    struct stat       info;
    int               error;

    if (strlen(path) + sizeof(file) + sizeof(part) > sizeof(db->path)) {
        return tw_problem_set(problem, "the path is too long: '%.200s...'", path);
    }
    strcpy(db->path, path);
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        strcat(db->path, file);
    }
    if (stat(db->path, &info) == 0) {
        return S_ISREG(info.st_mode) ? 0 : unfit(db, "it is not a regular file", problem);
    }
    error = errno;
    strcat(db->path, part);
    if (error == ENOENT && stat(db->path, &info) == 0) {
        return unfit(db,
                     "its packing was not completed: the same thinwire-train pack goes on with it",
                     problem);
    }
    db->path[strlen(db->path) - strlen(part)] = '\0';
    return unfit(db, strerror(error), problem);
}

static int map_file(tw_lmdb_t *db, tw_problem_t *problem)
{
    const int   fd  = open(db->path, O_RDONLY | O_CLOEXEC);
    const char *why = fd < 0 ? strerror(errno) : tw_lmdb_file_open(&db->file, fd);

    db->large = db->file.bytes > LARGE;
    if (fd >= 0) {
        close(fd);
    }
    return why == NULL ? 0 : unfit(db, why, problem);
}

static int copy_part(tw_source_t *source, const tw_stored_t *stored, tw_subset_t part,
                     tw_problem_t *problem)
{
    if (tw_source_part_create(&source->part[part], stored->n[part], problem) != 0) {
        return -1;
    }
    for (size_t i = 0; i < stored->n[part]; i++) {
        source->part[part].labels[i] = tw_stored_label(stored, part, i);
    }
    return 0;
}

static int copy_names(tw_source_t *source, const tw_stored_t *stored, tw_problem_t *problem)
{
    const char *name = stored->names;

    if (stored->names_n == 0) {
        return 0;
    }
    source->class_names = calloc(stored->classes, sizeof(*source->class_names));
    if (source->class_names == NULL) {
        return tw_problem_set(problem, "out of memory");
    }
    for (size_t k = 0; k < stored->classes; k++, name += strlen(name) + 1) {
        source->class_names[k] = strdup(name);
        if (source->class_names[k] == NULL) {
            return tw_problem_set(problem, "out of memory");
        }
    }
    return 0;
}

static int read_header(tw_source_t *source, tw_problem_t *problem)
{
    const tw_lmdb_t *db = source->state;
    tw_stored_t      stored;
    const uint8_t   *value;
    size_t           n   = 0;
    const char      *why = tw_lmdb_file_get(&db->file, &tw_stored_stamp_key, 1, &value, &n);

    if (why == NULL && value != NULL) {
        why = "its packing was not completed";
    }
    if (why == NULL) {
        why = tw_lmdb_file_get(&db->file, &tw_stored_header_key, 1, &value, &n);
    }
    if (why == NULL && value == NULL) {
        why = "it holds no header: accepted is what thinwire-train pack has made";
    }
    if (why != NULL) {
        return unfit(db, why, problem);
    }
    why = tw_stored_take_header(value, n, &stored);
    if (why == NULL && db->file.main.entries != stored.n[0] + stored.n[1] + 1) {
        why = "it counts other images than there are";
    }
    if (why != NULL) {
        return tw_problem_set(problem, "cannot read '%s': its header: %s", db->path, why);
    }
    source->shape    = stored.shape;
    source->classes  = stored.classes;
    source->manifest = tw_stored_hash(&stored);
    return copy_part(source, &stored, TW_SUBSET_TRAIN, problem) == 0 &&
                   copy_part(source, &stored, TW_SUBSET_TEST, problem) == 0
               ? copy_names(source, &stored, problem)
               : -1;
}

static int open_source(tw_source_t *source, const char *spec, const char *arguments,
                       tw_problem_t *problem)
{
    tw_lmdb_t *db = calloc(1, sizeof(*db));

    if (db == NULL) {
        return tw_problem_set(problem, "out of memory");
    }
    source->state = db;
    db->page      = (size_t)sysconf(_SC_PAGESIZE);
    db->first     = UINTPTR_MAX;
    if (*arguments == '\0') {
        return tw_problem_set(problem, "--data %s: accepted is " TW_LMDB_FORM, spec);
    }
    return find_file(db, arguments, problem) == 0 && map_file(db, problem) == 0
               ? read_header(source, problem)
               : -1;
}

static void close_source(tw_source_t *source)
{
    tw_lmdb_t *db = source->state;

    if (db != NULL) {
        tw_lmdb_file_close(&db->file);
    }
    free(db);
    source->state = NULL;
}

/* ---- images --------------------------------------------------------------------------------- */

static void name_of(const tw_source_t *source, tw_subset_t part, uint32_t index, char *name,
                    size_t size)
{
    const tw_lmdb_t *db = source->state;

    snprintf(name, size, "%s image %u of '%s'", part == TW_SUBSET_TRAIN ? "training" : "test",
             (unsigned)index, db->path);
}

static int broken(const tw_source_t *source, tw_subset_t part, uint32_t index, const char *why,
                  tw_problem_t *problem)
{
    char name[PATH + 64];

    name_of(source, part, index, name, sizeof(name));
    return tw_problem_set(problem, "cannot read %s: %s", name, why);
}

/* Have a record read from the disk at once, not a page at a time. A hint only. */
static void ask_for(const tw_lmdb_t *db, const uint8_t *value, size_t n)
{
    const uintptr_t at = (uintptr_t)value, begin = at / db->page * db->page;

    if (n >= AHEAD && n <= TW_SOURCE_FILE_MAX) {
        (void)madvise((void *)begin, at - begin + n, MADV_WILLNEED);
    }
}

/* A record of a large database is about to be read. */
static void count(tw_lmdb_t *db, const uint8_t *value, size_t n)
{
    const uintptr_t at = (uintptr_t)value / db->page * db->page;
    uintptr_t       was;

    was = atomic_load(&db->first);
    while (at < was && !atomic_compare_exchange_weak(&db->first, &was, at)) {
    }
    was = atomic_load(&db->last);
    while (at > was && !atomic_compare_exchange_weak(&db->last, &was, at)) {
    }
    atomic_fetch_add(&db->mapped, n + AROUND);
}

/* Pages that have been read leave this process, or a large database would fill the memory that is
 * counted as its own. They stay in the system's cache, and who still reads them gets them again.
 * The thread that finds that there are enough of them does it for all. */
static void let_go(tw_lmdb_t *db)
{
    uint64_t mapped = atomic_load(&db->mapped);

    if (mapped > KEPT && atomic_compare_exchange_strong(&db->mapped, &mapped, 0)) {
        const uintptr_t first = atomic_load(&db->first);

        (void)madvise((void *)first, atomic_load(&db->last) + db->page - first, MADV_DONTNEED);
    }
}

/* What is wrong with a record, NULL for nothing. */
static const char *lmdb_take(const tw_source_t *source, const uint8_t *value, size_t n,
                             uint16_t label, tw_image_record_t *record)
{
    tw_image_record_t is;
    uint16_t          its_label;
    const char       *why = tw_stored_take(value, n, &is, &its_label);

    if (why == NULL && its_label != label) {
        why = "its label is not that of the header";
    }
    if (why == NULL && !tw_stored_fits(source->shape, &is)) {
        why = "its shape is not that of the header";
    }
    if (why == NULL) {
        *record = is;
    }
    return why;
}

static int read_image(const tw_source_t *source, tw_subset_t part, uint32_t index,
                      tw_source_reader_t *reader, tw_image_record_t *record, tw_problem_t *problem)
{
    tw_lmdb_t     *db = source->state;
    uint8_t        key[TW_STORED_KEY];
    const uint8_t *value;
    const char    *why;
    size_t         n;

    (void)reader;
    if (db->large) {
        let_go(db);
    }
    tw_stored_key(part, index, key);
    why = tw_lmdb_file_get(&db->file, key, sizeof(key), &value, &n);
    if (why == NULL && value == NULL) {
        why = "the database has no such image";
    }
    if (why != NULL) {
        return broken(source, part, index, why, problem);
    }
    if (db->large) {
        count(db, value, n);
    }
    ask_for(db, value, n);
    why = lmdb_take(source, value, n, source->part[part].labels[index], record);
    return why == NULL ? 0 : broken(source, part, index, why, problem);
}

const tw_source_ops_t tw_source_lmdb = {
    .name    = "lmdb",
    .form    = TW_LMDB_FORM,
    .help    = "images in an LMDB database that thinwire-train pack has made of another source",
    .open    = open_source,
    .read    = read_image,
    .name_of = name_of,
    .close   = close_source,
};
