/* SPDX-License-Identifier: BSD-3-Clause
 * tests/fuzz/target.c - see target.h.
 */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/target.h"

void fuzz_check(bool kept, const char *promise)
{
    if (!kept) {
        fprintf(stderr, "broken promise: %s\n", promise);
        abort();
    }
}

static void silent(void *arg, tw_log_level_t level, int rank, const char *line)
{
    (void)arg;
    (void)level;
    (void)rank;
    (void)line;
}

tw_context_t *fuzz_context(void)
{
    static tw_context_t *context;

    if (context == NULL) {
        fuzz_check(tw_context_create(&context) == TW_OK, "there is a context");
        tw_context_set_log(context, silent, NULL);
    }
    return context;
}

const char *fuzz_file(const void *data, size_t size)
{
    static int  fd = -1;
    static char name[64];

    if (fd < 0) {
        fd = memfd_create("fuzz", 0);
        snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    }
    fuzz_check(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size,
               "there is memory for a file");
    return name;
}

char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    fuzz_check(text != NULL, "there is memory");
    if (size > 0) {
        memcpy(text, data, size);
    }
    text[size] = '\0';
    return text;
}

size_t fuzz_seed_text(uint8_t *data, const char *text)
{
    const size_t size = strlen(text);

    fuzz_check(size > 0 && size <= FUZZ_MOST, "a seed has a size");
    memcpy(data, text, size);
    return size;
}

uint8_t fuzz_byte(fuzz_bytes_t *from)
{
    if (from->left == 0) {
        return 0;
    }
    from->left--;
    return *from->data++;
}

uint32_t fuzz_word(fuzz_bytes_t *from)
{
    const uint32_t low = fuzz_byte(from);

    return low | (uint32_t)fuzz_byte(from) << 8;
}

void fuzz_fill(const fuzz_bytes_t *from, void *to, size_t size)
{
    uint8_t *at = to;

    if (from->left == 0 && size > 0) {
        memset(to, 0, size);
        return;
    }
    for (size_t i = 0; i < size; i++) {
        at[i] = from->data[i % from->left];
    }
}
