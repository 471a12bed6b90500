/* SPDX-License-Identifier: BSD-3-Clause
 * tools/program.c - searching PATH, and reading an ELF file without trusting it: every offset and
 * length in it may be wrong. Only files of this machine's word size and byte order are looked at.
 */
#include "config.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/program.h"

#define HEADERS_MAX 128  /* program headers; a linker makes about a dozen  */
#define ENTRIES_MAX 4096 /* of the dynamic section                         */
#define NAME_LENGTH 64   /* of a library, as far as it is compared         */

typedef ElfW(Ehdr) ehdr_t;
typedef ElfW(Phdr) phdr_t;
typedef ElfW(Dyn) dyn_t;

typedef struct elf_file {
    int    fd;
    size_t headers;
    phdr_t header[HEADERS_MAX];
} elf_file_t;

/* 0, or why this file cannot be executed. */
static int check_executable(const char *path)
{
    struct stat facts;

    if (stat(path, &facts) != 0) {
        return errno == EACCES ? EACCES : ENOENT;
    }
    return S_ISREG(facts.st_mode) && access(path, X_OK) == 0 ? 0 : EACCES;
}

int program_find(const char *name, char *path, size_t size)
{
    const char *search = getenv("PATH");
    int         result = ENOENT;

    if (strchr(name, '/') != NULL) {
        snprintf(path, size, "%s", name);
        return check_executable(path);
    }
    if (search == NULL) {
        search = "/bin:/usr/bin"; /* as in execvp() */
    }
    while (search != NULL && name[0] != '\0') {
        const char *end    = strchr(search, ':');
        const int   length = end != NULL ? (int)(end - search) : (int)strlen(search);
        const int n = snprintf(path, size, "%.*s%s%s", length, search, length > 0 ? "/" : "", name);
        const int found = n > 0 && (size_t)n < size ? check_executable(path) : ENOENT;

        if (found == 0) {
            return 0;
        }
        result = found == EACCES ? EACCES : result;
        search = end != NULL ? end + 1 : NULL;
    }
    return result;
}

int program_beside(const char *name, char *folder, size_t size)
{
    char          path[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    char         *slash  = path;
    int           n      = -1;

    path[length > 0 ? length : 0] = '\0';
    for (int i = 0; i < 2 && slash != NULL; i++) { /* bin/thinwire */
        slash = strrchr(path, '/');
        if (slash != NULL) {
            *slash = '\0';
        }
    }
    if (slash != NULL) {
        n = snprintf(folder, size, "%s/%s", path, name);
    }
    if (n < 0 || (size_t)n >= size) {
        folder[0] = '\0';
        return -1;
    }
    return 0;
}

static int read_at(int fd, void *to, size_t size, uint64_t offset)
{
    return offset <= INT64_MAX && pread(fd, to, size, (off_t)offset) == (ssize_t)size ? 0 : -1;
}

/* Read the program headers; -1 if this is no ELF program of this kind of machine. */
static int open_headers(elf_file_t *elf)
{
    const unsigned char word = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    const unsigned char order =
        __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
    ehdr_t header;

    if (read_at(elf->fd, &header, sizeof(header), 0) != 0 ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != word ||
        header.e_ident[EI_DATA] != order || (header.e_type != ET_EXEC && header.e_type != ET_DYN) ||
        header.e_phentsize != sizeof(phdr_t) || header.e_phnum > HEADERS_MAX) {
        return -1;
    }
    elf->headers = header.e_phnum;
    return read_at(elf->fd, elf->header, elf->headers * sizeof(elf->header[0]), header.e_phoff);
}

static const phdr_t *find_header(const elf_file_t *elf, uint32_t type)
{
    for (size_t i = 0; i < elf->headers; i++) {
        if (elf->header[i].p_type == type) {
            return &elf->header[i];
        }
    }
    return NULL;
}

/* Where in the file an address of the loaded program lies; UINT64_MAX: nowhere. */
static uint64_t file_offset(const elf_file_t *elf, uint64_t address)
{
    for (size_t i = 0; i < elf->headers; i++) {
        const phdr_t *h = &elf->header[i];

        if (h->p_type == PT_LOAD && address >= h->p_vaddr && address - h->p_vaddr < h->p_filesz) {
            return h->p_offset + (address - h->p_vaddr);
        }
    }
    return UINT64_MAX;
}

static family_t library_family(const char *name)
{
    /* The first that fits decides. libmpi.so.12 is the name that MPICH and the libraries with its
     * binary interface have agreed on. */
    static const struct {
        const char *begin;
        family_t    family;
    } libraries[] = {
        {"libmpich", FAMILY_MPICH},           {"libmpi.so.12", FAMILY_MPICH},
        {"libmpifort.so.12", FAMILY_MPICH},   {"libmpi.so.", FAMILY_OPENMPI},
        {"libmpi_mpifh.so.", FAMILY_OPENMPI}, {"libmpi_usempi", FAMILY_OPENMPI},
    };

    for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
        if (strncmp(name, libraries[i].begin, strlen(libraries[i].begin)) == 0) {
            return libraries[i].family;
        }
    }
    return FAMILY_UNKNOWN;
}

/* The family of the library whose name stands at this offset of the file. */
static family_t needed_family(int fd, uint64_t offset)
{
    char    name[NAME_LENGTH + 1];
    ssize_t length;

    if (offset > INT64_MAX) {
        return FAMILY_UNKNOWN;
    }
    length = pread(fd, name, NAME_LENGTH, (off_t)offset);
    if (length <= 0) {
        return FAMILY_UNKNOWN;
    }
    name[length] = '\0';
    return library_family(name);
}

/* The i-th entry of the dynamic section; -1 behind the last one. */
static int read_entry(const elf_file_t *elf, const phdr_t *dynamic, size_t i, dyn_t *entry)
{
    const uint64_t offset = dynamic->p_offset + i * sizeof(*entry);

    return read_at(elf->fd, entry, sizeof(*entry), offset) == 0 && entry->d_tag != DT_NULL ? 0 : -1;
}

/* Go through the libraries that the dynamic section asks for. */
static family_t linked_family(const elf_file_t *elf, const phdr_t *dynamic)
{
    uint64_t strings = UINT64_MAX;
    family_t family  = FAMILY_UNKNOWN;
    size_t   entries = dynamic->p_filesz / sizeof(dyn_t);
    dyn_t    entry;

    entries = entries < ENTRIES_MAX ? entries : ENTRIES_MAX;
    for (size_t i = 0; i < entries && read_entry(elf, dynamic, i, &entry) == 0; i++) {
        if (entry.d_tag == DT_STRTAB) {
            strings = file_offset(elf, entry.d_un.d_ptr);
        }
    }
    if (strings == UINT64_MAX) {
        return FAMILY_UNKNOWN;
    }
    for (size_t i = 0; i < entries && family == FAMILY_UNKNOWN; i++) {
        if (read_entry(elf, dynamic, i, &entry) != 0) {
            break;
        }
        if (entry.d_tag == DT_NEEDED) {
            family = needed_family(elf->fd, strings + entry.d_un.d_val);
        }
    }
    return family;
}

program_t program_look(const char *path)
{
    program_t     program = {.is_static = 0, .family = FAMILY_UNKNOWN};
    elf_file_t    elf;
    const phdr_t *dynamic;

    elf.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (elf.fd < 0) {
        return program;
    }
    if (open_headers(&elf) == 0) {
        program.is_static = find_header(&elf, PT_INTERP) == NULL;
        dynamic           = find_header(&elf, PT_DYNAMIC);
        if (dynamic != NULL) {
            program.family = linked_family(&elf, dynamic);
        }
    }
    close(elf.fd);
    return program;
}
