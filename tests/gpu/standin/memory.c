/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/memory.c - memory mapped twice: where it is shown, and where its bytes are.
 *
 * Device memory is shown where nobody may touch it but a kernel that runs. It begins at a multiple
 * of 256 and ends as near as that allows to a page that nobody may touch; the bytes between are
 * looked at after each kernel and at the release. What was released stays reserved for a while, so
 * that uses of it are seen. Pinned memory is shown where the host may touch it, but not whole pages
 * that a pending copy writes to, nor write pages that one reads.
 */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/gpu/standin/core.h"

#define JUNK   0xd7 /* what new memory holds, and what a pending copy has written so far */
#define MARGIN 0x5c /* around device memory, in its pages                               */
#define KEPT   4096 /* released regions that stay reserved                              */
#define ALIGN  256

static standin_memory_t **all; /* ascending by address */
static size_t             count, room, kept;
static uint64_t           ids;

size_t standin_page(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* The first region that ends above p. */
static size_t place_of(const uint8_t *p)
{
    size_t low = 0, high = count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (all[middle]->pages + all[middle]->mapped <= p) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

standin_memory_t *standin_memory_of(const void *p)
{
    const size_t at = place_of(p);

    return at < count && all[at]->pages <= (const uint8_t *)p ? all[at] : NULL;
}

void *standin_real(const void *p)
{
    const standin_memory_t *m = standin_memory_of(p);

    return m != NULL && m->kind != STANDIN_FREED ? m->real + ((const uint8_t *)p - m->shown)
                                                 : (void *)(uintptr_t)p;
}

/* ---- faults --------------------------------------------------------------------------------- */

static struct sigaction before;
static const char      *running; /* the kernel's call */

static bool held(const standin_memory_t *m, const uint8_t *p);

static void fault(int signal, siginfo_t *info, void *context)
{
    const uint8_t          *p    = info->si_addr;
    const standin_memory_t *m    = standin_memory_of(p);
    const size_t            page = standin_page();
    char                    line[200];
    int                     n;

    (void)signal;
    (void)context;
    m = m != NULL ? m : standin_memory_of(p - page);
    m = m != NULL ? m : standin_memory_of(p + page);
    if (m == NULL) { /* somebody else's */
        sigaction(SIGSEGV, &before, NULL);
        return;
    }
    n = snprintf(line, sizeof(line), "standin: %s touches %s, byte %td of %zu, device %d%s\n",
                 running != NULL ? "a kernel" : "the host",
                 m->kind == STANDIN_FREED    ? "memory that was released"
                 : m->kind == STANDIN_PINNED ? "pinned memory that a pending copy uses"
                                             : "device memory",
                 p - m->shown, m->bytes, m->device,
                 p < m->shown || p >= m->shown + m->bytes ? ", out of bounds" : "");
    if (write(STDERR_FILENO, line, (size_t)n) != n) {
        _exit(99);
    }
    if (m->kind == STANDIN_PINNED && held(m, p)) { /* it is counted, and goes on */
        line[n - 1] = '\0';
        standin_found_by_signal(line + strlen("standin: "));
        mprotect((void *)((uintptr_t)p & ~(page - 1)), page, PROT_READ | PROT_WRITE);
        return;
    }
    sigaction(SIGSEGV, &(struct sigaction){.sa_handler = SIG_DFL}, NULL); /* again, and the end */
}

static void catch_faults(void)
{
    static bool      done;
    struct sigaction action = {.sa_sigaction = fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    if (!done) {
        sigaction(SIGSEGV, &action, &before);
        done = true;
    }
}

/* ---- allocation ----------------------------------------------------------------------------- */

void standin_memory_add(standin_memory_t *m)
{
    const size_t at = place_of(m->pages);

    if (count == room) {
        room = room > 0 ? 2 * room : 64;
        all  = realloc(all, room * sizeof(*all));
    }
    memmove(all + at + 1, all + at, (count - at) * sizeof(*all));
    all[at] = m;
    count++;
}

static void take_out(standin_memory_t *m)
{
    const size_t at = place_of(m->pages);

    memmove(all + at, all + at + 1, (count - at - 1) * sizeof(*all));
    count--;
    free(m->readers);
    free(m->writers);
    free(m);
}

static const char *name_of(standin_kind_t kind)
{
    static const char *const names[] = {"device memory", "pinned memory", "managed memory",
                                        "registered memory", "memory of other processes"};

    return names[kind];
}

/* The bytes in m's pages that are not its own are as they were. */
static void look_at_margins(const standin_memory_t *m)
{
    const size_t before_it = (size_t)(m->shown - m->pages);

    for (size_t i = 0; i < m->mapped; i++) {
        i = i == before_it ? before_it + m->bytes : i;
        if (i < m->mapped && m->real_pages[i] != MARGIN) {
            standin_found("something wrote beside %zu bytes of %s, at byte %td", m->bytes,
                          name_of(m->kind), (ptrdiff_t)i - (ptrdiff_t)before_it);
            m->real_pages[i] = MARGIN;
        }
    }
}

/* Two mappings of a new file. */
static bool map(standin_memory_t *m, int shown_as)
{
    const size_t page = standin_page();
    const int    file = memfd_create("standin", MFD_CLOEXEC);
    uint8_t     *reserved;

    if (file < 0 || ftruncate(file, (off_t)m->mapped) != 0) {
        return false;
    }
    reserved      = mmap(NULL, m->mapped + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    m->real_pages = mmap(NULL, m->mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (reserved == MAP_FAILED || m->real_pages == MAP_FAILED ||
        mmap(reserved + page, m->mapped, shown_as, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) {
        close(file);
        return false;
    }
    close(file);
    m->pages = reserved + page;
    return true;
}

standin_memory_t *standin_allocate(standin_kind_t kind, size_t bytes, void *registered)
{
    const size_t      page = standin_page();
    standin_memory_t *m    = calloc(1, sizeof(*m));
    size_t            lead;

    catch_faults();
    *m = (standin_memory_t){.bytes = bytes, .kind = kind, .device = standin_current, .id = ++ids};
    if (kind == STANDIN_REGISTERED) {
        m->shown = m->real = m->pages = m->real_pages = registered;
        m->mapped                                     = bytes;
    } else {
        m->mapped = (bytes + page - 1) / page * page;
        if ((kind != STANDIN_PINNED && m->mapped > standin_memory - standin_used[m->device]) ||
            !map(m, kind == STANDIN_DEVICE ? PROT_NONE : PROT_READ | PROT_WRITE)) {
            free(m);
            return NULL;
        }
        lead     = (m->mapped - bytes) / ALIGN * ALIGN;
        m->shown = m->pages + lead;
        m->real  = m->real_pages + lead;
        memset(m->real_pages, MARGIN, m->mapped);
        memset(m->real, JUNK, bytes);
    }
    if (kind == STANDIN_PINNED) {
        m->readers = calloc(m->mapped / page, sizeof(unsigned));
        m->writers = calloc(m->mapped / page, sizeof(unsigned));
    } else if (kind != STANDIN_REGISTERED) {
        standin_used[m->device] += m->mapped;
    }
    standin_memory_add(m);
    standin_count(name_of(kind), 1);
    return m;
}

/* One that was released is let go. */
static void forget_one(void)
{
    for (size_t i = 0; i < count; i++) {
        if (all[i]->kind == STANDIN_FREED) {
            munmap(all[i]->pages - standin_page(), all[i]->mapped + 2 * standin_page());
            take_out(all[i]);
            kept--;
            return;
        }
    }
}

void standin_release(standin_memory_t *m)
{
    standin_count(name_of(m->kind), -1);
    if (m->kind == STANDIN_REGISTERED) {
        take_out(m);
        return;
    }
    look_at_margins(m);
    if (m->shared != NULL) {
        standin_shared_end(m);
    }
    if (m->kind == STANDIN_DEVICE || m->kind == STANDIN_MANAGED) {
        standin_used[m->device] -= m->mapped;
    }
    munmap(m->real_pages, m->mapped);
    mmap(m->pages, m->mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    m->kind = STANDIN_FREED;
    if (++kept > KEPT) {
        forget_one();
    }
}

void standin_release_all(int device)
{
    for (size_t i = 0; i < count;) {
        standin_memory_t *m = all[i];

        if (m->device == device && m->kind != STANDIN_FREED) {
            standin_release(m);
            i = 0; /* the list may be another one now */
        } else {
            i++;
        }
    }
}

/* ---- use ------------------------------------------------------------------------------------ */

uint8_t *standin_bytes(const char *what, const void *p, size_t n, size_t align, int device,
                       bool host)
{
    const standin_memory_t *m  = standin_memory_of(p);
    const char             *is = NULL;

    if (p == NULL) {
        is = "NULL";
    } else if (m == NULL) {
        is = "pageable host memory";
    } else if (m->kind == STANDIN_FREED) {
        is = "memory that was released";
    } else if ((m->kind == STANDIN_PINNED || m->kind == STANDIN_REGISTERED) && !host) {
        is = "host memory";
    } else if ((m->kind == STANDIN_DEVICE || m->kind == STANDIN_OPENED) && m->device != device &&
               !standin_peers[device][m->device]) {
        is = "memory of another device";
    } else if (m->shared != NULL && standin_shared_gone(m)) {
        is = "memory that its process has released";
    } else if ((const uint8_t *)p < m->shown || n > m->bytes ||
               (size_t)((const uint8_t *)p - m->shown) > m->bytes - n) {
        is = "out of the bounds of its allocation";
    } else if ((uintptr_t)p % align != 0) {
        is = "not aligned";
    }
    if (is != NULL) {
        standin_found("%s, %zu bytes, is %s", what, n, is);
        return NULL;
    }
    return m->real + ((const uint8_t *)p - m->shown);
}

void standin_open(const void *p)
{
    const standin_memory_t *m = standin_memory_of(p);

    running = standin_call();
    if (m != NULL && (m->kind == STANDIN_DEVICE || m->kind == STANDIN_OPENED)) {
        mprotect(m->pages, m->mapped, PROT_READ | PROT_WRITE);
    }
}

void standin_close(const void *p)
{
    const standin_memory_t *m = standin_memory_of(p);

    running = NULL;
    if (m != NULL && (m->kind == STANDIN_DEVICE || m->kind == STANDIN_OPENED)) {
        mprotect(m->pages, m->mapped, PROT_NONE);
        look_at_margins(m);
    }
}

/* ---- host memory that a pending copy uses --------------------------------------------------- */

struct standin_hold {
    standin_hold_t   *next;
    standin_memory_t *memory;          /* NULL: pageable */
    uint8_t          *at, *real, *was; /* was: what must still be there; NULL: not known */
    size_t            n;
    bool              writes, junk;
    const char       *call;
};

static standin_hold_t *holds;

static bool held(const standin_memory_t *m, const uint8_t *p)
{
    for (const standin_hold_t *h = holds; h != NULL; h = h->next) {
        if (h->memory == m && p >= h->at && p < h->at + h->n) {
            return true;
        }
    }
    return false;
}

/* The pages that belong to the hold alone become, or cease to be, out of bounds for the host. */
static void guard(const standin_hold_t *h, int by)
{
    standin_memory_t *m    = h->memory;
    const size_t      page = standin_page(), from = (size_t)(h->at - m->pages);

    for (size_t i = (from + page - 1) / page; (i + 1) * page <= from + h->n; i++) {
        unsigned *counter = h->writes ? &m->writers[i] : &m->readers[i];

        *counter += (unsigned)by;
        mprotect(m->pages + i * page, page,
                 m->writers[i] > 0   ? PROT_NONE
                 : m->readers[i] > 0 ? PROT_READ
                                     : PROT_READ | PROT_WRITE);
    }
}

standin_hold_t *standin_hold(void *p, size_t n, bool writes)
{
    standin_hold_t *h       = calloc(1, sizeof(*h));
    bool            written = false, read = false;

    for (const standin_hold_t *o = holds; o != NULL; o = o->next) {
        if (o->at < (uint8_t *)p + n && (uint8_t *)p < o->at + o->n) {
            written |= o->writes;
            read |= !o->writes;
        }
    }
    *h    = (standin_hold_t){.memory = standin_memory_of(p),
                             .at     = p,
                             .real   = standin_real(p),
                             .n      = n,
                             .writes = writes,
                             .junk   = writes && !written && !read,
                             .call   = standin_call(),
                             .next   = holds};
    holds = h;
    if (h->junk) {
        memset(h->real, JUNK, n);
    } else if (!writes && !written) {
        h->was = malloc(n);
        memcpy(h->was, h->real, n);
    }
    if (h->memory != NULL && h->memory->kind == STANDIN_PINNED) {
        guard(h, 1);
    }
    return h;
}

void standin_unhold(standin_hold_t *h)
{
    bool same = true;

    for (standin_hold_t **at = &holds; *at != NULL; at = &(*at)->next) {
        if (*at == h) {
            *at = h->next;
            break;
        }
    }
    if (h->memory != NULL && h->memory->kind == STANDIN_PINNED) {
        guard(h, -1);
    }
    for (size_t i = 0; i < h->n && same && h->junk; i++) {
        same = h->real[i] == JUNK;
    }
    if (!same || (h->was != NULL && memcmp(h->was, h->real, h->n) != 0)) {
        standin_found("%zu bytes of host memory were changed while %s was still to %s them", h->n,
                      h->call, h->writes ? "write" : "read");
    }
    free(h->was);
    free(h);
}
