/* The applications of agent.c, for any stack.
 *
 * A program that includes this file defines the functions below, for its own stack: agent.c does so
 * for the sockets of its host, docs/stacks has stacks in userspace. SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>

enum { MAX_RECEIVED = 1 << 20, MAX_SESSIONS = 4096, MAX_SIZE = 16 << 20, DEFAULT_BACKLOG = 16384 };

/* ---- The stack. What fails returns -1 and sets errno; nothing blocks, but EAGAIN. ---- */

/* A listening socket. limit: of pending fast opens, 0 for none. ENOTSUP where the stack cannot have
 * this limit, or this backlog beside it; EAFNOSUPPORT where it lacks the family. */
static int stack_listen(int family, int port, int limit, int backlog);
/* Serve whatever has something to be read, written or accepted. Returns how many had. */
static int stack_turn(void);
static ssize_t stack_read(int fd, void *to, size_t room);
static ssize_t stack_write(int fd, const void *data, size_t length);
/* End its stream behind what was written; it still reads. */
static void stack_shutdown(int fd);
static void stack_close(int fd);
static void stack_reset(int fd);

/* ---- Listeners, sessions, applications ---- */

/* Those from SEND to HALF_CLOSE have a number of bytes. */
enum app {
    ECHO, SEND, SEND_CLOSE, SEND_ABORT, TWO_SENDS, HALF_CLOSE, HTTP, MUTE, CLOSE, ABORT, NEVER_READS, APPS
};
static const char *const app_names[APPS] = {"echo",       "send", "send-close", "send-abort", "two-sends",
                                            "half-close", "http", "mute",       "close",      "abort",
                                            "never-reads"};

struct session { /* what the application saw; kept after the connection has ended */
    char peer[INET6_ADDRSTRLEN];
    int port, eofs, closed;
    char error[32];
    unsigned char *received;
    size_t length;
    struct session *next;
};
struct listener {
    int port, fd[2], size, count;
    enum app app;
    struct session *first, **last;
    struct listener *next;
};
struct connection {
    int fd, closing, ended; /* closing: when all is written; 1 with FIN, 2 with RST, 3 reads on */
    struct listener *of;
    struct session *seen;
    unsigned char *out, head[4];
    size_t written, length;
    struct connection *next;
};
static struct listener *listeners;
static struct connection *connections;

static void *must(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

static void put(struct connection *to, const void *data, size_t length)
{
    to->out = must(realloc(to->out, to->length + length + 1));
    for (size_t i = 0; i < length; i++)
        to->out[to->length + i] = data ? ((const unsigned char *)data)[i] : i % 251;
    to->length += length;
}

static void over(struct connection *it, int error)
{
    const char *name = error == ECONNRESET  ? "ECONNRESET"
                       : error == ETIMEDOUT ? "ETIMEDOUT"
                       : error == EPIPE     ? "EPIPE"
                       : error              ? "ERROR"
                                            : "-";
    strcpy(it->seen->error, name);
    it->seen->closed = it->ended = 1;
    if (it->closing == 2)
        stack_reset(it->fd);
    else
        stack_close(it->fd);
}

/* Write what there is; 0 if all is written, 1 if not yet, -1 if the connection is over. */
static int flush(struct connection *it)
{
    while (it->written < it->length) {
        ssize_t done = stack_write(it->fd, it->out + it->written, it->length - it->written);
        if (done < 0 && errno == EAGAIN)
            return 1;
        if (done < 0)
            return over(it, errno), -1;
        it->written += done;
    }
    it->written = it->length = 0;
    return 0;
}

static void answer_http(struct connection *it, const unsigned char *data, size_t length)
{
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n";
    for (size_t i = 0; i < length; i++) { /* the end of a head, however it is cut up */
        memmove(it->head, it->head + 1, 3);
        it->head[3] = data[i];
        if (!memcmp(it->head, "\r\n\r\n", 4))
            put(it, answer, sizeof answer - 1);
    }
}

/* Read, write and close, as far as that goes now. */
static void serve(struct connection *it)
{
    static unsigned char data[65536];
    while (!it->ended) {
        if (flush(it))
            return; /* nothing is read before all is written: the peer must not fill the memory */
        if (it->closing == 2) {
            over(it, 0);
            return;
        }
        if (it->closing == 3) {
            stack_shutdown(it->fd);
            it->closing = 0;
        }
        if (it->of->app == NEVER_READS)
            return;
        ssize_t got = stack_read(it->fd, data, sizeof data);
        if (got < 0 && errno == EAGAIN) {
            if (it->closing) /* only now: to close with bytes unread sends RST */
                over(it, 0);
            return;
        }
        if (got < 0) {
            over(it, errno);
            return;
        }
        struct session *seen = it->seen;
        if (got == 0) {
            seen->eofs++;
            over(it, 0);
            return;
        }
        size_t kept = (size_t)got < MAX_RECEIVED - seen->length ? (size_t)got : MAX_RECEIVED - seen->length;
        seen->received = must(realloc(seen->received, seen->length + kept + 1));
        memcpy(seen->received + seen->length, data, kept);
        seen->length += kept;
        if (it->of->app == ECHO || it->of->app == SEND)
            put(it, data, got);
        else if (it->of->app == HTTP)
            answer_http(it, data, got);
    }
}

/* Begin with a connection that was accepted. */
static void greet(struct listener *of, int fd, const struct sockaddr_storage *from)
{
    struct connection *it = must(calloc(1, sizeof *it));
    struct session *seen = must(calloc(1, sizeof *seen));
    const struct sockaddr_in *four = (const void *)from;
    const struct sockaddr_in6 *six = (const void *)from;
    enum app app = of->app;
    if (from->ss_family == AF_INET)
        inet_ntop(AF_INET, &four->sin_addr, seen->peer, sizeof seen->peer);
    else
        inet_ntop(AF_INET6, &six->sin6_addr, seen->peer, sizeof seen->peer);
    seen->port = ntohs(from->ss_family == AF_INET ? four->sin_port : six->sin6_port);
    strcpy(seen->error, "-");
    *of->last = seen;
    of->last = &seen->next;
    if (++of->count > MAX_SESSIONS && of->first->closed) {
        struct session *oldest = of->first;
        of->first = oldest->next;
        of->count--;
        free(oldest->received);
        free(oldest);
    }
    *it = (struct connection){.fd = fd, .of = of, .seen = seen, .next = connections};
    connections = it;
    it->closing = app == ABORT || app == SEND_ABORT                        ? 2
                  : app == CLOSE || app == SEND_CLOSE || app == TWO_SENDS ? 1
                  : app == HALF_CLOSE                                     ? 3
                                                                          : 0;
    if (app >= SEND && app <= HALF_CLOSE)
        put(it, NULL, of->size);
    if (app == TWO_SENDS && flush(it) >= 0)
        put(it, NULL, of->size);
    serve(it);
}

/* Forget the connections that are over; stack_turn() ends with this. */
static void forget_ended(void)
{
    for (struct connection **c = &connections; *c;) {
        struct connection *it = *c;
        if (it->ended) {
            *c = it->next;
            free(it->out);
            free(it);
        } else
            c = &it->next;
    }
}
