/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/report/records.h - what was seen, per call site, communicator, operation and type.
 *
 * A record holds no pointers, so that it can be sent to rank 0 as bytes; texts are
 * kept in it. While the program runs, the site is an address; before the records leave the process
 * it is turned into (file of the object, offset), which is the same on all ranks. */
#ifndef TW_INTERPOSE_RECORDS_H
#define TW_INTERPOSE_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <thinwire/status.h>

#include "runtime/base/dtype.h"
#include "runtime/codec/offers.h"
#include "runtime/policy/rules.h"

/* Why a call was not compressed. TW_WHY_NOT marks a call that was. */
#define TW_WHY_LIST(X)                                                                             \
    X(NOT, "compressed")                                                                           \
    X(WATCHING, "watching only (no codec named)")                                                  \
    X(SMALL, "below the threshold")                                                                \
    X(TYPE, "type is not all float32 or double")                                                   \
    X(MOVED, "not all float32 or double: moved as bytes by thinwire, not compressed")              \
    X(DOUBLE, "double (see --double)")                                                             \
    X(CODEC, "the codec has no form for this type")                                                \
    X(OPERATION, "operation is not MPI_SUM, MAX, MIN or PROD of a predefined type")                \
    X(REDUCTION, "MPI_MAX, MIN or PROD (a rule must name it)")                                     \
    X(RULE, "a rule says off")                                                                     \
    X(NO_RULE, "no rule matches")                                                                  \
    X(INFO, "the communicator's thinwire_codec says off")                                          \
    X(PCONTROL, "MPI_Pcontrol switched it off")                                                    \
    X(COMM, "inter-communicator, or ranks outside MPI_COMM_WORLD")                                 \
    X(SINGLE, "one rank only")                                                                     \
    X(AUTO_BLOCKING, "auto decides blocking MPI_Allreduce only")                                   \
    X(NOT_PAYING, "would not pay")                                                                 \
    X(MEMORY, "more than two message sizes of memory would be needed")                             \
    X(NO_HOOK, "no progress hook for a nonblocking call of two stages")                            \
    X(NO_DUPLICATE, "nonblocking, and no blocking call as large came before on this communicator") \
    X(COLLECTIVE, "a collective that is only counted")                                             \
    X(MESSAGE, "messages from rank to rank, which thinwire only counts")                           \
    X(ONE_SIDED, "one-sided transfers, which thinwire only counts")                                \
    X(CONTRACT, "the error contract allows no codec, or cannot be kept here")                      \
    X(FORM, "persistent or large-count form")                                                      \
    X(DEVICE, "device memory that this build or driver leaves to MPI")                             \
    X(ARGUMENTS, "arguments that MPI would refuse")

typedef enum tw_why {
#define X(name, text) TW_WHY_##name,
    TW_WHY_LIST(X)
#undef X
        TW_WHY_COUNT
} tw_why_t;

extern const char *const tw_why_texts[TW_WHY_COUNT];

/* The collectives that are only counted, with their names in the report; they follow those that
 * rules know, tw_rule_op_t. */
#define TW_WATCHED_LIST(X)                                                                         \
    X(BARRIER, "barrier")                                                                          \
    X(GATHER, "gather")                                                                            \
    X(GATHERV, "gatherv")                                                                          \
    X(SCATTER, "scatter")                                                                          \
    X(SCATTERV, "scatterv")                                                                        \
    X(SCAN, "scan")                                                                                \
    X(EXSCAN, "exscan")                                                                            \
    X(ALLTOALLW, "alltoallw")                                                                      \
    X(NEIGHBOR_ALLGATHER, "neighbor_allgather")                                                    \
    X(NEIGHBOR_ALLGATHERV, "neighbor_allgatherv")                                                  \
    X(NEIGHBOR_ALLTOALL, "neighbor_alltoall")                                                      \
    X(NEIGHBOR_ALLTOALLV, "neighbor_alltoallv")                                                    \
    X(NEIGHBOR_ALLTOALLW, "neighbor_alltoallw")

/* Messages and one-sided transfers, which follow those. */
#define TW_MESSAGE_LIST(X)                                                                         \
    X(SEND, "send")                                                                                \
    X(BSEND, "bsend")                                                                              \
    X(SSEND, "ssend")                                                                              \
    X(RSEND, "rsend")                                                                              \
    X(SENDRECV, "sendrecv")                                                                        \
    X(SENDRECV_REPLACE, "sendrecv_replace")                                                        \
    X(PSEND, "psend")
#define TW_ONE_SIDED_LIST(X)                                                                       \
    X(PUT, "put")                                                                                  \
    X(GET, "get")                                                                                  \
    X(ACCUMULATE, "accumulate")                                                                    \
    X(GET_ACCUMULATE, "get_accumulate")                                                            \
    X(FETCH_AND_OP, "fetch_and_op")                                                                \
    X(COMPARE_AND_SWAP, "compare_and_swap")                                                        \
    X(RPUT, "rput")                                                                                \
    X(RGET, "rget")                                                                                \
    X(RACCUMULATE, "raccumulate")                                                                  \
    X(RGET_ACCUMULATE, "rget_accumulate")

typedef enum tw_watched {
    TW_WATCHED_BEFORE = TW_RULE_OPS - 1,
#define X(name, text) TW_WATCHED_##name,
    TW_WATCHED_LIST(X) TW_MESSAGE_LIST(X) TW_ONE_SIDED_LIST(X)
#undef X
        TW_RECORD_OPERATIONS
} tw_watched_t;

/* The kinds of traffic that a report tells apart. */
#define TW_TRAFFIC_LIST(X)                                                                         \
    X(COLLECTIVE, "collectives")                                                                   \
    X(NEIGHBOUR, "neighbourhood collectives")                                                      \
    X(MESSAGE, "point-to-point")                                                                   \
    X(ONE_SIDED, "one-sided")

typedef enum tw_traffic_kind {
#define X(name, text) TW_TRAFFIC_##name,
    TW_TRAFFIC_LIST(X)
#undef X
        TW_TRAFFICS
} tw_traffic_kind_t;

extern const char *const tw_traffic_kind_texts[TW_TRAFFICS];

tw_traffic_kind_t tw_traffic_kind_of(int op);

/* What travels; mixed derived types are other ones. */
typedef enum tw_elements {
    TW_ELEMENTS_OTHER,
#define TW_ELEMENTS_OF(dtype, row, ...) TW_ELEMENTS_##row,
    TW_DTYPES(TW_ELEMENTS_OF)
#undef TW_ELEMENTS_OF
        TW_ELEMENTS_INTEGERS,
    TW_ELEMENTS_BYTES,
    TW_ELEMENTS
} tw_elements_t;

const char *tw_elements_text(tw_elements_t elements);

/* Are they values of a type? */
static inline bool tw_elements_are_values(tw_elements_t elements)
{
    return elements > TW_ELEMENTS_OTHER && elements < TW_ELEMENTS_INTEGERS;
}

/* What messages of floats and doubles hold that may be no numbers. */
#define TW_CENSUS_LIST(X)                                                                          \
    X(SUBNORMAL, "subnormal")                                                                      \
    X(NOT_FINITE, "not_finite")                                                                    \
    X(INTEGERS, "integers")                                                                        \
    X(WIDE, "over_60_binades")

typedef enum tw_census {
#define X(name, text) TW_CENSUS_##name,
    TW_CENSUS_LIST(X)
#undef X
        TW_CENSUS
} tw_census_t;

extern const char *const tw_census_texts[TW_CENSUS];

/* A bit for each that some of these values are, or all in the case of integers. */
unsigned tw_census_of(const void *values, size_t count, tw_dtype_t dtype);

/* What could have been used, of what codecs offer to reports: the rows of a watching report, in the
 * order of base/traits.h. */
#define TW_CANDIDATES_MAX 20
typedef struct tw_candidate {
    const char       *spec;
    tw_codec_traits_t traits;      /* for the first type that it is offered to */
    unsigned to[TW_DTYPE_ROWS];    /* tw_offer_to_t, 0: not offered, of each element type    */
    double   error[TW_DTYPE_ROWS]; /* tw_codec_traits_t.max_error of it, by --double where a codec
                                   has no form for it; NaN: it has none for floats, either */
    size_t   block[TW_DTYPE_ROWS]; /* .block: the error is in parts of the largest of so many     */
} tw_candidate_t;

typedef struct tw_candidates {
    int            count;
    tw_candidate_t row[TW_CANDIDATES_MAX];
} tw_candidates_t;
const tw_candidates_t *tw_candidates(void);

/* What tells records apart. Compared as bytes: zero it before filling. */
typedef struct tw_record_key {
    uint64_t site; /* return address; 0 once object and offset are filled              */
    uint8_t  op;   /* tw_rule_op_t or tw_watched_t                                      */
    uint8_t  nonblocking;
    uint8_t  form;     /* 0 usual, 1 persistent, 2 large count                              */
    uint8_t  python;   /* site is a tw_python_place_t                                    */
    uint8_t  elements; /* tw_elements_t                                                  */
    uint8_t  pad[3];
    char     type[24]; /* "float", "double", "float complex", "int", "derived(float)", ...  */
    char     comm[40]; /* "world", "self", name, or "N ranks"                               */
    char     codec[TW_RULE_SPEC_MAX]; /* spec, "" where not compressed                          */
    char     object[64]; /* file name of the program or library of the call                   */
    uint64_t offset;     /* of the return address in it                                       */
} tw_record_key_t;

/* Counters of a record that are sums. */
#define TW_RECORD_SUMS (22 + 2 * TW_WHY_COUNT + TW_DTYPE_ROWS + TW_CENSUS)

typedef struct tw_record {
    tw_record_key_t key;
    union {
        uint64_t sums[TW_RECORD_SUMS];
        struct {
            uint64_t calls;
            uint64_t uncompressed; /* bytes that this rank would send at full width            */
            uint64_t sent;    /* bytes that it did send: counted where compressed, else those   */
            uint64_t time_ns; /* in the collective (nonblocking: in call and completion)        */
            uint64_t encode_ns, decode_ns;
            uint64_t device_calls; /* with a buffer in device memory, of those that could be
                                      compressed                                                 */
            uint64_t device_bytes; /* uncompressed, in those */
            uint64_t device_ns;    /* of time_ns                                               */
            uint64_t small_calls;  /* with vectors under 4 KiB                                  */
            uint64_t small_ns;
            uint64_t why[TW_WHY_COUNT];       /* calls, by reason; why[NOT] were compressed     */
            uint64_t why_bytes[TW_WHY_COUNT]; /* uncompressed, by reason                        */
            uint64_t could_bytes; /* uncompressed, in calls that were eligible (why WATCHING)    */
            uint64_t could_of[TW_DTYPE_ROWS]; /* those of each type among them                  */
            uint64_t could_ns;                /* time in those calls                            */
            uint64_t verified;                /* calls whose error was measured                 */
            uint64_t verified_ns; /* time of the compressed collective in verified calls ...     */
            uint64_t exact_ns; /* ... and of the exact one beside it, which time_ns does not hold:
                                  the only basis for a statement on time saved; both 0 where not
                                  taken                                                          */
            uint64_t kept;     /* broadcasts whose root, this rank, kept its exact values: ranks
                                  may differ                                                     */
            uint64_t dropped;  /* vectors whose residuals error feedback gave up for others      */
            uint64_t looked;   /* messages whose values were looked at, a sample ...            */
            uint64_t census[TW_CENSUS]; /* ... and those of them that hold such                 */
            uint64_t steps;   /* calls after which the error contract moved to another codec     */
            uint64_t bounded; /* calls under an absolute bound, ...                             */
            uint64_t repeats; /* ... those of them that went again without loss, ...            */
        };
    };
    uint64_t bits;      /* ... and the most bits of a value in them                             */
    double   worst;     /* largest |error| seen                                                 */
    double   worst_rms; /* largest rms(error) / rms(exact) of a call                            */
    uint64_t could[TW_DTYPE_ROWS][TW_CANDIDATES_MAX]; /* bytes that would be sent with each
                    candidate in the eligible calls of each type, else 0 */
} tw_record_t;
_Static_assert(offsetof(tw_record_t, bits) ==
                   offsetof(tw_record_t, calls) + TW_RECORD_SUMS * sizeof(uint64_t),
               "all sums are counted");

/* Add b's counters to a's; of the errors the larger ones. Keys are left alone. */
void tw_record_merge(tw_record_t *a, const tw_record_t *b);

/* ---- the table of one process --------------------------------------------------------------- */

/* Add to the record of a key, which is made at first use. Safe from any thread. Beyond some
 * thousands of records, and without memory, further keys are counted together under a coarser one,
 * with TW_COMM_OTHERS for the communicator: no call is lost. */
void tw_records_add(const tw_record_key_t *key, const tw_record_t *delta);
#define TW_COMM_OTHERS "(others)"

/* The same in two steps, without a delta to fill: find the record of a key, never NULL, and change
 * it in place. Both between lock and unlock; the pointer stays valid until the process ends. */
void         tw_records_lock(void);
void         tw_records_unlock(void);
tw_record_t *tw_records_find(const tw_record_key_t *key);

/* A copy of all records with sites resolved to object and offset; *count_p records; the caller
 * frees it. NULL, with a count of 0, if there are none or no memory for it. It waits at most a
 * second for the lock: MPI_Abort may be called while a thread that was interrupted holds it. */
tw_record_t *tw_records_copy(size_t *count_p);

/* ---- the report ------------------------------------------------------------------------------ */

#define TW_REMARKS 8

/* About the whole job, of rank 0. */
typedef struct tw_report_about {
    int         ranks;       /* of MPI_COMM_WORLD                                               */
    int         heard;       /* ranks whose records arrived within the limit                    */
    double      seconds;     /* between MPI_Init and MPI_Finalize, of rank 0                    */
    const char *codec;       /* as asked for; "by rules" where no other is named; "" while
                                   watching                                                       */
    const char *library;     /* first line of MPI_Get_library_version                           */
    uint64_t    intercepted; /* calls seen, of all kinds, over all heard ranks                  */
    size_t      threshold;   /* --threshold                                                     */
    double      contract;    /* --max-error, 0 without                                          */
    bool        feedback;
    bool        aborted;   /* counters of one rank: by MPI_Abort, or by MPI ...               */
    char        error[80]; /* ... for this error; "" by MPI_Abort                            */
    int         rank;      /* whose counters, when aborted                                    */
    char remarks[TW_REMARKS][160]; /* further lines that must be said; "" ends                  */
} tw_report_about_t;

/* Merge records that have equal keys, over sites and ranks; sorts by time, longest first.
 * In place; returns the new count. */
size_t tw_records_merge(tw_record_t *records, size_t count);

/* Write the text report to stream, at most TW_REPORT_LINES lines, in one piece. records as
 * tw_records_merge() leaves them. Calls and bytes are sums over the heard ranks; times are means of
 * one heard rank, so that they compare with about->seconds. Numbers have a point in any locale. */
#define TW_REPORT_LINES 40
struct _IO_FILE;
void tw_report_text(struct _IO_FILE *stream, const tw_report_about_t *about,
                    const tw_record_t *records, size_t count);

/* Write all of it as one JSON object (keys as in the design: version, command, machine, rows),
 * calls, bytes and times as in the text. Without a JSON library: the preload must not bring one
 * into a stranger's process. */
void tw_report_json(struct _IO_FILE *stream, const tw_report_about_t *about,
                    const tw_record_t *records, size_t count);

/* ---- sites ----------------------------------------------------------------------------------- */

/* (object, offset) of an address in this process: the offset is what the object's own symbol table
 * and line table say, the same wherever it is loaded. An address in no object, of generated code,
 * gives "" and 0. */
void tw_site_locate(uint64_t address, char *object, size_t object_size, uint64_t *offset_p);

/* "function at file.c:123", "function+0x1c in libfoo.so", or "libfoo.so+0x1234": asks addr2line
 * where it is installed (rank 0, at the report only), else the dynamic symbols. Answers are kept.
 * One thread at a time. */
void tw_site_name(const char *object, uint64_t offset, char *text, size_t size);

/* Ask for many at once: one addr2line per object, at most 2 s each and 4 s in all; what it has not
 * answered by then gets the dynamic symbol or the offset. */
void tw_site_prepare(const tw_record_t *records, size_t count);

#endif /* TW_INTERPOSE_RECORDS_H */
