/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/finish.c - see finish.h. Records travel as messages on a communicator of ours. A rank
 * that is late in coming to MPI_Finalize does not keep the report: it is written after 5 s with
 * what has been heard. What comes later is received and dropped, because MPI_Finalize with a
 * message under way may hang; that waits for nobody for whom MPI_Finalize would not wait as well.
 */
#include "config.h"

#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "interpose/call.h"
#include "interpose/finish.h"
#include "interpose/next.h"
#include "interpose/state.h"
#include "runtime/base/clock.h"

#define TW_FINISH_LIMIT_S 5
#define TW_FINISH_TAG     1

/* Of one rank. */
typedef struct tw_parcel_head {
    uint64_t seen;
    uint64_t records;
} tw_parcel_head_t;

static bool tw_finish_late(uint64_t start)
{
    return tw_clock_ns() - start > (uint64_t)TW_FINISH_LIMIT_S * 1000000000u;
}

/* Head and records of this rank, as one block. */
static char *tw_finish_pack(size_t *bytes_p)
{
    size_t           count   = 0;
    tw_record_t     *records = tw_records_copy(&count);
    tw_parcel_head_t head    = {.seen = tw_state.seen, .records = count};
    char            *parcel;

    if (count > INT_MAX / sizeof(*records) / 2) {
        count = head.records = INT_MAX / sizeof(*records) / 2;
    }
    *bytes_p = sizeof(head) + count * sizeof(*records);
    parcel   = malloc(*bytes_p);
    if (parcel != NULL) {
        memcpy(parcel, &head, sizeof(head));
        if (count > 0) {
            memcpy(parcel + sizeof(head), records, count * sizeof(*records));
        }
    }
    free(records);
    return parcel;
}

/* Not rank 0. An empty message where there is no memory: rank 0 counts them. */
static void tw_finish_send(void)
{
    size_t      bytes  = 0;
    char       *parcel = tw_finish_pack(&bytes);
    MPI_Request request;
    int         done = 0;

    if (tw_next.Isend(parcel, parcel != NULL ? (int)bytes : 0, MPI_BYTE, 0, TW_FINISH_TAG,
                      tw_state.world, &request) != MPI_SUCCESS) {
        free(parcel);
        return;
    }
    while (!done) {
        if (tw_next.Testall(1, &request, &done, MPI_STATUSES_IGNORE) != MPI_SUCCESS) {
            return; /* MPI may still read the parcel */
        }
        if (!done) {
            sched_yield();
        }
    }
    free(parcel);
}

/* All that has been heard so far. */
typedef struct tw_pile {
    tw_record_t *records;
    size_t       count;
    uint64_t     seen;
    int          heard;
} tw_pile_t;

static void tw_pile_add(tw_pile_t *pile, const char *parcel, size_t bytes)
{
    tw_parcel_head_t head;
    tw_record_t     *larger;

    if (bytes < sizeof(head)) {
        return;
    }
    memcpy(&head, parcel, sizeof(head));
    if (head.records > (bytes - sizeof(head)) / sizeof(*pile->records)) {
        return;
    }
    larger = realloc(pile->records, (pile->count + head.records + 1) * sizeof(*pile->records));
    if (larger == NULL) {
        return;
    }
    pile->records = larger;
    memcpy(pile->records + pile->count, parcel + sizeof(head),
           head.records * sizeof(*pile->records));
    pile->count = tw_records_merge(pile->records, pile->count + head.records);
    pile->seen += head.seen;
    pile->heard++;
}

/* Receives one message if there is one; false if MPI reports an error. */
static bool tw_finish_hear(tw_pile_t *pile, int *arrived)
{
    int         found = 0, length = 0;
    MPI_Message message;
    MPI_Status  status;
    char       *parcel;

    if (tw_next.Improbe(MPI_ANY_SOURCE, TW_FINISH_TAG, tw_state.world, &found, &message, &status) !=
        MPI_SUCCESS) {
        return false;
    }
    if (!found) {
        sched_yield();
        return true;
    }
    tw_next.Get_count(&status, MPI_BYTE, &length);
    parcel = malloc((size_t)length + 1);
    if (parcel == NULL ||
        tw_next.Mrecv(parcel, length, MPI_BYTE, &message, &status) != MPI_SUCCESS) {
        free(parcel);
        return false;
    }
    (*arrived)++;
    if (pile != NULL) {
        tw_pile_add(pile, parcel, (size_t)length);
    }
    free(parcel);
    return true;
}

/* What comes within the limit goes to the pile; returns how many messages have come. */
static int tw_finish_collect(tw_pile_t *pile)
{
    const uint64_t start   = tw_clock_ns();
    size_t         bytes   = 0;
    char          *parcel  = tw_finish_pack(&bytes);
    int            arrived = 0;

    if (parcel != NULL) {
        tw_pile_add(pile, parcel, bytes);
    }
    free(parcel);
    while (arrived < tw_state.size - 1 && !tw_finish_late(start) &&
           tw_finish_hear(pile, &arrived)) {
    }
    return arrived;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* How fast each candidate encodes and decodes here, for the estimate of a watching report: a
 * megabyte of numbers, a few milliseconds. */
static void tw_finish_speeds(tw_report_facts_t *facts)
{
    const size_t n      = (size_t)1 << 18;
    float       *values = malloc(n * sizeof(*values));
    char        *codes  = malloc(n * sizeof(*values) + 4096);

    if (values != NULL && codes != NULL) {
        for (size_t i = 0; i < n; i++) {
            values[i] = (float)((double)((i * 2654435761u) % 65536u) / 32768.0 - 1.0);
        }
        for (int c = 0; c < TW_CANDIDATES; c++) {
            const tw_choice_t *choice = tw_choice_get(tw_candidate_specs[c], TW_KIND_FLOAT);
            uint64_t           start, ns = UINT64_MAX;

            for (int round = 0; round < 3; round++) {
                start = tw_clock_ns();
                tw_codec_encode(choice->codec, &tw_state.exec, values, n, codes);
                tw_codec_decode(choice->codec, &tw_state.exec, codes, n, values);
                ns = tw_clock_ns() - start < ns ? tw_clock_ns() - start : ns;
            }
            facts->codec_gbps[c] = (double)(n * sizeof(*values)) / (double)(ns > 0 ? ns : 1);
        }
    }
    free(values);
    free(codes);
}

static void tw_finish_facts(tw_report_facts_t *facts, const tw_pile_t *pile, char *library,
                            size_t library_size)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int  length                                  = 0;

    tw_next.Get_library_version(version, &length);
    version[strcspn(version, "\n,")] = '\0';
    snprintf(library, library_size, "%s", version);
    memset(facts, 0, sizeof(*facts));
    facts->ranks       = tw_state.size;
    facts->heard       = pile->heard;
    facts->seconds     = (double)(tw_clock_ns() - tw_state.start_ns) * 1e-9;
    facts->codec       = tw_state.config.codec;
    facts->library     = library;
    facts->intercepted = pile->seen;
    facts->contract    = tw_state.config.max_error;
    facts->feedback    = tw_state.config.error_feedback != 0;
    facts->rank        = tw_state.rank;
    if (tw_state.codecs && tw_state.config.codec[0] == '\0') {
        facts->codec = "by rules";
    } else if (tw_state.info && tw_state.config.codec[0] == '\0') {
        facts->codec = "by thinwire_codec";
    }
}

static void tw_finish_file(const char *name, const char *what, const tw_report_facts_t *facts,
                           const tw_pile_t *pile,
                           void (*write)(FILE *, const tw_report_facts_t *, const tw_record_t *,
                                         size_t))
{
    FILE *file = fopen(name, "w");
    bool  failed;

    if (file == NULL) {
        tw_complain("the %s %s cannot be written", what, name);
        return;
    }
    write(file, facts, pile->records, pile->count);
    failed = ferror(file) != 0; /* what was flushed in vain is gone by fclose() */
    if (fclose(file) != 0 || failed) {
        tw_complain("the %s %s cannot be written", what, name);
    }
}

static void tw_finish_write(tw_report_facts_t *facts, const tw_pile_t *pile)
{
    if (!tw_state.codecs && !tw_state.info && !facts->aborted) {
        tw_finish_speeds(facts);
    }
    if (tw_state.config.report[0] != '\0') {
        tw_finish_file(tw_state.config.report, "report", facts, pile, tw_report_text);
    } else if (!tw_state.config.quiet) {
        fflush(stdout);
        tw_report_text(stderr, facts, pile->records, pile->count);
    }
    if (tw_state.config.json[0] != '\0' && !facts->aborted) {
        tw_finish_file(tw_state.config.json, "JSON", facts, pile, tw_report_json);
    }
}

void tw_finish_report(void)
{
    tw_pile_t         pile = {0};
    tw_report_facts_t facts;
    char              library[128];
    int               arrived;

    if (tw_state.rank != 0) {
        tw_finish_send();
        return;
    }
    arrived = tw_finish_collect(&pile);
    tw_finish_facts(&facts, &pile, library, sizeof(library));
    tw_finish_write(&facts, &pile);
    free(pile.records);
    while (arrived < tw_state.size - 1 && tw_finish_hear(NULL, &arrived)) {
    }
}

/* Launchers may drop what a rank has just printed when it aborts: give them up to 0.2 s to read it.
 */
static void tw_finish_let_read(void)
{
    const struct timespec pause  = {.tv_nsec = 2000000};
    int                   unread = 0;

    fflush(stderr);
    for (int i = 0; i < 100 && ioctl(STDERR_FILENO, FIONREAD, &unread) == 0 && unread > 0; i++) {
        nanosleep(&pause, NULL);
    }
}

void tw_finish_aborted(void)
{
    tw_pile_t         pile = {0};
    tw_report_facts_t facts;
    char              library[128];

    pile.records = tw_records_copy(&pile.count);
    pile.count   = tw_records_merge(pile.records, pile.count);
    pile.seen    = tw_state.seen;
    pile.heard   = 1;
    tw_finish_facts(&facts, &pile, library, sizeof(library));
    facts.aborted = true;
    tw_finish_write(&facts, &pile);
    free(pile.records);
    if (!tw_state.config.quiet) {
        tw_finish_let_read();
    }
}
