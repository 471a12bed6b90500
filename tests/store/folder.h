/* SPDX-License-Identifier: BSD-3-Clause
 * tests/store/folder.h - a store of files in a folder.
 */
#ifndef TW_TESTS_STORE_FOLDER_H
#define TW_TESTS_STORE_FOLDER_H

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <thinwire/store.h>

static inline void t_folder_path(const char *folder, const char *key, char *path, size_t size)
{
    const size_t at = (size_t)snprintf(path, size, "%s/", folder);

    snprintf(path + at, size - at, "%s", key);
    for (char *c = path + at; *c != '\0'; c++) {
        *c = *c == '/' ? '.' : *c;
    }
}

/* A file is there when all of it is. */
static inline int t_folder_put(void *user, const char *key, const void *bytes, size_t size)
{
    char  path[500], whole[540];
    FILE *file;

    t_folder_path(user, key, path, sizeof(path));
    snprintf(whole, sizeof(whole), "%s.%ld", path, (long)getpid());
    file = fopen(whole, "w");
    if (file == NULL || fwrite(bytes, 1, size, file) != size) {
        return 1;
    }
    return fclose(file) != 0 || rename(whole, path) != 0;
}

static inline int t_folder_get(void *user, const char *key, void *bytes, size_t size,
                               double seconds)
{
    const time_t until = time(NULL) + (seconds > 0.0 ? (time_t)seconds + 1 : 60);
    char         path[500];
    FILE        *file = NULL;
    size_t       got;

    t_folder_path(user, key, path, sizeof(path));
    while ((file = fopen(path, "r")) == NULL && time(NULL) <= until) {
        usleep(1000);
    }
    if (file == NULL) {
        return 1;
    }
    got = fread(bytes, 1, size, file);
    return (fgetc(file) != EOF) | fclose(file) | (got != size);
}

static inline tw_store_t t_folder(char *folder)
{
    return (tw_store_t){folder, t_folder_put, t_folder_get};
}

#endif /* TW_TESTS_STORE_FOLDER_H */
