/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/call.c - begin, decide, end; see call.h.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "interpose/mpi/taken.h"
#include "interpose/call.h"
#include "interpose/mpi/absolute.h"
#include "interpose/mpi/device.h"
#include "interpose/next.h"
#include "interpose/state.h"
#include "interpose/record/recording.h"
#include "interpose/mpi/verify.h"
#include "runtime/base/clock.h"
#include "runtime/transport/link/mpi_type.h"

#define TW_SMALL_BYTES 4096 /* what the report calls a small message */

int tw_pcontrol_off;

void tw_call_begin(tw_call_t *call, const void *site, int op, bool nonblocking, MPI_Comm comm)
{
    memset(call, 0, sizeof(*call));
    call->python      = tw_python_place(site);
    call->site        = call->python != NULL ? (const void *)call->python : site;
    call->op          = op;
    call->nonblocking = nonblocking;
    call->comm        = tw_comms_get(comm);
    if (tw_is_recording()) {
        tw_recording_begins();
    }
    call->start_ns = tw_clock_ns();
    if (call->comm == NULL) {
        call->why = TW_WHY_ARGUMENTS;
    } else if (!call->comm->usable) {
        call->why = (tw_why_t)call->comm->why;
    }
}

bool tw_call_vector(tw_call_t *call, MPI_Aint count, MPI_Datatype datatype)
{
    if (call->comm == NULL || count < 0 || !tw_type_look(datatype, &call->type)) {
        call->why = TW_WHY_ARGUMENTS;
        return false;
    }
    call->values = (size_t)count * call->type.values;
    call->bytes  = (uint64_t)count * call->type.size;
    if (call->type.kind == TW_KIND_OTHER) {
        tw_call_refuse(call, TW_WHY_TYPE);
    }
    call->uncompressed = tw_call_moved(call->op, call->comm->size, call->bytes);
    return call->why == TW_WHY_NOT;
}

/* Is it one of the library's? Types that are taken for floats have sums of the program's own. */
static bool tw_call_reduction(tw_call_t *call, MPI_Op op)
{
    if (!call->type.taken) {
        return tw_mpi_reduction(op, &call->reduction);
    }
    call->reduction = TW_SUM;
    return tw_taken_is_sum(call->type.handle, op);
}

void tw_call_operation(tw_call_t *call, MPI_Op op)
{
    call->mpi_op = op;
    if (call->type.kind == TW_KIND_WORDS) {
        tw_call_refuse(call, TW_WHY_TYPE);
    } else if (!(call->type.named || call->type.taken) || !tw_call_reduction(call, op) ||
               (call->type.values > 1 &&
                call->reduction != TW_SUM)) { /* of pairs of reals only sums are pairs of sums */
        tw_call_refuse(call, op == MPI_OP_NULL ? TW_WHY_ARGUMENTS : TW_WHY_OPERATION);
    }
    call->reduces = true;
}

/* For the report; the line is written to once. */
static void tw_call_rule_used(int rule)
{
    const uint64_t bit = rule < 64 ? UINT64_C(1) << rule : 0;

    if ((__atomic_load_n(&tw_state.rules_used, __ATOMIC_RELAXED) & bit) != bit) {
        __atomic_fetch_or(&tw_state.rules_used, bit, __ATOMIC_RELAXED);
    }
}

/* Is it named for this type, by a rule that says so or by --double? For this reduction, by a
 * rule? */
typedef struct tw_call_named {
    bool type, reduction;
} tw_call_named_t;

/* The spec that the communicator's info, a rule or the option names; NULL and a reason for none. */
static const char *tw_call_spec(const tw_call_t *call, tw_dtype_t dtype, uint64_t bytes,
                                tw_call_named_t *named, tw_why_t *why)
{
    const tw_rule_query_t query = {.op        = call->op,
                                   .reduction = call->reduces ? (int)call->reduction : -1,
                                   .dtype     = dtype,
                                   .bytes     = bytes,
                                   .comm_name = call->comm->name,
                                   .ranks     = call->comm->size};
    const char           *spec;
    int                   rule;

    *named = (tw_call_named_t){.type = tw_state.config.narrow != 0};
    if (__atomic_load_n(&tw_pcontrol_off, __ATOMIC_RELAXED)) {
        *why = TW_WHY_PCONTROL;
        return NULL;
    }
    if (call->comm->info[0] != '\0') {
        *why = TW_WHY_INFO;
        return strcmp(call->comm->info, "off") == 0 ? NULL : call->comm->info;
    }
    rule = tw_rules_match(&tw_state.rules, &query);
    if (rule >= 0) {
        *why = TW_WHY_RULE;
        tw_call_rule_used(rule);
        spec = tw_state.rules.rules[rule].spec;
        named->type |= tw_state.rules.rules[rule].dtype >= 0;
        named->reduction = tw_state.rules.rules[rule].reduction >= 0;
        return *spec == '\0' ? NULL : spec;
    }
    *why = TW_WHY_WATCHING;
    if (tw_state.config.codec[0] == '\0') {
        if (tw_state.codecs) {
            *why = TW_WHY_NO_RULE;
        }
        return NULL;
    }
    if (tw_drop_in_small((double)bytes, (double)tw_state.config.threshold) && !tw_encode_always()) {
        *why = TW_WHY_SMALL;
        return NULL;
    }
    return tw_state.config.codec;
}

static bool tw_call_means(const char *spec, tw_kind_t kind, bool asked)
{
    return !tw_kind_is_asked(kind) ||
           tw_drop_in_means_doubles(asked, tw_choice_get(spec, TW_KIND_f32)->codec != NULL);
}

static const tw_choice_t *tw_call_choose(const tw_call_t *call, tw_kind_t kind, size_t values,
                                         tw_why_t *why)
{
    const bool      lossy = tw_reduction_row((int)call->reduction)->lossy;
    tw_call_named_t named = {false, false};
    const char     *spec =
        tw_call_spec(call, tw_kind_dtype(kind), (uint64_t)values * tw_kind_size(kind), &named, why);
    const tw_choice_t *choice;

    if (spec == NULL) {
        *why = *why == TW_WHY_WATCHING && !lossy ? TW_WHY_REDUCTION : *why;
        return NULL;
    }
    if (values == 0) {
        *why = TW_WHY_SMALL;
        return NULL;
    }
    choice = tw_choice_get(spec, kind);
    if (choice->codec == NULL || !tw_call_means(spec, kind, named.type)) {
        *why = tw_kind_is_asked(kind) ? TW_WHY_DOUBLE : TW_WHY_CODEC;
        return NULL;
    }
    if (kind == TW_KIND_WORDS && !choice->exact) {
        *why = TW_WHY_TYPE;
        return NULL;
    }
    if (!choice->exact && !named.reduction && !lossy) {
        *why = TW_WHY_REDUCTION;
        return NULL;
    }
    if (choice->automatic) {
        *why = tw_absolute_refusal(call, choice);
        return *why == TW_WHY_NOT ? choice : NULL;
    }
    if (!tw_encode_always() &&
        (choice->exact || tw_choice_bytes(choice, values) >= values * tw_kind_size(kind))) {
        *why = TW_WHY_NOT_PAYING;
        return NULL;
    }
    *why = TW_WHY_NOT;
    return choice;
}

bool tw_call_moves(const tw_call_t *call)
{
    tw_call_named_t named;
    tw_why_t        why;

    return call->why == TW_WHY_TYPE && !call->nonblocking && call->bytes > 0 &&
           (tw_encode_always() ||
            !tw_drop_in_small((double)call->bytes, (double)tw_state.config.threshold)) &&
           tw_call_spec(call, TW_BYTE, call->bytes, &named, &why) != NULL;
}

bool tw_call_decide(tw_call_t *call)
{
    if (call->why != TW_WHY_NOT) {
        return false;
    }
    call->choice = tw_call_choose(call, call->type.kind, call->values, &call->why);
    call->coded  = call->choice;
    if (call->choice != NULL && call->choice->absolute > 0 && call->op != TW_RULE_ALLREDUCE) {
        tw_absolute_decide(call);
    } else if (call->choice != NULL) {
        tw_verify_decide(call);
        call->coded = call->choice;
    }
    return call->choice != NULL;
}

void tw_call_buffers(tw_call_t *call, const void *sendbuf, const void *recvbuf)
{
    const void *const buffers[2] = {sendbuf, recvbuf};

    for (int i = 0; i < 2; i++) {
        tw_owner_t   owner = tw_owner_of(buffers[i]);
        tw_device_t *device;

        call->on_device |= owner != TW_OWNER_HOST;
        if (owner == TW_OWNER_CUDA && call->why == TW_WHY_NOT && tw_call_may_encode(call)) {
            owner = tw_device_find(call->comm->handle, buffers[i], &device);
        }
        if (owner == TW_OWNER_UNKNOWN ||
            (owner == TW_OWNER_CUDA && tw_device_cuda.context == NULL)) {
            tw_call_refuse(call, TW_WHY_DEVICE);
        }
    }
}

void tw_call_undo(tw_call_t *call, tw_why_t why)
{
    call->choice = NULL;
    call->why    = why;
}

const tw_choice_t *tw_call_decide_pair(tw_call_t *call, tw_kind_t kind, size_t values)
{
    const tw_choice_t *choice;
    tw_why_t           why = TW_WHY_TYPE;

    if (kind == TW_KIND_OTHER) {
        tw_call_refuse(call, TW_WHY_TYPE);
        return NULL;
    }
    choice = tw_call_choose(call, kind, values, &why);
    return choice != NULL ? tw_verify_choice(call, choice) : NULL;
}

void tw_call_choice_reason(const tw_call_t *call, tw_kind_t kind, size_t values, tw_why_t *why)
{
    tw_call_choose(call, kind, values, why);
}

uint64_t tw_call_moved(tw_rule_op_t op, int ranks, uint64_t bytes)
{
    const uint64_t p = (uint64_t)ranks;

    if (ranks <= 1) {
        return 0;
    }
    switch (op) {
    case TW_RULE_ALLREDUCE:
        return (uint64_t)(2.0 * (double)bytes * (double)(p - 1) / (double)p + 0.5);
    case TW_RULE_BCAST:
    case TW_RULE_REDUCE:
    case TW_RULE_REDUCE_SCATTER:
    case TW_RULE_REDUCE_SCATTER_BLOCK:
        return (uint64_t)((double)bytes * (double)(p - 1) / (double)p + 0.5);
    case TW_RULE_ALLTOALLV: /* the handler sums over the pairs */
        return bytes;
    default:
        return bytes * (p - 1);
    }
}

/* ---- counting -------------------------------------------------------------------------------- */

static void tw_call_key(const tw_call_t *call, tw_record_key_t *key)
{
    memset(key, 0, sizeof(*key));
    key->site        = (uint64_t)(uintptr_t)call->site;
    key->python      = call->python != NULL;
    key->op          = (uint8_t)call->op;
    key->nonblocking = call->nonblocking;
    key->form        = (uint8_t)call->form;
    if (call->type.size > 0) {
        memcpy(key->type, call->type.name, sizeof(key->type));
        key->elements = (uint8_t)call->type.elements;
    }
    if (call->comm != NULL) {
        memcpy(key->comm, call->comm->label, sizeof(key->comm));
    }
    if (call->choice != NULL) {
        memcpy(key->codec, call->choice->spec, sizeof(key->codec));
    }
}

/* Bytes that this rank would send in this call with a codec; uncompressed where it would pass.
 */
static uint64_t tw_call_would_send(const tw_call_t *call, const tw_choice_t *choice)
{
    const int ranks = call->comm->size;
    size_t    codes = 0;

    if (tw_choice_bytes(choice, call->values) >= call->values * tw_kind_size(choice->kind)) {
        return call->uncompressed;
    }
    switch (call->op) {
    case TW_RULE_ALLREDUCE:
        if (!call->nonblocking) { /* by the transport, which does not pad */
            tw_codec_size(choice->codec, call->values, &codes);
            return tw_call_moved(call->op, ranks, codes);
        }
        return tw_choice_all_fit(choice, call->values, ranks)
                   ? (uint64_t)(ranks - 1) * tw_choice_bytes(choice, call->values)
                   : call->uncompressed;
    case TW_RULE_REDUCE:
        return tw_choice_all_fit(choice, call->values, ranks)
                   ? tw_call_moved(call->op, ranks, tw_choice_bytes(choice, call->values))
                   : call->uncompressed;
    case TW_RULE_ALLGATHERV:
        return tw_call_moved(call->op, ranks, tw_choice_bytes(choice, call->own));
    default:
        return tw_call_moved(call->op, ranks, tw_choice_bytes(choice, call->values));
    }
}

bool tw_call_could_send(const tw_call_t *call)
{
    return call->why == TW_WHY_WATCHING && call->type.kind != TW_KIND_OTHER &&
           call->bytes >= tw_state.config.threshold;
}

/* While watching: what each candidate would have sent. */
static void tw_call_could(const tw_call_t *call, tw_record_t *delta, uint64_t ns)
{
    const size_t type = tw_kind_index(call->type.kind);

    if (!tw_call_could_send(call)) {
        return;
    }
    delta->could_bytes    = call->uncompressed;
    delta->could_of[type] = call->uncompressed;
    delta->could_ns       = ns;
    for (int c = 0, count = tw_candidates()->count; c < count; c++) {
        delta->could[type][c] =
            call->could_known ? call->could[c]
                              : tw_call_would_send(call, tw_choice_candidate(c, call->type.kind));
    }
}

/* What is counted of the beginning and of the end of a call. */
static void tw_call_delta(const tw_call_t *call, uint64_t ns, tw_record_t *delta)
{
    tw_call_key(call, &delta->key);
    memset((char *)delta + sizeof(delta->key), 0, sizeof(*delta) - sizeof(delta->key));
    delta->time_ns   = ns;
    delta->encode_ns = call->encode_ns;
    delta->decode_ns = call->decode_ns;
    delta->kept      = call->kept;
    delta->device_ns = call->on_device ? ns : 0;
}

void tw_call_end(tw_call_t *call)
{
    const uint64_t end_ns = tw_clock_ns(), ns = end_ns - call->start_ns - call->extra_ns;
    tw_record_t    delta;

    tw_call_delta(call, ns, &delta);
    delta.calls        = 1;
    delta.device_calls = call->on_device;
    delta.device_bytes = call->on_device ? call->uncompressed : 0;
    delta.uncompressed = call->uncompressed;
    delta.sent         = call->why == TW_WHY_NOT ? call->sent : call->uncompressed;
    if (call->bytes < TW_SMALL_BYTES) {
        delta.small_calls = 1;
        delta.small_ns    = ns;
    }
    delta.why[call->why]       = 1;
    delta.why_bytes[call->why] = call->uncompressed;
    delta.verified             = call->verified;
    delta.worst                = call->worst;
    delta.worst_rms            = call->worst_rms;
    delta.steps                = call->stepped;
    delta.bounded              = call->bounded;
    delta.repeats              = call->repeated;
    delta.bits                 = (uint64_t)call->bits;
    delta.dropped              = call->dropped;
    if (call->verified && call->exact_ns > 0) {
        delta.exact_ns    = call->exact_ns;
        delta.verified_ns = ns;
    }
    tw_call_could(call, &delta, ns);
    tw_records_add(&delta.key, &delta);
    __atomic_fetch_add(&tw_state.seen, 1, __ATOMIC_RELAXED);
    if (tw_is_recording()) {
        tw_recording_call(call, end_ns);
    }
}

void tw_call_more(tw_call_t *call, uint64_t ns)
{
    tw_record_t delta;

    tw_call_delta(call, ns, &delta);
    tw_records_add(&delta.key, &delta);
}
