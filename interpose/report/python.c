/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/report/python.c - see python.h.
 *
 * mpi4py has given the interpreter's lock (GIL) away when it calls MPI. To wait for it here could
 * hang a program that is right: the thread that has it may wait, in MPI, for what this thread is
 * about to do. So it is taken only where the calling thread is the only one that the only
 * interpreter of the process knows, when nobody else can have it; the list of threads is only
 * compared with our own entry, which cannot go. With more threads calls are known by their address,
 * as from C.
 *
 * Places are cached by code object and instruction. A cached code object is kept alive, as another
 * one may get its address; there is an end to that.
 */
#include "config.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "interpose/report/python.h"
#include "runtime/base/bytes.h"

#define TW_PYTHON_PLACES 2048 /* in the cache, a power of two; half of it is used */
#define TW_PYTHON_SITES  64   /* calling addresses that are remembered            */

/* Python's C API, by opaque pointers. All of it is in the stable ABI or has been public since 3.9,
 * but for PyFrame_GetLasti (3.11), without which the line stands for the instruction. */
/* clang-format off */
#define TW_PYTHON_LIST(X)                                                                          \
    X(int,          Py_IsInitialized,              (void))                                         \
    X(void *,       PyGILState_GetThisThreadState, (void))                                         \
    X(int,          PyGILState_Ensure,             (void))                                         \
    X(void,         PyGILState_Release,            (int state))                                    \
    X(void *,       PyThreadState_GetInterpreter,  (void *thread))                                 \
    X(void *,       PyThreadState_Next,            (void *thread))                                 \
    X(void *,       PyInterpreterState_Head,       (void))                                         \
    X(void *,       PyInterpreterState_Next,       (void *interpreter))                            \
    X(void *,       PyInterpreterState_ThreadHead, (void *interpreter))                            \
    X(void *,       PyEval_GetFrame,               (void))                                         \
    X(void *,       PyFrame_GetCode,               (void *frame))                                  \
    X(int,          PyFrame_GetLineNumber,         (void *frame))                                  \
    X(void *,       PyErr_Occurred,                (void))                                         \
    X(void,         PyErr_Clear,                   (void))                                         \
    X(void *,       PyObject_GetAttrString,        (void *object, const char *name))               \
    X(const char *, PyUnicode_AsUTF8,              (void *text))                                   \
    X(void,         Py_DecRef,                     (void *object))
/* clang-format on */

static struct {
#define X(result, name, params) result(*name) params;
    TW_PYTHON_LIST(X)
#undef X
    int (*PyFrame_GetLasti)(void *frame);
} tw_python;

bool tw_python_here;

typedef struct tw_python_entry {
    const void       *code; /* NULL: free */
    int               at;
    tw_python_place_t place;
} tw_python_entry_t;

/* Only the one thread that the interpreter knows comes to these. */
static tw_python_entry_t tw_python_cache[TW_PYTHON_PLACES];
static size_t            tw_python_cached;
static struct {
    const void *site;
    bool        module;
} tw_python_sites[TW_PYTHON_SITES];

void tw_python_start(void)
{
    bool all = true;

#define X(result, name, params)                                                                    \
    *(void **)&tw_python.name = dlsym(RTLD_DEFAULT, #name);                                        \
    all                       = all && tw_python.name != NULL;
    TW_PYTHON_LIST(X)
#undef X
    *(void **)&tw_python.PyFrame_GetLasti = dlsym(RTLD_DEFAULT, "PyFrame_GetLasti");
    tw_python_here                        = all;
}

static size_t tw_python_hash(const void *address, int at)
{
    return tw_hash_word((uintptr_t)address + (uintptr_t)at, 24);
}

/* An extension module exports PyInit_NAME, and its file is called NAME.something. */
static bool tw_python_is_module(const void *site)
{
    char        name[128];
    Dl_info     info;
    const char *file;
    void       *object;
    bool        found;

    if (dladdr(site, &info) == 0 || info.dli_fname == NULL) {
        return false;
    }
    file = strrchr(info.dli_fname, '/');
    file = file != NULL ? file + 1 : info.dli_fname;
    snprintf(name, sizeof(name), "PyInit_%.*s", (int)strcspn(file, "."), file);
    object = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (object == NULL) {
        return false;
    }
    found = dlsym(object, name) != NULL;
    dlclose(object);
    return found;
}

static bool tw_python_from_module(const void *site)
{
    const size_t slot = tw_python_hash(site, 0) % TW_PYTHON_SITES;

    if (tw_python_sites[slot].site != site) {
        tw_python_sites[slot].module = tw_python_is_module(site);
        tw_python_sites[slot].site   = site;
    }
    return tw_python_sites[slot].module;
}

/* Is this thread all that can hold the lock? */
static bool tw_python_alone(void)
{
    void *thread, *interpreter;

    if (!tw_python.Py_IsInitialized()) {
        return false;
    }
    thread = tw_python.PyGILState_GetThisThreadState();
    if (thread == NULL) {
        return false;
    }
    interpreter = tw_python.PyThreadState_GetInterpreter(thread);
    return interpreter == tw_python.PyInterpreterState_Head() &&
           tw_python.PyInterpreterState_Next(interpreter) == NULL &&
           tw_python.PyInterpreterState_ThreadHead(interpreter) == thread &&
           tw_python.PyThreadState_Next(thread) == NULL;
}

/* An attribute of a code object, in at most `width` bytes, of which the last ones stay. */
static void tw_python_text(void *code, const char *attribute, char *text, size_t width)
{
    void       *object = tw_python.PyObject_GetAttrString(code, attribute);
    const char *value  = object != NULL ? tw_python.PyUnicode_AsUTF8(object) : NULL;
    size_t      length;

    value  = value != NULL ? value : "?";
    length = strlen(value);
    if (length <= width) {
        snprintf(text, width + 1, "%s", value);
    } else {
        snprintf(text, width + 1, "..%s", value + length - (width - 2));
    }
    if (object != NULL) {
        tw_python.Py_DecRef(object);
    }
    tw_python.PyErr_Clear();
}

/* "function at folder/file.py". */
static void tw_python_name(void *code, int line, tw_python_place_t *place)
{
    char  function[25], path[1024], *file;
    int   slashes = 0;
    char *at;

    tw_python_text(code, "co_name", function, sizeof(function) - 1);
    tw_python_text(code, "co_filename", path, sizeof(path) - 1);
    for (at = path + strlen(path); at > path && slashes < 2; at--) {
        slashes += at[-1] == '/';
    }
    file = slashes == 2 ? at + 1 : path;
    if (strlen(file) > 34) {
        file += strlen(file) - 34;
    }
    snprintf(place->text, sizeof(place->text), "%s at %.34s", function, file);
    place->line = line > 0 ? (uint64_t)line : 0;
}

/* With the lock held. */
static const tw_python_place_t *tw_python_frame(void *frame)
{
    void        *code = tw_python.PyFrame_GetCode(frame); /* a reference of ours */
    const int    at   = tw_python.PyFrame_GetLasti != NULL ? tw_python.PyFrame_GetLasti(frame)
                                                           : tw_python.PyFrame_GetLineNumber(frame);
    const size_t mask = TW_PYTHON_PLACES - 1;
    size_t       slot = tw_python_hash(code, at) & mask;

    while (tw_python_cache[slot].code != NULL &&
           (tw_python_cache[slot].code != code || tw_python_cache[slot].at != at)) {
        slot = (slot + 1) & mask;
    }
    if (tw_python_cache[slot].code != NULL) {
        tw_python.Py_DecRef(code);
    } else if (tw_python_cached == TW_PYTHON_PLACES / 2) {
        tw_python.Py_DecRef(code);
        return NULL;
    } else {
        tw_python_name(code, tw_python.PyFrame_GetLineNumber(frame), &tw_python_cache[slot].place);
        tw_python_cache[slot].at   = at;
        tw_python_cache[slot].code = code; /* the reference stays */
        tw_python_cached++;
    }
    return &tw_python_cache[slot].place;
}

const tw_python_place_t *tw_python_ask(const void *site)
{
    const tw_python_place_t *place = NULL;
    void                    *frame;
    int                      state;

    if (!tw_python_alone() || !tw_python_from_module(site)) {
        return NULL;
    }
    state = tw_python.PyGILState_Ensure();
    frame = tw_python.PyErr_Occurred() == NULL ? tw_python.PyEval_GetFrame() : NULL;
    if (frame != NULL) {
        place = tw_python_frame(frame);
    }
    tw_python.PyGILState_Release(state);
    return place;
}
