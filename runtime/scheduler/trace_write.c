/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/trace_write.c - the spans of all ranks on rank 0, as Chrome trace JSON.
 *
 * Rank 0 receives and writes spans in pieces, so its memory does not grow with the number of ranks.
 * It first determines the offset of each rank's clock from its own, and the begin of the earliest
 * span, which is time 0.
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/scheduler/trace.h"
#include "runtime/transport/api/scheduler.h"

#define TW_TRACE_PIECE   4096 /* spans per message                                        */
#define TW_TRACE_ECHOES  8    /* messages there and back, of which the fastest counts     */
#define TW_TRACE_THREADS 16   /* in the file, for the spans of a track that overlap        */

enum { TW_TRACE_TRACKS = TW_TRACE_DEVICE + 1 };

/* What each rank says before it sends its spans. */
typedef struct tw_trace_head {
    uint64_t count, dropped;
    uint64_t first; /* when its first span began */
    uint64_t now;   /* the end of what goes on   */
} tw_trace_head_t;

/* A rank as rank 0 sees it. */
typedef struct tw_trace_clock {
    int64_t ahead;    /* add this to its clock to get that of rank 0 */
    int64_t error_ns; /* half the time of the fastest echo           */
} tw_trace_clock_t;

typedef struct tw_trace_writer {
    FILE    *out;
    int64_t  zero; /* by the clock of rank 0 */
    bool     any;  /* an event was written   */
    int      rank; /* whose spans are written */
    int      threads[TW_TRACE_TRACKS];
    uint64_t busy_until[TW_TRACE_TRACKS][TW_TRACE_THREADS];
} tw_trace_writer_t;

static const char *const tw_trace_tracks[TW_TRACE_TRACKS] = {"compute", "network",  "read",
                                                             "prepare", "transfer", "device"};

/* ---- JSON ---------------------------------------------------------------------------------- */

static void tw_trace_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\') {
            fputc('\\', out);
        }
        fputc(c < 0x20 || c > 0x7e ? '?' : c, out);
    }
    fputc('"', out);
}

/* Microseconds, without the locale's idea of a decimal point. */
static void tw_trace_time(FILE *out, const char *key, int64_t ns)
{
    ns = ns > 0 ? ns : 0;
    fprintf(out, ",\"%s\":%" PRId64 ".%03d", key, ns / 1000, (int)(ns % 1000));
}

static void tw_trace_event(tw_trace_writer_t *w)
{
    fputs(w->any ? ",\n" : "\n", w->out);
    w->any = true;
}

/* Compute is thread 0, the network 1 to 16, and so on. */
static int tw_trace_thread_number(int track, int lane)
{
    return track == TW_TRACE_COMPUTE ? 0 : (track - 1) * TW_TRACE_THREADS + lane + 1;
}

static void tw_trace_thread_name(tw_trace_writer_t *w, int track, int lane)
{
    const int thread = tw_trace_thread_number(track, lane);

    tw_trace_event(w);
    fprintf(w->out,
            "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":",
            w->rank, thread);
    if (lane == 0) {
        fprintf(w->out, "\"%s\"}}", tw_trace_tracks[track]);
    } else {
        fprintf(w->out, "\"%s %d\"}}", tw_trace_tracks[track], lane + 1);
    }
    tw_trace_event(w);
    fprintf(w->out,
            "{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":%d,\"tid\":%d,"
            "\"args\":{\"sort_index\":%d}}",
            w->rank, thread, thread);
}

static void tw_trace_process(tw_trace_writer_t *w, int rank)
{
    w->rank = rank;
    memset(w->threads, 0, sizeof(w->threads));
    memset(w->busy_until, 0, sizeof(w->busy_until));
    tw_trace_event(w);
    fprintf(w->out,
            "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":\"rank %d\"}}",
            rank, rank);
    tw_trace_event(w);
    fprintf(
        w->out,
        "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%d,\"args\":{\"sort_index\":%d}}",
        rank, rank);
    tw_trace_thread_name(w, TW_TRACE_COMPUTE, 0);
}

/* The thread of the file on which a span lies: the first of its track that is free when it begins,
 * as the viewer wants spans of a thread to nest. Spans of a computation do so by themselves. */
static int tw_trace_thread(tw_trace_writer_t *w, const tw_span_t *span, uint64_t end)
{
    const int track = span->track > 0 && span->track < TW_TRACE_TRACKS ? span->track : 0;
    uint64_t *busy  = w->busy_until[track];
    int       t     = 0;

    if (track == TW_TRACE_COMPUTE) {
        return 0;
    }
    while (t < w->threads[track] && busy[t] > span->begin) {
        t++;
    }
    if (t == w->threads[track] && t < TW_TRACE_THREADS) {
        w->threads[track]++;
        tw_trace_thread_name(w, track, t);
    }
    t       = t < TW_TRACE_THREADS ? t : TW_TRACE_THREADS - 1;
    busy[t] = end;
    return tw_trace_thread_number(track, t);
}

static void tw_trace_span(tw_trace_writer_t *w, const tw_span_t *span, uint64_t now, int64_t ahead)
{
    const uint64_t end    = span->end > 0 ? span->end : now;
    const int      thread = tw_trace_thread(w, span, end);

    tw_trace_event(w);
    fprintf(w->out, "{\"ph\":\"%s\",\"name\":", span->mark ? "i" : "X");
    tw_trace_text(w->out, span->name);
    fprintf(w->out, ",\"pid\":%d,\"tid\":%d", w->rank, thread);
    tw_trace_time(w->out, "ts", (int64_t)span->begin + ahead - w->zero);
    if (span->mark) {
        fputs(",\"s\":\"t\"", w->out);
    } else {
        tw_trace_time(w->out, "dur", (int64_t)(end - span->begin));
    }
    fputs(",\"args\":{", w->out);
    if (span->number >= 0) {
        fprintf(w->out, "\"number\":%" PRId64, span->number);
    }
    if (span->end == 0) {
        fprintf(w->out, "%s\"unfinished\":true", span->number >= 0 ? "," : "");
    }
    fputs("}}", w->out);
}

static void tw_trace_foot(tw_trace_writer_t *w, const tw_trace_head_t *heads,
                          const tw_trace_clock_t *clocks, int size)
{
    fprintf(w->out, "\n],\"displayTimeUnit\":\"ms\",\"otherData\":{\"ranks\":%d,\"dropped\":[",
            size);
    for (int r = 0; r < size; r++) {
        fprintf(w->out, "%s%" PRIu64, r > 0 ? "," : "", heads[r].dropped);
    }
    fputs("],\"clock_error_ns\":[", w->out);
    for (int r = 0; r < size; r++) {
        fprintf(w->out, "%s%" PRId64, r > 0 ? "," : "", clocks[r].error_ns);
    }
    fputs("]}}\n", w->out);
}

/* ---- messages ------------------------------------------------------------------------------ */

/* On rank 0 and on `peer`: how far is its clock from that of rank 0? */
static tw_status_t tw_trace_compare_clocks(tw_comm_t *comm, int peer, tw_trace_clock_t *clock)
{
    tw_status_t status = TW_OK;
    uint64_t    there  = 0;

    *clock = (tw_trace_clock_t){0, INT64_MAX};
    for (int i = 0; i < TW_TRACE_ECHOES && status == TW_OK; i++) {
        const uint64_t start = tw_clock_ns();

        if (tw_comm_rank(comm) == peer) {
            status = tw_sync_message(comm, false, &there, sizeof(there), 0, "comparing clocks");
            there  = tw_clock_ns();
        }
        if (status == TW_OK) {
            status = tw_sync_message(comm, true, &there, sizeof(there),
                                     tw_comm_rank(comm) == 0 ? peer : 0, "comparing clocks");
        }
        if (status == TW_OK && tw_comm_rank(comm) == 0) {
            int64_t half;

            status = tw_sync_message(comm, false, &there, sizeof(there), peer, "comparing clocks");
            half   = (int64_t)(tw_clock_ns() - start) / 2;
            if (half < clock->error_ns) {
                *clock = (tw_trace_clock_t){(int64_t)start + half - (int64_t)there, half};
            }
        }
    }
    return status;
}

static tw_status_t tw_trace_clocks(tw_comm_t *comm, tw_trace_clock_t *clocks)
{
    tw_status_t status = TW_OK;

    clocks[0] = (tw_trace_clock_t){0, 0};
    for (int r = 1; r < tw_comm_size(comm) && status == TW_OK; r++) {
        if (tw_comm_rank(comm) == 0 || tw_comm_rank(comm) == r) {
            status = tw_trace_compare_clocks(comm, r, &clocks[r]);
        }
    }
    return status;
}

/* One rank's spans, to rank 0 and into the file. */
static tw_status_t tw_trace_pass_on(tw_comm_t *comm, const tw_trace_t *trace, int rank,
                                    uint64_t count, tw_span_t *room, tw_trace_writer_t *w,
                                    uint64_t now, int64_t ahead)
{
    tw_status_t status = TW_OK;

    for (uint64_t at = 0; at < count && status == TW_OK; at += TW_TRACE_PIECE) {
        const size_t n     = count - at < TW_TRACE_PIECE ? (size_t)(count - at) : TW_TRACE_PIECE;
        const int    bytes = (int)(n * sizeof(tw_span_t));

        if (tw_comm_rank(comm) == rank) {
            memcpy(room, &trace->span[at], (size_t)bytes);
        }
        if (rank != 0) {
            status = tw_sync_message(comm, tw_comm_rank(comm) == rank, room, bytes,
                                     tw_comm_rank(comm) == 0 ? rank : 0, "gathering a trace");
        }
        for (size_t i = 0; i < n && tw_comm_rank(comm) == 0 && status == TW_OK; i++) {
            tw_trace_span(w, &room[i], now, ahead);
        }
    }
    return status;
}

static int64_t tw_trace_zero(const tw_trace_head_t *heads, const tw_trace_clock_t *clocks, int size)
{
    int64_t zero = INT64_MAX;

    for (int r = 0; r < size; r++) {
        const int64_t first = (int64_t)heads[r].first + clocks[r].ahead;

        zero = heads[r].count > 0 && first < zero ? first : zero;
    }
    return zero;
}

/* When the first span began; 0 without any. */
static uint64_t tw_trace_first(const tw_trace_t *trace)
{
    uint64_t first = trace->count > 0 ? trace->span[0].begin : 0;

    for (size_t i = 1; i < trace->count; i++) {
        first = trace->span[i].begin < first ? trace->span[i].begin : first;
    }
    return first;
}

static tw_status_t tw_trace_gather(tw_comm_t *comm, const tw_trace_t *trace, FILE *stream,
                                   tw_trace_head_t *heads, tw_trace_clock_t *clocks,
                                   tw_span_t *room)
{
    tw_trace_head_t   mine = {.now = tw_clock_ns()};
    tw_trace_writer_t w    = {.out = stream};
    tw_status_t       status;

    if (trace != NULL) {
        mine.count   = trace->count;
        mine.dropped = trace->dropped;
        mine.first   = tw_trace_first(trace);
    }
    status = tw_sync_allgather(comm, &mine, heads, sizeof(mine), "gathering a trace");
    if (status == TW_OK) {
        status = tw_trace_clocks(comm, clocks);
    }
    if (tw_comm_rank(comm) == 0 && status == TW_OK) {
        w.zero = tw_trace_zero(heads, clocks, tw_comm_size(comm));
        fputs("{\"traceEvents\":[", stream);
    }
    for (int r = 0; r < tw_comm_size(comm) && status == TW_OK; r++) {
        if (tw_comm_rank(comm) == 0) {
            tw_trace_process(&w, r);
        }
        if (tw_comm_rank(comm) == 0 || tw_comm_rank(comm) == r) {
            status = tw_trace_pass_on(comm, trace, r, heads[r].count, room, &w, heads[r].now,
                                      clocks[r].ahead);
        }
    }
    if (tw_comm_rank(comm) == 0 && status == TW_OK) {
        tw_trace_foot(&w, heads, clocks, tw_comm_size(comm));
    }
    return status;
}

tw_status_t tw_trace_write(tw_comm_t *comm, const tw_trace_t *trace, FILE *stream)
{
    tw_status_t      status = tw_comm_check(comm);
    tw_side_stream_t side;
    size_t           ranks, bytes;
    void            *room;

    if (status != TW_OK) {
        return status;
    }
    status =
        tw_comm_agree(comm, tw_comm_rank(comm) == 0 && stream == NULL ? TW_ERR_INVALID_ARG : TW_OK);
    if (status != TW_OK) {
        return status;
    }
    tw_side_open(&side, comm, NULL, NULL);
    ranks  = (size_t)tw_comm_size(comm);
    bytes  = TW_TRACE_PIECE * sizeof(tw_span_t);
    status = tw_side_agreed_get(
        &side, TW_OK, bytes + ranks * (sizeof(tw_trace_head_t) + sizeof(tw_trace_clock_t)), &room);
    if (status == TW_OK) {
        tw_trace_head_t  *heads  = (void *)((char *)room + bytes);
        tw_trace_clock_t *clocks = (void *)(heads + ranks);

        status = tw_trace_gather(comm, trace, stream, heads, clocks, room);
        if (status == TW_OK) {
            const bool bad = tw_comm_rank(comm) == 0 && (fflush(stream) != 0 || ferror(stream));

            status = tw_comm_agree(comm, bad ? TW_ERR_IO : TW_OK);
        }
    }
    tw_side_close(&side);
    return status;
}
