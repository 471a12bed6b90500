/* SPDX-License-Identifier: BSD-3-Clause
 * sockets/address.c - see address.h.
 */
#include "config.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/sockets/address.h"

static bool tw_address_text(const struct sockaddr *address, char *text, size_t size)
{
    const void *number = address->sa_family == AF_INET
                             ? (const void *)&((const struct sockaddr_in *)address)->sin_addr
                             : (const void *)&((const struct sockaddr_in6 *)address)->sin6_addr;

    return inet_ntop(address->sa_family, number, text, (socklen_t)size) != NULL;
}

/* Not one of a link, whose meaning depends on the machine. */
static bool tw_address_usable(const struct sockaddr *address, int family)
{
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;

    return address != NULL && address->sa_family == family &&
           (family == AF_INET || !IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr));
}

/* The first address of the interface, or of the first one that is no loopback (NULL). */
static bool tw_address_interface(const char *name, char *text, size_t size)
{
    const int       families[] = {AF_INET, AF_INET6};
    struct ifaddrs *all        = NULL;
    bool            found      = false;

    if (getifaddrs(&all) != 0) {
        return false;
    }
    for (int f = 0; f < 2; f++) {
        for (struct ifaddrs *i = all; i != NULL && !found; i = i->ifa_next) {
            const bool wanted =
                name != NULL ? strcmp(i->ifa_name, name) == 0
                             : (i->ifa_flags & IFF_LOOPBACK) == 0 && (i->ifa_flags & IFF_UP) != 0;

            found = wanted && tw_address_usable(i->ifa_addr, families[f]) &&
                    tw_address_text(i->ifa_addr, text, size);
        }
    }
    freeifaddrs(all);
    return found;
}

/* The source of a datagram to a host, which is not sent; or, if it is `own`, its address, which
 * must be of this machine. */
static bool tw_address_of(const char *host, bool own, char *text, size_t size)
{
    const struct addrinfo   hints = {.ai_socktype = SOCK_DGRAM};
    struct addrinfo        *list  = NULL;
    struct sockaddr_storage here;
    bool                    found = false;

    if (getaddrinfo(host, own ? NULL : "9", &hints, &list) != 0) {
        return false;
    }
    for (struct addrinfo *a = list; a != NULL && !found; a = a->ai_next) {
        const int fd     = socket(a->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        socklen_t length = sizeof(here);

        found = fd >= 0 &&
                (own ? bind(fd, a->ai_addr, a->ai_addrlen)
                     : connect(fd, a->ai_addr, a->ai_addrlen)) == 0 &&
                getsockname(fd, (struct sockaddr *)&here, &length) == 0 &&
                tw_address_usable((struct sockaddr *)&here, a->ai_family) &&
                tw_address_text((struct sockaddr *)&here, text, size);
        if (fd >= 0) {
            close(fd);
        }
    }
    freeaddrinfo(list);
    return found;
}

static bool tw_address_loops(const char *text)
{
    return strncmp(text, "127.", 4) == 0 || strcmp(text, "::1") == 0 ||
           strcmp(text, "localhost") == 0;
}

tw_status_t tw_address_choose(const tw_log_t *log, const char *wanted, const char *towards,
                              char *text, size_t size)
{
    if (wanted[0] != '\0') {
        if (tw_address_interface(wanted, text, size) || tw_address_of(wanted, true, text, size)) {
            return TW_OK;
        }
        TW_ERROR(log,
                 "THINWIRE_ADDRESS=%s: accepted: an interface of this machine with an address, or "
                 "an address of this machine",
                 wanted);
        return TW_ERR_SETTING;
    }
    /* A host may know its own name by a loopback address, which others cannot use. */
    if (towards != NULL && tw_address_of(towards, false, text, size) &&
        (!tw_address_loops(text) || tw_address_loops(towards))) {
        return TW_OK;
    }
    /* The default route: to an address of documents, RFC 5737 and RFC 3849. */
    if (!tw_address_of("192.0.2.1", false, text, size) && !tw_address_interface(NULL, text, size) &&
        !tw_address_of("2001:db8::1", false, text, size)) {
        snprintf(text, size, "127.0.0.1");
    }
    return TW_OK;
}
