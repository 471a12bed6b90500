/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/finish.c - see finish.h. Records travel by collectives on MPI_COMM_WORLD, whose own
 * messages the program's cannot meet, once all ranks are here: no communicator is made for them. A
 * rank that is late in coming to MPI_Finalize does not keep the report: it is written after 5 s
 * with what rank 0 itself counted. That waits for nobody for whom MPI_Finalize would not wait as
 * well.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "interpose/call.h"
#include "interpose/finish.h"
#include "interpose/mpi/taken.h"
#include "interpose/next.h"
#include "interpose/state.h"
#include "interpose/record/recording.h"
#include "runtime/base/clock.h"
#include "runtime/base/beside.h"

#define TW_FINISH_LIMIT_S 5
#define TW_FINISH_FOREVER 1e9
#define TW_UNUSED_RULES   4                  /* that are named in the report */
#define TW_FINISH_WINDOW  ((size_t)16 << 20) /* bytes that rank 0 takes at once */

/* Of one rank. */
typedef struct tw_parcel_head {
    uint64_t seen;
    uint64_t records;
    uint64_t rules; /* tw_state.rules_used */
} tw_parcel_head_t;

/* Head and records of this rank, as one block of no more than a window. */
static char *tw_finish_pack(size_t *bytes_p)
{
    size_t           count   = 0;
    tw_record_t     *records = tw_records_copy(&count);
    tw_parcel_head_t head = {.seen = tw_state.seen, .records = count, .rules = tw_state.rules_used};
    char            *parcel;

    if (count > (TW_FINISH_WINDOW - sizeof(head)) / sizeof(*records)) {
        count = head.records = (TW_FINISH_WINDOW - sizeof(head)) / sizeof(*records);
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

/* All that has been heard so far. */
typedef struct tw_pile {
    tw_record_t *records;
    size_t       count;
    uint64_t     seen;
    uint64_t     rules;
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
    pile->rules |= head.rules;
    pile->heard++;
}

/* What a rank says of its parcel before it gives it. */
typedef struct tw_offer {
    int64_t bytes;  /* of its parcel; 0 where it has no memory                         */
    int64_t wanted; /* by rank 0: it takes the others' parcels, it has not written yet */
} tw_offer_t;

/* The ranks from `first` on whose parcels go to rank 0 together; returns the first one after them.
 */
static int tw_finish_window(const tw_offer_t *offers, int first, int *counts, int *displs)
{
    size_t bytes = 0;
    int    r     = first;

    memset(counts, 0, (size_t)tw_state.size * sizeof(*counts));
    memset(displs, 0, (size_t)tw_state.size * sizeof(*displs));
    for (; r < tw_state.size && bytes + (size_t)offers[r].bytes <= TW_FINISH_WINDOW; r++) {
        counts[r] = (int)offers[r].bytes;
        displs[r] = (int)bytes;
        bytes += (size_t)offers[r].bytes;
    }
    return r;
}

/* All ranks are here: their parcels, but rank 0's own, go to its pile. */
static void tw_finish_gather(tw_pile_t *pile, char *window)
{
    const size_t size   = (size_t)tw_state.size;
    tw_offer_t  *offers = calloc(size, sizeof(*offers) + 2 * sizeof(int));
    tw_offer_t   mine   = {.wanted = window != NULL};
    size_t       bytes  = 0;
    char        *parcel = tw_state.rank != 0 ? tw_finish_pack(&bytes) : NULL;
    int         *counts, *displs;

    if (offers == NULL) {
        tw_give_up(MPI_COMM_WORLD, "no memory for the report");
    }
    counts     = (int *)(void *)(offers + size);
    displs     = counts + size;
    mine.bytes = parcel != NULL ? (int64_t)bytes : 0;
    if (tw_next.Allgather(&mine, (int)sizeof(mine), MPI_BYTE, offers, (int)sizeof(mine), MPI_BYTE,
                          MPI_COMM_WORLD) == MPI_SUCCESS &&
        offers[0].wanted) {
        for (int from = 1, to; from < tw_state.size; from = to) {
            to = tw_finish_window(offers, from, counts, displs);
            if (tw_next.Gatherv(parcel, counts[tw_state.rank], MPI_BYTE, window, counts, displs,
                                MPI_BYTE, 0, MPI_COMM_WORLD) != MPI_SUCCESS) {
                break;
            }
            for (int r = from; r < to && window != NULL; r++) {
                tw_pile_add(pile, window + displs[r], (size_t)counts[r]);
            }
        }
    }
    free(parcel);
    free(offers);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void tw_finish_about(tw_report_about_t *about, const tw_pile_t *pile)
{
    memset(about, 0, sizeof(*about));
    about->ranks       = tw_state.size;
    about->heard       = pile->heard;
    about->seconds     = (double)(tw_clock_ns() - tw_state.start_ns) * 1e-9;
    about->codec       = tw_state.config.codec;
    about->library     = tw_mpi_version();
    about->intercepted = pile->seen;
    about->threshold   = tw_state.config.threshold;
    about->contract    = tw_state.config.max_error;
    about->feedback    = tw_state.config.error_feedback != 0;
    about->rank        = tw_state.rank;
    if (tw_state.codecs && tw_state.config.codec[0] == '\0') {
        about->codec = "by rules";
    } else if (tw_state.info && tw_state.config.codec[0] == '\0') {
        about->codec = "by thinwire_codec";
    }
}

/* The next free line; what does not fit is dropped. */
static void tw_finish_remark(tw_report_about_t *about, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void tw_finish_remark(tw_report_about_t *about, const char *format, ...)
{
    size_t  i = 0;
    va_list args;

    while (i < TW_REMARKS && about->remarks[i][0] != '\0') {
        i++;
    }
    if (i < TW_REMARKS) {
        va_start(args, format);
        vsnprintf(about->remarks[i], sizeof(about->remarks[i]), format, args);
        va_end(args);
    }
}

/* Names that no type of this rank had, and rules that no call of any rank has met: mistyped, or
 * behind one that takes all of theirs. */
static void tw_finish_rules(tw_report_about_t *about, const tw_pile_t *pile)
{
    size_t unused = 0;
    char   text[TW_RULE_SPEC_MAX + 128];

    for (size_t i = 0; i < tw_state.rules.count && i < 64 && about->heard == about->ranks; i++) {
        if ((pile->rules >> i & 1) == 0 && ++unused <= TW_UNUSED_RULES) {
            tw_rule_text(&tw_state.rules.rules[i], text, sizeof(text));
            tw_finish_remark(about, "no call was decided by the rule '%.100s'", text);
        }
    }
    if (unused > TW_UNUSED_RULES) {
        tw_finish_remark(about, "nor by %zu more rules", unused - TW_UNUSED_RULES);
    }
    for (size_t i = 0; i < tw_state.taken.count; i++) {
        if (tw_taken_unmet(i) != NULL) {
            tw_finish_remark(about, "no type had the name '%.60s' when it was first used",
                             tw_taken_unmet(i));
        }
    }
}

static void tw_finish_file(const char *name, const char *what, const tw_report_about_t *about,
                           const tw_pile_t *pile,
                           void (*write)(FILE *, const tw_report_about_t *, const tw_record_t *,
                                         size_t))
{
    FILE *file = tw_file_open(name);
    bool  failed;

    if (file == NULL) {
        tw_complain("the %s %s cannot be written: %s", what, name, tw_file_error(errno));
        return;
    }
    errno = 0;
    write(file, about, pile->records, pile->count);
    failed =
        fflush(file) != 0 || ferror(file) != 0; /* what was flushed in vain is gone by fclose() */
    if (failed || fclose(file) != 0) {
        tw_complain("the %s %s cannot be written: %s", what, name,
                    strerror(errno != 0 ? errno : EIO));
    }
    if (failed) {
        fclose(file);
    }
}

static void tw_finish_write(tw_report_about_t *about, const tw_pile_t *pile)
{
    if (tw_state.config.report[0] != '\0') {
        tw_finish_file(tw_state.config.report, "report", about, pile, tw_report_text);
    } else if (!tw_state.config.quiet) {
        fflush(stdout);
        tw_report_text(stderr, about, pile->records, pile->count);
    }
    if (tw_state.config.json[0] != '\0' && !about->aborted) {
        tw_finish_file(tw_state.config.json, "JSON", about, pile, tw_report_json);
    }
}

/* What rank 0 counted, and what the others did if they come in time. 0 if they did not: they are
 * still to be met; negative: MPI has failed. `meeting`: of all ranks; NULL where MPI has failed. */
static int tw_finish_collect(tw_pile_t *pile, MPI_Request *meeting)
{
    size_t bytes  = 0;
    char  *parcel = tw_finish_pack(&bytes);
    char  *window = NULL;
    int    met    = -1;

    if (parcel != NULL) {
        tw_pile_add(pile, parcel, bytes);
    }
    free(parcel);
    if (meeting != NULL) {
        met = tw_wait_limited(meeting, TW_FINISH_LIMIT_S);
    }
    if (met > 0) {
        window = malloc(TW_FINISH_WINDOW);
        tw_finish_gather(pile, window);
        free(window);
    }
    return met;
}

/* True if all ranks have met. */
static bool tw_finish_first(MPI_Request *meeting)
{
    tw_pile_t         pile = {0};
    int               met  = tw_finish_collect(&pile, meeting);
    tw_report_about_t about;

    tw_finish_about(&about, &pile);
    tw_finish_rules(&about, &pile);
    tw_finish_write(&about, &pile);
    free(pile.records);
    if (met == 0) {
        met = tw_wait_limited(meeting, TW_FINISH_FOREVER);
        if (met > 0) {
            tw_finish_gather(NULL, NULL);
        }
    }
    return met > 0 && meeting != NULL;
}

void tw_finish_report(void)
{
    tw_returning_t returning;
    MPI_Request    meeting;
    bool           failed, met = false;

    tw_errors_return(&returning);
    failed = tw_next.Ibarrier(MPI_COMM_WORLD, &meeting) != MPI_SUCCESS;
    if (tw_state.rank == 0) {
        met = tw_finish_first(failed ? NULL : &meeting);
    } else if (!failed && tw_wait_limited(&meeting, TW_FINISH_FOREVER) > 0) {
        tw_finish_gather(NULL, NULL);
        met = true;
    }
    if (met) {
        tw_recording_finish();
    } else if (tw_state.config.record[0] != '\0') {
        tw_say("the job %s is not written: MPI failed", tw_state.config.record);
    }
    tw_errors_restore(&returning);
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

/* What MPI has said of the error, and what it may come from. */
static void tw_finish_error(tw_report_about_t *about, const tw_pile_t *pile, int error)
{
    char text[MPI_MAX_ERROR_STRING + 1] = "an error";
    int class = MPI_SUCCESS, length = 0;
    bool lossy = false;

    if (error > 1 && tw_next.Error_class(error, &class) == MPI_SUCCESS) {
        tw_next.Error_string(class, text, &length);
    }
    snprintf(about->error, sizeof(about->error), "%.*s", (int)sizeof(about->error) - 1, text);
    if (class == MPI_ERR_TRUNCATE) {
        tw_finish_remark(about,
                         "a message was longer than its receiver expected: ranks called with "
                         "different counts, or in different order");
    }
    for (size_t i = 0; i < pile->count; i++) {
        lossy = lossy || pile->records[i].why[TW_WHY_NOT] > 0;
    }
    if (lossy) {
        tw_finish_remark(about,
                         "where ranks decide by values that differ since a compressed call, "
                         "they may have parted: try --rule 'bcast:off', and without a codec");
    }
}

void tw_finish_aborted(bool by_program, int error)
{
    const struct timespec pause = {.tv_nsec = 100000000}; /* others that abort come meanwhile */
    tw_pile_t             pile  = {0};
    tw_report_about_t     about;

    pile.records = tw_records_copy(&pile.count);
    pile.count   = tw_records_merge(pile.records, pile.count);
    pile.seen    = tw_state.seen;
    pile.heard   = 1;
    tw_finish_about(&about, &pile);
    about.aborted = true;
    if (!by_program) {
        tw_finish_error(&about, &pile, error);
    }
    tw_finish_write(&about, &pile);
    free(pile.records);
    if (tw_state.config.record[0] != '\0' && tw_recording_first_to_say()) {
        tw_complain("the job %s is not written: rank %d ends the program before MPI_Finalize",
                    tw_state.config.record, tw_state.rank);
        nanosleep(&pause, NULL);
    }
    if (!tw_state.config.quiet) {
        tw_finish_let_read();
    }
}
