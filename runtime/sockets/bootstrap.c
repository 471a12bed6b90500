/* SPDX-License-Identifier: BSD-3-Clause
 * sockets/bootstrap.c - ranks find each other through a store.
 *
 * Each rank puts a card under NAME/RANK; rank 0 gets all of them and puts the table of all, with a
 * random cookie, under NAME/all. So the store serves 3 keys for each rank. A card is a text:
 *
 *     version  byte order  number of ranks  a random number  machine  address  port
 *
 * Who finds another number on its own card in the table has met the keys of another communicator.
 */
#include "config.h"

#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <thinwire/store.h>

#include "runtime/base/bytes.h"
#include "runtime/sockets/address.h"
#include "runtime/sockets/world.h"

#define TW_CARD_BYTES 192
#define TW_KEY_BYTES  300

/* The same for processes that can share memory. */
static uint64_t tw_host_identity(void)
{
    char  text[256] = "";
    FILE *boot      = fopen("/proc/sys/kernel/random/boot_id", "re");

    if (boot != NULL) {
        (void)!fgets(text, 64, boot);
        fclose(boot);
    }
    gethostname(text + 64, sizeof(text) - 65);
    return tw_fnv1a(TW_FNV_START, text, sizeof(text));
}

static bool tw_card_fill(char *card, int size, const char *address, int port)
{
    const uint16_t order = 1;
    uint8_t        low;
    uint64_t       number;

    memcpy(&low, &order, 1);
    return getrandom(&number, sizeof(number), 0) == (ssize_t)sizeof(number) &&
           snprintf(card, TW_CARD_BYTES, "%.40s %s %d %016" PRIx64 " %016" PRIx64 " %s %d",
                    PACKAGE_VERSION, low == 1 ? "little-endian" : "big-endian", size, number,
                    tw_host_identity(), address, port) < TW_CARD_BYTES;
}

/* Does a card say the same as this rank's where it must? `what` it does not. */
static bool tw_card_agrees(const char *card, const char *own, char what[2][48])
{
    const char *sep = " ";

    for (int word = 0; word < 3; word++) {
        const size_t a = strcspn(card, sep), b = strcspn(own, sep);

        if (a != b || memcmp(card, own, a) != 0) {
            snprintf(what[0], sizeof(what[0]), "%.*s", (int)a, card);
            snprintf(what[1], sizeof(what[1]), "%.*s", (int)b, own);
            return false;
        }
        card += a + (card[a] != '\0');
        own += b + (own[b] != '\0');
    }
    return true;
}

static bool tw_card_read(const char *card, tw_peer_t *peer)
{
    const struct addrinfo hints = {.ai_flags    = AI_NUMERICHOST | AI_NUMERICSERV,
                                   .ai_socktype = SOCK_STREAM};
    struct addrinfo      *found = NULL;
    char                  address[TW_ADDRESS_TEXT], port[16];

    if (sscanf(card, "%*s %*s %*d %*x %" SCNx64 " %63s %15s", &peer->host, address, port) != 3 ||
        getaddrinfo(address, port, &hints, &found) != 0) {
        return false;
    }
    memcpy(&peer->address, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return true;
}

/* ---- the store ------------------------------------------------------------------------------- */

typedef struct tw_rendezvous {
    const tw_store_t *store;
    const char       *name;
    const char       *address, *towards; /* as tw_address_choose() has them */
    double            seconds;
    char             *table; /* the cookie, and a card of each rank */
    char              card[TW_CARD_BYTES];
} tw_rendezvous_t;

static char *tw_meeting_card(const tw_rendezvous_t *meeting, int rank)
{
    return meeting->table + TW_COOKIE_BYTES + (size_t)rank * TW_CARD_BYTES;
}

static tw_status_t tw_meeting_put(const tw_world_t *world, const tw_rendezvous_t *meeting,
                                  const char *key, const void *bytes, size_t size)
{
    if (meeting->store->put(meeting->store->user, key, bytes, size) == 0) {
        return TW_OK;
    }
    TW_ERROR(&world->log, "the store did not take the key %s", key);
    return TW_ERR_NETWORK;
}

static tw_status_t tw_meeting_get(const tw_world_t *world, const tw_rendezvous_t *meeting,
                                  const char *key, void *bytes, size_t size, int rank)
{
    if (meeting->store->get(meeting->store->user, key, bytes, size, meeting->seconds) == 0) {
        return TW_OK;
    }
    TW_ERROR(&world->log, "rank %d did not come: the store has no key %s of %zu bytes", rank, key,
             size);
    return TW_ERR_TIMEOUT;
}

/* Rank 0 fills the table, the others get it. */
static tw_status_t tw_meeting_hold(tw_world_t *world, tw_rendezvous_t *meeting)
{
    const size_t bytes = TW_COOKIE_BYTES + (size_t)world->size * TW_CARD_BYTES;
    tw_status_t  status;
    char         key[TW_KEY_BYTES], all[TW_KEY_BYTES];

    snprintf(all, sizeof(all), "%s/all", meeting->name);
    if (world->rank > 0) {
        snprintf(key, sizeof(key), "%s/%d", meeting->name, world->rank);
        status = tw_meeting_put(world, meeting, key, meeting->card, TW_CARD_BYTES);
        return status == TW_OK ? tw_meeting_get(world, meeting, all, meeting->table, bytes, 0)
                               : status;
    }
    if (getrandom(meeting->table, TW_COOKIE_BYTES, 0) != TW_COOKIE_BYTES) {
        return TW_ERR_IO;
    }
    memcpy(tw_meeting_card(meeting, 0), meeting->card, TW_CARD_BYTES);
    status = TW_OK;
    for (int r = 1; r < world->size && status == TW_OK; r++) {
        snprintf(key, sizeof(key), "%s/%d", meeting->name, r);
        status = tw_meeting_get(world, meeting, key, tw_meeting_card(meeting, r), TW_CARD_BYTES, r);
    }
    return status == TW_OK && world->size > 1
               ? tw_meeting_put(world, meeting, all, meeting->table, bytes)
               : status;
}

/* The same verdict on all ranks, but for who has met another's keys. */
static tw_status_t tw_meeting_check(tw_world_t *world, const tw_rendezvous_t *meeting)
{
    char what[2][48];

    for (int r = 0; r < world->size; r++) {
        char *card = tw_meeting_card(meeting, r);

        card[TW_CARD_BYTES - 1] = '\0';
        if (!tw_card_agrees(card, meeting->card, what)) {
            TW_ERROR(&world->log, "ranks disagree: rank %d says %s, rank %d %s", r, what[0],
                     world->rank, what[1]);
            return TW_ERR_MISMATCH;
        }
        if (!tw_card_read(card, &world->peers[r])) {
            TW_ERROR(&world->log, "rank %d has put no address into the store", r);
            return TW_ERR_FORMAT;
        }
    }
    if (memcmp(tw_meeting_card(meeting, world->rank), meeting->card, TW_CARD_BYTES) != 0) {
        TW_ERROR(
            &world->log,
            "the store's keys %s/... are of another communicator; each needs a name of its own",
            meeting->name);
        return TW_ERR_MISMATCH;
    }
    memcpy(world->cookie, meeting->table, TW_COOKIE_BYTES);
    return TW_OK;
}

static tw_status_t tw_meeting_run(tw_world_t *world, tw_rendezvous_t *meeting, int port)
{
    char        address[TW_ADDRESS_TEXT];
    tw_status_t status = tw_address_choose(&world->log, meeting->address, meeting->towards, address,
                                           sizeof(address));

    if (status == TW_OK && !tw_card_fill(meeting->card, world->size, address, port)) {
        status = TW_ERR_IO;
    }
    if (status == TW_OK) {
        status = tw_meeting_hold(world, meeting);
    }
    return status == TW_OK ? tw_meeting_check(world, meeting) : status;
}

tw_status_t tw_world_bootstrap(const tw_log_t *log, int rank, int size, const tw_store_t *store,
                               const char *name, const char *address, const char *towards,
                               double seconds, MPI_Comm *comm_p)
{
    int             port    = 0;
    tw_world_t     *world   = tw_world_new(log, rank, size, &port);
    tw_tcp_group_t *group   = malloc(sizeof(*group) + (size_t)size * sizeof(group->ranks[0]));
    tw_rendezvous_t meeting = {.store   = store,
                               .name    = name,
                               .address = address,
                               .towards = towards,
                               .seconds = seconds,
                               .table = calloc(1, TW_COOKIE_BYTES + (size_t)size * TW_CARD_BYTES)};
    tw_status_t     status  = TW_ERR_NO_MEMORY;

    if (world == NULL) {
        status = TW_ERR_NETWORK;
    } else if (group != NULL && meeting.table != NULL) {
        status = tw_meeting_run(world, &meeting, port);
    }
    free(meeting.table);
    if (status != TW_OK) {
        free(group);
        if (world != NULL) {
            tw_world_end(world, false);
        }
        return status;
    }
    world->limit_ns = (uint64_t)(seconds * 1e9);
    world->groups   = 1;
    *group          = (tw_tcp_group_t){.world = world, .rank = rank, .size = size};
    for (int r = 0; r < size; r++) {
        group->ranks[r] = r;
    }
    *comm_p = group;
    return TW_OK;
}
